"""`ScriptedTransport`: a model that answers from a script."""

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

from tickmind.llm.errors import LLMConfigError, LLMConnectionError
from tickmind.llm.http.time_budget import Sleep, TimeBudget
from tickmind.llm.scripted.pieces import Cut, cut_reply
from tickmind.llm.transport import Capabilities, ModelReply, ModelRequest, StreamPiece

Reply = str | ModelReply | Exception
Script = str | ModelReply | Iterable[Reply] | Mapping[str, Reply] | Callable[[ModelRequest], Reply | Awaitable[Reply]]


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """One call as a double received it."""

    request: ModelRequest
    streamed: bool
    timeout_s: float


def last_user_text(request: ModelRequest) -> str:
    """Return the last text of the user; empty if there is none."""
    return next((message.text for message in reversed(request.messages) if message.role == "user"), "")


class ScriptedTransport:
    """Answer from a script and remember the requests, so that a test needs neither network nor model.

        >>> from tickmind.llm import ModelClient, ModelConfig
        >>> async def greet():
        ...     async with ModelClient(ModelConfig(), transport=ScriptedTransport(["Hi.", "Bye."])) as client:
        ...         return (await client.complete("Good morning!")).content
        >>> asyncio.run(greet())
        'Hi.'


    The script is one reply for every call, replies in order, replies by the user's last text, or a function of the
    request, which may be async. An exception in the place of a reply is raised. Streams are cut by `cut`; waits go
    through `sleep` and count against the call's timeout.
    """

    def __init__(
        self,
        replies: Script = (),
        *,
        cut: Cut = 12,
        latency_s: float = 0.0,
        piece_latency_s: float = 0.0,
        sleep: Sleep = asyncio.sleep,
        capabilities: Capabilities | None = None,
    ) -> None:
        self.calls: list[ScriptedCall] = []
        self.closed = False
        self._answer = _as_function(replies)
        self._cut = cut
        self._latency_s = latency_s
        self._piece_latency_s = piece_latency_s
        self._sleep = sleep
        self._capabilities = capabilities or Capabilities()

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities that it claims."""
        return self._capabilities

    @property
    def requests(self) -> list[ModelRequest]:
        """The requests so far, in order."""
        return [call.request for call in self.calls]

    async def complete(self, request: ModelRequest, *, timeout_s: float) -> ModelReply:
        """Return the whole reply, or raise the scripted exception."""
        return await self._next(ScriptedCall(request, False, timeout_s), TimeBudget(timeout_s, sleep=self._sleep))

    @asynccontextmanager
    async def stream(self, request: ModelRequest, *, timeout_s: float) -> AsyncIterator[AsyncIterator[StreamPiece]]:
        """Yield the reply in pieces; a scripted exception is raised on entering."""
        budget = TimeBudget(timeout_s, sleep=self._sleep)
        reply = await self._next(ScriptedCall(request, True, timeout_s), budget)
        async with aclosing(self._pieces(reply, budget)) as pieces:
            yield pieces

    async def aclose(self) -> None:
        """Refuse every later call, so that a use after closing shows."""
        self.closed = True

    async def _pieces(self, reply: ModelReply, budget: TimeBudget) -> AsyncGenerator[StreamPiece, None]:
        for piece in cut_reply(reply, self._cut):
            await budget.wait(self._piece_latency_s)
            yield piece

    async def _next(self, call: ScriptedCall, budget: TimeBudget) -> ModelReply:
        if self.closed:
            raise LLMConnectionError("this transport was closed; call it before aclose()")
        self.calls.append(call)
        answer = self._answer(call.request)
        await budget.wait(self._latency_s)
        reply = await answer if inspect.isawaitable(answer) else answer
        if isinstance(reply, Exception):
            raise reply
        return as_reply(reply, call.request)


def as_reply(reply: str | ModelReply, request: ModelRequest) -> ModelReply:
    """Return a text as a reply that ended by itself."""
    return reply if isinstance(reply, ModelReply) else ModelReply(reply, "stop", model=request.model)


def _as_function(replies: Script) -> Callable[[ModelRequest], Reply | Awaitable[Reply]]:
    if isinstance(replies, (str, ModelReply)):
        return lambda _request: replies
    if callable(replies):
        return replies
    if isinstance(replies, Mapping):
        by_text = dict(replies)
        return lambda request: _look_up(by_text, last_user_text(request))
    in_order = list(replies)
    left = iter(in_order)
    return lambda _request: _take(left, len(in_order))


def _look_up(by_text: Mapping[str, Reply], text: str) -> Reply:
    if text in by_text:
        return by_text[text]
    raise LLMConfigError(f"the script has no reply to {text!r}, only to {', '.join(map(repr, by_text)) or 'nothing'}")


def _take(left: Iterable[Reply], total: int) -> Reply:
    for reply in left:
        return reply
    raise LLMConfigError(f"the script has {total} replies and all are used; add one for this call")

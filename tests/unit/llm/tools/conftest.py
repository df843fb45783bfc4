"""A transport that says what a test tells it to."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from tickmind.llm.messages import Message, ToolCall
from tickmind.llm.transport import Capabilities, ModelReply, ModelRequest, StreamPiece, ToolCallDelta, Usage

Whole = Callable[[Sequence[Message]], bool]
Step = ModelReply | Exception | list[StreamPiece] | Callable[[ModelRequest], ModelReply]


class ScriptedTransport:
    """Plays one step for each request and keeps the requests. Past the last step it hangs."""

    def __init__(self, steps: Sequence[Step], *, cut: int = 3) -> None:
        self.steps = list(steps)
        self.requests: list[ModelRequest] = []
        self.streamed: list[bool] = []
        self.cancelled = 0
        self.cut = cut

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities()

    @staticmethod
    def say(text: str, *calls: tuple[str, str] | ToolCall, usage: Usage | None = None) -> ModelReply:
        """A reply with text and calls, given as (name, arguments)."""
        made = [
            call if isinstance(call, ToolCall) else ToolCall(f"id{place}_{call[0]}", call[0], call[1])
            for place, call in enumerate(calls)
        ]
        reason = "tool_calls" if calls else "stop"
        return ModelReply(text, reason, tool_calls=tuple(made), usage=usage or Usage(10, 5))

    async def _next(self, request: ModelRequest, *, streamed: bool) -> ModelReply | list[StreamPiece]:
        self.requests.append(request)
        self.streamed.append(streamed)
        if not self.steps:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        step = self.steps.pop(0)
        if isinstance(step, Exception):
            raise step
        return step(request) if callable(step) else step

    async def complete(self, request: ModelRequest, *, timeout_s: float) -> ModelReply:
        step = await self._next(request, streamed=False)
        assert isinstance(step, ModelReply)
        return step

    @asynccontextmanager
    async def stream(self, request: ModelRequest, *, timeout_s: float) -> AsyncIterator[AsyncIterator[StreamPiece]]:
        yield self._pieces(request)

    async def _pieces(self, request: ModelRequest) -> AsyncIterator[StreamPiece]:
        step = await self._next(request, streamed=True)
        for piece in step if isinstance(step, list) else self._cut(step):
            await asyncio.sleep(0)
            yield piece

    def _cut(self, reply: ModelReply) -> list[StreamPiece]:
        def parts(text: str) -> list[str]:
            return [text[place : place + self.cut] for place in range(0, len(text), self.cut)]

        pieces = [StreamPiece(thinking=part) for block in reply.thinking for part in parts(block.text)]
        pieces += [StreamPiece(block=block) for block in reply.thinking]
        pieces += [StreamPiece(content=part) for part in parts(reply.content)]
        for index, call in enumerate(reply.tool_calls):
            pieces.append(StreamPiece(tool_calls=(ToolCallDelta(index, call.id, call.name),)))
            pieces += [
                StreamPiece(tool_calls=(ToolCallDelta(index, arguments=part),)) for part in parts(call.arguments)
            ]
        return [*pieces, StreamPiece(finish_reason=reply.finish_reason, usage=reply.usage)]

    async def aclose(self) -> None:
        return None


def is_whole(messages: Sequence[Message]) -> bool:
    """Each tool call has exactly one result, right after it and in its order, and no id stands twice."""
    seen: set[str] = set()
    expected: list[str] = []
    for message in messages:
        if message.role == "tool":
            if not expected or message.tool_call_id != expected.pop(0):
                return False
            continue
        if expected:
            return False
        for call in message.tool_calls:
            if call.id in seen or not isinstance(json.loads(call.arguments), dict):
                return False
            seen.add(call.id)
            expected.append(call.id)
    return not expected


@pytest.fixture(scope="session")
def script() -> type[ScriptedTransport]:
    """The scripted transport, to be filled by the test."""
    return ScriptedTransport


@pytest.fixture(scope="session")
def well_formed() -> Whole:
    """Tells whether a history is whole."""
    return is_whole

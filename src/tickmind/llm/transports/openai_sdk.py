"""`OpenAITransport`: carries requests through a caller's own `AsyncOpenAI` (extra `openai`).

The SDK's retries are off, because `RetryingTransport` alone retries, and the total deadline is kept here, because its
timeout is for each read. Redirects, proxies and the size of replies stay as that client is set up.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import orjson

from tickmind.base import Secret, SystemClock
from tickmind.llm.errors import LLMConnectionError, LLMDeadlineError, LLMError
from tickmind.llm.http.errors import embedded_error, error_from_reply, silent_error
from tickmind.llm.http.retry_after import parse_retry_after
from tickmind.llm.safety import check_endpoint
from tickmind.llm.structured.strict_schema import OPENAI_HOST
from tickmind.llm.transport import Capabilities, ModelReply, ModelRequest, StreamPiece, says_something
from tickmind.llm.transports.chat import ChatForm
from tickmind.llm.transports.wire import Json, is_silent

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_SDK_FIELDS = frozenset(
    {
        "max_completion_tokens", "max_tokens", "messages", "model", "parallel_tool_calls", "response_format", "seed",
        "stop", "stream", "stream_options", "temperature", "tool_choice", "tools",
    }
)  # fmt: skip


class OpenAITransport:
    """Wrap a configured `AsyncOpenAI`. The client stays the caller's: `aclose` leaves it open."""

    def __init__(
        self,
        client: "AsyncOpenAI",
        *,
        capabilities: Capabilities = Capabilities(),  # noqa: B008 - frozen
        max_tokens_field: str | None = None,
    ) -> None:
        self._client = client.with_options(max_retries=0)
        self._key = Secret(client.api_key)  # so that a provider that repeats it does not put it into an error
        self._capabilities = capabilities
        self._host = urlsplit(str(client.base_url)).hostname or ""
        field = max_tokens_field or ("max_completion_tokens" if self._host == OPENAI_HOST else "max_tokens")
        self._form = ChatForm(capabilities, max_tokens_field=field, host=self._host)

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of the endpoint, as passed in."""
        return self._capabilities

    async def complete(self, request: ModelRequest, *, timeout_s: float) -> ModelReply:
        """Send it and wait for the whole reply."""
        check_endpoint(self._host)
        create: Any = self._client.chat.completions.create
        try:
            async with asyncio.timeout(timeout_s):
                reply = await create(**self._arguments(request, stream=False), timeout=timeout_s)
        except Exception as exc:  # noqa: BLE001 - raised again as ours
            raise _translated(exc, timeout_s) from None
        if isinstance(reply, str):  # the SDK returns a reply that is no JSON as text
            return self._form.decode(reply.encode("utf-8", "replace"), request)
        decoded = self._form.decode(orjson.dumps(reply.model_dump(mode="json")), request)
        if is_silent(decoded):
            raise silent_error()
        return decoded

    @asynccontextmanager
    async def stream(self, request: ModelRequest, *, timeout_s: float) -> AsyncIterator[AsyncIterator[StreamPiece]]:
        """Send it and read the reply as it comes."""
        check_endpoint(self._host)
        create: Any = self._client.chat.completions.create
        deadline_s = asyncio.get_running_loop().time() + timeout_s
        try:
            async with asyncio.timeout_at(deadline_s):
                events = await create(**self._arguments(request, stream=True), timeout=timeout_s)
        except Exception as exc:  # noqa: BLE001 - raised again as ours
            raise _translated(exc, timeout_s) from None
        try:
            async with aclosing(self._pieces(events, request, deadline_s, timeout_s)) as pieces:
                yield pieces
        finally:
            await events.close()

    async def aclose(self) -> None:
        """Do nothing: the caller closes its own client."""

    def _arguments(self, request: ModelRequest, *, stream: bool) -> dict[str, Any]:
        arguments = _arguments(self._form.encode(request, stream=stream))
        return {**arguments, "extra_headers": dict(request.headers)} if request.headers else arguments

    async def _pieces(
        self, events: Any, request: ModelRequest, deadline_s: float, timeout_s: float
    ) -> AsyncGenerator[StreamPiece, None]:
        decoder = self._form.decoder(request)
        reader = events.__aiter__()
        silent = True
        while True:
            try:
                async with asyncio.timeout_at(deadline_s):
                    event = await reader.__anext__()
            except StopAsyncIteration:
                break
            except Exception as exc:  # noqa: BLE001 - raised again as ours
                raise _translated(exc, timeout_s) from None
            piece = decoder.decode(orjson.dumps(event.model_dump(mode="json", exclude_unset=True)))
            if piece is not None:
                silent = silent and not says_something(piece)
                yield piece
        if silent:
            raise silent_error()
        last = decoder.finish()
        if last is not None:
            yield last


def _arguments(body: Json) -> dict[str, Any]:
    """Return the body as the SDK's arguments; fields that it does not know travel as extra ones."""
    known = {name: value for name, value in body.items() if name in _SDK_FIELDS}
    extra = {name: value for name, value in body.items() if name not in _SDK_FIELDS}
    return {**known, "extra_body": extra} if extra else known


def _translated(exc: Exception, timeout_s: float) -> Exception:
    """Return our error for one of the SDK's. Raise it `from None`, because the SDK's error holds the raw reply."""
    import openai

    if isinstance(exc, TimeoutError | openai.APITimeoutError):
        return LLMDeadlineError(f"the endpoint did not finish within {timeout_s:g} s; raise timeout_s if it may")
    if isinstance(exc, openai.APIStatusError):
        headers = {name.lower(): value for name, value in exc.response.headers.items()}
        wait_s = parse_retry_after(headers, now_wall_s=SystemClock().wall())
        body = exc.response.content if exc.response.is_stream_consumed else str(exc.message).encode()
        return error_from_reply("the endpoint", exc.status_code, body, headers=headers, retry_after_s=wait_s)
    if isinstance(exc, openai.APIError) and isinstance(exc.body, dict):  # an error inside a stream
        return embedded_error({"error": exc.body})
    if isinstance(exc, openai.APIError):
        return LLMConnectionError(f"the connection to the endpoint failed: {exc.message}")
    return exc if isinstance(exc, LLMError) else LLMConnectionError(f"the connection to the endpoint failed: {exc}")

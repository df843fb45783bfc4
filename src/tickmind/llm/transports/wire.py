"""`WireForm` and `WireTransport`: what the wire forms share, and the transport that carries any of them.

A wire form is pure: it encodes a request, decodes a whole reply, and makes a decoder for the events of a stream.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, Protocol

import orjson

from tickmind.base import Secret
from tickmind.llm.config import MAX_CONNECTIONS, MAX_REPLY_BYTES, ModelConfig, check_headers
from tickmind.llm.errors import LLMConfigError, LLMResponseError
from tickmind.llm.http.client import EventStream, Headers, HttpClient
from tickmind.llm.http.errors import silent_error, too_large_error
from tickmind.llm.messages import ThinkingBlock, ToolCall
from tickmind.llm.served import Served, read_served
from tickmind.llm.streaming.half_letters import LetterJoiner, may_hold_half, parse_with_halves, without_halves
from tickmind.llm.transport import (
    Capabilities,
    ModelReply,
    ModelRequest,
    StreamPiece,
    ToolCallDelta,
    Usage,
    says_something,
)
from tickmind.llm.transports.tracing import CallSpan, begin_call

Json = dict[str, Any]  # an object as a provider wrote it; it does not leave the wire forms
OnServed = Callable[[ModelRequest, Served], None]
Parse = Callable[[bytes], Json]
_NOT_JSON = "the endpoint's reply is not JSON; is this the address of a model endpoint?"


class SplitLetterError(LLMResponseError):
    """An event ends or begins inside a letter, so that only the events together are text."""


class EventDecoder(Protocol):
    """Turn the events of one stream into pieces; it may remember earlier ones."""

    def decode(self, data: bytes, parse: Parse = ...) -> StreamPiece | None:
        """Read one event; None if it says nothing of interest. `parse` reads its JSON, strictly unless given."""
        ...

    def finish(self) -> StreamPiece | None:
        """Return what is known only at the end."""
        ...


class WireForm(Protocol):
    """A provider's encoding of requests and replies."""

    path: str

    def headers(self, key: Secret) -> dict[str, str | Secret]:
        """Return the headers that carry the key."""
        ...

    def encode(self, request: ModelRequest, *, stream: bool) -> Json:
        """Encode the request's body."""
        ...

    def decode(self, data: bytes, request: ModelRequest) -> ModelReply:
        """Read a whole reply."""
        ...

    def decoder(self, request: ModelRequest) -> EventDecoder:
        """Return a decoder for one stream."""
        ...


class BearerForm:
    """Carries the key as OpenAI's APIs do."""

    def headers(self, key: Secret) -> dict[str, str | Secret]:
        """Return the bearer token."""
        return {"Authorization": Secret(f"Bearer {key.reveal()}")} if key else {}


class WireTransport:
    """Carry requests in one wire form over our own HTTP client.

    `on_served` gets a gateway's report on a reply as soon as its headers are there.
    """

    def __init__(
        self,
        config: ModelConfig,
        form: WireForm,
        *,
        http: HttpClient | None = None,
        on_served: OnServed | None = None,
    ) -> None:
        self._form = form
        self._on_served = on_served
        self._capabilities = config.capabilities
        self._headers: dict[str, str | Secret] = {**form.headers(config.api_key), **config.headers}
        self._http = http or HttpClient(
            config.base_url,
            max_reply_bytes=MAX_REPLY_BYTES.at(config.max_reply_bytes),
            max_connections=MAX_CONNECTIONS.at(config.max_connections),
            trust_proxy_env=config.trust_proxy_env,
            tls=config.tls,
        )

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of the endpoint, as configured."""
        return self._capabilities

    @property
    def http(self) -> HttpClient:
        """The connections underneath."""
        return self._http

    async def complete(self, request: ModelRequest, *, timeout_s: float) -> ModelReply:
        """Send a request and wait for the whole reply."""
        body = dump_body(self._form.encode(request, stream=False))
        call = begin_call(request, self._http.origin)
        try:
            reply = await self._complete(request, body, timeout_s, call)
        except BaseException as error:
            if call is not None:
                call.end(error)
            raise
        if call is not None:
            call.reply(reply)
        return reply

    async def _complete(
        self, request: ModelRequest, body: bytes, timeout_s: float, call: CallSpan | None
    ) -> ModelReply:
        came = await self._http.post(self._form.path, self._headers_of(request, call), body, timeout_s=timeout_s)
        served = self.served(request, came.headers)
        reply = self._form.decode(came.body, request)
        if is_silent(reply):
            raise silent_error()
        if served is None:
            return reply
        return replace(reply, served=served, attempts=max(reply.attempts, served.tries))

    def stream(self, request: ModelRequest, *, timeout_s: float) -> "PieceStream":
        """Send a request and stream the reply."""
        return PieceStream(self, request, timeout_s, self._form.decoder(request))

    async def open_events(self, request: ModelRequest, timeout_s: float, call: CallSpan | None = None) -> EventStream:
        """Send a request for a stream and return the open stream of events."""
        body = dump_body(self._form.encode(request, stream=True))
        headers = self._headers_of(request, call)
        return await self._http.stream(self._form.path, headers, body, timeout_s=timeout_s).__aenter__()

    def served(self, request: ModelRequest, headers: Mapping[str, str]) -> Served | None:
        """Return a gateway's report on a reply, if a gateway carried it."""
        served = read_served(headers)
        if served is not None and self._on_served is not None:
            self._on_served(request, served)
        return served

    def _headers_of(self, request: ModelRequest, call: CallSpan | None) -> Headers:
        traced = {} if call is None else call.headers
        if not request.headers:
            return {**self._headers, **traced} if traced else self._headers
        check_headers(request.headers)
        return {**self._headers, **traced, **request.headers}

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()


class PieceStream(AsyncIterator[StreamPiece]):
    """A streamed reply as pieces; context manager and iterator at once."""

    __slots__ = (
        "_call",
        "_decode",
        "_decoder",
        "_events",
        "_finished",
        "_joiner",
        "_request",
        "_room",
        "_served",
        "_silent",
        "_timeout_s",
        "_transport",
        "_waiting",
    )

    def __init__(
        self, transport: WireTransport, request: ModelRequest, timeout_s: float, decoder: EventDecoder
    ) -> None:
        self._transport = transport
        self._request = request
        self._timeout_s = timeout_s
        self._call: CallSpan | None = None
        self._events: EventStream | None = None
        self._decoder = decoder
        self._decode: Callable[[bytes], StreamPiece | None] = decoder.decode
        self._waiting: Iterable[bytes] = iter(())
        self._finished = False
        self._served: Served | None = None  # until the first piece carries it
        self._joiner: LetterJoiner | None = None  # since a letter came in halves
        self._room = int(transport.http.max_reply_bytes.maximum)  # for what the reply may still say; framing is free
        self._silent = True  # neither content nor a finish reason has come

    async def __aenter__(self) -> "PieceStream":
        self._call = begin_call(self._request, self._transport.http.origin)
        try:
            self._events = await self._transport.open_events(self._request, self._timeout_s, self._call)
        except BaseException as error:
            if self._call is not None:
                self._call.end(error)
            raise
        self._served = self._transport.served(self._request, self._events.headers)
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._call is not None:
            self._call.end(exc)
        if self._events is not None:
            await self._events.__aexit__(exc_type, exc, trace)

    async def __anext__(self) -> StreamPiece:
        while True:
            for data in self._waiting:
                try:
                    piece = self._decode(data)
                except SplitLetterError:
                    self._joiner, self._decode = LetterJoiner(), self._decode_halves
                    piece = self._decode(data)
                if piece is not None:
                    room = self._room - len(piece.content)
                    if piece.thinking:
                        room -= len(piece.thinking)
                    if piece.tool_calls:
                        room -= sum(len(call.arguments) for call in piece.tool_calls)
                    self._room = room
                    if room < 0:
                        http = self._transport.http
                        raise too_large_error(http.origin, http.max_reply_bytes)
                    if self._silent and says_something(piece):
                        self._silent = False
                    return piece if self._served is None else self._first(piece, self._served)
            if self._finished or self._events is None:
                raise StopAsyncIteration
            events = await self._events.next_events()
            if events:
                self._waiting = iter(events)
                continue
            self._finished = True
            if self._silent:
                raise silent_error()
            piece = self._decoder.finish()
            if piece is not None:
                if self._joiner is not None:
                    piece = self._joiner.join(piece)
                return piece if self._served is None else self._first(piece, self._served)

    def _decode_halves(self, data: bytes) -> StreamPiece | None:
        """Decode an event of a stream that cuts letters in two."""
        piece = self._decoder.decode(data, parse_halves)
        return None if piece is None or self._joiner is None else self._joiner.join(piece)

    def _first(self, piece: StreamPiece, served: Served) -> StreamPiece:
        self._served = None
        return replace(piece, served=served, attempts=max(piece.attempts, served.tries))


def is_silent(reply: ModelReply) -> bool:
    """Return whether a whole reply holds neither an answer nor a reason for having none."""
    return not (reply.content or reply.finish_reason or reply.tool_calls or reply.thinking)


def dump_body(body: Json) -> bytes:
    """Write a request's body; raises `LLMConfigError` for values that JSON can't hold."""
    try:
        return orjson.dumps(body, default=_as_plain)
    except TypeError as exc:
        raise LLMConfigError(f"the request can't be written as JSON ({exc}); check schemas and extra fields") from exc


def _as_plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} can't be written as JSON")


def parse_object(data: bytes) -> Json:
    """Parse a whole reply; raises `LLMResponseError`, which does not show it, for anything but a JSON object."""
    try:
        return parse_event(data)
    except SplitLetterError:
        return _object(without_halves(parse_halves(data)))


def parse_event(data: bytes) -> Json:
    """Parse an event like `parse_object`; raises `SplitLetterError` if it holds half a letter."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        if not may_hold_half(data):
            raise LLMResponseError(_NOT_JSON) from None
        parse_halves(data)
        raise SplitLetterError("an event of the endpoint's reply holds half a letter") from None
    if type(value) is not dict:
        raise LLMResponseError("the endpoint's reply is not a JSON object")
    return value


def parse_halves(data: bytes) -> Json:
    """Parse an event that may hold half a letter, which stays as it is: the next event has the rest."""
    try:
        return _object(parse_with_halves(data))
    except ValueError:
        raise LLMResponseError(_NOT_JSON) from None


def _object(value: Any) -> Json:
    if type(value) is not dict:
        raise LLMResponseError("the endpoint's reply is not a JSON object")
    return value


def as_object(value: Any) -> Json:
    """Return an object, or an empty one for anything else."""
    return value if type(value) is dict else {}


def as_list(value: Any) -> list[Any]:
    """Return a list, or an empty one for anything else."""
    return value if type(value) is list else []


def as_text(value: Any) -> str:
    """Return a text, or an empty one for anything else."""
    return value if type(value) is str else ""


def as_count(value: Any) -> int | None:
    """Return a number of tokens, or None for anything else."""
    return value if type(value) is int and value >= 0 else None


def token_usage(value: Any, prompt: str, completion: str) -> Usage | None:
    """Read token counts in OpenAI's form, by the names of an API's two counts; None if the endpoint gave none."""
    if type(value) is not dict:
        return None
    return Usage(
        prompt_tokens=as_count(value.get(prompt)),
        completion_tokens=as_count(value.get(completion)),
        thinking_tokens=as_count(as_object(value.get(f"{completion}_details")).get("reasoning_tokens")),
        cached_tokens=as_count(as_object(value.get(f"{prompt}_details")).get("cached_tokens")),
    )


def valid_arguments(arguments: str) -> Json:
    """Return a tool call's arguments as an object; invalid JSON is wrapped in one, because the turn must be sent."""
    try:
        value = orjson.loads(arguments or "{}")
    except orjson.JSONDecodeError:
        value = None
    return value if type(value) is dict else {"invalid_json": arguments}


def arguments_text(value: Any) -> str:
    """Return arguments as JSON text, whether the endpoint wrote them as text or as an object."""
    if type(value) is str:
        return value
    return "" if value is None else orjson.dumps(value).decode()


def piece_of(reply: ModelReply) -> StreamPiece:
    """Return a whole reply as one piece, from endpoints that don't stream though requested to."""
    return StreamPiece(
        content=reply.content,
        thinking="".join(block.text for block in reply.thinking),
        tool_calls=tuple(
            ToolCallDelta(index, call.id, call.name, call.arguments) for index, call in enumerate(reply.tool_calls)
        ),
        finish_reason=reply.finish_reason or None,
        usage=reply.usage,
        block=reply.thinking[0] if reply.thinking else None,
        model=reply.model,
        id=reply.id,
    )


def blocks_for(blocks: Iterable[ThinkingBlock], wire: str) -> list[ThinkingBlock]:
    """Return the blocks that came through this wire form."""
    return [block for block in blocks if block.wire.partition("/")[0] == wire]


def named_call(id_: str, name: str, arguments: str, index: int) -> ToolCall:
    """Return a tool call with an id and arguments, even where the endpoint left them out."""
    return ToolCall(id_ or f"call_{index}", name, arguments or "{}")


def merged(body: Json, extra: Mapping[str, Any]) -> Json:
    """Return the body with the caller's own fields for this provider; the caller's win."""
    return {**body, **extra} if extra else body

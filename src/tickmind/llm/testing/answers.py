"""Turn a behaviour into the bytes, pauses and end of one HTTP answer; pure, so that only serving it is left."""

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import format_datetime
from itertools import islice
from typing import Literal

from tickmind.llm.scripted.transport import as_reply
from tickmind.llm.testing.behaviours import (
    BadJson,
    BadUtf8,
    Break,
    Drip,
    EchoHeaders,
    EmptyReply,
    ErrorBeside,
    ErrorLine,
    Hang,
    HtmlPage,
    HugeBody,
    Late,
    Redirect,
    Refuse,
    Respond,
    RetryAfter,
    Step,
    UnframedError,
    WrongType,
)
from tickmind.llm.testing.wire import Wire, WireStyle, encode
from tickmind.llm.transport import ModelReply, ModelRequest

Ending = Literal["done", "close", "reset", "hang"]
_MARK = "\u2603mark\u2603"
_NO_UTF8 = b"\xff\xfe\x80\xc3("
_PAGE = b"<!doctype html>\n<html><head><title>Sign in</title></head>\n<body><p>Please sign in.</p></body></html>\n"
_BLOCK_BYTES = 65_536
_JSON = {"Content-Type": "application/json"}
_EVENTS = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}


@dataclass(frozen=True, slots=True)
class Answer:
    """The bytes of one HTTP answer, and how to send them."""

    status: int
    headers: Mapping[str, str]
    chunks: Iterable[bytes]  # each is one write
    size_bytes: int | None = None  # as announced; None: chunked
    headers_after_s: float = 0.0
    interval_s: float = 0.0  # after each write but the last
    ending: Ending = "done"


@dataclass(frozen=True, slots=True)
class AskedRequest:
    """The parts of a request that its answer depends on."""

    wire: Wire
    request: ModelRequest
    streams: bool
    headers: Mapping[str, str]  # with the key: a provider that echoes them has it


def answer(step: Step, incoming: AskedRequest, style: WireStyle) -> Answer:
    """Return the answer that carries out the step."""
    match step:
        case str() | ModelReply():
            return _say(Respond(step), incoming, style)
        case Respond():
            return _say(step, incoming, style)
        case Refuse():
            return _refuse(step, incoming)
        case EchoHeaders(status):
            echo = "; ".join(f"{name}: {value}" for name, value in incoming.headers.items())
            return _body(status, encode(incoming.wire.error(status, f"invalid request with headers {echo}")), _JSON)
        case Redirect(location, status):
            return _body(status, b"", {"Location": location})
        case BadJson():
            return _bad_json(incoming, style)
        case BadUtf8():
            before, after = _around_mark(incoming, style)
            return _body(200, before + _NO_UTF8 + after, _EVENTS if incoming.streams else _JSON)
        case HugeBody():
            return _huge(step, incoming, style)
        case HtmlPage():
            return _body(200, _PAGE, {"Content-Type": "text/html; charset=utf-8"})
        case WrongType(reply, content_type):
            whole = _say(Respond(reply), replace(incoming, streams=False), style)
            return replace(whole, headers={"Content-Type": content_type})
        case UnframedError() | EmptyReply() | ErrorLine():
            return _failing(step, incoming, style)
        case ErrorBeside():
            return _error_beside(step, incoming, style)
        case Hang():
            return Answer(200, {}, (), ending="hang")
        case Late(inner, headers_after_s):
            return replace(answer(inner, incoming, style), headers_after_s=headers_after_s)
        case Drip(inner, size_bytes, interval_s):
            whole = answer(inner, incoming, style)
            return replace(whole, chunks=_small(whole.chunks, size_bytes), interval_s=interval_s)
        case Break():
            return _break(step, incoming, style)


def _say(step: Respond, incoming: AskedRequest, style: WireStyle) -> Answer:
    style = replace(
        style,
        cut=style.cut if step.cut is None else step.cut,
        thinking=step.thinking or style.thinking,
        usage=style.usage and step.usage,
    )
    reply = as_reply(step.reply, incoming.request)
    if incoming.streams:
        return Answer(200, {**_EVENTS, **step.headers}, tuple(incoming.wire.events(reply, incoming.request, style)))
    return _body(200, encode(incoming.wire.whole(reply, incoming.request, style)), {**_JSON, **step.headers})


def _body(status: int, data: bytes, headers: Mapping[str, str]) -> Answer:
    return Answer(status, headers, (data,) if data else (), len(data))


def _refuse(step: Refuse, incoming: AskedRequest) -> Answer:
    headers = {**_JSON, **step.headers}
    if step.retry_after is not None:
        headers["Retry-After"] = _retry_after(step.retry_after)
    return _body(step.status, encode(incoming.wire.error(step.status, step.message)), headers)


def _retry_after(value: RetryAfter) -> str:
    if isinstance(value, datetime):
        return format_datetime(value.astimezone(UTC), usegmt=True)
    return str(value)


def _bad_json(incoming: AskedRequest, style: WireStyle) -> Answer:
    good = _say(Respond("This is never read."), incoming, style)
    if not incoming.streams:
        data = b"".join(good.chunks)
        return _body(200, data[: len(data) // 2], _JSON)
    first, *others = good.chunks
    return replace(good, chunks=(first, b'data: {"choices": [{"delta": \n\n', *others))


def _failing(step: UnframedError | EmptyReply | ErrorLine, incoming: AskedRequest, style: WireStyle) -> Answer:
    """Return an answer that ends as the step says behind its first events, of which a whole reply has none."""
    begun: tuple[bytes, ...] = ()
    if incoming.streams:
        begun = tuple(islice(_say(Respond("This is the beginning.", cut=4), incoming, style).chunks, step.events))
    headers = _EVENTS if incoming.streams else _JSON
    match step:
        case EmptyReply():
            end = b""
        case ErrorLine(message):
            error = incoming.wire.error(500, message)["error"]
            end = b"error: " + encode(error) + b"\n\n"
        case UnframedError(status, _, content_type):
            end = encode(incoming.wire.error(status, "the fake provider failed here, as scripted"))
            headers = headers if content_type is None else {"Content-Type": content_type}
    data = b"".join(begun) + end
    return _body(200, data, headers)


def _error_beside(step: ErrorBeside, incoming: AskedRequest, style: WireStyle) -> Answer:
    """Return an answer whose last event, or whose whole, carries an error as well."""
    reply = ModelReply(step.reply, "error")
    error = {"error": {"message": "the provider behind this router failed", "code": step.status}}
    good = _say(Respond(reply), incoming, style)
    if not incoming.streams:
        return _body(200, encode(json.loads(b"".join(good.chunks)) | error), good.headers)
    chunks = list(good.chunks)
    last = max(place for place, chunk in enumerate(chunks) if b'"error"' in chunk or b"completed" in chunk)
    head, _, data = chunks[last].partition(b"data: ")
    chunks[last] = head + b"data: " + encode(json.loads(data) | error) + b"\n\n"
    return replace(good, chunks=tuple(chunks))


def _around_mark(incoming: AskedRequest, style: WireStyle) -> tuple[bytes, bytes]:
    good = _say(Respond(_MARK, cut=len(_MARK)), incoming, style)
    before, _, after = b"".join(good.chunks).partition(_MARK.encode())
    return before, after


def _huge(step: HugeBody, incoming: AskedRequest, style: WireStyle) -> Answer:
    before, after = _around_mark(incoming, style)
    headers = dict(_EVENTS if incoming.streams else _JSON)
    if step.gzip:
        headers["Content-Encoding"] = "gzip"
        return Answer(200, headers, _Blocks(before, step.size_bytes, after, gzip=True))
    return Answer(200, headers, _Blocks(before, step.size_bytes, after))


class _Blocks:
    """Many letters a between two ends, made as they are sent."""

    def __init__(self, before: bytes, size_bytes: int, after: bytes, *, gzip: bool = False) -> None:
        self._before = before
        self._size_bytes = size_bytes
        self._after = after
        self._gzip = gzip

    def __iter__(self) -> Iterator[bytes]:
        return self._zipped() if self._gzip else self._plain()

    def _plain(self) -> Iterator[bytes]:
        yield self._before
        block = b"a" * _BLOCK_BYTES
        for start in range(0, self._size_bytes, _BLOCK_BYTES):
            yield block[: self._size_bytes - start]
        yield self._after

    def _zipped(self) -> Iterator[bytes]:
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        for block in self._plain():
            if packed := packer.compress(block):
                yield packed
        yield packer.flush()


def _small(chunks: Iterable[bytes], size_bytes: int) -> Iterator[bytes]:
    for chunk in chunks:
        for start in range(0, len(chunk), size_bytes):
            yield chunk[start : start + size_bytes]


def _break(step: Break, incoming: AskedRequest, style: WireStyle) -> Answer:
    good = answer(step.step, incoming, style)
    if not incoming.streams:
        data = b"".join(good.chunks)
        ending: Ending = "close" if step.ending == "error" else step.ending
        return replace(good, chunks=(data[: len(data) // 2],), ending=ending)
    begun = list(islice(good.chunks, step.events + 1))
    if step.ending == "error":
        error = incoming.wire.stream_error("the fake provider failed here, as scripted")
        return replace(good, chunks=(*begun[: step.events], error))
    torn = [chunk[: len(chunk) // 2] for chunk in begun[step.events :]]
    return replace(good, chunks=(*begun[: step.events], *torn), ending=step.ending)

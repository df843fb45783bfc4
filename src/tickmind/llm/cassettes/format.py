"""The written form of calls in a cassette: plain JSON values, without secrets.

Lines of a cassette, format 1:

    {"tickmind_cassette": 1, "capabilities": {"output": ..., "tools": ...}}
    {"seq": 1, "key": ..., "mode": "complete", "request": {...}, "took_s": ..., "reply": {...} | "error": {...}}
    {"seq": 2, "key": ..., "mode": "stream", "request": {...}, "pieces": [[at_s, {...}], ...], "end": ...}

`seq` is the order in which the calls began; `end` is "done", "closed" (the caller left) or an error.
Fields with nothing in them are left out.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from tickmind.base import Limit, redact, redact_fields
from tickmind.base.files import read_at_most
from tickmind.llm.errors import (
    LLMConfigError,
    LLMConnectionError,
    LLMCooldownError,
    LLMDeadlineError,
    LLMDroppedError,
    LLMError,
    LLMRateLimitError,
    LLMReplyTooLargeError,
    LLMResponseError,
    LLMUnavailableError,
)
from tickmind.llm.message_codec import filled, message_form
from tickmind.llm.messages import ThinkingBlock, ToolCall
from tickmind.llm.transport import ModelReply, ModelRequest, StreamPiece, ToolCallDelta, Usage

FORMAT_VERSION = 1
CallMode = Literal["complete", "stream"]
MODE_WORDS: dict[CallMode, str] = {"complete": "whole reply", "stream": "stream"}
Redactor = Callable[[str], str]
UNREADABLE = (AttributeError, KeyError, OverflowError, RecursionError, TypeError, ValueError)
"""What reading a malformed line raises."""
TimedPiece = tuple[float, StreamPiece]  # seconds since the call began
_KEY_DIGITS = 32
_REDACTIONS = 3  # masking can uncover another shape; more rounds have never been needed
_ERRORS: dict[str, type[LLMError]] = {
    kind.__name__: kind
    for kind in (
        LLMConfigError,
        LLMConnectionError,
        LLMCooldownError,
        LLMDeadlineError,
        LLMDroppedError,
        LLMRateLimitError,
        LLMReplyTooLargeError,
        LLMResponseError,
        LLMUnavailableError,
    )
}


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call as it was recorded."""

    seq: int
    key: str
    mode: CallMode
    request: Mapping[str, Any]
    took_s: float
    failure: Mapping[str, Any] | None  # how it failed, if it did
    whole: bool  # False for a stream that its caller left
    reply: ModelReply | None  # of a whole reply that did not fail
    pieces: tuple[TimedPiece, ...]  # of a stream

    @classmethod
    def read(cls, form: Mapping[str, Any]) -> "RecordedCall":
        """Read a call from its written form; raises one of `UNREADABLE` for a malformed one."""
        mode = form["mode"]
        request = form.get("request", {})
        if not isinstance(request, Mapping):
            raise TypeError(f"request is {type(request).__name__}, not an object")
        if mode not in MODE_WORDS:
            raise ValueError(f"mode is {mode!r}")
        end = form.get("error", "done") if mode == "complete" else form["end"]
        failure = end if isinstance(end, Mapping) else None
        if failure is not None:
            read_error(failure)
        return cls(
            seq=int(form.get("seq", 0)),
            key=str(form.get("key", "")),
            mode=mode,
            request=request,
            took_s=float(form.get("took_s", 0.0)),
            failure=failure,
            whole=end == "done",
            reply=read_reply(form["reply"]) if mode == "complete" and failure is None else None,
            pieces=read_pieces(form["pieces"]) if mode == "stream" else (),
        )

    def error(self) -> LLMError:
        """Return the error that it ended with."""
        return read_error(self.failure or {})


def read_file(path: Path, limit: Limit, remedy: str) -> bytes:
    """Return the content of a file of calls; raises `LLMConfigError` with the remedy if it can't be read."""
    try:
        data = read_at_most(path, int(limit.maximum) + 1)
        limit.check(len(data))
    except OSError as error:
        raise LLMConfigError(f"{path} can't be read: {error.strerror}; {remedy}") from error
    return data


def request_key(request: ModelRequest, *, redactor: Redactor = redact) -> str:
    """Return a stable key of a request: equal for equal requests, in any process and on any machine.

    Secrets are masked first and the ids of tool calls are numbered, so neither changes the key.
    """
    return form_key(request_form(request, redactor=redactor))


def form_key(form: Mapping[str, Any]) -> str:
    """Return the key of a request that is already in its written form."""
    numbers: dict[str, str] = {}  # id of a tool call -> its number

    def number(call_id: str) -> str:
        return numbers.setdefault(call_id, f"call-{len(numbers) + 1}")

    messages: list[dict[str, Any]] = []
    for message in form["messages"]:
        numbered = dict(message)
        if calls := message.get("tool_calls"):
            numbered["tool_calls"] = [call | {"id": number(call["id"])} for call in calls]
        if call_id := message.get("tool_call_id"):
            numbered["tool_call_id"] = number(call_id)
        messages.append(numbered)
    whole = to_json({**form, "messages": messages})
    return hashlib.sha256(whole.encode("ascii")).hexdigest()[:_KEY_DIGITS]


def request_form(request: ModelRequest, *, redactor: Redactor = redact) -> dict[str, Any]:
    """Return a request as plain values: secrets masked, headers left out, media by their digest."""
    output = request.output
    form: dict[str, Any] = {
        "model": request.model,
        "messages": [message_form(message, brief=True) for message in request.messages],
        "temperature": None if request.temperature is None else float(request.temperature),
        "max_tokens": request.max_tokens,
        "tools": [
            {"name": tool.name, "description": tool.description, "schema": tool.schema} for tool in request.tools
        ],
        "tool_choice": request.tool_choice if request.tools else None,
        "parallel_tool_calls": request.parallel_tool_calls if request.tools else None,
        "output": None if output is None else {"name": output.name, "schema": output.schema},
        "stop": request.stop,
        "seed": request.seed,
        "extra": _without_headers(request.extra),
    }
    cleaned: dict[str, Any] = _clean_value(form, _settled(redactor))
    to_json(cleaned)
    cleaned["extra"] = redact_fields(cleaned["extra"])
    return filled(cleaned)


def to_json(value: Any) -> str:
    """Write a value as one line of ASCII, the same for equal values."""
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise LLMConfigError(f"a recorded request holds only plain JSON values ({error}); check `extra`") from error


def reply_form(reply: ModelReply, *, redactor: Redactor = redact) -> dict[str, Any]:
    """Return a whole reply as plain values, secrets masked."""
    form = asdict(replace(reply, served=None))  # the state of the gateway at that time is no part of the reply
    form["thinking"] = [filled(block) for block in form["thinking"]]
    form["usage"] = filled(form["usage"])
    cleaned: dict[str, Any] = _clean_value(filled(form), _settled(redactor))
    return cleaned


def pieces_form(pieces: Sequence[TimedPiece], *, redactor: Redactor = redact) -> list[list[Any]]:
    """Return a stream as plain values; a secret is masked also where the stream was cut inside it."""
    clean = _settled(redactor)
    contents = _clean_across([piece.content for _, piece in pieces], clean)
    thoughts = _clean_across([piece.thinking for _, piece in pieces], clean)
    arguments: dict[int, list[str]] = {}  # tool call index -> its pieces, in order
    for _, piece in pieces:
        for delta in piece.tool_calls:
            arguments.setdefault(delta.index, []).append(delta.arguments)
    left = {index: iter(_clean_across(texts, clean)) for index, texts in arguments.items()}
    forms: list[list[Any]] = []
    for (at_s, piece), content, thinking in zip(pieces, contents, thoughts, strict=True):
        calls = [
            {"index": delta.index}
            | filled({"id": clean(delta.id), "name": clean(delta.name), "arguments": next(left[delta.index])})
            for delta in piece.tool_calls
        ]
        form = {
            "content": content,
            "thinking": thinking,
            "tool_calls": calls,
            "finish_reason": None if piece.finish_reason is None else clean(piece.finish_reason),
            "usage": None if piece.usage is None else filled(asdict(piece.usage)),
            "block": None if piece.block is None else _clean_value(filled(asdict(piece.block)), clean),
            "model": clean(piece.model),
            "id": clean(piece.id),
            "attempts": piece.attempts if piece.attempts > 1 else None,
        }
        forms.append([round(at_s, 6), {name: value for name, value in form.items() if value not in ("", None, [])}])
    return forms


def error_form(error: LLMError, *, redactor: Redactor = redact) -> dict[str, Any]:
    """Return an error as plain values, secrets masked."""
    form = {
        "type": type(error).__name__,
        "message": _settled(redactor)(str(error)),
        "status": getattr(error, "status", None),
        "retry_after_s": getattr(error, "retry_after_s", None),
    }
    return filled(form)


def read_reply(form: Mapping[str, Any]) -> ModelReply:
    """Read a whole reply from its written form."""
    return ModelReply(
        content=_text(form, "content"),
        finish_reason=_text(form, "finish_reason"),
        thinking=tuple(_read_block(block) for block in form.get("thinking", ())),
        tool_calls=tuple(
            ToolCall(_text(call, "id"), _text(call, "name"), _text(call, "arguments"))
            for call in form.get("tool_calls", ())
        ),
        usage=Usage(**form.get("usage", {})),
        model=_text(form, "model"),
        id=_text(form, "id"),
        attempts=int(form.get("attempts", 1)),
    )


def read_pieces(forms: Iterable[Sequence[Any]]) -> tuple[TimedPiece, ...]:
    """Read a stream's pieces from their written form."""
    return tuple((float(at_s), _read_piece(form)) for at_s, form in forms)


def read_error(form: Mapping[str, Any]) -> LLMError:
    """Read an error from its written form; an unknown kind comes back as a plain `LLMError`."""
    kind = _ERRORS.get(_text(form, "type"), LLMError)
    message = _text(form, "message")
    if issubclass(kind, LLMRateLimitError):
        return kind(message, retry_after_s=form.get("retry_after_s"), status=form.get("status", 429))
    if issubclass(kind, LLMResponseError):
        return kind(message, status=form.get("status", 200))
    return kind(message)


def _read_piece(form: Mapping[str, Any]) -> StreamPiece:
    usage, block = form.get("usage"), form.get("block")
    return StreamPiece(
        content=_text(form, "content"),
        thinking=_text(form, "thinking"),
        tool_calls=tuple(ToolCallDelta(**delta) for delta in form.get("tool_calls", ())),
        finish_reason=form.get("finish_reason"),
        usage=None if usage is None else Usage(**usage),
        block=None if block is None else _read_block(block),
        model=_text(form, "model"),
        id=_text(form, "id"),
        attempts=int(form.get("attempts", 1)),
    )


def _read_block(form: Mapping[str, Any]) -> ThinkingBlock:
    return ThinkingBlock(_text(form, "text"), _text(form, "wire"), _text(form, "signature"), _text(form, "data"))


def _text(form: Mapping[str, Any], name: str) -> str:
    value = form.get(name, "")
    if not isinstance(value, str):
        raise TypeError(f"{name} is {type(value).__name__}, not text")
    return value


def _without_headers(extra: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in extra.items() if "header" not in name.lower()}


def _clean_value(value: Any, clean: Redactor) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(name)): _clean_value(item, clean) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean_value(item, clean) for item in value]
    return value


def _settled(redactor: Redactor) -> Redactor:
    """Mask until nothing changes, so that masking a replayed text again leaves it as it is."""

    def clean(text: str) -> str:
        for _ in range(_REDACTIONS):
            masked = redactor(text)
            if masked == text:
                break
            text = masked
        return text

    return clean


def _clean_across(texts: Sequence[str], clean: Redactor) -> list[str]:
    """Mask the text that the pieces make together, and cut the result about where it was cut before."""
    whole = "".join(texts)
    masked = clean(whole)
    if masked == whole:
        return list(texts)
    cuts: list[str] = []
    start = 0
    for text in texts[:-1]:
        end = min(start + len(text), len(masked))
        cuts.append(masked[start:end])
        start = end
    return [*cuts, masked[start:]]

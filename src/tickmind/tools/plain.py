"""Convert what a tool returns to plain JSON data, and to text for a model."""

from collections.abc import Mapping
from typing import Any

import orjson

from tickmind.base import Limit
from tickmind.llm.errors import ErrorType
from tickmind.llm.texts import shortened_with_size
from tickmind.tools.envelope import Failed, Ok, ToolResult

MAX_RESULT_CHARS = Limit("length of a tool's result", 20_000, "characters")

_OPTIONS = orjson.OPT_NON_STR_KEYS


def _fallback(value: Any) -> Any:
    if callable(dump := getattr(value, "model_dump", None)):
        return dump(mode="json")
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"<{len(value)} bytes>"
    return str(value)


def _encode(value: Any) -> bytes:
    try:
        return orjson.dumps(value, default=_fallback, option=_OPTIONS)
    except orjson.JSONEncodeError:  # circular, too deep, numbers over 64 bits
        return orjson.dumps(repr(value))


def json_text(value: Any) -> str:
    """Write anything as compact JSON: dataclasses, enums, dates, sets and pydantic models too; the rest as `str`."""
    return _encode(value).decode("utf-8")


def result_of(value: Any, limit: Limit = MAX_RESULT_CHARS) -> ToolResult:
    """Return the envelope of a returned value. A value that is an envelope itself, as type or mapping, stays one."""
    if isinstance(value, Failed):
        return value
    if isinstance(value, Ok):
        value = value.data
    elif isinstance(value, Mapping) and isinstance(value.get("ok"), bool):
        if not value["ok"]:
            return _failure_in(value)
        rest = {name: item for name, item in value.items() if name != "ok"}
        value = rest["data"] if set(rest) == {"data"} else (rest or None)
    if value is None:
        return Ok(None, '{"ok":true}')
    if isinstance(value, str):
        data: Any = value
        text = value
    else:
        encoded = _encode(value)
        text = encoded.decode("utf-8")
        data = orjson.loads(encoded) if limit.allows(len(text)) else None
    if limit.allows(len(text)):
        return Ok(data, text)
    short = shortened_with_size(text, limit)
    return Ok(short, short, truncated=True)


def text_for_model(result: ToolResult) -> str:
    """Return a result as the model reads it."""
    return result.text if isinstance(result, Ok) else json_text(result.to_dict())


def _failure_in(envelope: Mapping[str, Any]) -> Failed:
    inner = envelope.get("error")
    source = inner if isinstance(inner, Mapping) else envelope
    kind = source.get("type")
    known = ErrorType(kind) if isinstance(kind, str) and kind in set(ErrorType) else ErrorType.TOOL_ERROR
    details = source.get("details")
    message = source.get("message") or (inner if isinstance(inner, str) else "the tool reported a failure")
    plain = orjson.loads(_encode(details)) if isinstance(details, Mapping) else {}
    return Failed(known, str(message), plain)

"""Readers for the fields of a caller's JSON, with types and bounds; an invalid field is a refusal that names it."""

import json
import math
from collections import Counter
from typing import Any

import msgspec
import orjson

from tickmind.gateway.refusal import Code, Refusal, RefusedError
from tickmind.gateway.routing.plan import Target
from tickmind.llm.gateway_contract import MAX_MODEL_CHARS, MAX_NAME_CHARS, is_name

MAX_VALUES = 100_000  # in a large document: short JSON can become large objects
_SMALL_BYTES = 256 * 1024
_fields_of = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_NAME_CHARS = int(MAX_NAME_CHARS.maximum)
_SHALLOW = 200  # so many lists and objects can't nest too deeply
_SURELY_SHALLOW = 2 * _SHALLOW  # so many bytes have no more of them, because each has a closing bracket


def with_fields_for(body: bytes, target: Target) -> bytes:
    """Return a request with the fields that the target's model takes; unchanged if it has none of the others."""
    changes = [(name, other) for name, other in target.request_fields if b'"%b"' % name.encode() in body]
    if not changes:
        return body
    fields = _fields_of(body)
    for name, other in changes:
        value = fields.pop(name, None)
        if other is not None and value is not None:
            fields.setdefault(other, value)
    return msgspec.json.encode(fields)


def refuse(message: str, code: Code = Code.BAD_REQUEST) -> RefusedError:
    """Make the error that becomes a refusal."""
    return RefusedError(Refusal(code, message))


def load_json(data: bytes) -> Any:
    """Parse foreign JSON; raises `ValueError` if it is invalid or would take far more memory than its bytes."""
    if len(data) > _SMALL_BYTES and data.count(b",") + data.count(b"[") + data.count(b"{") > MAX_VALUES:
        raise ValueError(f"it has more than {MAX_VALUES:,} values")
    return orjson.loads(data)


def is_simple(data: bytes) -> bool:
    """Whether JSON is so short, plain and shallow that a decoder of some fields may skip the others unread.

    Such a decoder checks everything except UTF-8, so the text must be ASCII.
    """
    size = len(data)
    if size > _SURELY_SHALLOW and (size > _SMALL_BYTES or data.count(b"[") + data.count(b"{") > _SHALLOW):
        return False
    return data.isascii()


def refuse_twins(body: bytes) -> None:
    """Refuse a JSON object with a duplicate field: of two readers one might take the first, one the last."""
    try:
        fields = _fields_of(body)
    except msgspec.DecodeError:  # it has characters that only the other decoder accepts
        fields = {}
    for form, comma in ((b'"%b":%b', b","), (b'"%b": %b', b", ")):  # equal to the body: no duplicates
        if b"{%b}" % comma.join(form % (name.encode(), value) for name, value in fields.items()) == body:
            return
    names: list[str] = json.loads(body, object_pairs_hook=lambda pairs: [name for name, _ in pairs])
    for name, times in Counter(names).items():
        if times > 1:
            raise refuse(f"the body has the field {name[:MAX_MODEL_CHARS]!r} {times} times; send it once")


def parse_object(body: bytes) -> dict[str, Any]:
    """Parse the request's body, a JSON object."""
    try:
        document = load_json(body)
    except ValueError as exc:
        raise refuse(f"the body is not valid JSON: {exc}") from None
    if type(document) is not dict:
        raise refuse("the body must be a JSON object")
    if body.count(b"[") + body.count(b"{") > _SHALLOW:
        try:
            orjson.dumps(document)
        except TypeError:  # it can be decoded but not encoded again
            raise refuse("the body nests too deeply") from None
    refuse_twins(body)
    return document


def text(document: dict[str, Any], name: str, *, needed: bool = False, most: int = 0) -> str:
    """Return a text field; empty if it is missing and not needed."""
    value = document.get(name)
    if value is None:
        if needed:
            raise refuse(f"{name} is missing; it must be a text")
        return ""
    if type(value) is not str:
        raise refuse(f"{name} must be a text")
    if needed and not value:
        raise refuse(f"{name} must not be empty")
    if most and len(value) > most:
        raise refuse(f"{name} is longer than {most} characters")
    return value


def name_of(document: dict[str, Any], name: str, *, needed: bool = False, most: int = _NAME_CHARS) -> str:
    """Return a short name for statistics, without control characters."""
    value = text(document, name, needed=needed, most=most)
    if not is_name(value):
        raise refuse(f"{name} must be printable")
    return value


def model_of(document: dict[str, Any]) -> str:
    """Return the field `model`; empty if it is missing."""
    model = document.get("model")
    if type(model) is str and len(model) <= MAX_MODEL_CHARS and model.isascii() and model.isprintable():
        return model
    return name_of(document, "model", most=MAX_MODEL_CHARS)


def session_of(document: dict[str, Any]) -> str:
    """Return the field `sessionId`; empty if it is missing."""
    value = name_of(document, "sessionId")
    if value or document.get("sessionId") is None:
        return value
    raise refuse("sessionId must not be empty; leave it out or name a session")


def number(
    document: dict[str, Any], name: str, *, least: float = 0.0, most: float = math.inf, whole: bool = False
) -> float | None:
    """Return a number within bounds, or None if it is missing."""
    value: float | None = document.get(name)
    if value is None:
        return None
    if type(value) not in {int, float} or not math.isfinite(value) or not least <= value <= most:
        raise refuse(f"{name} must be a number from {least:g} to {most:g}")
    if whole and value != int(value):
        raise refuse(f"{name} must be a whole number")
    return value


def flag(document: dict[str, Any], name: str) -> bool | None:
    """Return true, false, or None if it is missing."""
    value = document.get(name)
    if value is not None and type(value) is not bool:
        raise refuse(f"{name} must be true or false")
    return value

"""Messages as JSON: what `google.protobuf.json_format` writes, several times as fast."""

import base64
import math
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import orjson
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

Writer: TypeAlias = Callable[[Any], Any]
_WHOLE = {
    FieldDescriptor.TYPE_INT64,
    FieldDescriptor.TYPE_UINT64,
    FieldDescriptor.TYPE_SINT64,
    FieldDescriptor.TYPE_FIXED64,
    FieldDescriptor.TYPE_SFIXED64,
}
_FRACTION = {FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT}
_fields: dict[Descriptor, dict[int, tuple[str, Writer | None]]] = {}  # message -> number of a field -> name, writer


def write_json(message: Message) -> str:
    """Return a message in the JSON mapping of proto3, without fields that have their default value."""
    return orjson.dumps(_object(message)).decode()


def _object(message: Message) -> dict[str, Any]:
    described: Any = message.DESCRIPTOR  # the stubs know two kinds of them
    fields = _fields.get(described)
    if fields is None:
        fields = _fields[described] = {field.number: (field.json_name, _writer(field)) for field in described.fields}
    written = {}
    for field, value in message.ListFields():
        name, write = fields[field.number]
        written[name] = value if write is None else write(value)
    return written


def _writer(field: FieldDescriptor) -> Writer | None:
    """Return what writes the value of a field; None for values that JSON has itself."""
    one = _value_writer(field)
    if field.is_repeated:
        return list if one is None else partial(_list, one)
    return one


def _value_writer(field: FieldDescriptor) -> Writer | None:
    if field.message_type is not None:
        return _object
    if field.enum_type is not None:
        return partial(_enum, {value.number: value.name for value in field.enum_type.values})
    if field.type in _WHOLE:
        return str
    if field.type in _FRACTION:
        return _fraction
    return _bytes if field.type == FieldDescriptor.TYPE_BYTES else None


def _list(writer: Writer, values: Any) -> list[Any]:
    return [writer(value) for value in values]


def _enum(names: dict[int, str], value: int) -> str | int:
    return names.get(value, value)


def _fraction(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _bytes(value: bytes) -> str:
    return base64.b64encode(value).decode()

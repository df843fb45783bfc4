"""The JSON schema of the frames, made from the messages' descriptors."""

from typing import Any, TypeAlias

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from tickmind.wire.v1 import door_pb2 as pb

JsonSchema: TypeAlias = dict[str, Any]
FRAMES: tuple[Any, ...] = (pb.SocketRequest.DESCRIPTOR, pb.SocketResponse.DESCRIPTOR)

_WHOLE: JsonSchema = {"type": "string", "pattern": "^-?(0|[1-9][0-9]{0,18})$"}
_NUMBER: JsonSchema = {"anyOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}]}
_SIGNED: JsonSchema = {"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1}
_UNSIGNED: JsonSchema = {"type": "integer", "minimum": 0, "maximum": 2**32 - 1}
_SCALARS: dict[int, JsonSchema] = {  # type of a field -> schema of its value
    FieldDescriptor.TYPE_BOOL: {"type": "boolean"},
    FieldDescriptor.TYPE_BYTES: {"type": "string", "contentEncoding": "base64"},
    FieldDescriptor.TYPE_DOUBLE: _NUMBER,
    FieldDescriptor.TYPE_FIXED32: _UNSIGNED,
    FieldDescriptor.TYPE_FIXED64: _WHOLE,
    FieldDescriptor.TYPE_FLOAT: _NUMBER,
    FieldDescriptor.TYPE_INT32: _SIGNED,
    FieldDescriptor.TYPE_INT64: _WHOLE,
    FieldDescriptor.TYPE_SFIXED32: _SIGNED,
    FieldDescriptor.TYPE_SFIXED64: _WHOLE,
    FieldDescriptor.TYPE_SINT32: _SIGNED,
    FieldDescriptor.TYPE_SINT64: _WHOLE,
    FieldDescriptor.TYPE_STRING: {"type": "string"},
    FieldDescriptor.TYPE_UINT32: _UNSIGNED,
    FieldDescriptor.TYPE_UINT64: _WHOLE,
}


def frame_schema() -> JsonSchema:
    """Return the JSON schema (2020-12) of all frames: `SocketRequest` goes up, `SocketResponse` comes down."""
    defined: dict[str, JsonSchema] = {}
    for frame in FRAMES:
        _define(frame, defined)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Frames of the WebSocket subprotocol tickmind.v1.json",
        "description": "SocketRequest goes up, SocketResponse comes down. A field that is left out has its default: "
        "0, false, an empty text or list, or the first value of an enum.",
        "anyOf": [{"$ref": f"#/$defs/{frame.name}"} for frame in FRAMES],
        "$defs": dict(sorted(defined.items())),
    }


def _define(message: Descriptor, defined: dict[str, JsonSchema]) -> None:
    """Add the schema of a message, and those of the messages in it."""
    if message.name in defined:
        return
    schema = defined[message.name] = {"type": "object", "additionalProperties": False}
    schema["properties"] = {field.json_name: _field(field, defined) for field in message.fields}
    chosen = [
        [field.json_name for field in oneof.fields] for oneof in message.oneofs if not oneof.name.startswith("_")
    ]  # the others are those of optional fields
    if chosen:
        schema["allOf"] = [_at_most_one(names) for names in chosen]


def _at_most_one(names: list[str]) -> JsonSchema:
    none: JsonSchema = {"not": {"anyOf": [{"required": [name]} for name in names]}}
    return {"oneOf": [none, *({"required": [name]} for name in names)]}


def _field(field: FieldDescriptor, defined: dict[str, JsonSchema]) -> JsonSchema:
    value = _value(field, defined)
    return {"type": "array", "items": value} if field.is_repeated else value


def _value(field: FieldDescriptor, defined: dict[str, JsonSchema]) -> JsonSchema:
    if field.message_type is not None:
        _define(field.message_type, defined)
        return {"$ref": f"#/$defs/{field.message_type.name}"}
    if field.enum_type is not None:
        return _enum(field.enum_type, defined)
    return dict(_SCALARS[field.type])


def _enum(enum: EnumDescriptor, defined: dict[str, JsonSchema]) -> JsonSchema:
    defined[enum.name] = {"enum": [value.name for value in enum.values]}
    return {"$ref": f"#/$defs/{enum.name}"}

"""What a WebSocket can carry, and how the JSON form of each field is read: for the writers of clients' tables."""

from collections.abc import Iterator

from google.protobuf.descriptor_pb2 import DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorSet

ROOTS = ("SocketRequest", "SocketResponse")
_F = FieldDescriptorProto
_LETTERS = {_F.TYPE_STRING: "s", _F.TYPE_BYTES: "b", _F.TYPE_BOOL: "f", _F.TYPE_DOUBLE: "r", _F.TYPE_FLOAT: "r"}


def carried(files: FileDescriptorSet) -> tuple[dict[str, DescriptorProto], dict[str, EnumDescriptorProto]]:
    """Return the messages and enums that `SocketRequest` and `SocketResponse` can hold, by their names in order."""
    messages = {message.name: message for file in files.file for message in file.message_type}
    enums = {enum.name: enum for file in files.file for enum in file.enum_type}
    wanted = _reachable(messages)
    return (
        {name: messages[name] for name in sorted(wanted & messages.keys())},
        {name: enums[name] for name in sorted(wanted & enums.keys())},
    )


def kind_of(field: FieldDescriptorProto) -> str:
    """Return how a field is read: s text, b bytes, f flag, i whole number, r fraction, e and its enum, or its message.

    A star before it is a list; with a question mark it stays out when it is left out.
    """
    match field.type:
        case _F.TYPE_MESSAGE:
            kind = type_name(field)
        case _F.TYPE_ENUM:
            kind = f"e{type_name(field)}"
        case _:
            kind = _LETTERS.get(field.type, "i")
    if is_list(field):
        return f"*{kind}"
    return f"?{kind}" if may_miss(field) else kind


def type_name(field: FieldDescriptorProto) -> str:
    """Return the name of a field's message or enum."""
    return field.type_name.rpartition(".")[2]


def is_list(field: FieldDescriptorProto) -> bool:
    """Whether a field holds any number of values."""
    return field.label == _F.LABEL_REPEATED


def may_miss(field: FieldDescriptorProto) -> bool:
    """Whether a field that is left out is not the same as one with its first value."""
    return not is_list(field) and (
        field.type == _F.TYPE_MESSAGE or field.HasField("oneof_index") or field.proto3_optional
    )


def _reachable(messages: dict[str, DescriptorProto]) -> set[str]:
    names, todo = set[str](), list(ROOTS)
    while todo:
        name = todo.pop()
        if name not in names:
            names.add(name)
            todo += list(_named_by(messages[name])) if name in messages else []
    return names


def _named_by(message: DescriptorProto) -> Iterator[str]:
    return (type_name(field) for field in message.field if field.type_name)

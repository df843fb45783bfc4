"""Write the TypeScript types of the schema's JSON form, from the descriptors that protoc makes of it.

`proto/generate.py` calls it. What a WebSocket carries is in it: all that `SocketRequest` and `SocketResponse` can hold.
"""

from collections.abc import Iterator

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorSet,
)

ROOTS = ("SocketRequest", "SocketResponse")
FIRST_LINE = "// The code that `make proto` writes from `proto/tickmind/v1`; do not edit it.\n"
_F = FieldDescriptorProto
_MESSAGE_FIELD = 2  # number of the fields in the descriptors' own schema
Comments = dict[tuple[int, ...], str]


def typescript(files: FileDescriptorSet) -> str:
    """Return the module: enums as unions, messages as interfaces, and the table by which answers are read."""
    messages: dict[str, tuple[DescriptorProto, Comments, tuple[int, ...]]] = {}
    enums: dict[str, tuple[EnumDescriptorProto, Comments, tuple[int, ...]]] = {}
    for file in files.file:
        comments = {
            tuple(place.path): " ".join(place.leading_comments.split()) for place in file.source_code_info.location
        }
        for number, message in enumerate(file.message_type):
            messages[message.name] = message, comments, (4, number)
        for number, enum in enumerate(file.enum_type):
            enums[enum.name] = enum, comments, (5, number)
    wanted = _reachable({name: message for name, (message, _, _) in messages.items()})
    lines = [FIRST_LINE]
    for name in sorted(wanted & enums.keys()):
        enum, comments, path = enums[name]
        lines += [f"/** {comments[path]} */", f"export type {name} ="]
        lines += [f'  | "{value.name}"' for value in enum.value]
        lines[-1] += ";\n"
    for name in sorted(wanted & messages.keys()):
        message, comments, path = messages[name]
        lines += [f"/** {comments[path]} */", f"export interface {name} {{"]
        for number, field in enumerate(message.field):
            lines.append(f"  /** {comments[(*path, _MESSAGE_FIELD, number)]} */")
            lines.append(f"  {field.json_name}{'?' if _may_miss(field) else ''}: {_type_of(field)};")
        lines.append("}\n")
    lines += [
        "/** Message -> field -> how its JSON is read: a letter, or the name of its message; * before it is a list. */",
        "export const FIELDS: Record<string, Record<string, string>> = {",
    ]
    for name in sorted(wanted & messages.keys()):
        kinds = ", ".join(f'{field.json_name}: "{_kind_of(field)}"' for field in messages[name][0].field)
        lines.append(f"  {name}: {{ {kinds} }}," if kinds else f"  {name}: {{}},")
    lines += ["};\n", "/** Enum -> its first value, which stands for one that is left out. */"]
    lines.append("export const FIRST_VALUES: Record<string, string> = {")
    lines += [f'  {name}: "{enums[name][0].value[0].name}",' for name in sorted(wanted & enums.keys())]
    lines.append("};")
    return "\n".join(lines) + "\n"


def _reachable(messages: dict[str, DescriptorProto]) -> set[str]:
    names, todo = set[str](), list(ROOTS)
    while todo:
        name = todo.pop()
        if name not in names:
            names.add(name)
            todo += list(_named_by(messages[name])) if name in messages else []
    return names


def _named_by(message: DescriptorProto) -> Iterator[str]:
    return (_last(field.type_name) for field in message.field if field.type_name)


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _is_list(field: FieldDescriptorProto) -> bool:
    return field.label == _F.LABEL_REPEATED


def _may_miss(field: FieldDescriptorProto) -> bool:
    """Whether a field that is left out is not the same as one with its first value."""
    return not _is_list(field) and (
        field.type == _F.TYPE_MESSAGE or field.HasField("oneof_index") or field.proto3_optional
    )


def _type_of(field: FieldDescriptorProto) -> str:
    match field.type:
        case _F.TYPE_MESSAGE | _F.TYPE_ENUM:
            name = _last(field.type_name)
        case _F.TYPE_STRING:
            name = "string"
        case _F.TYPE_BYTES:
            name = "Uint8Array"
        case _F.TYPE_BOOL:
            name = "boolean"
        case _:
            name = "number"
    return f"{name}[]" if _is_list(field) else name


def _kind_of(field: FieldDescriptorProto) -> str:
    """Return the letter of a field: s text, b bytes, f flag, n number, e and its enum, or its message.

    With a question mark it stays out when it is left out.
    """
    match field.type:
        case _F.TYPE_MESSAGE:
            kind = _last(field.type_name)
        case _F.TYPE_ENUM:
            kind = f"e{_last(field.type_name)}"
        case _F.TYPE_STRING:
            kind = "s"
        case _F.TYPE_BYTES:
            kind = "b"
        case _F.TYPE_BOOL:
            kind = "f"
        case _:
            kind = "n"
    if _is_list(field):
        return f"*{kind}"
    return f"?{kind}" if _may_miss(field) else kind

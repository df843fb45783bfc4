"""Write the TypeScript types of the schema's JSON form, from the descriptors that protoc makes of it.

`proto/generate.py` calls it. What a WebSocket carries is in it: all that `SocketRequest` and `SocketResponse` can hold.
"""

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorSet
from json_form import carried, is_list, kind_of, may_miss, type_name

FIRST_LINE = "// The code that `make proto` writes from `proto/tickmind/v1`; do not edit it.\n"
_F = FieldDescriptorProto
_MESSAGE_FIELD = 2  # number of the fields in the descriptors' own schema
Comments = dict[tuple[int, ...], str]


def typescript(files: FileDescriptorSet) -> str:
    """Return the module: enums as unions, messages as interfaces, and the table by which answers are read."""
    comments, paths = _comments(files)
    messages, enums = carried(files)
    lines = [FIRST_LINE]
    for name, enum in enums.items():
        lines += [f"/** {comments[name][paths[name]]} */", f"export type {name} ="]
        lines += [f'  | "{value.name}"' for value in enum.value]
        lines[-1] += ";\n"
    for name, message in messages.items():
        lines += [f"/** {comments[name][paths[name]]} */", f"export interface {name} {{"]
        for number, field in enumerate(message.field):
            lines.append(f"  /** {comments[name][(*paths[name], _MESSAGE_FIELD, number)]} */")
            lines.append(f"  {field.json_name}{'?' if may_miss(field) else ''}: {_type_of(field)};")
        lines.append("}\n")
    lines += [
        "/** Message -> field -> how its JSON is read: a letter, or the name of its message; * before it is a list. */",
        "export const FIELDS: Record<string, Record<string, string>> = {",
    ]
    for name, message in messages.items():
        kinds = ", ".join(f'{field.json_name}: "{kind_of(field)}"' for field in message.field)
        lines.append(f"  {name}: {{ {kinds} }}," if kinds else f"  {name}: {{}},")
    lines += ["};\n", "/** Enum -> its first value, which stands for one that is left out. */"]
    lines.append("export const FIRST_VALUES: Record<string, string> = {")
    lines += [f'  {name}: "{enum.value[0].name}",' for name, enum in enums.items()]
    lines.append("};")
    return "\n".join(lines) + "\n"


def _comments(files: FileDescriptorSet) -> tuple[dict[str, Comments], dict[str, tuple[int, ...]]]:
    """Return the comments of each message's or enum's file, and its own place there."""
    comments: dict[str, Comments] = {}
    paths: dict[str, tuple[int, ...]] = {}
    for file in files.file:
        in_file = {
            tuple(place.path): " ".join(place.leading_comments.split()) for place in file.source_code_info.location
        }
        named = [(4, number, one.name) for number, one in enumerate(file.message_type)]
        named += [(5, number, one.name) for number, one in enumerate(file.enum_type)]
        for kind, number, name in named:
            comments[name], paths[name] = in_file, (kind, number)
    return comments, paths


def _type_of(field: FieldDescriptorProto) -> str:
    match field.type:
        case _F.TYPE_MESSAGE | _F.TYPE_ENUM:
            name = type_name(field)
        case _F.TYPE_STRING:
            name = "string"
        case _F.TYPE_BYTES:
            name = "Uint8Array"
        case _F.TYPE_BOOL:
            name = "boolean"
        case _:
            name = "number"
    return f"{name}[]" if is_list(field) else name

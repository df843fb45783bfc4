"""Write the table by which the Godot add-on reads the schema's JSON form; `proto/generate.py` calls it."""

from google.protobuf.descriptor_pb2 import FileDescriptorSet
from json_form import carried, kind_of

FIRST_LINE = "# The code that `make proto` writes from `proto/tickmind/v1`; do not edit it.\n"


def gdscript(files: FileDescriptorSet) -> str:
    """Return the script, which Godot 3 and 4 read alike."""
    messages, enums = carried(files)
    lines = [
        FIRST_LINE,
        "# Message -> field -> how its JSON is read: s text, b bytes, f flag, i whole number, r fraction, e and its enum,",
        "# or the name of its message. A star before it is a list; with a question mark it stays out when it is left out.",
        "const FIELDS = {",
    ]
    for name, message in messages.items():
        kinds = [f'\t\t"{field.json_name}": "{kind_of(field)}",' for field in message.field]
        lines += [f'\t"{name}": {{', *kinds, "\t},"] if kinds else [f'\t"{name}": {{}},']
    lines += ["}", "", "# Enum -> its first value, which stands for one that is left out.", "const FIRST_VALUES = {"]
    lines += [f'\t"{name}": "{enum.value[0].name}",' for name, enum in enums.items()]
    return "\n".join([*lines, "}"]) + "\n"

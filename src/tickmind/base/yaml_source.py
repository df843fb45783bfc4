"""YAML that knows where everything stands, so that a mistake can be shown by line and column.

Plain words are read as YAML 1.2's core does: `no` and `on` are words, `12:30` is a text, `012` is twelve.
"""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tickmind.base.limits import Limit
from tickmind.base.secret import redact

if TYPE_CHECKING:
    import yaml

Path = tuple[str | int, ...]  # keys and indexes from the root

MAX_FILE_BYTES = Limit("size of the configuration file", 1_000_000, "bytes")
MAX_NODES = Limit("number of values in the configuration file", 50_000)
MAX_DEPTH = Limit("nesting of the configuration file", 20, "levels")

_LONGEST_KEY = 40  # characters of a key in a message
_CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?[0-9][0-9_]{0,30}")
_NUMBER = re.compile(r"[-+]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][-+]?[0-9]{1,2})?")


@dataclass(frozen=True, slots=True)
class SourcePosition:
    """A spot in a file; both count from 1, as editors do."""

    line: int
    column: int


class YamlError(ValueError):
    """The text can't be read; `place` says where."""

    def __init__(self, message: str, place: SourcePosition | None = None, path: Path = ()) -> None:
        super().__init__(redact(message))
        self.place = place
        self.path = path


@dataclass(frozen=True, slots=True)
class Document:
    """What a file says, and where: `keys` are the places of a mapping's keys, `values` those of all values."""

    value: Any
    keys: dict[Path, SourcePosition] = field(default_factory=dict)
    values: dict[Path, SourcePosition] = field(default_factory=dict)

    def place(self, path: Path, *, of_key: bool = False) -> SourcePosition | None:
        """Where a value stands (or the key before it); of one that is not there, where it would belong."""
        if of_key and path in self.keys:
            return self.keys[path]
        while path and path not in self.values:
            path = path[:-1]
        return self.values.get(path)


def read_yaml(text: str) -> Document:
    """Read one YAML document; raises `YamlError` or `LimitExceededError`. An empty file is an empty mapping."""
    import yaml  # heavy

    MAX_FILE_BYTES.check(len(text))
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = error.problem or "it can't be read"
        hint = "; indent with blanks, not with tabs" if "'\\t'" in what else ""
        raise YamlError(f"this is no valid YAML: {what}{hint}", _place(mark) if mark else None) from None
    except (yaml.YAMLError, RecursionError) as error:
        what = "it is nested too deeply" if isinstance(error, RecursionError) else "it holds an unreadable character"
        raise YamlError(f"this is no valid YAML: {what}") from None
    if root is None:
        return Document({})
    builder = _Builder()
    return Document(builder.build(root, ()), builder.keys, builder.values)


def _place(mark: "yaml.Mark") -> SourcePosition:
    return SourcePosition(mark.line + 1, mark.column + 1)


class _Builder:
    """Turns nodes into plain values and notes the places."""

    def __init__(self) -> None:
        self.keys: dict[Path, SourcePosition] = {}
        self.values: dict[Path, SourcePosition] = {}

    def build(self, node: "yaml.Node", path: Path) -> Any:
        import yaml

        place = _place(node.start_mark)
        self.values[path] = place
        MAX_NODES.check(len(self.values))  # what aliases repeat counts each time
        MAX_DEPTH.check(len(path))
        if isinstance(node, yaml.ScalarNode):
            if _is_tagged(node):
                raise YamlError("tags (!name) are not read; write the value itself", place, path)
            return node.value if node.style else _plain(node.value)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key_place = _place(key_node.start_mark)
            if not isinstance(key_node, yaml.ScalarNode):
                raise YamlError("a setting's name must be a simple word", key_place, path)
            key = key_node.value
            if key in found:
                first = self.keys[*path, key]
                raise YamlError(said_twice(key, first.line), key_place)
            self.keys[*path, key] = key_place
            found[key] = self.build(value_node, (*path, key))
        return found


def said_twice(key: str, first_line: int) -> str:
    """Return the message about a key that a mapping has twice; every reader of YAML uses this one."""
    shown = key if len(key) <= _LONGEST_KEY else f"{key[: _LONGEST_KEY - 3]}..."
    return f"the key {shown!r} stands here twice, first in line {first_line}; keep one"


def _is_tagged(node: "yaml.ScalarNode") -> bool:
    """Return whether the text has a tag: those that the resolver adds are all standard, and so is `!!str`."""
    return not node.tag.startswith("tag:yaml.org,2002:")


def _plain(text: str) -> Any:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.fullmatch(text):
        return int(text.replace("_", ""))
    if _NUMBER.fullmatch(text):
        return float(text)
    return text

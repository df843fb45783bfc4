"""YAML as a tree that knows its lines: no aliases, no tags, no surprises, and every complaint has a place."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn, ParamSpec, TypeAlias, TypeVar

import yaml

from tickmind.base import Limit
from tickmind.base.problems import Problem, nearest
from tickmind.base.yaml_source import SourcePosition as Spot
from tickmind.base.yaml_source import said_twice
from tickmind.world.errors import ScenarioError
from tickmind.world.scenario.limits import MAX_DEPTH, MAX_NAME_CHARS, MAX_SCENARIO_BYTES

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TRUE = {"true": True, "false": False}
_PLAIN = re.compile(r"[-+]?\.?[0-9][0-9.eE+-]*|true|false|")  # what is no text: numbers, truth values and nothing
P = ParamSpec("P")
T = TypeVar("T")


class YamlText:
    """A text that is being read, and what was found to be wrong with it so far.

    Problems of a file that belongs to another text are noted there, with the name of the file.
    """

    def __init__(self, name: str, part_of: "YamlText | None" = None) -> None:
        self.name = name
        self.problems: list[Problem] = [] if part_of is None else part_of.problems
        self._file = "" if part_of is None else name

    def problem(self, message: str, spot: Spot | None = None) -> Problem:
        """What is wrong with it."""
        return Problem((), message, spot, self._file)

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Note what is wrong with a part of the text, so that the next part is read all the same."""
        try:
            yield
        except ScenarioError as error:
            self.problems += error.problems

    def part(self, instead: T, read: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Read a part, or note what is wrong with it and go on with something else."""
        try:
            return read(*args, **kwargs)
        except ScenarioError as error:
            self.problems += error.problems
            return instead


@dataclass(frozen=True, slots=True)
class NodePosition:
    """Where in which text something stands; line and column count from 1."""

    source: YamlText
    line: int
    column: int

    def problem(self, message: str) -> Problem:
        """What is wrong here."""
        return self.source.problem(message, Spot(self.line, self.column))

    def east(self, columns: int) -> "NodePosition":
        """The place some columns further on in the same line."""
        return NodePosition(self.source, self.line, self.column + columns)

    def fail(self, message: str) -> NoReturn:
        """Raise the error that names this place."""
        raise ScenarioError(self.source.name, [self.problem(message)])

    def note(self, message: str) -> None:
        """Note what is wrong here, and go on."""
        self.source.problems.append(self.problem(message))


@dataclass(frozen=True, slots=True)
class Leaf:
    """A single value as it is written."""

    place: NodePosition
    text: str
    plain: bool  # without quotes, so that it may be a number or a truth value

    def name(self) -> str:
        """The value as a name: some characters, without control characters."""
        if not self.text or not self.text.isprintable() or not MAX_NAME_CHARS.allows(len(self.text)):
            self.place.fail(f"expected a name of 1 to {MAX_NAME_CHARS.maximum} printable characters")
        return self.text

    def integer(self, least: int, most: Limit | int) -> int:
        """The value as a whole number within bounds."""
        top = int(most.maximum if isinstance(most, Limit) else most)
        try:
            value = int(self.text) if self.plain and len(self.text) <= 20 and "_" not in self.text else None
        except ValueError:
            value = None
        if value is None or not least <= value <= top:
            self.place.fail(f"expected a whole number from {least} to {top}, found {_short(self.text)}")
        return value

    def truth(self) -> bool:
        """The value as true or false."""
        if not self.plain or self.text not in _TRUE:
            self.place.fail(f"expected true or false, found {_short(self.text)}")
        return _TRUE[self.text]

    def one_of(self, *names: str) -> str:
        """The value as one of some words."""
        if self.text not in names:
            self.place.fail(f"expected one of {', '.join(names)}; found {_short(self.text)}")
        return self.text


@dataclass(frozen=True, slots=True)
class Many:
    """A list."""

    place: NodePosition
    items: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class YamlMapping:
    """A mapping. Take what is known out of it with the methods, then call `nothing_but`."""

    place: NodePosition
    entries: dict[str, "Node"]
    keys: dict[str, NodePosition]

    def nothing_but(self, *names: str) -> None:
        """Note every key that is none of these."""
        for key, place in self.keys.items():
            if key not in names:
                place.note(f"unknown key {_short(key)}{nearest(key, names)}; known here: {', '.join(sorted(names))}")

    def get(self, key: str) -> "Node | None":
        """The value of a key, if it is there."""
        return self.entries.get(key)

    def need(self, key: str) -> "Node":
        """The value of a key that must be there."""
        found = self.entries.get(key)
        if found is None:
            self.place.fail(f"the key {key!r} is missing")
        return found

    def named(self) -> Iterator[tuple[str, NodePosition, "Node"]]:
        """All entries; the keys must be good names."""
        for key, value in self.entries.items():
            place = self.keys[key]
            if name := place.source.part("", Leaf(place, key, plain=False).name):
                yield name, place, value

    def integer(self, key: str, default: int, least: int, most: Limit | int) -> int:
        """A whole number, or its default, also where something else is noted to be wrong."""
        return self._value(key, default, lambda found: leaf(found).integer(least, most))

    def truth(self, key: str, default: bool) -> bool:
        """True or false, or its default, in the same way."""
        return self._value(key, default, lambda found: leaf(found).truth())

    def name(self, key: str, default: str) -> str:
        """A name, or its default, in the same way."""
        return self._value(key, default, lambda found: leaf(found).name())

    def names(self, key: str) -> tuple[str, ...]:
        """A list of names, empty if it is not there, in the same way."""
        return self._value(key, (), lambda found: tuple(leaf(item).name() for item in many(found).items))

    def one_of(self, key: str, default: str, *names: str) -> str:
        """One of some words, or its default, in the same way."""
        return self._value(key, default, lambda found: leaf(found).one_of(*names))

    def _value(self, key: str, default: T, read: "Callable[[Node], T]") -> T:
        found = self.entries.get(key)
        return default if found is None else self.place.source.part(default, read, found)


Node: TypeAlias = Leaf | Many | YamlMapping


def leaf(node: Node) -> Leaf:
    """The node as a single value, or an error that says what it is instead."""
    if not isinstance(node, Leaf):
        node.place.fail(f"expected a single value, found {_what(node)}")
    return node


def many(node: Node) -> Many:
    """The node as a list."""
    if not isinstance(node, Many):
        node.place.fail(f"expected a list, found {_what(node)}")
    return node


def table(node: Node) -> YamlMapping:
    """The node as a mapping; nothing at all is an empty one."""
    if isinstance(node, Leaf) and node.plain and not node.text:
        return YamlMapping(node.place, {}, {})
    if not isinstance(node, YamlMapping):
        node.place.fail(f"expected a mapping of keys to values, found {_what(node)}")
    return node


def read_tree(
    text: str, source: str, part_of: YamlText | None = None, *, begins: str = "a scenario begins with `world: NAME`"
) -> YamlMapping:
    """The one document of a YAML text. Raises `ScenarioError` with the place of what is wrong."""
    read = YamlText(source, part_of)
    if not MAX_SCENARIO_BYTES.allows(len(text)):
        raise ScenarioError(source, [read.problem(f"larger than {MAX_SCENARIO_BYTES.maximum} bytes")])
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ScenarioError(source, [read.problem("half a surrogate pair is no character")]) from None
    builder = _Builder(read)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        spot = Spot(mark.line + 1, mark.column + 1) if mark else None
        message = f"this is no YAML: {error.problem or error.context}"
        raise ScenarioError(source, [read.problem(message, spot)]) from error
    except yaml.YAMLError as error:
        raise ScenarioError(source, [read.problem(f"this is no YAML: {error}")]) from error
    if not builder.documents:
        raise ScenarioError(source, [read.problem(f"the file is empty; {begins}")])
    if len(builder.documents) != 1:
        NodePosition(read, 1, 1).fail(f"expected one document, found {len(builder.documents)}")
    return table(builder.documents[0])


def flow_text(node: Node) -> str:
    """Write a node in a single line that reads the same."""
    if isinstance(node, Leaf):
        return node.text if node.plain and _PLAIN.fullmatch(node.text) else quoted(node.text)
    if isinstance(node, Many):
        return f"[{', '.join(map(flow_text, node.items))}]"
    return "{" + ", ".join(f"{quoted(key)}: {flow_text(value)}" for key, value in node.entries.items()) + "}"


def quoted(text: str) -> str:
    """Write a text as a single value in quotes, whatever characters are in it."""
    return '"' + "".join(_escaped(sign) for sign in text) + '"'


def _escaped(sign: str) -> str:
    if sign in '"\\':
        return f"\\{sign}"
    return sign if sign.isprintable() else f"\\U{ord(sign):08x}"


def with_value(text: str, path: tuple[str, ...], value: str) -> str:
    """Return the text of a mapping that was read before, with another value at a path of keys."""
    text = text.removeprefix("\ufeff")  # which the parser does not count
    node: Any = yaml.compose(text, Loader=_LOADER)
    for key in path:
        node = next(found for name, found in node.value if name.value == key)
    is_block = isinstance(node, yaml.CollectionNode) and not node.flow_style
    after = "\n" if is_block else ""  # a block ends where the next line begins
    return f"{text[: node.start_mark.index]}{value}{after}{text[node.end_mark.index :]}"


class _Builder:
    """Puts events together to a tree."""

    def __init__(self, source: YamlText) -> None:
        self.documents: list[Node] = []
        self._source = source
        self._open: list[
            tuple[NodePosition, list[Leaf | Node], bool]
        ] = []  # position, children with keys, is it a mapping

    def take(self, event: Any) -> None:
        mark = event.start_mark
        place = NodePosition(self._source, mark.line + 1, mark.column + 1)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            place.fail("anchors and aliases are not read; write the value out")
        if getattr(event, "tag", None) is not None:
            place.fail("tags are not read; write the plain value")
        if isinstance(event, yaml.ScalarEvent):
            self._add(Leaf(place, event.value, plain=not event.style))
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            if not MAX_DEPTH.allows(len(self._open) + 1):
                place.fail(f"nested more than {MAX_DEPTH.maximum} deep")
            self._open.append((place, [], isinstance(event, yaml.MappingStartEvent)))
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            began, children, mapping = self._open.pop()
            self._add(_as_table(began, children) if mapping else Many(began, tuple(children)))

    def _add(self, node: Node) -> None:
        if self._open:
            self._open[-1][1].append(node)
        else:
            self.documents.append(node)


def _as_table(place: NodePosition, children: list[Node]) -> YamlMapping:
    entries: dict[str, Node] = {}
    keys: dict[str, NodePosition] = {}
    for key, value in zip(children[::2], children[1::2], strict=True):
        if not isinstance(key, Leaf):
            key.place.fail(f"expected a word as key, found {_what(key)}")
        if key.text in entries:
            key.place.note(said_twice(key.text, keys[key.text].line))
            continue
        entries[key.text] = value
        keys[key.text] = key.place
    return YamlMapping(place, entries, keys)


def _what(node: Node) -> str:
    if isinstance(node, Leaf):
        return _short(node.text) if node.text else "nothing"
    return "a list" if isinstance(node, Many) else "a mapping"


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")

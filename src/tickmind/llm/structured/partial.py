"""`PartialReader`: reads an object as it arrives, each field as soon as it is complete, however the stream is cut.

Only final values are given out: a field counts when the next one begins, and only if it is spelled as declared,
well-formed, and valid by its own schema. Everything else comes with the whole reply, which `read_reply` reads.
"""

import re
from collections.abc import Callable
from enum import Enum, auto
from typing import Any, Generic, TypeVar

from tickmind.llm.streaming.thinking import LONGEST_TAG, tag_at_end
from tickmind.llm.structured.coerce import shape
from tickmind.llm.structured.read import ReadReply, read_reply
from tickmind.llm.structured.readers.field_names import Spelling, spelling
from tickmind.llm.structured.readers.json_reader import strict_json
from tickmind.llm.structured.readers.limits import MAX_DEPTH, MAX_REPLY_CHARS
from tickmind.llm.structured.readers.repair import Form
from tickmind.llm.structured.readers.yaml_reader import NotYamlError, read_yaml
from tickmind.llm.structured.schema import ReplySchema

T = TypeVar("T")
CompletedField = tuple[str, Any]

_KEY_LINE = re.compile(r"([A-Za-z_][\w-]{0,63}):(?:[ \t]|$)")
_LONGEST_LINE = 4096
_SPACES = " \t\r\n"


class _Mode(Enum):
    SEEK = auto()  # before an object
    THINK = auto()
    KEY = auto()  # in an object, a key or its end is next
    IN_KEY = auto()
    COLON = auto()
    VALUE = auto()
    YAML = auto()


class PartialReader(Generic[T]):
    """Read the pieces of a streamed reply; `data` holds the completed fields so far.

    A later object replaces an earlier one, as in a whole reply. `finish` reads the reply as a whole.

        >>> reader = PartialReader(ReplySchema.of(["goal", "why"]))
        >>> _ = reader.feed('{"goal": "rest", "why": "I am ti')
        >>> reader.data
        {'goal': 'rest'}
    """

    def __init__(self, schema: ReplySchema[T], *, form: Form = "any") -> None:
        self._schema = schema
        self._form: Form = form
        self._names = {field.name for field in schema.fields}
        self._pieces: list[str] = []
        self._size = 0
        self._mode = _Mode.SEEK
        self._line: list[str] = []  # characters of the line that is not yet whole
        self._key: list[str] = []
        self._value: list[str] = []
        self._section: list[str] = []  # whole lines of the YAML field that is not yet whole
        self._brackets = 0
        self._in_string = False
        self._escaped = False
        self._done: list[CompletedField] = []
        self._data: dict[str, Any] = {}
        self._steps: dict[_Mode, Callable[[str], None]] = {
            _Mode.SEEK: self._seek,
            _Mode.THINK: self._think,
            _Mode.KEY: self._before_key,
            _Mode.IN_KEY: self._in_key,
            _Mode.COLON: self._colon,
            _Mode.VALUE: self._in_value,
            _Mode.YAML: self._yaml,
        }

    @property
    def data(self) -> dict[str, Any]:
        """The fields that are complete."""
        return dict(self._data)

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._pieces)

    def feed(self, piece: str) -> tuple[CompletedField, ...]:
        """Add a piece and return the fields that it completed, in order."""
        self._pieces.append(piece)
        self._size += len(piece)
        if not MAX_REPLY_CHARS.allows(self._size):
            return ()
        for char in piece:
            self._steps[self._mode](char)
        done, self._done = tuple(self._done), []
        return done

    def finish(self, *, cut: bool = False) -> ReadReply[T]:
        """Read the whole reply, typed; raises `StructuredOutputError` as `read_reply` does."""
        return read_reply(self.text, self._schema, form=self._form, cut=cut)

    def _complete(self, key: str, value: Any) -> None:
        """Give out a field, unless its key or value may mean something else in the whole object."""
        if key not in self._names and any(spelling(key, name) for name in self._names):
            return
        shaped = shape({key: value}, [field for field in self._schema.fields if field.name == key])
        for name, fitting in shaped.data.items():
            if (self._schema.closed and name not in self._names) or not self._schema.fits(name, fitting):
                continue
            self._data[name] = fitting
            self._done.append((name, fitting))

    def _seek(self, char: str) -> None:
        if char == "{" and self._form != "yaml":
            self._mode, self._line = _Mode.KEY, []
            return
        if char != "\n":
            self._line.append(char)
            if char == ">":
                self._tag()
            if len(self._line) > _LONGEST_LINE:
                del self._line[:-LONGEST_TAG]
            return
        line, self._line = "".join(self._line), []
        if self._form != "json" and self._starts_field(line, within=False):
            self._data = {}
            self._section = [line]
            self._mode = _Mode.YAML

    def _tag(self) -> None:
        tag = tag_at_end("".join(self._line[-LONGEST_TAG:]))
        if tag == "open":
            self._mode, self._line = _Mode.THINK, []
        elif tag == "close":  # all before it was thinking
            self._data, self._line = {}, []

    def _think(self, char: str) -> None:
        self._line.append(char)
        if char == ">" and tag_at_end("".join(self._line[-LONGEST_TAG:])) == "close":
            self._mode, self._line = _Mode.SEEK, []
        elif len(self._line) > _LONGEST_LINE:
            del self._line[:-LONGEST_TAG]

    def _before_key(self, char: str) -> None:
        if char in _SPACES or char == ",":
            return
        if char == '"':
            self._mode, self._key = _Mode.IN_KEY, ['"']
        else:  # the end, or an error that only the whole reading can repair
            self._mode = _Mode.SEEK

    def _in_key(self, char: str) -> None:
        self._key.append(char)
        if self._escaped:
            self._escaped = False
        elif char == "\\":
            self._escaped = True
        elif char == '"':
            self._mode = _Mode.COLON

    def _colon(self, char: str) -> None:
        if char == ":":
            self._mode, self._value = _Mode.VALUE, []
            self._brackets, self._in_string = 0, False
        elif char not in _SPACES:
            self._mode = _Mode.SEEK

    def _in_value(self, char: str) -> None:
        if self._in_string:
            self._value.append(char)
            if self._escaped:
                self._escaped = False
            elif char == "\\":
                self._escaped = True
            elif char == '"':
                self._in_string = False
            return
        if self._brackets == 0 and char in ",}":
            self._end_value(char)
            return
        self._value.append(char)
        if char == '"':
            self._in_string = True
        elif char in "{[":
            self._brackets += 1
            if not MAX_DEPTH.allows(self._brackets):
                self._mode = _Mode.SEEK
        elif char in "}]":
            self._brackets -= 1

    def _end_value(self, char: str) -> None:
        self._mode = _Mode.SEEK
        pair = strict_json("{" + "".join(self._key) + ":" + "".join(self._value) + "}")
        if not isinstance(pair, dict) or len(pair) != 1:
            return
        key, value = next(iter(pair.items()))
        if key in self._data:  # another object has begun, or the key stands there twice: the last one counts
            del self._data[key]
        self._complete(key, value)
        self._mode = _Mode.KEY if char == "," else _Mode.SEEK

    def _starts_field(self, line: str, *, within: bool) -> bool:
        hit = _KEY_LINE.match(line)
        return hit is not None and (within or any(spelling(hit[1], name) is Spelling.EXACT for name in self._names))

    def _yaml(self, char: str) -> None:
        if char != "\n":
            self._line.append(char)
            return
        line, self._line = "".join(self._line), []
        if line.startswith(("```", "~~~", "---", "...")):
            self._end_section()
            self._mode = _Mode.SEEK
        elif self._starts_field(line, within=True):
            self._end_section()
            self._section = [line]
        else:
            self._section.append(line)

    def _end_section(self) -> None:
        lines, self._section = self._section, []
        try:
            documents = read_yaml("\n".join(lines) + "\n")
        except NotYamlError:
            return
        if len(documents) == 1 and isinstance(documents[0], dict) and len(documents[0]) == 1:
            key, value = next(iter(documents[0].items()))
            self._complete(key, value)

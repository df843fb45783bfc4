"""From a reply to the Blackboard. A parser works on a copy; only if it succeeds, what it changed is taken over."""

import copy
import importlib
import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from typing import Any, TypeAlias

from tickmind.ai import Blackboard
from tickmind.base import Limit, LimitExceededError
from tickmind.llm import StructuredOutputError, read_reply
from tickmind.llm.structured import ReplySchema
from tickmind.llm.structured.json_reader import checked_json
from tickmind.strategy.errors import ParseError

ParserFn: TypeAlias = Callable[[str, Blackboard], None]

MAX_REPLY_CHARS = Limit("length of a reply", 200_000, "characters")
MAX_DEPTH = Limit("nesting of what a reply puts on the Blackboard", 52, "levels")  # a snapshot takes some more
_FENCE = "```"
_LANGUAGE = re.compile(r"\A[ \t]*[A-Za-z][\w+-]*")  # behind an opening fence
_ABSENT: Any = object()
_COLLECTIONS = frozenset({dict, list, tuple, set, deque})  # that are copied


@dataclass(frozen=True, slots=True)
class Declared:
    """What a reply may contain, as a role or a parser declares it. Nothing else reaches the Blackboard."""

    keys: frozenset[str] | None = None  # top-level keys of the Blackboard that may change
    schema: Mapping[str, Any] | None = None  # JSON schema of the reply
    form: ReplySchema[Any] | None = None  # the same, ready for use

    def allows(self, name: str) -> bool:
        """Whether a field of the reply may become a key of the Blackboard."""
        if self.form is not None and all(field.name != name for field in self.form.fields):
            return False
        return self.keys is None or name in self.keys


def declare(keys: Iterable[str] | None, schema: Mapping[str, Any] | None) -> Declared:
    """Take in what somebody declares; a schema that is wrong is refused here and now."""
    form = None if schema is None else ReplySchema.of(schema)
    return Declared(None if keys is None else frozenset(keys), schema, form)


def default_json_parser(response: str, blackboard: Blackboard) -> None:
    """Merge the JSON object of a reply into the Blackboard; code fences around it are fine."""
    blackboard.data.update(read_object(response))


def read_object(response: str) -> dict[str, Any]:
    """The JSON object of a reply, fenced or not."""
    try:
        MAX_REPLY_CHARS.check(len(response))
        found = checked_json(_unfenced(response.strip()))
    except (ValueError, LimitExceededError) as error:
        raise ParseError(f"the reply is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise ParseError(f"the reply is JSON, but a {type(found).__name__} and not an object")
    return found


def _unfenced(text: str) -> str:
    """What stands between code fences, if there are any; a closing one may be missing."""
    if text.startswith("{") or _FENCE not in text:
        return text
    inside = text.split(_FENCE, 1)[1].rsplit(_FENCE, 1)[0]
    return _LANGUAGE.sub("", inside, count=1)


def make_directive_parser(
    schema: Any, *, namespace: str = "strategy", handlers: Mapping[str, Callable[[Any, Blackboard], None]] | None = None
) -> "DirectiveParser":
    """A parser for replies of a declared form: see `DirectiveParser`."""
    importlib.import_module("yaml")  # an untidy reply needs it, and the tick in which one comes must not wait for it
    form = ReplySchema.of(schema)
    form.prepare()
    return DirectiveParser(form, namespace, dict(handlers or {}))


@dataclass(frozen=True)
class DirectiveParser:
    """Reads a reply tolerantly as the declared object and puts it under one key of the Blackboard.

    The schema is a pydantic model, a dataclass, a JSON schema or a list of field names. A handler for a field gets its
    value and the Blackboard instead, for instance to check that a target exists; with streamed fields it may be called
    again for the whole reply.
    """

    schema: ReplySchema[Any]
    namespace: str = "strategy"
    handlers: Mapping[str, Callable[[Any, Blackboard], None]] | None = None

    @cached_property
    def json_schema(self) -> Mapping[str, Any]:
        """The form to ask a model for."""
        return self.schema.json_schema()

    def __call__(self, response: str, blackboard: Blackboard) -> None:
        """Read and write."""
        try:
            found = read_reply(response, self.schema).data
        except StructuredOutputError as error:
            raise ParseError(str(error)) from error
        self.take(found, blackboard)

    def take(self, found: Mapping[str, Any], blackboard: Blackboard) -> None:
        """Write some fields, all at the end or each as it arrives; what is not declared is left out."""
        handlers = self.handlers or {}
        known = {field.name: found[field.name] for field in self.schema.fields if field.name in found}
        plain = {name: value for name, value in known.items() if name not in handlers}
        if plain:
            blackboard.data[self.namespace] = {**blackboard.data.get(self.namespace, {}), **plain}
        for name, value in known.items():
            if name in handlers:
                handlers[name](value, blackboard)


def parse_into(
    response: str, blackboard: Blackboard, parser: ParserFn, declared: Declared, data: Any = None
) -> dict[str, Any]:
    """Run a parser on a copy and take over what it changed; returns a copy of that. On an error nothing has changed.

    `data` is what the client has read in the reply, if it has; it counts in the place of the text.
    """
    MAX_REPLY_CHARS.check(len(response))
    found: dict[str, Any] = {}
    if data is not None:
        found = _own_object(data)
    elif parser is default_json_parser or declared.form is not None:
        found = read_object(response)
    if declared.form is not None:
        _check(found, declared.form)
    worked_on = Blackboard(plain_copy(blackboard.data))
    if parser is default_json_parser:
        worked_on.data.update((name, value) for name, value in found.items() if declared.allows(name))
    elif isinstance(parser, DirectiveParser) and data is not None:
        _check(found, parser.schema)
        parser.take(found, worked_on)
    elif data is not None and declared.form is not None:
        parser(json.dumps(found, ensure_ascii=False), worked_on)
    else:
        parser(response, worked_on)
    return _take_over(worked_on, blackboard, declared)


def _own_object(data: Any) -> dict[str, Any]:
    """A copy of what a client has read, for others may get the very same."""
    if not isinstance(data, Mapping):
        raise ParseError(f"what the client read in the reply is a {type(data).__name__} and not an object")
    return {str(name): plain_copy(value, levels=int(MAX_DEPTH.maximum)) for name, value in data.items()}


class Streamed:
    """Fields of a reply that is still coming, on one Blackboard, and what stood there before.

    When the whole reply is there, or will never be, they are put back, and the reply counts as if nothing had come
    before it. What somebody else has changed meanwhile is left alone.
    """

    def __init__(self, blackboard: Blackboard) -> None:
        self.blackboard = blackboard
        self._before: dict[str, Any] = {}  # key -> its value before any field came
        self._written: dict[str, tuple[Any, Any]] = {}  # key -> what a field made of it, and a copy of that

    def take(self, name: str, value: Any, parser: ParserFn, declared: Declared) -> None:
        """Take in a field: only a declared one that fits its own schema, and only by parsers that know fields."""
        directives = parser if isinstance(parser, DirectiveParser) else None
        forms = (declared.form, directives.schema if directives is not None else None)
        if not all(form is None or form.fits(name, value) for form in forms):
            return
        board = self.blackboard
        worked_on = Blackboard(plain_copy(board.data))
        if directives is not None:
            directives.take({name: value}, worked_on)
        elif parser is default_json_parser and declared.form is not None and declared.allows(name):
            worked_on.data[name] = value
        before = dict(board.data)
        changed = _take_over(worked_on, board, declared)
        for key in {*changed, *(before.keys() - board.data.keys())}:
            old = before.get(key, _ABSENT)
            if key not in self._written or self._written[key][0] is not old:  # somebody else's
                self._before[key] = old
            self._written[key] = (board.data.get(key, _ABSENT), changed.get(key, _ABSENT))

    def put_back(self) -> None:
        """Have the Blackboard be as it was before the first field."""
        data = self.blackboard.data
        for key, old in self._before.items():
            value, copied = self._written[key]
            if data.get(key, _ABSENT) is not value or _differs(copied, value):
                continue
            if old is _ABSENT:
                self.blackboard.delete(key, who="strategy")
            else:
                self.blackboard.set(key, old, who="strategy")
        self._before.clear()
        self._written.clear()


def _check(found: Mapping[str, Any], form: ReplySchema[Any]) -> None:
    try:
        form.validate(dict(found))
    except StructuredOutputError as error:
        raise ParseError(f"the reply does not fit its schema: {error}") from error


def _take_over(worked_on: Blackboard, blackboard: Blackboard, declared: Declared) -> dict[str, Any]:
    """Commit what differs, as far as the declared keys go; returns a copy of what has a new value."""
    old, new = blackboard.data, worked_on.data
    changed = {key: value for key, value in new.items() if key not in old or _differs(old[key], value)}
    gone = [key for key in old if key not in new]
    if declared.keys is not None:
        changed = {key: value for key, value in changed.items() if key in declared.keys}
        gone = [key for key in gone if key in declared.keys]
    told = {key: plain_copy(value, levels=int(MAX_DEPTH.maximum)) for key, value in changed.items()}
    for key, value in changed.items():
        blackboard.set(key, value, who="strategy")
    for key in gone:
        blackboard.delete(key, who="strategy")
    return told


def _differs(old: Any, new: Any) -> bool:
    if old is new:
        return False
    try:
        return type(old) is not type(new) or bool(old != new)
    except Exception:  # noqa: BLE001  values such as arrays can't tell, so the new one counts
        return True


def plain_copy(value: Any, *, levels: int | None = None) -> Any:
    """A copy of the built-in collections and dataclasses in a value; everything else is shared.

    Raises `ParseError` if they are nested more than `levels` deep.
    """
    kind = type(value)
    is_record = kind not in _COLLECTIONS and is_dataclass(kind) and kind.__eq__ is not object.__eq__
    if kind not in _COLLECTIONS and not is_record:  # a dataclass without equality is known by its identity
        return value
    if levels is not None:
        if not levels:
            raise ParseError(f"what the reply changes is nested more than {MAX_DEPTH.maximum} levels deep")
        levels -= 1
    if kind is dict:
        return {key: plain_copy(item, levels=levels) for key, item in value.items()}
    if kind is set:
        return set(value)
    if kind is deque:
        return deque((plain_copy(item, levels=levels) for item in value), value.maxlen)
    if is_record:
        made = copy.copy(value)
        for field in fields(kind):
            object.__setattr__(made, field.name, plain_copy(getattr(value, field.name), levels=levels))
        return made
    return kind(plain_copy(item, levels=levels) for item in value)

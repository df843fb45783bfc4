"""Parsers: put a reply on the Blackboard. A parser works on a copy, which is applied only if it succeeds."""

import importlib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from tickmind.ai import Blackboard
from tickmind.base import ConfigError, Limit, LimitExceededError
from tickmind.llm import StructuredOutputError, read_reply
from tickmind.llm.structured import ReplySchema
from tickmind.llm.structured.readers.json_reader import checked_json
from tickmind.strategy.errors import ParseError
from tickmind.strategy.functions import refuse_coroutine
from tickmind.strategy.replies.drafts import MAX_DEPTH, Draft, copied, own_object

ParserFn: TypeAlias = Callable[[str, Blackboard], object]

MAX_REPLY_CHARS = Limit("length of a reply", 200_000, "characters")
_FENCE = "```"
_LANGUAGE = re.compile(r"\A[ \t]*[A-Za-z][\w+-]*")  # behind an opening fence
_ANY_OBJECT = ReplySchema.of({"type": "object"})
_NO_VALUE = re.compile(r":\s*[,}\]]")


@dataclass(frozen=True, slots=True)
class Declared:
    """The allowed content of a reply, as a role or a parser declares it. Nothing else reaches the Blackboard."""

    keys: frozenset[str] | None = None  # top-level keys of the Blackboard that may change
    schema: Mapping[str, Any] | None = None  # JSON schema of the reply
    form: ReplySchema[Any] | None = None  # the schema, ready for use

    def allows(self, name: str) -> bool:
        """Return whether a field of the reply may become a key of the Blackboard."""
        if self.form is not None and all(field.name != name for field in self.form.fields):
            return False
        return self.keys is None or name in self.keys


def declare(keys: Iterable[str] | None, schema: Mapping[str, Any] | None) -> Declared:
    """Make a declaration of keys and a JSON schema; raises `ConfigError` if either is invalid."""
    if isinstance(keys, str):
        raise ConfigError(f"keys must be a list of names, not a text; write keys=[{keys!r}]")
    form = None if schema is None else ReplySchema.of(schema)
    return Declared(None if keys is None else frozenset(keys), schema, form)


def default_json_parser(response: str, blackboard: Blackboard) -> None:
    """Merge the JSON object of a reply into the Blackboard.

    Prose and code fences around it, thinking before it, trailing commas and single quotes are fine. Raises `ParseError`
    if there is no object, or only a part of one.
    """
    blackboard.data.update(read_object(response))


def read_object(response: str) -> dict[str, Any]:
    """Return the JSON object that a reply is or contains; raises `ParseError` that says why there is none."""
    try:
        MAX_REPLY_CHARS.check(len(response))
        parsed = checked_json(_unfenced(response.strip()))
    except (ValueError, LimitExceededError) as error:
        mended = _mended(response) if isinstance(error, ValueError) else None
        if mended is None:
            raise ParseError(f"the reply is not JSON: {error}") from error
        return mended
    if isinstance(parsed, str) and (mended := _mended(response)) is not None:  # an object within a text
        return mended
    if not isinstance(parsed, dict):
        raise ParseError(f"the reply is JSON, but a {type(parsed).__name__}, not an object")
    return parsed


def _mended(response: str) -> dict[str, Any] | None:
    """Return the object that an untidy reply means, as `tickmind.llm` would read it; None if that is a guess.

    Nothing says which fields there should be, so a reply that was cut off, a missing value, a number that is none and a
    half letter make it a guess.
    """
    if response.count("{") > response.count("}") or _NO_VALUE.search(response):
        return None
    try:
        parsed = read_reply(response, _ANY_OBJECT, form="json").data
    except StructuredOutputError:
        return None
    texts = tuple(_texts(parsed))
    if any(_is_no_number(text) for text in texts) or ("\ufffd" not in response and any("\ufffd" in t for t in texts)):
        return None
    return parsed


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in a value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _is_no_number(text: str) -> bool:
    """Return whether a text is what became of NaN, an infinity or a number that is too large."""
    try:
        return not math.isfinite(float(text))
    except ValueError:
        return False


def _unfenced(text: str) -> str:
    """Return the text between code fences, if there are any; a closing one may be missing."""
    if text.startswith("{") or _FENCE not in text:
        return text
    inside = text.split(_FENCE, 1)[1].rsplit(_FENCE, 1)[0]
    return _LANGUAGE.sub("", inside, count=1)


def make_directive_parser(
    schema: Any, *, namespace: str = "strategy", handlers: Mapping[str, Callable[[Any, Blackboard], None]] | None = None
) -> "DirectiveParser":
    """Return a parser for replies of a declared form; see `DirectiveParser`."""
    importlib.import_module("yaml")  # an untidy reply needs it, and the tick in which one comes must not wait for it
    form = ReplySchema.of(schema)
    form.prepare()
    return DirectiveParser(form, namespace, dict(handlers or {}))


@dataclass(frozen=True)
class DirectiveParser:
    """Read a reply tolerantly as the declared object and put it under one key of the Blackboard.

    The schema is a pydantic model, a dataclass, a JSON schema or a list of field names. A handler for a field gets its
    value and the Blackboard instead, for instance to check that a target exists; with streamed fields it may be called
    again for the whole reply.
    """

    schema: ReplySchema[Any]
    namespace: str = "strategy"
    handlers: Mapping[str, Callable[[Any, Blackboard], None]] | None = None

    @cached_property
    def json_schema(self) -> Mapping[str, Any]:
        """The form to request from a model."""
        return self.schema.json_schema()

    def __call__(self, response: str, blackboard: Blackboard) -> None:
        """Read a reply and write it to the Blackboard."""
        try:
            fields = read_reply(response, self.schema).data
        except StructuredOutputError as error:
            raise ParseError(str(error)) from error
        self.take(fields, blackboard)

    def take(self, fields: Mapping[str, Any], blackboard: Blackboard) -> None:
        """Write some fields, all at the end or each as it arrives; undeclared ones are left out."""
        handlers = self.handlers or {}
        known = {field.name: fields[field.name] for field in self.schema.fields if field.name in fields}
        plain = {name: value for name, value in known.items() if name not in handlers}
        if plain:
            blackboard.data[self.namespace] = {**blackboard.data.get(self.namespace, {}), **plain}
        for name, value in known.items():
            if name in handlers:
                handlers[name](value, blackboard)


def parse_into(
    response: str,
    blackboard: Blackboard,
    parser: ParserFn,
    declared: Declared,
    data: Any = None,
    *,
    check: Callable[[dict[str, Any]], None] | None = None,
) -> dict[str, Any]:
    """Run a parser on a copy and apply its changes; returns a copy of them. On an error nothing has changed.

    `data` is the object that the client read in the reply, if it did; it counts instead of the text. `check` gets the
    changes before they are applied, and may raise.
    """
    MAX_REPLY_CHARS.check(len(response))
    fields: dict[str, Any] = {}
    if data is not None:
        fields = own_object(data)
    elif parser is default_json_parser or declared.form is not None:
        fields = read_object(response)
    if declared.form is not None:
        _check(fields, declared.form)
    draft = Draft(blackboard)
    board = draft.board
    if parser is default_json_parser:
        board.data.update((name, value) for name, value in fields.items() if declared.allows(name))
    elif isinstance(parser, DirectiveParser) and data is not None:
        _check(fields, parser.schema)
        parser.take(fields, board)
    elif data is not None and declared.form is not None:
        refuse_coroutine("the parser", parser(json.dumps(fields, ensure_ascii=False), board))
    else:
        refuse_coroutine("the parser", parser(response, board))
    return take_over(draft, blackboard, declared, check)


def _check(fields: Mapping[str, Any], form: ReplySchema[Any]) -> None:
    try:
        form.validate(dict(fields))
    except StructuredOutputError as error:
        raise ParseError(f"the reply does not fit its schema: {error}") from error


def take_over(
    draft: Draft,
    blackboard: Blackboard,
    declared: Declared,
    check: Callable[[dict[str, Any]], None] | None = None,
) -> dict[str, Any]:
    """Apply what a parser changed, as far as the declared keys go; returns a copy of the new values."""
    changed, gone = draft.changed(), draft.gone()
    if declared.keys is not None:
        changed = {key: value for key, value in changed.items() if key in declared.keys}
        gone = [key for key in gone if key in declared.keys]
    levels = int(MAX_DEPTH.maximum)
    changes = {key: copied(value, levels=levels) for key, value in changed.items()} if changed else {}
    if check is not None:
        check(changes)
    for key, value in changed.items():
        blackboard.set(key, draft.settled(value), who="strategy")
    for key in gone:
        blackboard.delete(key, who="strategy")
    return changes

"""From a reply to the Blackboard. A parser works on a copy; only if it succeeds, what it changed is taken over."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from tickmind.ai import Blackboard
from tickmind.llm import StructuredOutputError, read_reply
from tickmind.llm.structured import ReplySchema
from tickmind.strategy.errors import ParseError

ParserFn: TypeAlias = Callable[[str, Blackboard], None]


@dataclass(frozen=True, slots=True)
class Declared:
    """What a reply may contain, as a role or a parser declares it. Nothing else reaches the Blackboard."""

    keys: frozenset[str] | None = None  # top-level keys of the Blackboard that may change
    schema: Mapping[str, Any] | None = None  # JSON schema of the reply

    @property
    def names(self) -> frozenset[str] | None:
        """The fields of the reply that are let through, if that is limited."""
        if self.schema is not None:
            return frozenset(self.schema.get("properties", {}))
        return self.keys


def default_json_parser(response: str, blackboard: Blackboard) -> None:
    """Merge the JSON object of a reply into the Blackboard; code fences around it are fine."""
    blackboard.data.update(read_object(response))


def read_object(response: str) -> dict[str, Any]:
    """The JSON object of a reply, fenced or not."""
    text = response.strip()
    if text.startswith("```"):
        text = text.split("\n", 1)[-1].rsplit("```", 1)[0] if "\n" in text else text.strip("`")
    try:
        found = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ParseError(f"the reply is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise ParseError(f"the reply is JSON, but a {type(found).__name__} and not an object")
    return found


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON number")


def make_directive_parser(
    schema: Any, *, namespace: str = "strategy", handlers: Mapping[str, Callable[[Any, Blackboard], None]] | None = None
) -> "DirectiveParser":
    """A parser for replies of a declared form: see `DirectiveParser`."""
    return DirectiveParser(ReplySchema.of(schema), namespace, dict(handlers or {}))


@dataclass(frozen=True)
class DirectiveParser:
    """Reads a reply tolerantly as the declared object and puts it under one key of the Blackboard.

    The schema is a pydantic model, a dataclass, a JSON schema or a list of field names. A handler for a field gets its
    value and the Blackboard instead, for instance to check that a target exists.
    """

    schema: ReplySchema[Any]
    namespace: str = "strategy"
    handlers: Mapping[str, Callable[[Any, Blackboard], None]] | None = None

    def __call__(self, response: str, blackboard: Blackboard) -> None:
        """Read and write."""
        try:
            found = read_reply(response, self.schema).data
        except StructuredOutputError as error:
            raise ParseError(str(error)) from error
        names = {field.name for field in self.schema.fields}
        self.take({name: value for name, value in found.items() if name in names}, blackboard)

    def take(self, fields: Mapping[str, Any], blackboard: Blackboard) -> None:
        """Write some fields, all at the end or each as it arrives."""
        handlers = self.handlers or {}
        plain = {name: value for name, value in fields.items() if name not in handlers}
        if plain:
            blackboard.data[self.namespace] = {**blackboard.data.get(self.namespace, {}), **plain}
        for name, value in fields.items():
            if name in handlers:
                handlers[name](value, blackboard)


def parse_into(response: str, blackboard: Blackboard, parser: ParserFn, declared: Declared) -> dict[str, Any]:
    """Run a parser on a copy and take over what it changed; returns that. On an error nothing has changed."""
    if declared.schema is not None:
        _validate(response, declared.schema)
    copy = Blackboard(plain_copy(blackboard.data))
    if parser is default_json_parser:
        names = declared.names
        found = read_object(response)
        copy.data.update(found if names is None else {name: found[name] for name in found if name in names})
    else:
        parser(response, copy)
    changed = {
        key: value for key, value in copy.data.items() if key not in blackboard.data or blackboard.data[key] != value
    }
    gone = [key for key in blackboard.data if key not in copy.data]
    if declared.keys is not None:
        changed = {key: value for key, value in changed.items() if key in declared.keys}
        gone = [key for key in gone if key in declared.keys]
    for key, value in changed.items():
        blackboard.set(key, value, who="strategy")
    for key in gone:
        blackboard.delete(key, who="strategy")
    return changed


def _validate(response: str, schema: Mapping[str, Any]) -> None:
    import jsonschema

    found = read_object(response)
    errors = sorted(
        jsonschema.Draft202012Validator(dict(schema)).iter_errors(found), key=lambda error: list(error.path)
    )
    if errors:
        where = ".".join(str(step) for step in errors[0].path)
        raise ParseError(
            f"the reply does not fit its schema{f' at {where}' if where else ''}: {errors[0].message[:300]}"
        )


def plain_copy(value: Any) -> Any:
    """A copy of the built-in collections in a value, at any depth; everything else is shared."""
    kind = type(value)
    if kind is dict:
        return {key: plain_copy(item) for key, item in value.items()}
    if kind is list:
        return [plain_copy(item) for item in value]
    if kind is set:
        return set(value)
    return value

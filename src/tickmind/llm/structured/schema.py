"""`ReplySchema`: the required form of a reply, from a type, a JSON schema or field names."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from types import UnionType
from typing import Any, Generic, TypeVar, cast, overload

from tickmind.base import ConfigError
from tickmind.llm.errors import StructuredOutputError
from tickmind.llm.structured.coerce import fits_natively, shape
from tickmind.llm.structured.json_schema import SchemaChecker, map_parts, resolve, without_titles
from tickmind.llm.structured.readers.fields import (
    KIND_OF_TYPE,
    Field,
    FieldKind,
    field_of_kind,
    fields_of_schema,
    follow,
)
from tickmind.llm.texts import shortened

T = TypeVar("T")
VALUE_FIELD = "value"  # of the object that a form is wrapped in that is none itself
_MOST_PROBLEMS = 8
_LONGEST_PROBLEM = 200
_DEEPEST_SCHEMA = 24
_TYPE_OF_KIND = {kind: name for name, kind in KIND_OF_TYPE.items()}


@dataclass(frozen=True, slots=True)
class ReplySchema(Generic[T]):
    """The required form of a reply, and the type that it becomes. Make it with `of` or `of_kinds`.

    >>> ReplySchema.of_kinds({"action": ["flee", "rest"], "why": "str"}).required
    ('action', 'why')
    """

    name: str
    fields: tuple[Field, ...]
    _schema: Mapping[str, Any]
    _check: Callable[[dict[str, Any]], T]
    _checker: Callable[[], SchemaChecker]  # made when it is first needed
    closed: bool = False  # whether undeclared fields are refused, and so left out before the check
    is_wrapped: bool = False  # whether the form is no object and so stands in the field `VALUE_FIELD` of one

    @overload
    @staticmethod
    def of(source: "ReplySchema[T]") -> "ReplySchema[T]": ...
    @overload
    @staticmethod
    def of(source: type[T]) -> "ReplySchema[T]": ...
    @overload
    @staticmethod
    def of(source: UnionType) -> "ReplySchema[Any]": ...
    @overload
    @staticmethod
    def of(source: Mapping[str, Any] | Sequence[str]) -> "ReplySchema[dict[str, Any]]": ...
    @staticmethod
    def of(source: Any) -> "ReplySchema[Any]":
        """Make it from a type, a JSON schema of an object, or the names of required fields.

        A type is a pydantic model, a dataclass, or anything that pydantic knows: `list[int]`, `Literal["a", "b"]`,
        `Quest | None`, `int`. What is no object is asked for as the field `value` of one, and `validate` unwraps it.
        Raises `ConfigError` for anything else.
        """
        if isinstance(source, ReplySchema):
            return source
        if isinstance(source, Mapping):
            return _of_json_schema(source)
        if isinstance(source, Sequence) and not isinstance(source, str) and all(isinstance(x, str) for x in source):
            return ReplySchema.of_kinds(dict.fromkeys(source, "any"))
        return _of_type(source)

    @staticmethod
    def of_kinds(kinds: Mapping[str, FieldKind]) -> "ReplySchema[dict[str, Any]]":
        """Make it from the short form: a field's name and its kind, or the list of its allowed values.

        Raises `ConfigError` without a field.
        """
        fields = tuple(field_of_kind(name, kind) for name, kind in kinds.items())
        if not fields:
            raise ConfigError("name at least one field that the reply should have")
        properties: dict[str, Any] = {}
        for field in fields:
            if field.kind == "enum":
                properties[field.name] = {"enum": list(field.choices)}
            else:
                properties[field.name] = {"type": _TYPE_OF_KIND[field.kind]} if field.kind in _TYPE_OF_KIND else {}
        schema = {"type": "object", "properties": properties, "required": list(properties)}

        def check(data: dict[str, Any]) -> dict[str, Any]:
            if fits_natively(data, fields):
                return data
            shaped = shape(data, fields)
            problems = [f"{name}: {why}" for name, (_, why) in shaped.bad.items()]
            problems += [f"{name} is missing" for name in properties if name not in data]
            if problems:
                raise misfit(problems)
            return shaped.data

        return ReplySchema("reply", fields, schema, check, cache(partial(SchemaChecker, schema)))

    @property
    def required(self) -> tuple[str, ...]:
        """The names that must be there."""
        return tuple(field.name for field in self.fields if field.required)

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema without titles and references, as small models and grammars need it."""
        return compact(self._schema)

    def validate(self, data: dict[str, Any]) -> T:
        """Return the typed value; raises `StructuredOutputError` that says in plain words what doesn't fit."""
        return self._check(data)

    def fits(self, name: str, value: Any) -> bool:
        """Return whether a value is valid for one field; rules between fields need the whole object."""
        properties = follow(self._schema, self._schema).get("properties", {})
        return name not in properties or self._checker().fits(value, name, properties[name])

    def prepare(self) -> None:
        """Load what `fits` needs now, so that no call waits for it later."""
        self._checker()


def misfit(problems: Sequence[str]) -> StructuredOutputError:
    """Return the error for an object that was found and doesn't fit."""
    shown = [shortened(problem, _LONGEST_PROBLEM) for problem in problems]
    more = f"; and {len(shown) - _MOST_PROBLEMS} more" if len(shown) > _MOST_PROBLEMS else ""
    return StructuredOutputError("the object does not fit: " + "; ".join(shown[:_MOST_PROBLEMS]) + more)


def _of_type(source: Any) -> ReplySchema[Any]:
    from pydantic import PydanticUserError, TypeAdapter, ValidationError  # heavy
    from pydantic.errors import PydanticSchemaGenerationError  # heavy

    name = getattr(source, "__name__", None) or str(source)
    if isinstance(source, str) or inspect.isroutine(source):
        kind = type(source).__name__
        raise ConfigError(f"a reply's form must be a type, a JSON schema (a dict) or a list of field names, not {kind}")
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(source)
        schema = adapter.json_schema()
    except (PydanticUserError, PydanticSchemaGenerationError, NameError) as error:
        raise ConfigError(
            f"{name} can't be the form of a reply; use a pydantic model, a dataclass, a type like list[int], a JSON "
            f"schema (a dict) or a list of field names: {error}"
        ) from error
    root = _root(schema)
    is_wrapped = root.get("type") != "object" or "properties" not in root
    if is_wrapped:
        definitions = {"$defs": schema.pop("$defs")} if "$defs" in schema else {}
        properties = {VALUE_FIELD: schema}
        schema = {"type": "object", "properties": properties, "required": [VALUE_FIELD], **definitions}
        root = schema

    def check(data: dict[str, Any]) -> Any:
        if is_wrapped and VALUE_FIELD not in data:
            raise misfit([f"{VALUE_FIELD} is missing"])
        try:
            return adapter.validate_python(data[VALUE_FIELD] if is_wrapped else data)
        except ValidationError as error:
            details = error.errors(include_url=False, include_context=False)
        problems = []
        for detail in details:
            steps = (VALUE_FIELD, *detail["loc"]) if is_wrapped else detail["loc"]
            place = ".".join(str(step) for step in steps) or "the object"
            problems.append(f"{place} is missing" if detail["type"] == "missing" else f"{place}: {detail['msg']}")
        raise misfit(problems)

    closed = root.get("additionalProperties") is False
    checker = cache(partial(SchemaChecker, schema))
    return ReplySchema(name, fields_of_schema(schema), schema, check, checker, closed, is_wrapped)


def _of_json_schema(source: Mapping[str, Any]) -> ReplySchema[dict[str, Any]]:
    root = _root(source)
    if root.get("type", "object") != "object":
        raise ConfigError("the JSON schema of a reply must describe an object; wrap a list or value in a field of one")
    checker = SchemaChecker(source)

    def check(data: dict[str, Any]) -> dict[str, Any]:
        problems = checker.problems(data)
        if problems:
            raise misfit([f"{place}: {why}" if place else why for place, why in problems])
        return data

    closed = root.get("additionalProperties") is False
    name = str(source.get("title", "reply"))
    return ReplySchema(name, fields_of_schema(source), source, check, lambda: checker, closed)


def _root(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    ref = schema.get("$ref")
    if not isinstance(ref, str):
        return schema
    try:
        target = resolve(ref, schema)
    except LookupError:
        return schema
    return target if isinstance(target, Mapping) else schema


def compact(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema without titles and with its definitions put in place; recursive ones stay references."""
    used: set[str] = set()
    schema = without_titles(schema)
    out = _inlined(schema, schema, (), used)
    definitions = schema.get("$defs", {})
    kept: dict[str, Any] = {}
    while waiting := [name for name in used if name not in kept]:
        for name in waiting:
            kept[name] = _inlined(definitions[name], schema, (name,), used)
    if kept:
        out["$defs"] = dict(sorted(kept.items()))
    return cast("dict[str, Any]", out)


def _inlined(part: Any, root: Mapping[str, Any], inside: tuple[str, ...], used: set[str]) -> Any:
    if not isinstance(part, Mapping):
        return part

    def inline(inner: Any) -> Any:
        return _inlined(inner, root, inside, used)

    ref = part.get("$ref")
    if not (isinstance(ref, str) and ref.startswith("#/$defs/")):
        return map_parts({key: value for key, value in part.items() if key != "$defs"}, inline)
    name = ref.removeprefix("#/$defs/")
    if name not in root.get("$defs", {}):
        return dict(part)
    if name in inside or len(inside) >= _DEEPEST_SCHEMA:
        used.add(name)
        return {"$ref": ref}
    rest = {key: value for key, value in part.items() if key != "$ref"}
    return {**_inlined(root["$defs"][name], root, (*inside, name), used), **rest}

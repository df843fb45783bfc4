"""`Field`: one declared field of a reply, with its name, kind and allowed values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from tickmind.base import ConfigError
from tickmind.llm.structured.json_schema import resolve

Kind = Literal["str", "num", "int", "bool", "list", "dict", "enum", "any"]
FieldKind = str | Sequence[Any]  # a kind's name, or the allowed values

_DEEPEST = 8
_PLAIN_KINDS: dict[str, Kind] = {
    "str": "str",
    "num": "num",
    "int": "int",
    "bool": "bool",
    "list": "list",
    "dict": "dict",
    "any": "any",
}
KIND_OF_TYPE: dict[str, Kind] = {
    "string": "str",
    "number": "num",
    "integer": "int",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
}


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a reply. `items` describes a list's elements and `fields` an object's own fields, where known."""

    name: str
    kind: Kind = "any"
    choices: tuple[Any, ...] = ()
    required: bool = True
    nullable: bool = False
    items: "Field | None" = None
    fields: tuple["Field", ...] = ()
    description: str = ""

    @property
    def is_telling(self) -> bool:
        """Whether a valid value is evidence by itself: any prose is a text, but only some prose is one of six words."""
        return self.kind in {"enum", "bool", "num", "int"}

    def wanted(self) -> str:
        """Describe what it accepts, in plain words."""
        words = {
            "str": "a text",
            "num": "a number",
            "int": "a whole number",
            "bool": "true or false",
            "list": "a list",
            "dict": "an object",
            "any": "any value",
        }
        if self.kind == "enum":
            return "one of " + ", ".join(str(choice) for choice in self.choices)
        return words[self.kind]


def field_of_kind(name: str, kind: FieldKind) -> Field:
    """Make a field from the short form: `"num"`, or the list of allowed values."""
    if isinstance(kind, str):
        if kind not in _PLAIN_KINDS:
            raise ConfigError(
                f"field {name!r}: {kind!r} is not a kind; use one of {', '.join(_PLAIN_KINDS)}, or a list of values"
            )
        return Field(name, _PLAIN_KINDS[kind])
    if not kind:
        raise ConfigError(f"field {name!r}: the list of allowed values is empty; name at least one")
    return Field(name, "enum", tuple(kind))


def fields_of_schema(schema: Mapping[str, Any]) -> tuple[Field, ...]:
    """Return the top-level fields of a JSON schema of an object."""
    return _fields(follow(schema, schema), schema, _DEEPEST)


def _fields(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> tuple[Field, ...]:
    required = schema.get("required", ())
    properties = schema.get("properties", {})
    if depth == 0 or not isinstance(properties, Mapping):
        return ()
    return tuple(
        replace(_field(name, part, root, depth - 1), required=name in required) for name, part in properties.items()
    )


def follow(part: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Resolve references within the schema, and unwrap an `allOf` of one."""
    for _ in range(_DEEPEST):
        if not isinstance(part, Mapping):
            return {}
        ref, every = part.get("$ref"), part.get("allOf")
        if isinstance(ref, str) and ref.startswith("#"):
            try:
                part = resolve(ref, root)
            except LookupError:
                return {}
        elif isinstance(every, list) and len(every) == 1:
            part = every[0]
        else:
            return part
    return {}


def _field(name: str, part: Any, root: Mapping[str, Any], depth: int) -> Field:
    schema = follow(part, root)
    description = str(part.get("description", schema.get("description", ""))) if isinstance(part, Mapping) else ""
    if "const" in schema:
        return Field(name, "enum", (schema["const"],), description=description)
    if isinstance(choices := schema.get("enum"), list) and choices:
        kept = tuple(choice for choice in choices if choice is not None)
        return Field(name, "enum", kept, nullable=None in choices, description=description)
    options = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(options, list):
        return _union(name, options, root, depth, description)
    types = schema.get("type")
    if isinstance(types, list):
        return _union(name, [{**schema, "type": kind} for kind in types], root, depth, description)
    kind = KIND_OF_TYPE.get(str(types), "any")
    items = (
        _field("item", schema["items"], root, depth - 1) if kind == "list" and depth > 0 and "items" in schema else None
    )
    inner = _fields(schema, root, depth) if kind == "dict" else ()
    return Field(name, kind, items=items, fields=inner, nullable=types == "null", description=description)


def _union(name: str, options: list[Any], root: Mapping[str, Any], depth: int, description: str) -> Field:
    """Make the field of a union: one type or null keeps its kind; any other can be anything, and validation decides."""
    real = [option for option in options if not (isinstance(option, Mapping) and option.get("type") == "null")]
    nullable = len(real) < len(options)
    if len(real) == 1 and depth > 0:
        return replace(_field(name, real[0], root, depth - 1), nullable=nullable, description=description)
    return Field(name, nullable=nullable, description=description)

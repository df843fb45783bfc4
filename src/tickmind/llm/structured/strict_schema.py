"""Convert a JSON schema to the form of strict decoding: closed objects, every property required, no odd keywords.

Ordinary schemas are open and have properties with defaults. Closing them loses nothing, because undeclared properties
mean nothing to the reader; a property that may be left out becomes one that may be null, and the reader takes null for
"left out". Bounds that strict decoding does not know are dropped here and checked when the reply is read. OpenAI and
Anthropic refuse the lengths of texts; local servers hold a model to them, and a small one talks on without them.
"""

from collections.abc import Mapping
from typing import Any

from tickmind.llm.structured.json_schema import resolve
from tickmind.llm.transport import OutputSpec

OPENAI_HOST = "api.openai.com"
_DEEPEST = 32
_KEPT = frozenset(
    {
        "description",
        "pattern",
        "multipleOf",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minItems",
        "maxItems",
    }
)
_LENGTHS = frozenset({"minLength", "maxLength"})
_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})
_SHAPING = (
    "not",
    "if",
    "prefixItems",
    "patternProperties",
    "propertyNames",
    "dependentSchemas",
    "dependentRequired",
    "unevaluatedProperties",
)  # keywords that can't be dropped without letting another shape through
_NULL = {"type": "null"}


class _NotStrictError(ValueError):
    """The schema has no strict form."""


def strict_schema(schema: Mapping[str, Any], *, optional_as_null: bool, lengths: bool = False) -> dict[str, Any] | None:
    """Return the schema for strict decoding, or None if it has no such form: free maps, tuples, values of any type.

    With `optional_as_null` a property that may be left out is allowed to be null; without, a schema with such a
    property has no strict form. `lengths` keeps the lengths of texts.
    """
    writer = _Writer(schema, _KEPT | _LENGTHS if lengths else _KEPT, optional_as_null=optional_as_null)
    try:
        strict = writer.part(schema, 0, in_union=False)
        definitions = {
            name: writer.part(part, 1, in_union=False)
            for keyword in ("$defs", "definitions")
            for name, part in schema.get(keyword, {}).items()
        }
    except _NotStrictError:
        return None
    return {"$defs": definitions, **strict} if definitions else strict


def form_of(output: OutputSpec, *, lengths: bool) -> tuple[Mapping[str, Any], bool]:
    """Return the schema to send, with or without text lengths, and whether the endpoint can be held to it strictly."""
    strict = strict_schema(output.schema, optional_as_null=output.optional_as_null, lengths=lengths)
    return (output.schema, False) if strict is None else (strict, True)


class _Writer:
    def __init__(self, root: Mapping[str, Any], kept: frozenset[str], *, optional_as_null: bool) -> None:
        self._root = root
        self._kept = kept
        self._optional_as_null = optional_as_null

    def part(self, part: Any, depth: int, *, in_union: bool) -> dict[str, Any]:
        """Convert one part. Inside a union of objects nothing becomes null: the reader can't distinguish them then."""
        if not isinstance(part, Mapping) or depth > _DEEPEST or any(keyword in part for keyword in _SHAPING):
            raise _NotStrictError
        if isinstance(part.get("$ref"), str):
            return {"$ref": str(part["$ref"]).replace("#/definitions/", "#/$defs/")}
        if isinstance(every := part.get("allOf"), list):
            if len(every) != 1 or not isinstance(every[0], Mapping):
                raise _NotStrictError
            rest = {key: value for key, value in part.items() if key != "allOf"}
            return self.part({**every[0], **rest}, depth + 1, in_union=in_union)
        kept = {key: value for key, value in part.items() if key in self._kept}
        if part.get("format") in _FORMATS:
            kept["format"] = part["format"]
        for keyword in ("anyOf", "oneOf"):
            if isinstance(options := part.get(keyword), list):
                several = in_union or sum(self._is_object(option) for option in options) > 1
                return {**kept, "anyOf": [self.part(option, depth + 1, in_union=several) for option in options]}
        if "const" in part or "enum" in part:
            return {**kept, **_choice(part)}
        return {**kept, **self._typed(part, depth, in_union=in_union)}

    def _typed(self, part: Mapping[str, Any], depth: int, *, in_union: bool) -> dict[str, Any]:
        kind = part.get("type", "object" if "properties" in part else None)
        kinds = kind if isinstance(kind, list) else [kind]
        if None in kinds:
            raise _NotStrictError
        out: dict[str, Any] = {"type": kind}
        if "object" in kinds:
            out |= self._object(part, depth, in_union=in_union)
        if "array" in kinds:
            out["items"] = self.part(part.get("items"), depth + 1, in_union=in_union)
        return out

    def _object(self, part: Mapping[str, Any], depth: int, *, in_union: bool) -> dict[str, Any]:
        properties = part.get("properties")
        if not isinstance(properties, Mapping) or part.get("additionalProperties", False) is not False:
            raise _NotStrictError
        required = part.get("required", ())
        inner: dict[str, Any] = {}
        for name, schema in properties.items():
            inner[name] = self.part(schema, depth + 1, in_union=in_union)
            if name not in required:
                if not self._optional_as_null:
                    raise _NotStrictError
                inner[name] = inner[name] if in_union else _nullable(inner[name])
        return {"properties": inner, "required": list(inner), "additionalProperties": False}

    def _is_object(self, part: Any) -> bool:
        if isinstance(part, Mapping) and isinstance(part.get("$ref"), str):
            try:
                part = resolve(part["$ref"], self._root)
            except LookupError:
                return False
        return isinstance(part, Mapping) and (part.get("type") == "object" or "properties" in part)


def _choice(part: Mapping[str, Any]) -> dict[str, Any]:
    values = [part["const"]] if "const" in part else list(part["enum"])
    names = {_TYPE_OF.get(type(value)) for value in values}
    if None in names:
        raise _NotStrictError
    kinds = sorted(str(name) for name in names)
    return {"type": kinds[0] if len(kinds) == 1 else kinds, "enum": values}


_TYPE_OF: dict[type, str] = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def _nullable(part: dict[str, Any]) -> dict[str, Any]:
    """Return the part with null allowed."""
    kind = part.get("type")
    if kind == "null" or (isinstance(kind, list) and "null" in kind):
        return part
    if "anyOf" in part:
        return part if _NULL in part["anyOf"] else {**part, "anyOf": [*part["anyOf"], _NULL]}
    if isinstance(kind, str) and kind not in {"object", "array"} and "enum" not in part:
        return {**part, "type": [kind, "null"]}
    return {"anyOf": [part, _NULL]}

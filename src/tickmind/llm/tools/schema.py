"""A JSON schema as a tool's arguments: checked with `jsonschema`, after the coercions that surprise nobody."""

import functools
import math
from collections.abc import Mapping
from typing import Any

from tickmind.llm.errors import LLMConfigError
from tickmind.llm.json_schema import SchemaChecker, resolve
from tickmind.llm.tools.arguments import misfit
from tickmind.llm.tools.jsontext import decode_json

_DEEPEST = 32
_BOOLEANS = {"true": True, "false": False}


class SchemaArguments:
    """Checks the arguments of a tool that was given as a schema."""

    def __init__(self, schema: Mapping[str, Any], tool: str) -> None:
        if schema.get("type", "object") != "object":
            raise LLMConfigError(f"tool {tool!r}: the schema of the arguments must be of type object")
        self._tool = tool
        self.schema: Mapping[str, Any] = {"type": "object", "properties": {}, **schema}

    @functools.cached_property
    def _checker(self) -> SchemaChecker:
        return SchemaChecker(self.schema)

    def bind(self, arguments: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments as one mapping; raises `ToolError` in words that a model can act on."""
        value = _coerce(dict(arguments), self.schema, self.schema, 0)
        try:
            problems = self._checker.problems(value)
        except LLMConfigError as error:
            raise LLMConfigError(f"tool {self._tool!r}: {error}") from error
        if problems:
            raise misfit(self._tool, [f"{place or 'arguments'}: {why}" for place, why in problems])
        return [value], {}


def _coerce(value: Any, schema: Any, root: Mapping[str, Any], depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return value
    if isinstance(reference := schema.get("$ref"), str):
        try:
            target = resolve(reference, root)
        except LookupError:
            return value
        return _coerce(value, target, root, depth + 1)
    kinds = schema.get("type")
    kinds = [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list) else []
    value = _to_kind(value, kinds)
    if isinstance(value, dict):
        return _coerce_object(value, schema, root, depth)
    if isinstance(value, list) and "items" in schema:
        return [_coerce(item, schema["items"], root, depth + 1) for item in value]
    return value


def _coerce_object(
    value: dict[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any], depth: int
) -> dict[str, Any]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return value
    required = schema.get("required", ())
    coerced: dict[str, Any] = {}
    for name, item in value.items():
        inner = properties.get(name)
        fitting = _coerce(item, inner, root, depth + 1)
        if fitting is None and name not in required and isinstance(inner, Mapping) and not _takes_null(inner):
            continue  # null stands for "the default"
        coerced[name] = fitting
    for name, inner in properties.items():
        if name not in coerced and isinstance(inner, Mapping) and "default" in inner:
            coerced[name] = inner["default"]
    return coerced


def _takes_null(schema: Mapping[str, Any]) -> bool:
    kinds = schema.get("type")
    return kinds is None or kinds == "null" or (isinstance(kinds, list) and "null" in kinds)


def _to_kind(value: Any, kinds: list[Any]) -> Any:
    """Turn a text into the number, truth or object that it spells, and a number into the text that is asked for."""
    if isinstance(value, str) and "string" not in kinds:
        return _spelled(value, kinds)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if isinstance(value, float) and value.is_integer() and "integer" in kinds and "number" not in kinds:
            return int(value)
        if kinds == ["string"]:
            return str(value)
    return value


def _spelled(value: str, kinds: list[Any]) -> Any:
    text = value.strip()
    if "boolean" in kinds and text.lower() in _BOOLEANS:
        return _BOOLEANS[text.lower()]
    if "integer" in kinds or "number" in kinds:
        try:
            return int(text)
        except ValueError:
            pass  # not an integer; perhaps another number
        try:
            number = float(text)
        except ValueError:
            return value
        if not math.isfinite(number):
            return value
        return int(number) if number.is_integer() and "number" not in kinds else number
    if (text[:1] == "{" and "object" in kinds) or (text[:1] == "[" and "array" in kinds):
        try:
            return decode_json(text)
        except ValueError:
            return value
    return value

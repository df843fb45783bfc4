"""`SchemaArguments`: a tool's arguments from a JSON schema, checked with `jsonschema` after unsurprising coercions."""

import functools
from collections.abc import Mapping
from typing import Any

from tickmind.llm.errors import LLMConfigError
from tickmind.llm.structured.coerce import fitted
from tickmind.llm.structured.json_schema import SchemaChecker
from tickmind.llm.structured.readers.fields import Field, fields_of_schema, follow
from tickmind.tools.definition.arguments import misfit

_DEEPEST = 32


class SchemaArguments:
    """Check the arguments of a tool that was declared by a schema."""

    def __init__(self, schema: Mapping[str, Any], tool: str) -> None:
        if schema.get("type", "object") != "object":
            raise LLMConfigError(f"tool {tool!r}: the schema of the arguments must be of type object")
        self._tool = tool
        self.schema: Mapping[str, Any] = {"type": "object", "properties": {}, **schema}

    @functools.cached_property
    def _checker(self) -> SchemaChecker:
        return SchemaChecker(self.schema)

    @functools.cached_property
    def _fields(self) -> tuple[Field, ...]:
        return fields_of_schema(self.schema)

    def bind(self, arguments: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments as one mapping; raises `ToolError` in words that a model can act on."""
        value = _with_defaults(fitted(arguments, self._fields), self.schema, self.schema, 0)
        try:
            problems = self._checker.problems(value)
        except LLMConfigError as error:
            raise LLMConfigError(f"tool {self._tool!r}: {error}") from error
        if problems:
            raise misfit(self._tool, [f"{place or 'arguments'}: {why}" for place, why in problems])
        return [value], {}


def _with_defaults(value: Any, part: Any, root: Mapping[str, Any], depth: int) -> Any:
    """Return the value with the schema's defaults for what was left out."""
    schema = follow(part, root) if depth <= _DEEPEST else {}
    if isinstance(value, list):
        return [_with_defaults(item, schema.get("items"), root, depth + 1) for item in value]
    properties = schema.get("properties")
    if not isinstance(value, dict) or not isinstance(properties, Mapping):
        return value
    filled = {name: _with_defaults(item, properties.get(name), root, depth + 1) for name, item in value.items()}
    for name, inner in properties.items():
        if name not in filled and isinstance(inner, Mapping) and "default" in inner:
            filled[name] = inner["default"]
    return filled

"""Shared handling of JSON schemas: resolve references, walk the parts, check values."""

from collections.abc import Callable, Mapping
from typing import Any

from tickmind.llm.errors import LLMConfigError

_NAMED_PARTS = ("properties", "$defs", "definitions", "patternProperties")  # hold names, and under each a schema
_VALUES = ("default", "const", "enum", "examples")  # hold values, and no schemas


def resolve(reference: str, root: Mapping[str, Any]) -> Any:
    """Return the target of a reference such as `#/$defs/x`; raises `LookupError` if the schema does not hold it."""
    start, *steps = reference.split("/")
    if start != "#":
        raise LookupError(reference)
    target: Any = root
    for step in steps:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(target, list) and name.isdigit():
            target = target[int(name)]
        elif isinstance(target, Mapping):
            target = target[name]
        else:
            raise LookupError(reference)
    return target


def map_parts(schema: Mapping[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the schema with `change` applied to every part that may hold schemas; names and values stay."""
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _NAMED_PARTS and isinstance(value, Mapping):
            out[key] = {name: change(inner) for name, inner in value.items()}
        elif isinstance(value, list) and key not in _VALUES:
            out[key] = [change(inner) for inner in value]
        else:
            out[key] = value if key in _VALUES else change(value)
    return out


def without_titles(part: Any) -> Any:
    """Return the schema without titles that are made of names: models and grammars don't need them."""
    if not isinstance(part, Mapping):
        return part
    return map_parts({key: value for key, value in part.items() if key != "title"}, without_titles)


class SchemaChecker:
    """Check values by a JSON schema. Its references never fetch anything."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        import jsonschema  # heavy
        from referencing import Registry  # heavy

        kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
        try:
            kind.check_schema(dict(schema))
        except jsonschema.SchemaError as error:
            raise LLMConfigError(f"the JSON schema is wrong at {error.json_path}: {error.message}") from error
        self._validator = kind(schema, registry=Registry())
        self._parts: dict[str, Any] = {}  # name -> its validator; making one takes longer than its use

    def problems(self, value: Any) -> list[tuple[str, str]]:
        """Return everything that does not fit: where (empty for the whole), and why."""
        from referencing.exceptions import Unresolvable  # heavy

        try:
            errors = sorted(self._validator.iter_errors(value), key=lambda problem: list(map(str, problem.path)))
        except Unresolvable as error:
            raise LLMConfigError(
                f"the JSON schema refers to {error.ref!r}, which it does not hold; nothing is fetched"
            ) from error
        return [(problem.json_path.removeprefix("$").removeprefix("."), problem.message) for problem in errors]

    def fits(self, value: Any, name: str, part: Any) -> bool:
        """Return whether a value fits one part of the schema, whose references are to the whole; `name` is its key."""
        from referencing.exceptions import Unresolvable  # heavy

        validator = self._parts.get(name)
        if validator is None:
            validator = self._parts[name] = self._validator.evolve(schema=part)
        try:
            return bool(validator.is_valid(value))
        except Unresolvable:
            return False

"""What all that reads JSON schemas has in common: references inside a schema, walking it, checking values by it."""

from collections.abc import Callable, Mapping
from typing import Any

from tickmind.llm.errors import LLMConfigError

_NAMED_PARTS = ("properties", "$defs", "definitions", "patternProperties")  # hold names, and under each a schema
_VALUES = ("default", "const", "enum", "examples")  # hold values, and no schemas


def resolve(reference: str, root: Mapping[str, Any]) -> Any:
    """What `#/$defs/x` stands for; raises `LookupError` where the schema has no such place, or it is elsewhere."""
    start, *steps = reference.split("/")
    if start != "#":
        raise LookupError(reference)
    found: Any = root
    for step in steps:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and name.isdigit():
            found = found[int(name)]
        elif isinstance(found, Mapping):
            found = found[name]
        else:
            raise LookupError(reference)
    return found


def map_parts(schema: Mapping[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """The same schema with every part that may hold schemas changed; names and values are left alone."""
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
    """The schema without the titles that are made of names: models and grammars have no use for them."""
    if not isinstance(part, Mapping):
        return part
    return map_parts({key: value for key, value in part.items() if key != "title"}, without_titles)


class SchemaChecker:
    """Checks values by a JSON schema. Its references never fetch anything."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        import jsonschema  # heavy
        from referencing import Registry  # heavy

        kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
        try:
            kind.check_schema(dict(schema))
        except jsonschema.SchemaError as error:
            raise LLMConfigError(f"the JSON schema is wrong at {error.json_path}: {error.message}") from error
        self._validator = kind(schema, registry=Registry())
        self._parts: dict[str, Any] = {}  # name -> what checks that part; making one takes longer than its use

    def problems(self, value: Any) -> list[tuple[str, str]]:
        """Everything that does not fit: where (empty for the whole), and why."""
        from referencing.exceptions import Unresolvable  # heavy

        try:
            found = sorted(self._validator.iter_errors(value), key=lambda problem: list(map(str, problem.path)))
        except Unresolvable as error:
            raise LLMConfigError(
                f"the JSON schema refers to {error.ref!r}, which it does not hold; nothing is fetched"
            ) from error
        return [(problem.json_path.removeprefix("$").removeprefix("."), problem.message) for problem in found]

    def fits(self, value: Any, name: str, part: Any) -> bool:
        """Whether a value fits one part of the schema, whose references are to the whole of it; its name is its own."""
        from referencing.exceptions import Unresolvable  # heavy

        validator = self._parts.get(name)
        if validator is None:
            validator = self._parts[name] = self._validator.evolve(schema=part)
        try:
            return bool(validator.is_valid(value))
        except Unresolvable:
            return False

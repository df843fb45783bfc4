"""The parts of which schemas are made."""

from typing import Any, TypeAlias

from tickmind.world.scenario.limits import MAX_NAME_CHARS, MAX_OBJECT_SIDE, MAX_PROSE_CHARS

Schema: TypeAlias = dict[str, Any]
TEXT: Schema = {"type": "string"}
NAMES: Schema = {"type": "array", "items": TEXT}
LINES: Schema = {"anyOf": [TEXT, NAMES]}
PLACE: Schema = {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 2, "maxItems": 2}
SIZE: Schema = {
    "type": "array",
    "items": {"type": "integer", "minimum": 1, "maximum": int(MAX_OBJECT_SIDE.maximum)},
    "minItems": 2,
    "maxItems": 2,
}
RECTANGLE: Schema = {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 4, "maxItems": 4}


def table(description: str, **properties: Schema) -> Schema:
    """Return the schema of a mapping that has these keys and no others."""
    return {
        "description": description,
        "type": ["object", "null"],
        "properties": properties,
        "additionalProperties": False,
    }


def named(description: str, value: Schema) -> Schema:
    """Return the schema of a mapping with names of the user's own as keys."""
    return {"description": description, "type": ["object", "null"], "additionalProperties": value}


def listed(description: str, value: Schema) -> Schema:
    """Return the schema of a list."""
    return {"description": description, "type": "array", "items": value}


def name(description: str) -> Schema:
    """Return the schema of a name."""
    return {"description": description, "type": "string", "minLength": 1, "maxLength": int(MAX_NAME_CHARS.maximum)}


def prose(description: str) -> Schema:
    """Return the schema of a longer text."""
    return {"description": description, "type": "string", "maxLength": int(MAX_PROSE_CHARS.maximum)}


def number(description: str, least: int, most: int | None = None) -> Schema:
    """Return the schema of a whole number."""
    bounds = {"minimum": least} if most is None else {"minimum": least, "maximum": most}
    return {"description": description, "type": "integer", **bounds}


def truth(description: str, *, default: bool) -> Schema:
    """Return the schema of a truth value."""
    return {"description": description, "type": "boolean", "default": default}


def said(description: str, schema: Schema) -> Schema:
    """Return a schema with a description."""
    return {"description": description, **schema}


def amounts(description: str) -> Schema:
    """Return the schema of items with a number each."""
    return {
        "description": description,
        "type": "object",
        "additionalProperties": {"type": "integer", "minimum": 1},
    }


def hours(description: str) -> Schema:
    """Return the schema of two times of the day."""
    return {"description": f'{description}, as ["08:00", "18:00"].', **NAMES, "minItems": 2, "maxItems": 2}

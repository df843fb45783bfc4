"""The line form: a flat object as its values in order, between bars, in a third of the tokens that JSON takes.

    visit | bram | Good day, Bram! | Bram has bread to sell

Texts at the end that may be empty can be left out, so a bare `explore` is a whole reply.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from tickmind.llm.errors import StructuredOutputError
from tickmind.llm.structured.coerce import MisfitError, coerce
from tickmind.llm.structured.read import ReadReply, read_reply
from tickmind.llm.structured.readers.fields import Field
from tickmind.llm.structured.readers.limits import MAX_REPAIR_CHARS
from tickmind.llm.structured.readers.scalars import Plain
from tickmind.llm.structured.schema import ReplySchema

T = TypeVar("T")

BAR = "|"
SEPARATOR = f" {BAR} "
_FLAT_KINDS = frozenset({"str", "enum", "int", "num", "bool"})
_MARKS = " \t`*"  # that models put around a line


def is_flat(schema: ReplySchema[Any]) -> bool:
    """Return whether a line can hold the form: texts, numbers and choices, none of them null or nested."""
    return bool(schema.fields) and not schema.is_wrapped and all(_is_flat(field) for field in schema.fields)


def _is_flat(field: Field) -> bool:
    if field.kind not in _FLAT_KINDS or field.nullable:
        return False
    return all(isinstance(choice, str) and choice.strip() and not _breaks(choice) for choice in field.choices)


def _breaks(text: str) -> bool:
    return BAR in text or not text.isprintable()


def least_values(schema: ReplySchema[Any]) -> int:
    """Return the least number of values in a line: those behind are texts that may be empty."""
    properties = _properties(schema)
    number = len(schema.fields)
    while number > 1 and _may_be_empty(schema.fields[number - 1], properties):
        number -= 1
    return number


def _properties(schema: ReplySchema[Any]) -> Mapping[str, Any]:
    properties: Mapping[str, Any] = schema.json_schema().get("properties", {})
    return properties


def _may_be_empty(field: Field, properties: Mapping[str, Any]) -> bool:
    said = properties.get(field.name, {})
    return field.kind == "str" and not (isinstance(said, Mapping) and (said.get("minLength") or said.get("pattern")))


def line_template(schema: ReplySchema[Any]) -> str:
    """Return the names of the values, as they stand in a line."""
    return SEPARATOR.join(field.name for field in schema.fields)


def reminder(schema: ReplySchema[Any]) -> str:
    """Return the form in a few words, for the end of a prompt whose beginning has the instructions."""
    return f"Answer: {line_template(schema)}"


def read_line(text: str, schema: ReplySchema[T], *, cut: bool = False) -> ReadReply[T]:
    """Read the first line that is a reply, else any form that `read_reply` knows, such as JSON. Makes up no value.

    `cut` says that the reply did not end by itself: then the last text of several is left out. Raises
    `StructuredOutputError`.
    """
    if MAX_REPAIR_CHARS.allows(len(text)) and not text.lstrip().startswith("{"):
        least = least_values(schema)
        for line in text.split("\n"):
            data = _values(line.strip(_MARKS), schema.fields, least, cut=cut)
            if data is None:
                continue
            try:
                return ReadReply(schema.validate(data), data)
            except StructuredOutputError:
                continue  # another line, or another form, may fit
    return read_reply(text, schema, cut=cut)


def _values(line: str, fields: Sequence[Field], least: int, *, cut: bool) -> dict[str, Any] | None:
    """Return the values of a line; None if it has another form. A bar in the last text is part of it."""
    parts = [part.strip() for part in line.split(BAR, len(fields) - 1)]
    if cut and len(parts) > 1:
        parts.pop()
    if not line or len(parts) < least or (len(parts) == 1 and len(fields) > 1 and not fields[0].is_telling):
        return None
    data: dict[str, Any] = {}
    for field, part in zip(fields, [*parts, *[""] * (len(fields) - len(parts))], strict=True):
        if field.kind == "str":
            data[field.name] = part
            continue
        try:
            data[field.name] = coerce(Plain(part), field)[0]
        except MisfitError:
            return None
    return data

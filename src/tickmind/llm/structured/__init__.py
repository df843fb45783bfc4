"""Structured output, the pure half: from any text that a model wrote to the object that it meant, typed.

    schema = ReplySchema.of(Decision)            # a pydantic model, a dataclass, a JSON schema or field names
    decision = read_reply(text, schema).value    # or StructuredOutputError; nothing is ever made up

A reply passes through `extract` (thinking, fences), `repair` (JSON, YAML, lines), `choose` (which reading fits the
declared fields best), `coerce` (values as declared) and the schema's own check.
"""

from tickmind.llm.structured.line_form import is_flat, read_line, reminder
from tickmind.llm.structured.partial import PartialReader
from tickmind.llm.structured.prompts import correction, feedback, form_instructions, template
from tickmind.llm.structured.read import ReadReply, parse_fields, read_reply
from tickmind.llm.structured.readers.fields import Field, FieldKind
from tickmind.llm.structured.readers.limits import MAX_REPAIR_CHARS, MAX_REPLY_CHARS
from tickmind.llm.structured.readers.repair import Form
from tickmind.llm.structured.schema import ReplySchema
from tickmind.llm.texts import shortened

__all__ = [
    "MAX_REPAIR_CHARS",
    "MAX_REPLY_CHARS",
    "Field",
    "FieldKind",
    "Form",
    "PartialReader",
    "ReadReply",
    "ReplySchema",
    "correction",
    "feedback",
    "form_instructions",
    "is_flat",
    "parse_fields",
    "read_line",
    "read_reply",
    "reminder",
    "shortened",
    "template",
]

"""Prompt texts of structured calls: instructions about the wanted form, and corrections after a failed reply."""

from typing import Any, Literal

import orjson

from tickmind.llm.messages import Message
from tickmind.llm.structured.line_form import line_template
from tickmind.llm.structured.readers.fields import Field
from tickmind.llm.structured.schema import ReplySchema
from tickmind.llm.texts import shortened

AskedForm = Literal["json", "yaml", "line"]

_LONGEST_ERROR = 600


def form_instructions(schema: ReplySchema[Any], form: AskedForm = "json") -> str:
    """Return the lines to put into a prompt: which fields, of which kind, in which form.

    It never says that a required field may be empty or left out: models then always do so.
    """
    fields = "\n".join(f"- {field.name}: {_described(field)}" for field in schema.fields)
    if form == "yaml":
        return (
            "Answer with one YAML block and nothing else, in this form:\n\n"
            f"```yaml\n{template(schema, form)}\n```\n\nThe fields:\n{fields}"
        )
    if form == "line":
        brief = "\n".join(f"{field.name}: {_briefly(field)}" for field in schema.fields)
        return f"Answer with one line and nothing else, in this form:\n{template(schema, form)}\n{brief}"
    return (
        "Answer with one JSON object and nothing else, in this form:\n\n"
        f"{template(schema, form)}\n\nThe fields:\n{fields}"
    )


def template(schema: ReplySchema[Any], form: AskedForm = "json") -> str:
    """Return the object with a placeholder for each value; also the hint that goes with a correction."""
    if form == "yaml":
        return "\n".join(_yaml_line(field) for field in schema.fields)
    if form == "line":
        return line_template(schema)
    pairs = ", ".join(f"{_quoted(field.name)}: {_placeholder(field)}" for field in schema.fields)
    return "{" + pairs + "}"


def correction(error: str, *, form: AskedForm = "json", hint: str = "") -> str:
    """Return the message to the model after a reply that could not be used."""
    parts = [f"Your response could not be used. Error: {shortened(error, _LONGEST_ERROR)}"]
    if hint:
        parts.append(
            f"Please output valid {'text' if form == 'line' else form.upper()} matching this structure:\n{hint}"
        )
    if form == "yaml":
        parts.append("Please try again with valid YAML in a ```yaml``` code block.")
    elif form == "line":
        parts.append("Please try again with one such line and nothing else.")
    else:
        parts.append("Please try again with one valid JSON object and nothing else.")
    return "\n\n".join(parts)


def feedback(reply: str, error: str, *, form: AskedForm = "json", hint: str = "") -> tuple[Message, Message]:
    """Return the two turns that a retry adds: the failed reply, shortened, and what was wrong with it."""
    said = Message.assistant(shortened(reply) or "(no answer)")  # some endpoints refuse an empty turn
    return said, Message.user(correction(error, form=form, hint=hint))


def _briefly(field: Field) -> str:
    """Describe a field briefly, for models that read slowly."""
    if field.kind == "enum":
        return ", ".join(str(choice) for choice in field.choices)
    return field.description or field.wanted()


def _described(field: Field) -> str:
    what = field.wanted()
    if field.kind == "list" and field.items is not None and field.items.kind != "any":
        what = f"a list, each item {field.items.wanted()}"
        if field.items.fields:
            what += " with " + ", ".join(inner.name for inner in field.items.fields)
    elif field.fields:
        what += " with " + ", ".join(inner.name for inner in field.fields)
    if field.nullable:
        what += " or null"
    return f"{what}. {field.description}" if field.description else what


def _placeholder(field: Field) -> str:
    match field.kind:
        case "enum":
            return " | ".join(_quoted(choice) for choice in field.choices)
        case "num":
            return "<number>"
        case "int":
            return "<whole number>"
        case "bool":
            return "true | false"
        case "list":
            return "[...]" if field.items is None else f"[{_placeholder(field.items)}, ...]"
        case "dict":
            return "{" + ", ".join(f"{_quoted(part.name)}: {_placeholder(part)}" for part in field.fields) + "}"
        case "str":
            return '"<text>"'
        case "any":
            return "<value>"


def _yaml_line(field: Field) -> str:
    if field.kind == "list":
        return f"{field.name}:\n  - {'...' if field.items is None else _placeholder(field.items)}"
    if field.kind == "enum":
        return f"{field.name}: {' | '.join(str(choice) for choice in field.choices)}"
    return f"{field.name}: {_placeholder(field)}"


def _quoted(value: Any) -> str:
    return orjson.dumps(value).decode()

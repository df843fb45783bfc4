"""Read the JSON that models write strictly: errors are reported, nothing is guessed."""

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from tickmind.base import Limit
from tickmind.llm.errors import ToolError

MAX_ARGUMENTS_CHARS = Limit("length of a tool call's arguments", 200_000, "characters")
_QUOTED_CHARS = 200


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def decode_json(text: str) -> Any:
    """Parse JSON. Raises `ValueError` for anything else, and for `NaN` and too deep nesting."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def decode_arguments(text: str, tool: str) -> Mapping[str, Any]:
    """Parse the arguments of a tool call; empty text means none. Raises `ToolError` in words that a model can use."""
    if not MAX_ARGUMENTS_CHARS.allows(len(text)):
        raise ToolError(
            f"the arguments of {tool!r} are {len(text):,} characters long, more than {MAX_ARGUMENTS_CHARS.maximum:,}. "
            "Call it again with less.",
            tool=tool,
        )
    if not text.strip():
        return {}
    try:
        value = decode_json(text)
        if isinstance(value, str):  # encoded twice
            value = decode_json(value)
    except ValueError as error:
        raise ToolError(
            f"the arguments of {tool!r} are not valid JSON ({error}): {text[:_QUOTED_CHARS]} "
            "Call it again with one JSON object.",
            tool=tool,
        ) from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ToolError(
            f"the arguments of {tool!r} are a {type(value).__name__}, not a JSON object: {text[:_QUOTED_CHARS]} "
            "Call it again with one JSON object.",
            tool=tool,
        )
    return value

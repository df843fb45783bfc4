"""Arguments are converted alike, whether a tool is a function or a schema, and as structured replies are."""

from typing import Any, Literal

import pytest

from tickmind.llm.errors import ToolError
from tickmind.llm.structured import ReplySchema, read_reply
from tickmind.tools import Tool
from tickmind.tools.plain import json_text


def trade(
    item: Literal["bread", "milk"], count: int = 1, urgent: bool = False, notes: list[str] | None = None
) -> dict[str, Any]:
    """Trade something."""
    return {"item": item, "count": count, "urgent": urgent, "notes": notes}


SCHEMA = {
    "type": "object",
    "properties": {
        "item": {"enum": ["bread", "milk"]},
        "count": {"type": "integer", "default": 1},
        "urgent": {"type": "boolean", "default": False},
        "notes": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}], "default": None},
    },
    "required": ["item"],
    "additionalProperties": False,
}
BY_FUNCTION = Tool.from_function(trade)
BY_SCHEMA = Tool.from_schema("trade", "Trade something.", SCHEMA, dict)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"item": "bread"}, {}),
        ({"item": "Bread"}, {}),
        ({"item": "bread", "count": "3"}, {"count": 3}),
        ({"item": "bread", "count": 3.0}, {"count": 3}),
        ({"item": "bread", "count": None}, {}),
        ({"item": "bread", "urgent": "yes"}, {"urgent": True}),
        ({"item": "bread", "Count": 3}, {"count": 3}),
        ({"item": "bread", "notes": '["fresh"]'}, {"notes": ["fresh"]}),
    ],
)
async def test_one_coercer_serves_functions_schemas_and_replies(given: dict[str, Any], meant: dict[str, Any]) -> None:
    wanted = {"item": "bread", "count": 1, "urgent": False, "notes": None, **meant}
    assert (await BY_FUNCTION.execute(given)).to_dict() == {"ok": True, "data": wanted}
    assert (await BY_SCHEMA.execute(given)).to_dict() == {"ok": True, "data": wanted}
    read = read_reply(json_text(given), ReplySchema.of(SCHEMA)).data
    assert read == {"item": "bread", **meant}


@pytest.mark.parametrize("made", [BY_FUNCTION, BY_SCHEMA], ids=["function", "schema"])
@pytest.mark.parametrize(
    "given", [{}, {"item": "gold"}, {"item": "bread", "count": "many"}, {"item": "bread", "urgent": "perhaps"}]
)
def test_what_no_conversion_makes_fit_is_refused(made: Tool, given: dict[str, Any]) -> None:
    assert not made.accepts(given)
    with pytest.raises(ToolError, match="don't fit"):
        made._arguments.bind(given)

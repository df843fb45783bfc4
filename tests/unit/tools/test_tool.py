import asyncio
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kits.some_tools import Colour, Order, Point, move

from tickmind.llm.errors import ErrorType, LLMConfigError, ToolError
from tickmind.tools import Failed, Ok, Tool, ToolContext, tool
from tickmind.tools.jsontext import decode_arguments


async def run(subject: Tool, /, **args: Any) -> Ok | Failed:
    return await subject.execute(args)


def test_schema_comes_from_annotations_and_docstring() -> None:
    spec = move.to_spec()
    assert spec.name == "move"
    assert spec.description == "Go somewhere.\n\nTakes as long as it takes."
    assert spec.schema == {
        "type": "object",
        "properties": {
            "x": {"type": "integer", "description": "column to go to, counted from the left"},
            "y": {"type": "integer", "description": "row to go to"},
            "mode": {"type": "string", "enum": ["walk", "run"], "default": "walk", "description": "how to go"},
            "quiet": {"type": "boolean", "default": False},
        },
        "required": ["x", "y"],
        "additionalProperties": False,
    }


def test_a_tool_can_still_be_called_as_a_function() -> None:
    assert move(1, 2) == "walk to 1,2 loudly"


@pytest.mark.asyncio
async def test_texts_become_the_numbers_and_truths_that_they_spell() -> None:
    result = await run(move, x="1", y=2.0, quiet="false")
    assert result == Ok("walk to 1,2 loudly", "walk to 1,2 loudly")


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"x": 1}, "y is missing"),
        ({"x": "far", "y": 2}, 'x: input should be a valid integer, unable to parse string as an integer, not "far"'),
        ({"x": 1, "y": 2, "z": 3}, "z is not an argument; it takes x, y, mode, quiet"),
        ({"x": 1, "y": 2, "mode": "fly"}, "mode: input should be 'walk' or 'run'"),
    ],
)
async def test_arguments_that_do_not_fit_are_refused_in_plain_words(args: dict[str, Any], words: str) -> None:
    result = await move.execute(args)
    assert isinstance(result, Failed)
    assert result.type is ErrorType.TOOL_ERROR
    assert words in result.message
    assert result.message.startswith("the arguments of 'move' don't fit: ")


@pytest.mark.asyncio
async def test_null_stands_for_the_default() -> None:
    assert isinstance(await run(move, x=1, y=2, mode=None), Ok)
    assert isinstance(await run(move, x=None, y=2), Failed)


@pytest.mark.asyncio
async def test_json_inside_a_string_is_read_where_a_list_is_wanted() -> None:
    @tool
    def total(numbers: list[int]) -> int:
        return sum(numbers)

    assert await run(total, numbers="[1, 2, 3]") == Ok(6, "6")
    assert isinstance(await run(total, numbers="[1, 2"), Failed)


@pytest.mark.asyncio
async def test_typed_values_reach_the_function() -> None:
    seen: list[object] = []

    @tool
    def take(point: Point, order: Order, colour: Colour, when: datetime, name: str) -> None:
        seen.extend([point, order, colour, when, name])

    result = await run(
        take,
        point={"x": "1", "y": 2},
        order={"title": "tea", "amount": 2},
        colour="red",
        when="2026-01-02T03:04:05Z",
        name=7,
    )
    assert result == Ok(None, '{"ok":true}')
    when = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert seen == [Point(1, 2), Order(title="tea", amount=2), Colour.RED, when, "7"]


def test_a_property_called_title_stays() -> None:
    @tool
    def take(order: Order, schema: int, model_config: int) -> None: ...

    assert take.schema["$defs"]["Order"]["properties"] == {
        "title": {"type": "string"},
        "amount": {"type": "integer", "minimum": 1},
    }
    assert list(take.schema["properties"]) == ["order", "schema", "model_config"]
    assert take.accepts({"order": {"title": "a", "amount": 1}, "schema": 1, "model_config": 2})


class Scale:
    def __init__(self, factor: int) -> None:
        self.factor = factor

    def times(self, value: int, /) -> int:
        """Multiply."""
        return self.factor * value

    async def __call__(self, value: int) -> int:
        return self.factor * value


@pytest.mark.asyncio
async def test_methods_partials_and_callable_objects_are_tools_too() -> None:
    scale = Scale(3)
    assert await run(Tool.from_function(scale.times), value=2) == Ok(6, "6")
    assert await run(Tool.from_function(scale), value=2) == Ok(6, "6")
    assert await run(Tool.from_function(partial(move._handler, 5)), y=6) == Ok(
        "walk to 5,6 loudly", "walk to 5,6 loudly"
    )
    assert Tool.from_function(scale).name == "Scale"


@pytest.mark.asyncio
async def test_keyword_arguments_take_what_is_left() -> None:
    @tool
    def note(title: str, **rest: int) -> dict[str, int]:
        return rest

    assert await run(note, title="a", b=1) == Ok({"b": 1}, '{"b":1}')


def test_what_has_no_json_form_is_refused_with_a_reason() -> None:
    with pytest.raises(LLMConfigError, match="take a list instead"):
        Tool.from_function(lambda *many: many, name="many")

    @tool
    def take(lock: threading.Event) -> None: ...

    with pytest.raises(LLMConfigError, match="no JSON form"):
        take.to_spec()
    with pytest.raises(LLMConfigError, match="wrap it in a function"):
        Tool.from_function(dict, name="builtin")
    with pytest.raises(LLMConfigError, match="can't be a tool's name"):
        Tool.from_function(lambda: None, name="two words")
    with pytest.raises(LLMConfigError, match="timeout_s must be over 0"):
        Tool.from_function(lambda: None, name="a", timeout_s=0)


@pytest.mark.asyncio
async def test_context_is_given_for_each_call_and_hidden_from_the_model() -> None:
    @tool
    def who(ctx: ToolContext, name: str = "x") -> str:
        return f"{ctx.agent_id}/{ctx.call_id}/{name}"

    assert list(who.schema["properties"]) == ["name"]

    @tool
    def maybe(ctx: ToolContext | None = None) -> bool:
        return ctx is not None

    assert not maybe.schema["properties"]
    assert await maybe.execute({}) == Ok(True, "true")
    many = await asyncio.gather(
        *(who.execute({}, ToolContext(agent_id=f"a{place}", call_id=f"c{place}")) for place in range(50))
    )
    assert [result.text for result in many if isinstance(result, Ok)] == [f"a{n}/c{n}/x" for n in range(50)]


@pytest.mark.asyncio
async def test_a_schema_tool_gets_checked_arguments_and_the_context() -> None:
    schema = {
        "properties": {
            "count": {"type": "integer", "minimum": 1},
            "deep": {"$ref": "#/$defs/flags"},
            "tags": {"type": "array", "items": {"type": "number"}},
            "how": {"type": "string", "default": "well"},
        },
        "required": ["count"],
        "$defs": {"flags": {"type": "object", "properties": {"on": {"type": "boolean"}}}},
    }

    def handle(args: Mapping[str, Any], ctx: ToolContext) -> dict[str, Any]:
        return {**args, "by": ctx.agent_id}

    counting = Tool.from_schema("counting", "Counts.", schema, handle)
    result = await counting.execute(
        {"count": "3", "deep": {"on": "false"}, "tags": '["1", 2.5]', "how": None}, ToolContext(agent_id="me")
    )
    assert isinstance(result, Ok)
    assert result.data == {"count": 3, "deep": {"on": False}, "tags": [1, 2.5], "how": "well", "by": "me"}

    wrong = await counting.execute({"count": 0, "tags": "many"})
    assert isinstance(wrong, Failed)
    assert "count: 0 is less than the minimum of 1" in wrong.message
    assert "tags[0]: 'many' is not of type 'number'" in wrong.message


def test_a_schema_that_is_no_object_is_refused() -> None:
    with pytest.raises(LLMConfigError, match="must be of type object"):
        Tool.from_schema("a", "", {"type": "array"}, lambda args: args)


@pytest.mark.asyncio
async def test_a_schema_never_fetches_anything() -> None:
    subject = Tool.from_schema("a", "", {"properties": {"x": {"$ref": "http://127.0.0.1:9/x"}}}, lambda args: args)
    result = await subject.execute({"x": 1})
    assert isinstance(result, Failed)
    assert "which it does not hold" in result.message


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=10))
def test_any_value_for_any_parameter_is_taken_or_refused(value: object) -> None:
    subject = Tool.from_schema(
        "a",
        "",
        {
            "properties": {
                "n": {"type": "integer"},
                "f": {"type": "number"},
                "b": {"type": "boolean"},
                "o": {"type": ["object", "null"]},
                "l": {"type": "array", "items": {"type": "string"}},
            }
        },
        lambda args: args,
    )
    for name in "nfbol":
        assert subject.accepts({name: value}) in (True, False)
    assert move.accepts({"x": value, "y": 1}) in (True, False)


@pytest.mark.parametrize("text", ["{", "[1]", "nope", '{"a": NaN}', "[" * 100_000, '"{"', "{'a': 1}", '{"a": 1} x'])
def test_arguments_that_are_no_json_object_are_told_so(text: str) -> None:
    with pytest.raises(ToolError, match=r"Call it again|nested"):
        decode_arguments(text, "move")


@pytest.mark.parametrize(("text", "value"), [("", {}), (" ", {}), ("null", {}), ('{"a":1}', {"a": 1}), ('"{}"', {})])
def test_missing_and_doubly_encoded_arguments_are_read(text: str, value: object) -> None:
    assert decode_arguments(text, "move") == value

"""Forms of replies that are no objects: lists, unions, values."""

import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from tickmind.base import ConfigError
from tickmind.llm.client import ModelClient
from tickmind.llm.config import ModelConfig
from tickmind.llm.errors import StructuredOutputError
from tickmind.llm.structured import PartialReader, ReplySchema, read_reply
from tickmind.llm.testing import ScriptedTransport


class Flee(BaseModel):
    action: Literal["flee"]
    to: str


class Fight(BaseModel):
    action: Literal["fight"]
    foe: str


@dataclass
class Point:
    x: int
    y: int


class Mood(TypedDict):
    mood: str


FLEE = {"action": "flee", "to": "the woods"}
CASES: list[tuple[Any, Any, Any]] = [  # form, value as JSON, value as Python
    (list[int], [1, 2, 3], [1, 2, 3]),
    (list[Point], [{"x": 1, "y": 2}], [Point(1, 2)]),
    (int, 7, 7),
    (float, 0.5, 0.5),
    (bool, True, True),
    (str, "north", "north"),
    (Literal["north", "south"], "south", "south"),
    (Flee | Fight, FLEE, Flee(action="flee", to="the woods")),
    (int | None, None, None),
    (Annotated[int, Field(ge=1, le=6)], 6, 6),
    (dict[str, int], {"wood": 3}, {"wood": 3}),
    (tuple[int, int], [1, 2], (1, 2)),
]


@pytest.mark.parametrize(("form", "plain", "value"), CASES, ids=[str(case[0]) for case in CASES])
def test_any_type_is_a_form(form: Any, plain: Any, value: Any) -> None:
    schema: ReplySchema[Any] = ReplySchema.of(form)
    text = json.dumps({"value": plain})
    assert read_reply(text, schema).value == value
    assert read_reply(f"Sure!\n```json\n{text}\n```", schema).value == value
    reader = PartialReader(schema)
    for letter in text:
        reader.feed(letter)
    assert reader.finish().value == value


@pytest.mark.parametrize(("form", "plain", "value"), [CASES[0], CASES[1], CASES[5], CASES[7]], ids=str)
def test_a_value_without_the_object_around_it_is_read(form: Any, plain: Any, value: Any) -> None:
    schema: ReplySchema[Any] = ReplySchema.of(form)
    assert read_reply(json.dumps(plain), schema).value == value
    assert read_reply(f"Here:\n```json\n{json.dumps(plain)}\n```", schema).value == value


def test_a_typed_dict_is_an_object_of_its_own() -> None:
    assert read_reply('{"mood": "calm"}', ReplySchema.of(Mood)).value == {"mood": "calm"}


@pytest.mark.parametrize("text", ['{"value": ["a"]}', "{}", '["a"]'])
def test_a_value_of_another_type_is_refused(text: str) -> None:
    with pytest.raises(StructuredOutputError):
        read_reply(text, ReplySchema.of(list[int]))


@pytest.mark.parametrize(
    "form",
    [object(), "int", 7, lambda: None, type("Plain", (), {})],
    ids=["object", "text", "number", "function", "class"],
)
def test_what_is_no_type_is_refused(form: Any) -> None:
    with pytest.raises(ConfigError):
        ReplySchema.of(form)


@pytest.mark.asyncio
async def test_a_client_asks_for_a_list_a_union_and_a_number() -> None:
    replies = [{"value": [3, 4]}, {"value": FLEE}, {"value": 5}]
    transport = ScriptedTransport([json.dumps(reply) for reply in replies])
    async with ModelClient(ModelConfig("http://127.0.0.1:9/v1"), transport) as client:
        numbers = (await client.complete_structured("Which?", list[int])).value
        action = (await client.complete_structured("What do you do?", Flee | Fight)).value
        async with client.stream_structured("How many?", int) as stream:
            count = (await stream.result).value
    assert (numbers, action, count) == ([3, 4], Flee(action="flee", to="the woods"), 5)
    asked = transport.calls[0].request
    assert asked.output is not None
    assert asked.output.schema["properties"]["value"] == {"type": "array", "items": {"type": "integer"}}

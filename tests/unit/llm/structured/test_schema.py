"""A reply's form from whatever declares it, and typed values back."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from tickmind.base import ConfigError
from tickmind.llm.errors import StructuredOutputError
from tickmind.llm.structured import ReplySchema, read_reply


class Mood(Enum):
    CALM = "calm"
    TENSE = "tense"


class Step(BaseModel):
    action: str
    ticks: int = 1


class Plan(BaseModel):
    goal: str = Field(description="what to reach today")
    steps: list[Step]
    mood: Mood = Mood.CALM
    partner: str | None = None
    confidence: float = Field(default=0.5, ge=0, le=1)


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    goal: str


class Tree(BaseModel):
    name: str
    children: list["Tree"] = []


@dataclass(frozen=True)
class Decision:
    action: Literal["flee", "rest"]
    target: str
    confidence: float = 0.5
    notes: list[str] = field(default_factory=list)


JSON_SCHEMA = {
    "type": "object",
    "properties": {
        "action": {"enum": ["flee", "rest"]},
        "count": {"type": "integer", "minimum": 1},
        "who": {"type": ["string", "null"]},
    },
    "required": ["action", "count"],
}


def test_a_pydantic_model_comes_back_as_itself() -> None:
    text = '```json\n{"Goal": "eat", "steps": [{"action": "go", "ticks": "2"}], "mood": "TENSE", "partner": null}\n```'
    read = read_reply(text, ReplySchema.of(Plan))
    assert read.value == Plan(goal="eat", steps=[Step(action="go", ticks=2)], mood=Mood.TENSE)
    assert read.data["steps"] == [{"action": "go", "ticks": 2}]
    assert read.notes


def test_a_dataclass_comes_back_as_itself() -> None:
    read = read_reply("```yaml\naction: FLEE\ntarget: 007\nconfidence: '0.9'\n```", ReplySchema.of(Decision))
    assert read.value == Decision("flee", "007", 0.9)


def test_a_json_schema_gives_a_checked_dict() -> None:
    schema = ReplySchema.of(JSON_SCHEMA)
    assert read_reply('{"action": "Flee", "count": "3", "who": null}', schema).value == {
        "action": "flee",
        "count": 3,
        "who": None,
    }
    with pytest.raises(StructuredOutputError, match=r"count: 0 is less than the minimum of 1"):
        read_reply('{"action": "flee", "count": 0}', schema)


def test_field_names_alone_ask_for_their_presence() -> None:
    schema = ReplySchema.of(["goal", "steps"])
    assert read_reply("```yaml\ngoal: eat\nsteps: [1]\n```", schema).value == {"goal": "eat", "steps": [1]}
    with pytest.raises(StructuredOutputError, match="steps is missing"):
        read_reply('{"goal": "eat"}', schema)


def test_a_schema_made_twice_is_the_same() -> None:
    schema = ReplySchema.of(Plan)
    assert ReplySchema.of(schema) is schema


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"goal": "eat"}', "steps is missing"),
        ('{"goal": "eat", "steps": [], "confidence": 7}', "confidence: Input should be less than or equal to 1"),
        ('{"goal": "eat", "steps": [{"ticks": 1}]}', "steps.0.action is missing"),
        ('{"goal": "eat", "steps": [], "mood": "grim"}', "mood: Input should be 'calm' or 'tense'"),
    ],
)
def test_errors_say_in_plain_words_what_does_not_fit(text: str, says: str) -> None:
    with pytest.raises(StructuredOutputError) as caught:
        read_reply(text, ReplySchema.of(Plan))
    assert says in str(caught.value)
    assert caught.value.raw_content == text


def test_many_problems_are_cut_short() -> None:
    schema = ReplySchema.of([f"field{i}" for i in range(40)])
    with pytest.raises(StructuredOutputError, match="and 31 more"):
        read_reply('{"field0": 1}', schema)


def test_undeclared_fields_are_left_out_where_they_are_forbidden() -> None:
    read = read_reply('{"goal": "eat", "reasoning": "hungry"}', ReplySchema.of(Closed))
    assert read.value == Closed(goal="eat")
    assert read.notes == ("left out undeclared fields: reasoning",)


def test_fields_tell_their_kinds() -> None:
    kinds = {one.name: (one.kind, one.required, one.nullable) for one in ReplySchema.of(Plan).fields}
    assert kinds == {
        "goal": ("str", True, False),
        "steps": ("list", True, False),
        "mood": ("enum", False, False),
        "partner": ("str", False, True),
        "confidence": ("num", False, False),
    }
    assert ReplySchema.of(Plan).required == ("goal", "steps")


def test_the_json_schema_is_compact() -> None:
    schema = ReplySchema.of(Plan).json_schema()
    assert "$defs" not in schema
    assert "title" not in str(schema)
    assert schema["properties"]["steps"]["items"]["properties"]["ticks"] == {"default": 1, "type": "integer"}
    assert schema["properties"]["goal"]["description"] == "what to reach today"


def test_a_field_named_title_stays() -> None:
    class Book(BaseModel):
        title: str
        default: str

    assert list(ReplySchema.of(Book).json_schema()["properties"]) == ["title", "default"]


def test_a_recursive_model_keeps_its_reference() -> None:
    schema = ReplySchema.of(Tree).json_schema()
    assert "#/$defs/Tree" in str(schema)
    assert "Tree" in schema["$defs"]
    read = read_reply('{"name": "a", "children": [{"name": "b"}]}', ReplySchema.of(Tree))
    assert read.value == Tree(name="a", children=[Tree(name="b")])


def test_optional_fields_alone_still_need_one_to_be_there() -> None:
    class Loose(BaseModel):
        mood: Mood | None = None
        goal: str = ""

    assert read_reply('{"mood": "calm"}', ReplySchema.of(Loose)).value == Loose(mood=Mood.CALM)
    with pytest.raises(StructuredOutputError):
        read_reply('{"name": "Mira"}', ReplySchema.of(Loose))


def test_form_json_looks_at_braces_only_and_yaml_at_yaml_only() -> None:
    schema = ReplySchema.of(["goal"])
    assert read_reply("```yaml\ngoal: eat\n```", schema, form="yaml").value == {"goal": "eat"}
    assert read_reply('x {"goal": "eat"}', schema, form="json").value == {"goal": "eat"}
    with pytest.raises(StructuredOutputError):
        read_reply("```yaml\ngoal: eat\n```", schema, form="json")
    with pytest.raises(StructuredOutputError):
        read_reply('I say {"goal": "eat"} now', schema, form="yaml")


@pytest.mark.parametrize("source", ["goal", 5, {"type": "array"}, {"type": "object", "properties": 5}, []])
def test_a_wrong_declaration_is_a_config_error(source: Any) -> None:
    with pytest.raises(ConfigError):
        ReplySchema.of(source)


@pytest.mark.parametrize("kind", ["text", "", []])
def test_an_unknown_kind_is_a_config_error(kind: Any) -> None:
    with pytest.raises(ConfigError, match="'x'"):
        ReplySchema.of_kinds({"x": kind})


def test_a_reference_in_a_json_schema_fetches_nothing() -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}, "required": ["a"]}
    with pytest.raises(ConfigError, match="nothing is fetched"):
        read_reply('{"a": 1}', ReplySchema.of(schema))

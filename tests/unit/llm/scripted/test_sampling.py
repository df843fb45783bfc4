"""Made-up values are valid, whatever the schema asks for."""

import random
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import validate
from pydantic import BaseModel, Field

from tickmind.llm.errors import LLMConfigError
from tickmind.llm.testing import sample_json


class Mood(Enum):
    CALM = "calm"
    TENSE = "tense"


class Item(BaseModel):
    name: str = Field(min_length=3, max_length=12)
    weight: float = Field(gt=0, lt=1)
    tags: set[str] = Field(min_length=2)
    inside: "list[Item]" = []


class Reply(BaseModel):
    mood: Mood
    kind: Literal["a", "b"]
    count: Annotated[int, Field(ge=3, le=9, multiple_of=3)]
    note: str | None
    item: Item
    scores: dict[str, float]
    pair: tuple[int, str]
    code: str = Field(pattern=r"^[a-z]{3}-\d{3}$")


@pytest.mark.parametrize("seed", range(40))
def test_a_pydantic_model_accepts_them(seed: int) -> None:
    schema = Reply.model_json_schema()
    value = sample_json(schema, random.Random(seed))
    validate(value, schema)
    Reply.model_validate(value)


def test_the_same_generator_gives_the_same_value() -> None:
    schema = Reply.model_json_schema()
    assert sample_json(schema, random.Random(4)) == sample_json(schema, random.Random(4))


def _between(kind: str, low_word: str, high_word: str, low: int, span: int) -> dict[str, Any]:
    return {"type": kind, low_word: low, high_word: low + span}


few = st.integers(1, 50)
kinds = st.lists(st.sampled_from(["string", "null", "integer", "array", "object"]), min_size=1, unique=True)
leaves = st.one_of(
    st.just({"type": "boolean"}),
    st.just({"type": "null"}),
    st.builds(lambda low, span: _between("integer", "minimum", "maximum", low, span), st.integers(-50, 50), few),
    st.builds(
        lambda low, span: _between("number", "minimum", "exclusiveMaximum", low, span), st.integers(-50, 50), few
    ),
    st.builds(lambda low, span: _between("string", "minLength", "maxLength", low, span), st.integers(0, 60), few),
    st.builds(lambda values: {"enum": values}, st.lists(st.integers() | st.text(), min_size=1, max_size=3)),
    st.builds(lambda names: {"type": names}, kinds),
)


def _object(properties: dict[str, Any], keep: list[bool], closed: bool) -> dict[str, Any]:
    required = [name for name, kept in zip(properties, keep, strict=False) if kept]
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        **({"additionalProperties": False} if closed else {}),
    }


schemas = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(
            _object, st.dictionaries(st.text(max_size=4), inner, max_size=4), st.lists(st.booleans()), st.booleans()
        ),
        st.builds(lambda items, low: {"type": "array", "items": items, "minItems": low}, inner, st.integers(0, 3)),
        st.builds(lambda parts: {"anyOf": parts}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda part: {"allOf": [part, {"title": "x"}]}, inner),
    ),
    max_leaves=8,
)


@given(schemas, st.integers())
@pytest.mark.slow
def test_any_schema_of_the_usual_words_is_met(schema: dict[str, Any], seed: int) -> None:
    validate(sample_json(schema, random.Random(seed)), schema)


def test_a_recursive_schema_ends() -> None:
    schema = {
        "$ref": "#/$defs/node",
        "$defs": {
            "node": {
                "type": "object",
                "properties": {"left": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
                "required": ["left"],
            }
        },
    }
    for seed in range(30):
        validate(sample_json(schema, random.Random(seed)), schema)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "nonsense"}, "the JSON schema is wrong"),
        ({"$ref": "https://example.org/other.json"}, "only references within"),
        ({"$ref": "#/$defs/none"}, "nothing at its own reference"),
        ({"$ref": "#"}, "lead back to themselves"),
        ({"type": "object", "properties": {"x": {"$ref": "#"}}, "required": ["x"]}, "endlessly nested"),
        ({"type": "string", "pattern": "^Zeppelin [0-9]{9}$"}, "give the schema `examples`"),
        ({"type": "integer", "minimum": 4, "maximum": 5, "multipleOf": 3}, "no number between"),
        ({"type": "object", "properties": {"x": False}, "required": ["x"]}, "allows none"),
        ({"type": "string", "not": {"type": "string"}}, "script the reply instead"),
    ],
)
def test_what_cannot_be_made_up_is_said(schema: dict[str, Any], message: str) -> None:
    with pytest.raises(LLMConfigError, match=message):
        sample_json(schema, random.Random(0))


def test_examples_help_with_a_pattern() -> None:
    schema = {"type": "string", "pattern": "^Zeppelin [0-9]{2}$", "examples": ["Zeppelin 12"]}
    assert sample_json(schema, random.Random(0)) == "Zeppelin 12"

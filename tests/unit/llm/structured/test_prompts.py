"""What a model is told."""

from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from tickmind.llm.errors import StructuredOutputError
from tickmind.llm.structured import (
    ReplySchema,
    correction,
    feedback,
    form_instructions,
    read_reply,
    shortened,
    template,
)


class Step(BaseModel):
    action: str
    ticks: int


class Reply(BaseModel):
    mood: Literal["calm", "tense"]
    narration: str = Field(description="two sentences")
    names: list[str]
    steps: list[Step]
    done: bool
    partner: str | None = None


SCHEMA = ReplySchema.of(Reply)


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_every_field_is_named_with_what_it_takes(form: Any) -> None:
    told = form_instructions(SCHEMA, form)
    for field in SCHEMA.fields:
        assert f"- {field.name}: " in told
    assert "one of calm, tense" in told
    assert "a text. two sentences" in told
    assert "a list, each item an object with action, ticks" in told
    assert form.upper() in told


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_nothing_is_said_to_be_allowed_to_be_empty(form: Any) -> None:
    told = form_instructions(SCHEMA, form).lower()
    for phrase in ("empty", "optional", "leave out", "if any", "may be"):
        assert phrase not in told


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_a_model_that_repeats_the_instructions_has_not_answered(form: Any) -> None:
    for text in (form_instructions(SCHEMA, form), template(SCHEMA, form), f"```{form}\n{template(SCHEMA, form)}\n```"):
        with pytest.raises(StructuredOutputError):
            read_reply(text, SCHEMA)


def test_a_failed_reply_goes_back_shortened_to_200_characters() -> None:
    assert shortened("x" * 200) == "x" * 200
    assert shortened("x" * 201) == "x" * 200 + "..."
    said, told = feedback("y" * 5000, "goal is missing", form="json", hint='{"goal": "<text>"}')
    assert said.role == "assistant"
    assert len(said.text) == 203
    assert told.role == "user"
    assert "goal is missing" in told.text
    assert '{"goal": "<text>"}' in told.text


def test_an_empty_reply_is_no_empty_turn() -> None:
    assert feedback("", "the reply is empty")[0].text == "(no answer)"


def test_the_correction_names_the_error_the_structure_and_the_form() -> None:
    told = correction("mood: should be one of calm, tense, not 'grim'", form="yaml", hint="mood: calm | tense")
    assert "mood: should be one of calm, tense" in told
    assert "mood: calm | tense" in told
    assert "```yaml```" in told
    assert "matching this structure" not in correction("x")


def test_a_long_error_is_shortened() -> None:
    assert len(correction("e" * 10_000)) < 800

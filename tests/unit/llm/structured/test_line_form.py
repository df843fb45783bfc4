"""A flat object as one line between bars."""

import pytest

from tickmind.llm.errors import StructuredOutputError
from tickmind.llm.structured import ReplySchema, form_instructions, is_flat, read_line, reminder

TEXT = {"type": "string", "maxLength": 40}
PLAN = ReplySchema.of(
    {
        "type": "object",
        "properties": {"goal": {"enum": ["rest", "visit"]}, "who": TEXT, "say": TEXT},
        "required": ["goal", "who", "say"],
        "additionalProperties": False,
    }
)


def read(text, **options):
    found = read_line(text, PLAN, **options).data
    return found["goal"], found["who"], found["say"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("visit | bram | Good day, Bram!", ("visit", "bram", "Good day, Bram!")),
        ("rest", ("rest", "", "")),
        ("visit | bram", ("visit", "bram", "")),
        ("rest |  | I am tired.", ("rest", "", "I am tired.")),
        ("VISIT|bram|Hello", ("visit", "bram", "Hello")),
        ("visit | bram | this | or that?", ("visit", "bram", "this | or that?")),
        ("```\nvisit | bram | Hello\n```", ("visit", "bram", "Hello")),
        ("goal | who | say\nrest | ada |", ("rest", "ada", "")),
        ("I think of bram.\nvisit | bram", ("visit", "bram", "")),
        ('{"goal": "rest", "who": "", "say": "Good night."}', ("rest", "", "Good night.")),
        ("visit | bram | said\u2028so", ("visit", "bram", "said\u2028so")),
    ],
)
def test_a_line_is_read_and_other_forms_are_too(text, expected):
    assert read(text) == expected


@pytest.mark.parametrize("text", ["", "I would like to visit bram.", "dance | bram | Hello", f"rest | | {'x' * 41}"])
def test_nothing_is_made_up(text):
    with pytest.raises(StructuredOutputError):
        read(text)


def test_the_last_text_of_a_line_that_was_cut_off_is_left_out():
    assert read("visit | bram | Good day, Br", cut=True) == ("visit", "bram", "")


def test_prose_is_no_line_where_the_first_value_is_a_text():
    form = ReplySchema.of({"type": "object", "properties": {"say": TEXT, "mood": TEXT}, "required": ["say", "mood"]})
    with pytest.raises(StructuredOutputError):
        read_line("What a fine day", form)
    assert read_line("What a fine day | glad", form).data == {"say": "What a fine day", "mood": "glad"}


def test_a_text_that_must_not_be_empty_can_not_be_left_out():
    said = {"type": "string", "minLength": 1}
    form = ReplySchema.of({"type": "object", "properties": {"goal": {"enum": ["a", "b"]}, "say": said}})
    with pytest.raises(StructuredOutputError):
        read_line("a", form)
    assert read_line("a | x", form).data == {"goal": "a", "say": "x"}


@pytest.mark.parametrize(
    "part",
    [
        {"type": "array", "items": TEXT},
        {"type": "object", "properties": {"x": TEXT}},
        {"type": ["string", "null"]},
        {"enum": ["a|b"]},
        {"enum": ["a\nb"]},
        {"enum": [1, 2]},
    ],
)
def test_what_is_nested_or_null_or_has_a_bar_is_not_flat(part):
    assert is_flat(PLAN)
    assert not is_flat(ReplySchema.of({"type": "object", "properties": {"part": part}, "required": ["part"]}))
    assert not is_flat(ReplySchema.of(list[int]))


def test_the_instructions_show_the_line_and_the_reminder_is_short():
    told = form_instructions(PLAN, "line")
    assert "\ngoal | who | say\ngoal: rest, visit\n" in told
    assert "JSON" not in told
    assert reminder(PLAN) == "Answer: goal | who | say"

"""Fields as they complete: the same ones however the stream is cut, and in the end the whole object."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.long import short_or_long

from tickmind.llm.errors import StructuredOutputError
from tickmind.llm.structured import PartialReader, ReplySchema

SCHEMA = ReplySchema.of_kinds(
    {"action": ["flee", "rest"], "say": "str", "confidence": "num", "items": "list", "arguments": "dict"}
)
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20).filter(
    lambda text: not text.strip().startswith("<") and text.strip() != "..."
)
OBJECTS = st.fixed_dictionaries(
    {
        "action": st.sampled_from(["flee", "rest"]),
        "say": TEXT,
        "confidence": st.integers(-5, 5) | st.floats(-1, 1),
        "items": st.lists(TEXT | st.integers(0, 9), max_size=3),
        "arguments": st.dictionaries(TEXT, TEXT | st.booleans() | st.none(), max_size=2),
    }
)
DRESS = st.sampled_from(
    ["{}", "Sure:\n```json\n{}\n```\nBye.", "<think>{maybe}</think>\n{}", "\n\n {}", "I ran.</think>{}"]
)
CUTS = st.lists(st.integers(0, 400), max_size=12)


def _feed(text: str, cuts: list[int]) -> tuple[list[tuple[str, Any]], PartialReader[Any]]:
    reader = PartialReader(SCHEMA)
    done: list[tuple[str, Any]] = []
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    for start, end in pairwise(places):
        done.extend(reader.feed(text[start:end]))
    return done, reader


@given(OBJECTS, DRESS, CUTS, st.sampled_from([None, 2]))
@settings(max_examples=short_or_long(75, 150))
def test_a_streamed_json_object_completes_to_the_whole_one(
    data: dict[str, Any], dress: str, cuts: list[int], indent: int | None
) -> None:
    text = dress.replace("{}", json.dumps(data, indent=indent))
    done, reader = _feed(text, cuts)
    assert done == list(data.items())
    assert reader.data == data == reader.finish().data


@given(st.text(max_size=200), CUTS)
@settings(max_examples=short_or_long(75, 150))
def test_any_split_gives_the_same_sequence(text: str, cuts: list[int]) -> None:
    assert _feed(text, cuts)[0] == _feed(text, [])[0] == _feed(text, list(range(len(text))))[0]


MARKS = st.sampled_from(
    [
        "{",
        "}",
        '"',
        ":",
        ",",
        "[",
        "]",
        "\n",
        " ",
        "action",
        "say",
        '"say"',
        "flee",
        "1",
        "\\",
        "<think>",
        "</think>",
        "```",
        "- ",
        "|",
    ]
)


@given(st.lists(MARKS, max_size=60).map("".join), CUTS)
@settings(max_examples=short_or_long(75, 150))
def test_any_split_of_broken_text_gives_the_same_sequence(text: str, cuts: list[int]) -> None:
    assert _feed(text, cuts)[0] == _feed(text, [])[0] == _feed(text, list(range(len(text))))[0]


YAML = """Sure:
```yaml
action: flee
say: |
  Run!
  Now: go!
items:
  - a
  - b: 1
confidence: 0.9
arguments:
  x: 1
```
"""


@given(CUTS)
@settings(max_examples=short_or_long(25, 50))
def test_a_streamed_yaml_object_completes_to_the_whole_one(cuts: list[int]) -> None:
    done, reader = _feed(YAML, cuts)
    assert [name for name, _ in done] == ["action", "say", "items", "confidence", "arguments"]
    assert reader.data == reader.finish().data
    assert reader.data["say"] == "Run!\nNow: go!\n"


def test_a_field_is_complete_only_when_the_next_begins() -> None:
    reader = PartialReader(SCHEMA)
    assert reader.feed('{"action": "flee"') == ()
    assert reader.data == {}
    assert reader.feed(', "say": "Run, {no') == (("action", "flee"),)
    assert reader.feed('w}!", "confidence": 0.') == (("say", "Run, {now}!"),)
    assert reader.feed("95") == ()
    assert reader.feed("}") == (("confidence", 0.95),)


def test_values_are_converted_as_in_the_whole_reply() -> None:
    reader = PartialReader(SCHEMA)
    assert reader.feed('{"action": "FLEE", "confidence": "0.9", "mood": "grim",') == (
        ("action", "flee"),
        ("confidence", 0.9),
        ("mood", "grim"),
    )


def test_a_wrong_value_or_a_doubtful_name_is_not_given_out() -> None:
    reader = PartialReader(SCHEMA)
    assert reader.feed('{"action": "dance", "Say": "Run!", "confidence": 1}') == (("confidence", 1),)
    assert reader.data == {"confidence": 1}


def test_a_later_object_replaces_an_earlier_one() -> None:
    reader = PartialReader(SCHEMA)
    reader.feed('{"action": "rest", "say": "hm"} No: {"action": "flee", "say": "Run!"}')
    assert reader.data == {"action": "flee", "say": "Run!"}


def test_broken_json_comes_with_the_whole_reply() -> None:
    schema = ReplySchema.of_kinds({"action": ["flee", "rest"], "say": "str"})
    reader = PartialReader(schema)
    assert reader.feed("{'action': 'flee', 'say': 'Run!'}") == ()
    assert reader.finish().data == {"action": "flee", "say": "Run!"}


def test_thinking_gives_no_fields() -> None:
    reader = PartialReader(SCHEMA)
    assert reader.feed('<think>{"action": "rest", "say": "hm"}') == ()
    assert reader.feed('</think>{"action": "flee",') == (("action", "flee"),)


def test_a_reply_without_an_object_is_the_same_error() -> None:
    reader = PartialReader(SCHEMA)
    reader.feed("I would rather not.")
    with pytest.raises(StructuredOutputError):
        reader.finish()
    assert reader.text == "I would rather not."

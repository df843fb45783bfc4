"""Conversions that surprise nobody, and the ones that are refused."""

from typing import Any

import pytest

from tickmind.llm.structured.coerce import MisfitError, coerce, shape
from tickmind.llm.structured.readers.field_names import Spelling, match_keys, spelling
from tickmind.llm.structured.readers.fields import Field, field_of_kind
from tickmind.llm.structured.readers.scalars import Plain, meant, number

FINE: list[tuple[Any, Any, Any]] = [
    ("bool", True, True),
    ("bool", "false", False),
    ("bool", "True", True),
    ("bool", Plain("no"), False),
    ("bool", "Yes.", True),
    ("bool", 0, False),
    ("num", 3, 3),
    ("num", "0.9", 0.9),
    ("num", "-5", -5),
    ("num", Plain("+2"), 2),
    ("num", "\u22125", -5),
    ("num", "-5 (a little less)", -5),
    ("int", 4.0, 4),
    ("int", "4", 4),
    ("str", 5, "5"),
    ("str", Plain("007"), "007"),
    ("str", Plain("no"), "no"),
    ("str", "None", "None"),
    ("str", ["one line"], "one line"),
    ("str", ["a", "b"], "a\nb"),
    ("str", Plain(""), ""),
    (["flee", "rest"], "FLEE", "flee"),
    (["flee", "rest"], " flee. ", "flee"),
    (["move_to", "rest"], "Move To", "move_to"),
    (["move_to", "rest"], "move_to(mill)", "move_to"),
    (["flee", "rest"], ["flee"], "flee"),
    ([1, 2, 3], Plain("2"), 2),
    ([1, 2, 3], "2", 2),
    (["1", "2"], 2, "2"),
    ([True, False], True, True),
    (["yes", "no"], Plain("no"), "no"),
    ("list", "Mira", ["Mira"]),
    ("list", "Mira, Old Tam", ["Mira", "Old Tam"]),
    ("list", "He paid me, and it rained all day", ["He paid me, and it rained all day"]),
    ("list", None, []),
    ("list", "none", []),
    ("list", '["a", "b"]', ["a", "b"]),
    ("list", "- a\n- b", ["a", "b"]),
    ("list", {"a": 1}, [{"a": 1}]),
    ("list", {"1": "a", "2": "b"}, ["a", "b"]),
    ("list", [Plain("1"), Plain("x")], [1, "x"]),
    ("dict", '{"a": 1}', {"a": 1}),
    ("dict", [{"a": 1}, {"b": 2}], {"a": 1, "b": 2}),
    ("dict", None, {}),
    ("any", Plain("null"), None),
    ("any", Plain("2"), 2),
    ("any", "2", "2"),
]

REFUSED: list[tuple[Any, Any]] = [
    ("bool", "perhaps"),
    ("bool", "true story"),
    ("bool", "1"),
    ("bool", 2),
    ("bool", None),
    ("bool", ""),
    ("bool", []),
    ("num", "about 5"),
    ("num", "5 gold"),
    ("num", "90%"),
    ("num", "0,9"),
    ("num", "1_000"),
    ("num", True),
    ("num", None),
    ("num", float("nan")),
    ("num", float("inf")),
    ("num", "nan"),
    ("num", ""),
    ("num", "\u0663"),
    ("int", 4.5),
    ("int", "4.5"),
    ("str", None),
    ("str", Plain("null")),
    ("str", {"a": 1}),
    ("str", [1, 2]),
    ("str", []),
    ("str", "<text>"),
    ("str", "..."),
    (["flee", "rest"], "run"),
    (["flee", "rest"], "fl"),
    (["flee", "rest"], "flee or rest"),
    (["flee", "rest"], "flee, rest"),
    (["flee", "rest"], "flee | rest"),
    (["flee", "rest"], ["flee", "rest"]),
    (["flee", "rest"], None),
    ([1, 2], True),
    ("dict", "north"),
    ("dict", ["a"]),
    ("dict", 5),
]


@pytest.mark.parametrize(("kind", "value", "wanted"), FINE)
def test_a_value_becomes_what_everybody_expects(kind: Any, value: Any, wanted: Any) -> None:
    got, _ = coerce(value, field_of_kind("x", kind))
    assert got == wanted
    assert type(got) is type(wanted)


@pytest.mark.parametrize(("kind", "value"), REFUSED)
def test_a_doubtful_value_is_a_misfit(kind: Any, value: Any) -> None:
    with pytest.raises(MisfitError, match="should be"):
        coerce(value, field_of_kind("x", kind))


def test_null_fits_a_nullable_field_only() -> None:
    assert coerce(None, Field("x", "num", nullable=True)) == (None, "")
    assert coerce(Plain("null"), Field("x", "str", nullable=True)) == (None, "")


def test_items_are_converted_by_their_own_kind() -> None:
    numbers = Field("x", "list", items=Field("item", "num"))
    assert coerce(["1", 2, "three"], numbers)[0] == [1, 2, "three"]
    texts = Field("x", "list", items=Field("item", "str"))
    assert coerce([{"Note": "buy bread"}, Plain("2")], texts)[0] == ["Note: buy bread", "2"]


def test_inner_objects_are_shaped_too() -> None:
    field = Field("x", "dict", fields=(Field("direction", "enum", ("north", "south")), Field("far", "bool")))
    assert coerce({"Direction": "NORTH", "far": "no"}, field)[0] == {"direction": "north", "far": False}


def test_every_conversion_leaves_a_note_and_a_clean_object_none() -> None:
    fields = [field_of_kind("done", "bool"), field_of_kind("goal", "str")]
    assert shape({"done": True, "goal": "x"}, fields).notes == ()
    notes = shape({"Done": "false", "goal": "x"}, fields).notes
    assert notes == ("read 'Done' as 'done'", "done: the text 'false' was taken as false")


@pytest.mark.parametrize(
    ("key", "name", "how"),
    [
        ("action", "action", Spelling.EXACT),
        ("Action", "action", Spelling.SAME),
        ("respondingCharacters", "responding_characters", Spelling.SAME),
        ("Responding-Characters", "responding_characters", Spelling.SAME),
        ("response_characters", "responding_characters", Spelling.NEAR),
        ("confidance", "confidence", Spelling.NEAR),
        ("Mira's goal", "goal", Spelling.NEAR),
        ("your goal", "goal", Spelling.NEAR),
        ("target_name", "target", Spelling.NEAR),
        ("steps", "step", Spelling.NEAR),
        ("target_price", "target", None),
        ("target2", "target1", None),
        ("active", "action", None),
        ("stay", "say", None),
        ("mode", "mood", None),
        ("", "mood", None),
        ("new_goal", "old_goal", None),
        ("min_price", "max_price", None),
    ],
)
def test_a_key_means_a_field_only_if_it_is_that_word(key: str, name: str, how: Spelling | None) -> None:
    assert spelling(key, name) == how


def test_two_keys_that_are_almost_a_name_are_neither_of_them() -> None:
    assert match_keys(["targets", "targe"], ["target"]) == {}
    assert match_keys(["target", "targets"], ["target"]) == {"target": ("target", Spelling.EXACT)}


def test_unquoted_text_means_what_yaml_1_2_says() -> None:
    words = ["null", "~", "true", "no", "007", "1e3", "12:30", "0x1F", "-", "1.5", "x"]
    assert [meant(Plain(word)) for word in words] == [
        None,
        None,
        True,
        "no",
        "007",
        1000.0,
        "12:30",
        "0x1F",
        "-",
        1.5,
        "x",
    ]


def test_no_number_is_picked_out_of_prose() -> None:
    assert [number(text) for text in ("5 apples", "about 5", "5-6", "1,000", "9" * 100, "0x10", "1e9999", "")] == [
        None
    ] * 8

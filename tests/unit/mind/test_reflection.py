"""Insights that follow from memories, by rule and from a model's reply."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tickmind.mind.memory import EntryKind, Memory
from tickmind.mind.reflection import (
    LEAST_EVIDENCE,
    MAX_INSIGHTS,
    MAX_REFLECTED,
    Reflection,
    insights_by_rule,
    note_insights,
)


def lived(count=5):
    memory = Memory()
    for tick in range(count):
        memory.note(tick, f"I saw cart {tick}.", about=f"cart:{tick}")
    return memory


def test_a_reply_gives_insights_with_the_entries_that_they_follow_from():
    memory = lived()
    reflection = Reflection.of_day(memory, 0)
    found = reflection.read("1 3: The carts come every morning.\n2, 4 and 5: There are many carts here.")
    assert [(one.text, one.evidence) for one in found] == [
        ("The carts come every morning.", (1, 3)),
        ("There are many carts here.", (2, 4, 5)),
    ]
    noted = note_insights(memory, 9, found)
    assert [(one.kind, one.source, one.evidence) for one in noted] == [
        (EntryKind.INSIGHT, "inferred", (1, 3)),
        (EntryKind.INSIGHT, "inferred", (2, 4, 5)),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "1: Only one entry.",
        "1 1: The same entry twice.",
        "1 99: One of them is not there.",
        "0 -1: None of them is there.",
        "1 2:",
        "1 2: no",
        "1 2: There is a dance at the mill at 20:00.",
        "1 2: I will bring you 1 bread by 18:00.",
        "1 2: Goodbye, my dear friends.",
        '1 2: {"goal": "visit the king"}',
        "1" * 2000,
        "1 " * 2000,
        "The carts come every morning.",
        "Sure! Here are the insights:",
        "",
    ],
)
def test_a_line_without_two_entries_and_a_sentence_is_left_out(line):
    assert Reflection.of_day(lived(), 0).read(line) == []


def test_lists_and_marks_of_models_are_read():
    reflection = Reflection.of_day(lived(), 0)
    texts = ["- 1, 2: The carts are slow.", "* ids 2;3: The carts are old.", "  (1 & 4): The carts are full."]
    assert len(reflection.read("\n".join(texts))) == 3
    assert len(reflection.read("\n".join(f"1 2: The cart number {at} came." for at in range(9)))) == 3


def test_the_most_important_of_the_day_are_asked_about_in_their_order():
    memory = lived(30)
    memory.note(3, "Bram promised me bread.", kind=EntryKind.PROMISED)
    memory.note(4, "It follows.", kind=EntryKind.INSIGHT, evidence=(1, 2))
    chosen = Reflection.of_day(memory, 3).entries
    assert len(chosen) == MAX_REFLECTED.maximum
    assert all(entry.tick >= 3 and entry.kind is not EntryKind.INSIGHT for entry in chosen)
    assert [entry.tick for entry in chosen] == sorted(entry.tick for entry in chosen)
    assert any(entry.kind is EntryKind.PROMISED for entry in chosen)


def test_rules_find_who_is_where_what_grows_where_and_who_keeps_promises():
    memory = Memory(day_ticks=240)
    for tick in (5, 50, 90):
        memory.note(tick, "I saw Bo at the mill.", about="bo", place="the mill")
        memory.note(tick, "I picked berries at the wood.", kind=EntryKind.GOT, about="berries", place="the wood")
    for tick in (20, 60):
        memory.note(tick, "Ada gave me bread as promised.", kind=EntryKind.GOT, about=("ada", "bread"))
    found = insights_by_rule(memory, str.capitalize)
    assert {one.text for one in found} == {
        "One often sees Bo at the mill.",
        "One often finds berries at the wood.",
        "Ada keeps promises.",
    }
    note_insights(memory, 100, found)
    assert insights_by_rule(memory, str.capitalize) == []  # known by now


def test_what_others_say_proves_nothing_by_itself():
    memory = Memory(day_ticks=240)
    for tick in (5, 50, 90):
        memory.note(tick, "I saw Bo at the mill.", about="bo", place="the mill", told_by="liar")
    assert insights_by_rule(memory, str.capitalize) == []


def test_an_insight_whose_evidence_was_forgotten_is_not_noted():
    memory = lived()
    found = Reflection.of_day(memory, 0).read("1 2: The carts are slow.")
    assert note_insights(Memory(), 9, found) == []


@settings(max_examples=60)
@given(st.text(max_size=300), st.integers(0, 20))
def test_whatever_a_model_replies_every_insight_rests_on_entries_that_are_there(reply, count):
    memory = lived(count)
    lines = f"{reply}\n1 2: {reply}\n{reply}: x y z\n2 3: The carts are slow."
    for entry in note_insights(memory, 99, Reflection.of_day(memory, 0).read(lines)):
        assert entry.kind is EntryKind.INSIGHT
        assert len(entry.evidence) >= LEAST_EVIDENCE
        assert all(memory.entry(number).source == "seen" for number in entry.evidence)
        assert "\n" not in entry.text
    insights = [entry for entry in memory if entry.kind is EntryKind.INSIGHT]
    assert len(insights) <= MAX_INSIGHTS.maximum

"""What a process reports of its minds' turns."""

import pytest

from tickmind.agent.control.turns import Played
from tickmind.agent.process.turn_trace import REPORT_TICKS, TurnTrace
from tickmind.protocol import Wait
from tickmind.protocol.reports import TurnCode, decode_turns


def trace(*turns):
    made = TurnTrace()
    for tick, code in turns:
        made.note(tick, code)
    return made


def test_the_first_report_says_that_the_process_began():
    made = trace((7, TurnCode.ACTED), (8, TurnCode.ACTED))
    assert made.take() == "b1a2"
    made.note(9, TurnCode.LATE)
    assert made.take() == "l1"
    assert made.take() == ""


def test_ticks_in_between_were_missed():
    assert trace((7, TurnCode.ACTED), (10, TurnCode.ACTED)).take() == "b1a1m2a1"


def test_a_repeated_tick_counts_once():
    assert trace((7, TurnCode.ACTED), (7, TurnCode.ACTED), (8, TurnCode.ACTED)).take() == "b1a2"


@pytest.mark.parametrize("code", [TurnCode.LATE, TurnCode.PERCEIVED, TurnCode.MISSED])
def test_an_unusual_turn_is_to_be_reported(code):
    made = trace((1, TurnCode.ACTED))
    assert not made.is_due
    made.note(2, code)
    assert made.is_due
    made.take()
    made.note(3, TurnCode.ACTED)
    assert not made.is_due


def test_a_gap_is_unusual_and_so_are_many_turns():
    assert trace((1, TurnCode.ACTED), (3, TurnCode.ACTED)).is_due
    assert trace(*((tick, TurnCode.ACTED) for tick in range(1, REPORT_TICKS))).is_due


def test_a_turn_says_who_acted_who_was_late_and_who_only_perceived():
    played = Played({"a": Wait()}, {"f": "oh"}, frozenset("lpm"), "l", frozenset("m"))
    assert {name: played.turn(name) for name in "aflpm"} == {
        "a": TurnCode.ACTED, "f": TurnCode.ACTED, "l": TurnCode.LATE, "p": TurnCode.PERCEIVED, "m": TurnCode.MISSED,
    }  # fmt: skip


def test_questions_stand_behind_the_turns_that_they_followed():
    made = trace((1, TurnCode.ACTED))
    made.question(1)  # in real time a mind reflects after its turn
    made.note(2, TurnCode.ACTED)
    assert made.take() == "b1a1q1a1"
    made.question(2)
    made.question(3)  # in lockstep before it is noted
    made.note(3, TurnCode.ACTED)
    text = made.take()
    assert text == "q1a1q1"
    assert list(decode_turns(text, 3, range(1, 4))) == [(2, TurnCode.ASKED), (3, TurnCode.ACTED), (3, TurnCode.ASKED)]

"""Turns of minds as a short text: every tick has its letter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.protocol import AgentState, AgentStatus
from tickmind.protocol.reports import TIMELESS, TurnCode, are_turns, decode_turns, encode_turns
from tickmind.wire import MessageError
from tickmind.wire.codec.telemetry import decode_status, encode_status
from tickmind.wire.v1 import telemetry_pb2

CODES = st.lists(st.sampled_from(list(TurnCode)), max_size=60)


@given(CODES, st.integers(100, 10**12))
def test_turns_read_as_they_were_written(codes, last_tick):
    text = encode_turns(codes)
    assert are_turns(text)
    decoded = list(decode_turns(text, last_tick, range(last_tick + 2)))
    ticks = [code for code in codes if code not in TIMELESS]
    assert [code for _, code in decoded if code not in TIMELESS] == ticks
    assert [tick for tick, code in decoded if code not in TIMELESS] == list(
        range(last_tick - len(ticks) + 1, last_tick + 1)
    )


def test_a_beginning_stands_at_the_tick_that_follows():
    assert list(decode_turns("a2b1a1", 9, range(10))) == [
        (7, TurnCode.ACTED), (8, TurnCode.ACTED), (9, TurnCode.BEGAN), (9, TurnCode.ACTED),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["a", "a0", "x3", "3a", "a1 l1", "a1234567890", "q1000", "b1000", "a-1", "a1\n"])
def test_other_texts_are_no_turns_and_the_wire_refuses_them(text):
    assert not are_turns(text)
    message = telemetry_pb2.AgentStatus(entity_id="ada", tick_id=3, state=telemetry_pb2.AGENT_STATE_RUNNING, turns=text)
    with pytest.raises(MessageError, match="turns"):
        decode_status(message)


@given(CODES, st.integers(0, 40), st.integers(0, 80))
def test_only_the_wanted_ticks_are_read(codes, first, last):
    text = encode_turns(codes)
    whole = list(decode_turns(text, 50, range(-100, 100)))
    assert list(decode_turns(text, 50, range(first, last))) == [one for one in whole if first <= one[0] < last]


def test_turns_of_more_ticks_than_a_run_has_cost_nothing():
    text = "m999999999" * 400
    assert are_turns(text)
    assert list(decode_turns(text, 10**15, range(1, 3))) == []
    assert list(decode_turns(text, 2, range(1, 3))) == [(1, TurnCode.MISSED), (2, TurnCode.MISSED)]


def test_many_questions_in_one_tick_fit_into_a_text():
    assert encode_turns([TurnCode.ACTED, *[TurnCode.ASKED] * 5000]) == "a1q999"


@given(CODES)
def test_a_status_carries_turns(codes):
    status = AgentStatus("ada", 9, AgentState.RUNNING, turns=encode_turns(codes))
    assert decode_status(encode_status(status)) == status

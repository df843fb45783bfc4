"""Cutting and joining lose nothing."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.llm.errors import LLMConfigError
from tickmind.llm.messages import ThinkingBlock, ToolCall
from tickmind.llm.testing import Cut, cut_reply, cut_text, join_pieces
from tickmind.llm.transport import ModelReply, Usage

cuts: st.SearchStrategy[Cut] = st.one_of(
    st.integers(1, 9),
    st.lists(st.integers(1, 5), min_size=1, max_size=4),
    st.integers().map(random.Random),
)
blocks = st.builds(ThinkingBlock, st.text(min_size=1), st.just("w"), st.text(max_size=3), st.text(max_size=3))
calls = st.builds(ToolCall, st.text(min_size=1, max_size=5), st.text(min_size=1, max_size=5), st.text(min_size=1))
replies = st.builds(
    ModelReply,
    content=st.text(),
    finish_reason=st.sampled_from(["stop", "length", "tool_calls", ""]),
    thinking=st.lists(blocks, max_size=2).map(tuple),
    tool_calls=st.lists(calls, max_size=3).map(tuple),
    usage=st.just(Usage(1, 2)),
    model=st.just("m"),
    id=st.just("r1"),
)


@given(st.text(), cuts)
def test_cut_text_keeps_every_character(text: str, cut: Cut) -> None:
    pieces = cut_text(text, cut)
    assert "".join(pieces) == text
    assert all(pieces)


@given(replies, cuts)
def test_a_cut_reply_joins_to_itself(reply: ModelReply, cut: Cut) -> None:
    assert join_pieces(cut_reply(reply, cut)) == reply


def test_sizes_are_used_in_turn() -> None:
    assert cut_text("abcdefg", [1, 2]) == ["a", "bc", "d", "ef", "g"]


def test_an_empty_finish_reason_makes_a_stream_without_one() -> None:
    assert all(piece.finish_reason is None for piece in cut_reply(ModelReply("hi", ""), 1))


@pytest.mark.parametrize("cut", [0, -1, [], [1, 0]])
def test_pieces_of_nothing_are_refused(cut: Cut) -> None:
    with pytest.raises(LLMConfigError, match="at least one character"):
        cut_text("abc", cut)

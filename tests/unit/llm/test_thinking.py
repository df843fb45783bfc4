import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.long import short_or_long

from tickmind.llm.streaming.thinking import SplitText, ThinkSplitter, split_thinking

FRAGMENTS = [
    "<think>", "</think>", "<thinking>", "</thinking>", "<", "</", "<thi", "nk>", "</think", "ing>", ">", "a",
    "\n", " b ", "é<", "<tool>", "<scratchpad>", "</scratchpad>",
]  # fmt: skip
texts = st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=6)), max_size=14).map("".join)


def cut(text: str, places: list[int]) -> list[str]:
    marks = sorted({place % (len(text) + 1) for place in places} | {0, len(text)})
    return [text[start:end] for start, end in itertools.pairwise(marks)]


def run(pieces: list[str], *, opened: bool = False) -> tuple[SplitText, SplitText]:
    """The totals, and what was given out."""
    splitter = ThinkSplitter(opened=opened)
    given = [part for piece in pieces for part in splitter.feed(piece)] + splitter.finish()
    content = "".join(text for is_thinking, text in given if not is_thinking)
    thinking = "".join(text for is_thinking, text in given if is_thinking)
    assert all(text for _, text in given)
    return SplitText(splitter.content, splitter.thinking), SplitText(content, thinking)


@settings(max_examples=short_or_long(250, 500))
@given(texts, st.lists(st.integers(0, 200), max_size=20), st.booleans())
@pytest.mark.slow
def test_any_cut_gives_the_same_as_the_whole_text(text: str, places: list[int], opened: bool) -> None:
    totals, given_out = run(cut(text, places), opened=opened)
    assert totals == split_thinking(text, opened=opened)
    assert given_out == run([text], opened=opened)[1]
    assert given_out == run(list(text), opened=opened)[1]


@given(texts, st.booleans())
@pytest.mark.slow
def test_pieces_and_totals_agree_unless_a_closing_tag_stands_alone(text: str, opened: bool) -> None:
    totals, given_out = run([text], opened=opened)
    if totals != given_out:
        assert not opened
        assert given_out.thinking in totals.thinking
        assert given_out.content.endswith(totals.content)


@given(st.text().filter(lambda text: "<" not in text))
def test_text_without_tags_is_content(text: str) -> None:
    assert split_thinking(text) == SplitText(text, "")


def test_a_block_glued_to_text_is_cut_out() -> None:
    assert split_thinking("a<think>b</think>c") == SplitText("ac", "b")


def test_several_blocks_are_joined() -> None:
    assert split_thinking("<think>1</think>x<thinking>2</thinking>y") == SplitText("xy", "12")


def test_an_unclosed_block_is_thinking_to_the_end() -> None:
    assert split_thinking("x<think>never ends </thin") == SplitText("x", "never ends </thin")


def test_a_lone_closing_tag_means_that_all_before_it_was_thinking() -> None:
    assert split_thinking("hmm, so</think>Yes.") == SplitText("Yes.", "hmm, so")


def test_a_stream_keeps_as_content_what_it_gave_out_before_a_lone_closing_tag() -> None:
    totals, given_out = run(["hmm, ", "so</th", "ink>Yes."])
    assert totals == SplitText("Yes.", "hmm, so")
    assert given_out == SplitText("hmm, soYes.", "")


def test_an_opened_stream_is_right_from_the_first_piece() -> None:
    totals, given_out = run(["hmm, ", "so</th", "ink>Yes."], opened=True)
    assert totals == given_out == SplitText("Yes.", "hmm, so")


def test_a_second_closing_tag_is_dropped() -> None:
    assert split_thinking("<think>a</think>b</think>c") == SplitText("bc", "a")


def test_an_opening_tag_inside_a_block_is_thinking() -> None:
    assert split_thinking("<think>a<think>b</think>c") == SplitText("c", "a<think>b")


def test_what_only_looks_like_a_tag_stays() -> None:
    assert split_thinking("1 < 2 <thin <thinker> </thinks>") == SplitText("1 < 2 <thin <thinker> </thinks>", "")


def test_less_than_a_tag_is_held_back() -> None:
    splitter = ThinkSplitter()
    assert splitter.feed("abc<thin") == [(False, "abc")]
    assert splitter.feed("k") == []
    assert splitter.feed("s") == [(False, "<thinks")]


def test_native_thinking_before_it_makes_a_lone_closing_tag_harmless() -> None:
    splitter = ThinkSplitter()
    splitter.note_thinking("native")
    splitter.feed("answer</think> more")
    assert (splitter.content, splitter.thinking) == ("answer more", "native")


def test_tags_can_be_left_alone() -> None:
    splitter = ThinkSplitter(tags=False)
    assert splitter.feed("<think>a</think>") == [(False, "<think>a</think>")]

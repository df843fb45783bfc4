from hypothesis import given
from hypothesis import strategies as st

from tickmind.record.report.conversations import conversations

SAID = st.lists(
    st.tuples(
        st.integers(1, 60),
        st.sampled_from(["ada", "bram", "cleo", "dov"]),
        st.text(max_size=5),
        st.integers(0, 30),
        st.integers(0, 30),
    ),
    max_size=40,
).map(lambda lines: sorted(lines, key=lambda line: line[0]))


def test_two_who_answer_each_other_have_a_conversation():
    (talk,) = conversations([(1, "ada", "Hello", 3, 3), (3, "bram", "Hello, Ada", 5, 4)], hearing_radius=8)
    assert talk.speakers == ("ada", "bram")
    assert [line.text for line in talk.lines] == ["Hello", "Hello, Ada"]
    assert (talk.first_tick_id, talk.last_tick_id) == (1, 3)


def test_who_talks_alone_has_none():
    assert conversations([(1, "ada", "Hm", 0, 0), (2, "ada", "Well", 0, 0)], hearing_radius=8) == []


def test_who_is_out_of_hearing_has_another_one():
    said = [(1, "ada", "a", 0, 0), (1, "cleo", "c", 50, 0), (2, "bram", "b", 1, 0), (2, "dov", "d", 51, 0)]
    assert [talk.speakers for talk in conversations(said, hearing_radius=8)] == [("ada", "bram"), ("cleo", "dov")]


def test_after_a_long_silence_it_is_another_one():
    said = [(1, "ada", "a", 0, 0), (2, "bram", "b", 0, 0), (90, "ada", "c", 0, 0), (91, "bram", "d", 0, 0)]
    assert [talk.first_tick_id for talk in conversations(said, hearing_radius=8)] == [1, 90]


@given(said=SAID, radius=st.integers(0, 12))
def test_no_line_is_in_two_conversations_and_each_has_two_speakers(said, radius):
    found = conversations(said, radius)
    lines = [(line.tick_id, line.actor_id, line.text) for talk in found for line in talk.lines]
    given_lines = [(tick, actor, text) for tick, actor, text, _, _ in said]
    for line in set(lines):
        assert lines.count(line) <= given_lines.count(line)
    assert all(len(talk.speakers) > 1 for talk in found)
    assert all(
        first.tick_id <= then.tick_id for talk in found for first, then in zip(talk.lines, talk.lines[1:], strict=False)
    )

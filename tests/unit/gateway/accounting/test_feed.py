"""What happened at the lanes, for people who watch."""

from dataclasses import replace

import pytest

from tickmind.base import ManualClock, Secret
from tickmind.gateway.accounting.feed import JOIN_S, MOST_EVENTS, Feed
from tickmind.gateway.queue.reporting.statistics import QueueEvent, QueueEventKind

LIMITED = QueueEvent(QueueEventKind.LIMITED, "groq", "k", "", "village", 0.0, "rate limited, asked to wait 9 s")


@pytest.fixture
def clock():
    return ManualClock(monotonic=100.0)


def test_the_newest_line_comes_first(clock):
    feed = Feed(clock)
    feed.add(LIMITED)
    feed.add(replace(LIMITED, kind=QueueEventKind.FELL_BACK, provider="cerebras"))
    assert [line.kind for line in feed.lines()] == [QueueEventKind.FELL_BACK, QueueEventKind.LIMITED]


def test_a_line_tells_how_long_it_lasts(clock):
    feed = Feed(clock)
    feed.add(replace(LIMITED, until_s=109.0))
    assert feed.lines()[0].for_s == 9.0


def test_the_same_again_is_one_line_that_counts(clock):
    feed = Feed(clock)
    for _ in range(3):
        feed.add(LIMITED)
        feed.add(replace(LIMITED, kind=QueueEventKind.FELL_BACK, provider="cerebras"))
        clock.advance(1)
    assert [line.count for line in feed.lines()] == [3, 3]


def test_the_same_much_later_is_another_line(clock):
    feed = Feed(clock)
    feed.add(LIMITED)
    clock.advance(JOIN_S + 1)
    feed.add(LIMITED)
    assert [line.count for line in feed.lines()] == [1, 1]


def test_sessions_and_lanes_are_told_apart(clock):
    feed = Feed(clock)
    for event in (
        LIMITED,
        replace(LIMITED, session="arena"),
        replace(LIMITED, model="m"),
        replace(LIMITED, provider="x"),
    ):
        feed.add(event)
    assert len(feed.lines()) == 4


def test_only_the_last_lines_are_kept(clock):
    feed = Feed(clock)
    for number in range(3 * MOST_EVENTS):
        feed.add(replace(LIMITED, session=f"s{number}"))
    assert len(feed.lines()) == MOST_EVENTS
    assert feed.lines()[0].session == f"s{3 * MOST_EVENTS - 1}"


def test_a_key_in_a_reason_is_masked(clock):
    key = Secret("sk-canary-0a1b2c3d4e5f")
    feed = Feed(clock)
    feed.add(replace(LIMITED, kind=QueueEventKind.ACCOUNT_REFUSED, detail=f"wrong key {key.reveal()}"))
    assert key.reveal() not in feed.lines()[0].detail

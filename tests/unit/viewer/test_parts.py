"""The parts behind the viewer's server: what is kept, counted and let in."""

import random
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.base import LimitExceededError, Secret
from tickmind.protocol import ActorColumns, ResultColumns, Thought, ThoughtReport
from tickmind.viewer import NoSuchWindowError
from tickmind.viewer.access import RequestGuard, access_for
from tickmind.viewer.sources.digest import COLUMNS, Digest
from tickmind.viewer.sources.history import MAX_HISTORY_BYTES, FrameHistory
from tickmind.viewer.sources.source import window_ticks
from tickmind.viewer.sources.watchers import MAX_BACKLOG_FRAMES, MAX_WATCHERS, Watchers


def filled(ticks, *, window=8, limit=MAX_HISTORY_BYTES, start=0):
    history = FrameHistory(window, limit=limit)
    history.begin(start, b"K%d " % start)
    for tick in range(start + 1, start + ticks + 1):
        if history.wants_keyframe() and tick > start + 1:
            history.begin(tick - 1, b"K%d " % (tick - 1))
        history.add(tick, b"T%d " % tick)
    return history


def test_a_window_begins_with_a_keyframe_and_has_every_tick():
    history = filled(30)
    assert history.window(1, 8) == b"K0 T1 T2 T3 T4 T5 T6 T7 T8 "
    assert history.window(9, 12) == b"K8 T9 T10 T11 T12 "
    assert history.window(25, 99) == b"K24 T25 T26 T27 T28 T29 T30 "
    assert (history.first_tick_id, history.last_tick_id) == (1, 30)


def test_old_ticks_go_when_there_is_no_more_room():
    history = filled(1000, limit=MAX_HISTORY_BYTES.at(400))
    assert history.first_tick_id > 900
    assert history.last_tick_id == 1000
    with pytest.raises(NoSuchWindowError, match="request ticks from"):
        history.window(1, 8)


def test_without_a_tick_there_is_the_keyframe_and_the_error_offers_no_tick():
    history = filled(0, start=6)
    assert history.window(1, 6) == b"K6 "
    with pytest.raises(NoSuchWindowError, match="no tick has come yet"):
        history.window(1, 5)


@pytest.mark.slow
def test_an_hour_of_a_village_is_kept_in_a_few_megabytes():
    ticks, frame = 36_000, bytes(range(200)) * 2
    tracemalloc.start()
    try:
        history = FrameHistory(64)
        for tick in range(ticks):
            if history.wants_keyframe():
                history.begin(tick - 1, b"K" * 2000)
            history.add(tick, b"%d " % tick + frame)
            if tick % 3 == 0:
                history.add_reports(tick, b"%d told " % tick + frame)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert history.first_tick_id == 0
    assert kept < 6_000_000
    assert history.window(700, 700).count(b"told") >= 1


@pytest.mark.parametrize("size", [10, 50_000], ids=["packed", "too large to be packed"])
def test_what_is_kept_comes_out_as_it_went_in(size):
    history = FrameHistory(8)
    frames = {tick: b"<%d>" % tick + random.Random(tick).randbytes(size) for tick in range(1, 41)}
    history.begin(0, b"K0")
    for tick, frame in frames.items():
        if history.wants_keyframe() and tick > 1:
            history.begin(tick - 1, b"K%d" % (tick - 1))
        history.add(tick, frame)
    assert history.window(9, 14) == b"K8" + b"".join(frames[tick] for tick in range(9, 15))
    whole = b"".join((b"K%d" % (tick - 1) if tick % 8 == 1 else b"") + frames[tick] for tick in frames)
    assert history.window(1, 40) == whole


@given(st.integers(1, 80), st.integers(1, 90), st.integers(0, 20))
def test_any_window_has_all_of_its_ticks_in_order(ticks, first, length):
    history = filled(ticks)
    if first > ticks:
        return
    got = history.window(first, first + length).split()
    ticks_got = [int(one[1:]) for one in got if one.startswith(b"T")]
    assert ticks_got == sorted(ticks_got)
    assert set(range(first, min(ticks, first + length) + 1)) <= set(ticks_got)
    assert got[0].startswith(b"K")


def actors(*bits):
    zeros = np.zeros(len(bits), np.int32)
    return ActorColumns(zeros, zeros, np.array(bits, np.int32), zeros.astype(np.int8))


def results(*codes):
    return ResultColumns(
        np.arange(len(codes), dtype=np.int32),
        np.array([action for action, _ in codes], np.uint8),
        np.array([reason for _, reason in codes], np.uint8),
    )


def test_a_digest_counts_what_happened_and_how_everybody_is():
    digest = Digest(5)
    digest.add_tick(5, actors(0, 1, 4, 6), results((1, 0), (1, 14), (3, 0)), 2, 20.5)
    digest.add_thoughts(
        [
            ThoughtReport("a", 5, Thought(1, 1, 2, "", "", latency_s=1.5, prompt_tokens=3, cost_usd=0.5)),
            ThoughtReport("a", 5, Thought(1, 1, 2, "", "", error_type="Timeout", latency_s=5.0)),
        ]
    )
    shown = digest.shown()
    assert (shown["first"], shown["step"], shown["ticks"]) == (5, 1, 1)
    row = {name: values[0] for name, values in shown["columns"].items()}
    assert row["said"] == 2
    assert (row["failed"], row["acted"]) == (1, 1)
    assert (row["awake"], row["asleep"], row["uncontrolled"], row["incapacitated"]) == (3, 1, 2, 1)
    assert (row["answers"], row["outages"], row["latency_s"], row["tokens"]) == (1, 1, 6.5, 3)
    assert row["gap_ms"] == 20.5


def test_a_thought_that_claims_a_tick_far_ahead_counts_in_the_last():
    digest = Digest(1)
    thought = ThoughtReport("a", 19_999_999, Thought(1, 1, 2, "", ""))
    digest.add_thoughts([thought])  # there is no tick yet
    assert len(digest) == 0
    digest.add_tick(1, actors(0), results(), 0)
    digest.add_thoughts([thought])
    assert len(digest) == 1
    assert digest.shown()["columns"]["answers"] == [1.0]


@given(st.integers(1, 5000), st.integers(1, 60))
def test_buckets_lose_nothing(ticks, most):
    digest = Digest(1)
    for tick in range(1, ticks + 1, max(1, ticks // 50)):
        digest.add_tick(tick, actors(0), results((1, 14)), 1)
    digest.add_tick(ticks, actors(0), results(), 0)
    shown = digest.shown(most_buckets=most)
    assert all(len(shown["columns"][name]) <= most for name in COLUMNS)
    assert len(shown["columns"]["said"]) * shown["step"] >= ticks
    said = digest.shown(most_buckets=10**6)["columns"]["said"]
    assert sum(shown["columns"]["said"]) == sum(said)


def test_windows_are_long_for_few_and_short_for_many():
    assert [window_ticks(count) for count in (0, 1, 100, 10_000, 100_000, 1_000_000)] == [256, 256, 256, 64, 16, 16]


def test_there_is_a_limit_to_watchers():
    watchers = Watchers(lambda: b"key", limit=MAX_WATCHERS.at(1))
    with watchers.join(), pytest.raises(LimitExceededError, match="number of watchers"), watchers.join():
        pass
    assert len(watchers) == 0


@pytest.mark.asyncio
async def test_a_watcher_begins_with_a_keyframe_and_misses_nothing_while_it_keeps_up():
    watchers = Watchers(lambda: b"key", backlog=MAX_BACKLOG_FRAMES.at(3))
    with watchers.join() as watcher:
        watchers.send(b"too early")
        assert await watcher.next() == b"key"
        for number in range(3):
            watchers.send(b"%d" % number)
        assert [await watcher.next() for _ in range(3)] == [b"0", b"1", b"2"]
        for number in range(5):
            watchers.send(b"%d" % number)
        assert await watcher.next() == b"key"
        assert watcher.skipped == 4
        watchers.restart()
        assert await watcher.next() == b"key"


@given(st.text(max_size=60))
def test_a_host_that_is_not_ours_is_refused(host):
    access = RequestGuard(frozenset({"localhost", "127.0.0.1", "[::1]"}))
    allowed = access.host_allowed(host)
    assert not allowed or host.strip().lower().startswith(("localhost", "127.0.0.1", "[::1]"))


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("127.0.0.1:8700", True),
        ("LOCALHOST:1", True),
        ("[::1]:8700", True),
        ("viewer.example:443", True),
        ("127.0.0.1.evil.example:8700", False),
        ("localhost.evil.example", False),
        ("[::1].evil.example", False),
        ("evil.example", False),
        ("", False),
        (None, False),
    ],
)
def test_hosts_by_which_the_viewer_is_known(host, allowed):
    access = access_for("127.0.0.1", tokens=(), tls=False, hosts=["viewer.example"])
    assert access.host_allowed(host) == allowed


def test_tokens_are_compared_whole_and_never_shown():
    access = RequestGuard(frozenset({"localhost"}), (Secret("one-long-token-here"), Secret("another-long-token")))
    assert access.token_allowed("another-long-token")
    assert not any(access.token_allowed(wrong) for wrong in (None, "", "one-long-token-her", "ONE-LONG-TOKEN-HERE"))
    assert "long-token" not in repr(access)

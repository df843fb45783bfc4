"""What the viewer keeps of minds and needs, and gives out for one character at a tick."""

import tracemalloc
from typing import Any

import numpy as np
import pytest

from tickmind.protocol import BoardEntry, Insight, NeedColumns
from tickmind.record import RunStore
from tickmind.record.testing import RandomRun
from tickmind.viewer.sources import minds
from tickmind.viewer.sources.minds import Minds, NeedsNow
from tickmind.viewer.sources.replay import RunFrames
from tickmind.viewer.sources.shelf import LiveReportHistory


def needs(*told):
    rows, energy, hunger = zip(*told, strict=True)
    return NeedColumns(np.array(rows, np.int32), np.array(energy, np.int16), np.array(hunger, np.int16))


def insight(tick, *, whole=False, name="a", value="1"):
    return Insight(name, tick, whole, board=(BoardEntry("k", value),))


def test_a_mind_is_told_from_the_last_whole_insight_on_however_late_they_came():
    kept = Minds({"a": 0, "b": 1})
    kept.add([insight(1, whole=True), insight(4), insight(9), insight(7, whole=True), insight(8, name="b")])
    assert [one["tick"] for one in kept.of(0, 9)["insights"]] == [7, 9]
    assert [one["tick"] for one in kept.of(0, 6)["insights"]] == [1, 4]
    assert kept.of(1, 7)["insights"] == []
    assert kept.of(5, 9) == {"insights": [], "needs": []}


def test_needs_of_one_are_those_that_were_told_of_it():
    kept = Minds({"a": 0, "b": 1})
    kept.add_needs(1, needs((0, 900, 10), (1, 800, 20)))
    kept.add_needs(5, needs((1, 780, 40)))
    kept.add_needs(6, None)
    assert kept.of(1, 9)["needs"] == [(1, 800, 20), (5, 780, 40)]
    assert kept.of(1, 4)["needs"] == [(1, 800, 20)]


def test_own_needs_come_after_energy_and_hunger_live_and_from_a_record(tmp_path):
    run = RandomRun(3, 4, own_needs=("warmth", "joy"))
    records: list[Any] = [run.tick() for _ in range(20)]
    live = Minds({name: row for row, name in enumerate(run.actor_ids)}, own_needs=2)
    with RunStore(tmp_path).create(run.info, "a-run") as log:
        for record in records:
            live.add_needs(record.tick_id, record.needs)
            log.publish(record)
    expected = [
        (one.tick_id, int(one.needs.energy[at]), int(one.needs.hunger[at]), *one.needs.own[at].tolist())
        for one in records
        if one.needs is not None
        for at in np.flatnonzero(one.needs.actor == 2).tolist()
    ]
    assert len(expected) > 2
    assert live.of(2, 20)["needs"] == expected
    with RunStore(tmp_path).open("a-run") as reader:
        assert RunFrames(reader).mind(2, 20)["needs"] == expected


def test_what_is_kept_of_minds_is_bounded(monkeypatch):
    monkeypatch.setattr(minds, "MAX_MIND_BYTES", minds.MAX_MIND_BYTES.at(100_000))
    monkeypatch.setattr(minds, "MAX_NEED_BYTES", minds.MAX_NEED_BYTES.at(30_000))
    kept = Minds({"a": 0})
    for tick in range(1, 5000):
        kept.add([insight(tick, whole=True, value=f'"{"x" * 30}"')])
        kept.add_needs(tick, needs((0, tick, tick), (1, 5, 5)))
    assert kept.of(0, 100) == {"insights": [], "needs": []}
    assert [one["tick"] for one in kept.of(0, 4500)["insights"]] == [4500]
    assert kept.of(0, 4999)["needs"] == [(tick, tick, tick) for tick in range(4999 - minds.NEED_TICKS, 5000)]


@pytest.mark.slow
def test_a_shelf_takes_no_more_memory_than_it_says():
    limit = minds.MAX_MIND_BYTES.at(1_000_000)
    shelf = LiveReportHistory(limit)
    tracemalloc.start()
    try:
        for tick in range(60_000):
            shelf.add(tick % 12, tick, {"tick": tick, "text": f"{tick} berries " * (tick % 40)})
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 1.2 * limit.maximum
    newest = list(shelf.newest(11, 0, 59_999))
    assert [one["tick"] for one in newest[:2]] == [59_999, 59_987]
    assert 20_000 < len(newest) * 12 < 60_000


def test_the_mean_of_needs_is_of_those_that_are_known():
    now = NeedsNow(3)
    assert now.take(None) is None
    assert now.take(needs((0, 900, 100), (2, 500, 300))) == (700.0, 200.0)
    assert now.take(needs((1, 100, 200))) == (500.0, 200.0)


def test_the_mean_of_needs_is_of_those_that_are_there():
    now, away = NeedsNow(3), np.array([1], dtype=np.int32)
    everyone = needs((0, 900, 100), (1, 0, 1000), (2, 500, 300))
    assert now.take(everyone, away) == (700.0, 200.0)
    assert now.take(None, away) == (700.0, 200.0)
    assert now.take(None, away[:0]) == pytest.approx((1400 / 3, 1400 / 3))  # it came, and what it needs is known
    assert now.take(None, np.arange(3, dtype=np.int32)) is None


def test_a_recorded_mind_is_that_of_its_insights(tmp_path):
    run, told = RandomRun(3, 4), []
    with RunStore(tmp_path).create(run.info, "a-run") as log:
        for _ in range(30):
            told.append(run.insight())
            log.insight(told[-1])
            log.publish(run.tick())
    live = Minds({name: row for row, name in enumerate(run.actor_ids)})
    live.add(told)
    with RunStore(tmp_path).open("a-run") as reader:
        frames = RunFrames(reader)
        for row in range(4):
            for tick in (1, 12, 30):
                assert frames.mind(row, tick)["insights"] == live.of(row, tick)["insights"]
        assert frames.mind(9, 30) == {"insights": [], "needs": ()}
        assert {(place[0], place[1]): amount for place, amount in frames._scenes[0].ground.items()} == {
            (7, 9): 4,
            (2, 11): 1,
        }

"""What was published is read again, all of it, from the log and from the finished files."""

import dataclasses
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tickmind.base import ManualClock
from tickmind.protocol import ActorColumns, IntentColumns, ResultColumns
from tickmind.record import (
    EventKind,
    LogOptions,
    RecordError,
    RecordOrderError,
    RunExistsError,
    RunFinishedError,
    RunState,
    RunStore,
    SyncPolicy,
    TickCounts,
    TileArea,
)
from tickmind.record.columns import unpack_batches
from tickmind.record.log.log_schema import SCHEMAS, LogTable
from tickmind.record.log.steps import read_state, steps
from tickmind.record.log.tick_codec import pack_tick
from tickmind.record.testing import MemoryDisk, RandomRun, differences

QUICK = LogOptions(sync=SyncPolicy.NEVER, keyframe_ticks=5, segment_ticks=12)


def assert_same(read, records):
    read = list(read)
    assert [one.tick_id for one in read] == [one.tick_id for one in records]
    for one, other in zip(read, records, strict=True):
        assert differences(one, other) == []


def plain(counts):
    needs = (
        None if counts.needs is None else [getattr(counts.needs, at).tolist() for at in ("actor", "energy", "hunger")]
    )
    return {**dataclasses.asdict(counts), "done": counts.done.tolist(), "needs": needs, "away": counts.away.tolist()}


@pytest.mark.slow
@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32),
    actors=st.sampled_from((0, 1, 7, 33, 300)),
    ticks=st.integers(0, 30),
    wild=st.sampled_from((0.0, 0.01, 0.5)),
)
def test_a_run_is_read_as_it_was_recorded_before_and_after_it_is_finished(seed, actors, ticks, wild):
    store = RunStore(Path("/runs"), MemoryDisk(), clock=ManualClock())
    run = RandomRun(seed, actors, wild=wild)
    with store.create(run.info, "r", options=QUICK) as log:
        records = []
        for _ in range(ticks):
            records.append(run.tick())
            log.publish(records[-1])
        with store.open("r") as reader:
            assert reader.info == run.info
            assert_same(reader.records(), records)
    with store.open("r") as reader:
        assert reader.meta.finished
        assert reader.info == run.info
        assert_same(reader.records(), records)


STEPS = [(dx, dy, way) for dx in (-1, 0, 1) for dy in (-1, 0, 1) for way in range(8)]


@pytest.mark.parametrize("facing", [-1, 8, 127, -128])
@pytest.mark.parametrize("step", STEPS)
def test_an_actor_that_had_no_facing_is_read_after_any_step(step, facing):
    """One of many, so that only changes are written. Its code may be that of one that stays, if numbers wrap."""
    still = np.zeros(20, np.int32)
    before = ActorColumns(still, still, still, np.zeros(20, np.int8))
    before.facing[3] = facing
    now = ActorColumns(still.copy(), still.copy(), still, before.facing.copy())
    now.x[3], now.y[3], now.facing[3] = step
    read = read_state(dict(steps(before, now)), before, 20)
    assert (read.x[3], read.y[3], read.facing[3]) == step
    assert not read.x[:3].any()


@pytest.fixture(scope="class")
def recorded(shared_store, fill, finished):
    """One run for all tests of the class, which only read it."""
    run_id = "finished" if finished else "log"
    log, records = fill(shared_store, 40, run_id=run_id, options=QUICK, reports=True, actors=9)
    if finished:
        log.close()
    yield run_id, records
    log.close()


@pytest.fixture
def read(shared_store, recorded):
    run_id, records = recorded
    with shared_store.open(run_id) as reader:
        yield reader, records


@pytest.mark.parametrize("finished", [False, True], ids=["log", "finished"], scope="class")
class TestReading:
    def test_any_span_of_ticks(self, read):
        reader, records = read
        for first, last in ((1, 1), (7, 31), (13, 13), (39, 99), (-5, 2), (41, 60), (9, 8)):
            assert_same(reader.records(first, last), [one for one in records if first <= one.tick_id <= last])
        assert (reader.first_tick_id, reader.last_tick_id) == (1, 40)

    def test_one_tick_and_its_state(self, read):
        reader, records = read
        for tick_id in (40, 1, 22, 23, 12, 13):
            assert differences(reader.tick(tick_id), records[tick_id - 1]) == []
            state, wanted = reader.state_at(tick_id), records[tick_id - 1].actor_state
            assert np.array_equal(state.x, wanted.x)
            assert np.array_equal(state.facing, wanted.facing)

    def test_counts_are_those_of_whole_ticks(self, read):
        reader, records = read
        pieces = []
        for first, last in ((1, 40), (7, 31), (39, 99), (41, 60)):
            found = list(reader.counts(first, last, between=lambda: pieces.append(1)))
            wanted = [TickCounts.of(one) for one in records if first <= one.tick_id <= last]
            assert [plain(one) for one in found] == [plain(one) for one in wanted]
        assert len(pieces) >= 40 + 25 + 2
        assert sum(one.failed for one in reader.counts()) > 0

    def test_the_time_of_a_tick(self, read):
        reader, records = read
        assert [reader.sim_time_ms(at) for at in (1, 40, 22)] == [records[at - 1].sim_time_ms for at in (1, 40, 22)]
        with pytest.raises(RecordError, match="ticks 1 to 40, not 41"):
            reader.sim_time_ms(41)

    def test_a_tick_that_there_is_not_is_a_plain_error(self, read):
        with pytest.raises(RecordError, match="ticks 1 to 40, not 41"):
            read[0].tick(41)

    def test_the_history_of_an_actor(self, read):
        reader, records = read
        history = reader.actor_history("entity:4", 5, 33)
        assert history.tick_ids.tolist() == list(range(5, 34))
        for name in ("x", "y", "status_bits", "facing"):
            wanted = [getattr(one.actor_state, name)[4] for one in records[4:33]]
            assert getattr(history.state, name).tolist() == wanted
        assert len(reader.actor_history("entity:4", 50, 60).tick_ids) == 0
        with pytest.raises(RecordError, match="no actor 'nobody'"):
            reader.actor_history("nobody")

    def test_events_by_kind_actor_and_region(self, read):
        reader, records = read
        events = list(reader.events(3, 30))
        assert sum(one.kind is EventKind.ACTION for one in events) == sum(len(one.results) for one in records[2:30])
        said = list(reader.events(kinds={EventKind.UTTERANCE}))
        assert [one.what for one in said] == [said for one in records for said in one.utterances]
        of_one = list(reader.events(actors={"entity:3"}))
        assert {one.subject_id for one in of_one} == {"entity:3"}
        on_ground = list(reader.events(region=TileArea(7, 9, 7, 9), kinds={EventKind.OBJECT}))
        assert {one.subject_id for one in on_ground} == {"ground:7,9"}

    def test_thoughts_calls_statuses_insights_and_needs(self, read):
        reader, _ = read
        again = RandomRun(1, 9)
        thoughts, statuses, insights, needs = [], [], [], []
        for _ in range(40):
            thoughts.append(again.thought())
            statuses.append(again.status())
            insights.append(again.insight())
            needs.append(again.tick().needs)
        assert list(reader.thoughts()) == thoughts
        assert list(reader.statuses()) == statuses
        assert list(reader.insights()) == insights
        assert list(reader.insights(5, 7)) == insights[4:7]
        of_one = [one for one in insights if one.entity_id == "entity:3"]
        assert list(reader.insights(actors={"entity:3"})) == of_one
        told = {tick: one.energy.tolist() for tick, one in reader.needs(11, 30)}
        expected = {tick: one.energy.tolist() for tick, one in enumerate(needs, start=1) if one is not None}
        assert told == {tick: energy for tick, energy in expected.items() if 11 <= tick <= 30}
        assert [one.tick_id for one in reader.thoughts(5, 7)] == [5, 6, 7]
        calls = list(reader.llm_calls())
        assert [one.prompt_tokens for one in calls] == [one.thought.prompt_tokens for one in thoughts]

    def test_the_map(self, read):
        reader, _ = read
        assert reader.map.shape == (40, 40)
        assert reader.map[0, 7] == 1


@pytest.mark.parametrize("asking", [1, 3, 40], ids=["one", "a few", "all"])
@pytest.mark.parametrize("ahead", [True, False], ids=["ahead", "elsewhere"])
def test_moves_are_read_as_they_were_and_those_ahead_take_no_byte_each(store, asking, ahead):
    run = RandomRun(7, 40, wild=0.0)
    first = run.tick()
    rows = np.arange(asking, dtype=np.int32)
    facing = np.full(40, 5, dtype=np.int8)
    unused = np.full(asking, -1, dtype=np.int32)
    ways = facing[:asking] if ahead else np.full(asking, 2, dtype=np.int8)
    moves = IntentColumns(rows, np.ones(asking, dtype=np.uint8), ways, unused, unused, unused, {})
    state = dataclasses.replace(first.actor_state, facing=facing)
    results = ResultColumns(rows, moves.action, np.zeros(asking, dtype=np.uint8))
    record = dataclasses.replace(first, actor_state=state, intents=moves, results=results)
    with store.create(run.info, "r", options=QUICK) as log:
        log.publish(record)
        with store.open("r") as reader:
            assert_same(reader.records(), [record])
    with store.open("r") as reader:
        assert_same(reader.records(), [record])
    written = unpack_batches(pa.py_buffer(pack_tick(record, None)), SCHEMAS)
    assert (LogTable.INTENTS in written) == (not ahead and asking > 1)
    assert (LogTable.SOME_INTENTS in written) == (asking == 1)


def test_a_run_of_nobody_and_of_no_ticks_is_finished_like_any_other(store, fill):
    for actors, ticks in ((0, 3), (5, 0), (0, 0)):
        run_id = f"r-{actors}-{ticks}"
        log, records = fill(store, ticks, run_id=run_id, actors=actors)
        log.close()
        with store.open(run_id) as reader:
            assert_same(reader.records(), records)


def test_reports_after_the_last_tick_are_kept(store, fill):
    log, _ = fill(store, 3)
    run = RandomRun(5)
    report = run.thought()
    log.thought(report)
    log.close()
    with store.open("a-run") as reader:
        assert list(reader.thoughts()) == [report]


def test_half_a_character_does_not_stop_the_world(store, fill):
    log, _ = fill(store, 1)
    run = RandomRun(1)
    run.tick()
    record = run.tick()
    report = run.thought()
    object.__setattr__(report.thought, "reply", "half \ud83d")
    log.thought(report)
    log.publish(record)
    with store.open("a-run") as reader:
        assert next(reader.thoughts()).thought.reply == "half ?"
    log.close()


def test_a_reader_follows_a_run_until_it_is_finished(store, fill):
    log, records = fill(store, 5, options=QUICK)
    run = RandomRun(1)
    for _ in range(5):
        run.tick()
    seen = []
    with store.open("a-run") as reader:
        for record in reader.follow(2, clock=ManualClock()):
            seen.append(record)
            if len(records) < 40:
                records.append(run.tick())
                log.publish(records[-1])
            elif not reader.meta.finished:
                log.close()
    assert_same(seen, records[1:])


def test_a_reader_takes_in_new_ticks_when_asked(store, fill):
    log, _ = fill(store, 2)
    run = RandomRun(1)
    run.tick(), run.tick()
    with store.open("a-run") as reader:
        log.publish(run.tick())
        assert reader.last_tick_id == 2
        reader.refresh()
        assert reader.last_tick_id == 3
    log.close()


def test_runs_are_listed_with_their_state(store, fill):
    running, _ = fill(store, 4, run_id="b", actors=3)
    clean, _ = fill(store, 6, run_id="a")
    clean.close()
    crashed, _ = fill(store, 5, run_id="c")
    crashed.close(seal=False)
    found = {one.run_id: one for one in store.runs()}
    assert list(found) == ["a", "b", "c"]
    assert [one.state for one in found.values()] == [RunState.CLEAN, RunState.RUNNING, RunState.CRASHED]
    assert [one.ticks for one in found.values()] == [6, 4, 5]
    assert [one.actors for one in found.values()] == [20, 3, 20]
    assert all(one.size_bytes > 0 for one in found.values())
    running.close()


def test_ids_are_made_in_the_order_of_time(store):
    run = RandomRun(1)
    ids = []
    for _ in range(3):
        with store.create(run.info) as log:
            ids.append(log.run_id)
    assert ids == sorted(ids)
    assert [one.run_id for one in store.runs()] == ids


def test_a_run_has_one_beginning_and_one_end(store, fill):
    log, _ = fill(store, 2)
    with pytest.raises(RunExistsError, match="already"):
        fill(store, 1)
    log.close()
    log.close()
    with pytest.raises(RunFinishedError, match="finished"):
        store.resume("a-run")
    with pytest.raises(RecordOrderError, match="closed"):
        log.publish(RandomRun(1).tick())


def test_ticks_come_in_order_and_from_the_same_world(store, fill):
    log, records = fill(store, 3)
    with pytest.raises(RecordOrderError, match="2 can't follow tick"):
        log.publish(records[1])
    other = RandomRun(1, actors=4)
    for _ in range(4):
        record = other.tick()
    with pytest.raises(RecordOrderError, match="20 actors"):
        log.publish(record)
    assert log.last_tick_id == 3
    log.close()


def test_sealing_tells_how_far_it_is(store, fill):
    log, _ = fill(store, 200, actors=1, options=LogOptions(sync=SyncPolicy.NEVER))
    told = []
    log.close(progress=lambda done, count: told.append((done, count)))
    assert told[0] == (0, 200)
    assert told[-1] == (200, 200)
    assert told == sorted(told)

"""Runs that stop and go on: what is kept beside them, and what a killed process leaves."""

from contextlib import suppress
from pathlib import Path

import pytest

from tickmind.base import ManualClock
from tickmind.record import DiskFaultError, LogOptions, RunFinishedError, RunState, RunStore
from tickmind.record.testing import CrashedError, MemoryDisk, RandomRun
from tickmind.server.testing import meadow
from tickmind.world import TileWorld

ROOT = Path("/runs")
SCENARIO = meadow(3, radius=2)


@pytest.fixture
def disk():
    return MemoryDisk(1)


@pytest.fixture
def store(disk):
    return RunStore(ROOT, disk, clock=ManualClock())


def ticked(log, world, count):
    for _ in range(count):
        log.publish(world.step({}))


def test_a_log_that_is_abandoned_can_be_resumed(store):
    world = TileWorld.from_scenario(SCENARIO)
    log = store.create(world.info, "one")
    ticked(log, world, 3)
    log.abandon()
    again = store.resume("one")
    assert again.last_tick_id == 3
    ticked(again, world, 2)
    with store.open("one") as reader:
        assert [record.tick_id for record in reader.records()] == [1, 2, 3, 4, 5]


def test_a_finished_run_goes_on_if_its_log_was_kept(store):
    world = TileWorld.from_scenario(SCENARIO)
    options = LogOptions(keep_log=True)
    log = store.create(world.info, "one", options=options)
    ticked(log, world, 3)
    log.close()
    assert store.summary("one").state is RunState.CLEAN
    log = store.resume("one", options=options)
    ticked(log, world, 2)
    assert store.summary("one").state is RunState.RUNNING
    log.close()
    with store.open("one") as reader:
        assert reader.meta.finished
        assert [record.tick_id for record in reader.records()] == [1, 2, 3, 4, 5]


def test_the_log_of_a_finished_run_is_dropped_on_request(store, disk):
    world = TileWorld.from_scenario(SCENARIO)
    log = store.create(world.info, "one", options=LogOptions(keep_log=True))
    ticked(log, world, 3)
    log.close()
    store.recover("one", drop_log=True)
    assert disk.list(ROOT / "one" / "live") == []
    with pytest.raises(RunFinishedError, match="create a new run"):
        store.resume("one")


def finished(store):
    """A finished run of ten ticks in four segments; gives the world behind it."""
    world = TileWorld.from_scenario(SCENARIO)
    log = store.create(world.info, "one", options=LogOptions(keep_log=True, segment_ticks=3))
    ticked(log, world, 10)
    log.close()
    return world


def assert_clean(store, ticks=10):
    assert store.summary("one").state is RunState.CLEAN
    with store.open("one") as reader:
        assert [record.tick_id for record in reader.records()] == list(range(1, ticks + 1))


@pytest.mark.parametrize("lost_power", [True, False])
def test_a_crash_while_the_log_is_let_go_loses_no_tick(lost_power):
    for at in range(1, 100):
        disk = MemoryDisk(at)
        store = RunStore(ROOT, disk, clock=ManualClock())
        finished(store)
        disk.crash_at(at)
        with suppress(CrashedError):
            store.recover("one", drop_log=True)
        if not disk.crashed:
            break
        disk.restart(lost_power=lost_power)
        assert_clean(store)
        try:
            log = store.resume("one")
        except RunFinishedError:
            assert_clean(store)
            continue
        assert log.last_tick_id == 10
        log.close(seal=False)
        assert_clean(store)
        store.recover("one", drop_log=True)
        assert_clean(store)
        assert set(disk.list(ROOT / "one")) & {"live", "discarded"} == set()
    assert at > 5


@pytest.mark.parametrize("number", [1, 2, 4])
def test_a_finished_run_whose_log_is_not_whole_stays_as_it_is(store, disk, number):
    finished(store)
    disk.remove(ROOT / "one" / "live" / f"{number:08d}.tmlog")
    with pytest.raises(RunFinishedError, match="create a new run"):
        store.resume("one")
    assert_clean(store)


@pytest.mark.parametrize("at", [1, 2, 3])
def test_an_attempt_to_resume_that_fails_leaves_a_clean_run_clean(store, disk, at):
    finished(store)
    disk.fail_at(at)
    with pytest.raises(DiskFaultError):
        store.resume("one")
    assert_clean(store)


def test_a_run_that_is_resumed_and_left_before_its_first_tick_stays_finished(store):
    finished(store)
    log = store.resume("one", options=LogOptions(keep_log=True))
    assert store.summary("one").state is RunState.RUNNING
    log.abandon()
    assert_clean(store)
    store.resume("one", options=LogOptions(keep_log=True)).close()
    assert_clean(store)
    store.resume("one").close()
    assert_clean(store)
    with pytest.raises(RunFinishedError):
        store.resume("one")


def test_what_was_told_before_the_first_tick_of_a_resumed_run_is_kept(store):
    finished(store)
    log = store.resume("one")
    log.thought(RandomRun(1).thought())
    log.close(seal=False)
    assert store.summary("one").state is RunState.CRASHED
    store.recover("one")
    assert_clean(store)
    with store.open("one") as reader:
        assert len(list(reader.thoughts())) == 1


def test_the_log_of_a_finished_run_can_be_read_instead_of_its_tables(store, disk):
    finished(store)
    disk.remove(ROOT / "one" / "replay.parquet")
    with store.open("one", from_log=True) as reader:
        assert [record.tick_id for record in reader.records()] == list(range(1, 11))


def test_every_segment_can_be_read_by_itself(store):
    world = TileWorld.from_scenario(SCENARIO)
    log = store.create(world.info, "one", options=LogOptions(segment_ticks=3, keyframe_ticks=64))
    ticked(log, world, 10)
    log.abandon()
    with store.open("one") as reader:
        assert [record.tick_id for record in reader.records(5)] == [5, 6, 7, 8, 9, 10]
        assert reader.state_at(8).x.tolist() == reader.tick(8).actor_state.x.tolist()


def test_what_a_killed_process_has_written_is_safe_before_anybody_goes_on(store, disk):
    world = TileWorld.from_scenario(SCENARIO)
    log = store.create(world.info, "one")
    disk.crash_at(8)  # after 5 for meta.json: written, and neither synced nor is its name
    with pytest.raises(BaseException, match="stopped"):
        ticked(log, world, 1)
    disk.restart(lost_power=False)
    assert store.resume("one").last_tick_id == 1
    disk.restart()
    with store.open("one") as reader:
        assert reader.last_tick_id == 1


def test_nothing_is_lost_if_only_the_process_was_killed(disk):
    disk.make_folder(ROOT)
    disk.create(ROOT / "a").write(b"not synced")
    disk.restart(lost_power=False)
    assert disk.read_bytes(ROOT / "a") == b"not synced"


def test_a_disk_that_is_spared_works_again(disk):
    disk.crash_at(1)
    disk.fail_at(2)
    disk.spare()
    disk.make_folder(ROOT)
    disk.create(ROOT / "a").write(b"fine")


class TestRunsWithoutTicks:
    @pytest.mark.parametrize("end", ["abandon", "close"])
    def test_a_run_without_any_tick_is_discarded_as_if_it_had_never_begun(self, store, fill, end):
        log, _ = fill(store, 0)
        getattr(log, end)(**({"seal": False} if end == "close" else {}))
        assert store.discard_empty("a-run")
        assert store.runs() == []
        assert not store.discard_empty("a-run")
        fill(store, 1)[0].abandon()  # its name is free again

    def test_a_run_with_a_tick_stays(self, store, fill):
        log, _ = fill(store, 1)
        log.abandon()
        assert not store.discard_empty("a-run")
        assert store.summary("a-run").ticks == 1

    def test_a_run_that_a_process_writes_to_stays(self, store, fill):
        log, _ = fill(store, 0)
        assert not store.discard_empty("a-run")
        assert [one.run_id for one in store.runs()] == ["a-run"]
        log.abandon()

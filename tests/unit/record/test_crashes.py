"""Whatever stops a run, every published tick is there afterwards, and the run can be resumed or finished."""

import contextlib
import errno
import os
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.long import LONG, short_or_long

from tickmind.base import ManualClock
from tickmind.protocol import TickRecord
from tickmind.record import (
    DamagedRunError,
    DiskFaultError,
    LogOptions,
    OsDisk,
    RecordError,
    RunBusyError,
    RunState,
    RunStore,
    SyncPolicy,
)
from tickmind.record.log.frame import HEADER, MARKER
from tickmind.record.testing import CrashedError, MemoryDisk, RandomRun, differences

OPTIONS = LogOptions(keyframe_ticks=3, segment_ticks=4)
TICKS = 10
SEEDS, STEP = short_or_long((1, 7), (3, 1))  # of each operation, and of the dearer ones only some


def store_on(disk):
    return RunStore(Path("/runs"), disk, clock=ManualClock())


def live(disk, *, seal=True):
    """A run until it is closed; gives the ticks that were published, also when the machine stops in between."""
    run, published = RandomRun(3, 6), []
    try:
        log = store_on(disk).create(run.info, "r", options=OPTIONS)
        for _ in range(TICKS):
            record = run.tick()
            log.publish(record)
            published.append(record)
        log.close(seal=seal)
    except CrashedError:
        pass
    return published


def operations(*, seal):
    disk = MemoryDisk()
    live(disk, seal=seal)
    return disk.operations


SEALED, UNSEALED = operations(seal=True), operations(seal=False)


def read_all(store):
    with store.open("r") as reader:
        return list(reader.records())


def assert_kept(store, published):
    """All that was published is there; one more may be, which was on disk before anybody could be told."""
    found = read_all(store)
    assert len(published) <= len(found) <= len(published) + 1
    for one, other in zip(found, published, strict=False):
        assert differences(one, other) == []


@pytest.mark.slow
@pytest.mark.parametrize("at", range(1, UNSEALED + 1))
def test_a_crash_at_any_operation_loses_no_published_tick(at):
    for seed in range(SEEDS):
        disk = MemoryDisk(seed)
        disk.crash_at(at)
        published = live(disk, seal=False)
        disk.restart()
        store = store_on(disk)
        if not store.runs():
            assert not published
            continue
        assert_kept(store, published)
        assert store.summary("r").state is RunState.CRASHED
        resumed = store.resume("r", options=OPTIONS)
        run = RandomRun(3, 6)
        for _ in range(resumed.last_tick_id or 0):
            run.tick()
        while (resumed.last_tick_id or 0) < TICKS:
            resumed.publish(run.tick())
        resumed.close(seal=False)
        again = RandomRun(3, 6)
        assert [differences(one, again.tick()) for one in read_all(store)] == [[]] * TICKS


class WatchedDisk(MemoryDisk):
    """Remembers what was on it before each operation."""

    def __init__(self):
        super().__init__()
        self.before = []

    def _operate(self, **given):
        self.before.append(self.copy())
        super()._operate(**given)


def what_counts(disk):
    """All that recovering goes by: names, and the files in place. What is in `sealing` is written anew."""
    return frozenset(
        (path, name, None if path.name == "sealing" else bytes(inode.seen))
        for path, folder in disk._folders.items()
        for name, inode in folder.seen.items()
    )


@pytest.mark.slow
def test_a_crash_while_a_run_is_finished_loses_nothing():
    watched, known = WatchedDisk(), set()
    published = live(watched)
    assert len(published) == TICKS
    for at, before in enumerate(watched.before[UNSEALED:]):
        disk = before.copy(at)
        disk.restart()
        found = what_counts(disk)
        if found in known and not LONG:
            continue  # to read the same again, and to recover from it, would give the same again
        known.add(found)
        store = store_on(disk)
        assert_kept(store, published)
        store.recover("r")
        assert_kept(store, published)
        assert store.summary("r").state is RunState.CLEAN
        assert {"sealing", "discarded"} & set(disk.list(Path("/runs/r"))) == set()
    assert len(known) > 20


@pytest.mark.slow
@pytest.mark.parametrize("at", range(1, SEALED - UNSEALED + 8, STEP))
def test_a_crash_while_a_crashed_run_is_recovered_loses_nothing_either(at):
    disk = MemoryDisk(at)
    disk.crash_at(UNSEALED - at % 9)
    published = live(disk)
    disk.restart()
    disk.crash_at(at)
    with contextlib.suppress(CrashedError):
        store_on(disk).recover("r")
    disk.restart()
    assert_kept(store_on(disk), published)
    store_on(disk).recover("r")
    assert_kept(store_on(disk), published)
    assert store_on(disk).summary("r").state is RunState.CLEAN


@pytest.mark.slow
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("at", range(1, SEALED + 1, 3 * STEP))
def test_a_disk_fault_stops_the_run_and_says_what_to_do(at, code):
    disk = MemoryDisk(at)
    disk.fail_at(at, code)
    run, published, fault = RandomRun(3, 6), [], None
    store = store_on(disk)
    log = None
    try:
        log = store.create(run.info, "r", options=OPTIONS)
        for _ in range(TICKS):
            record = run.tick()
            log.publish(record)
            published.append(record)
        log.close()
    except DiskFaultError as error:
        fault = error
    assert fault is not None
    assert "disk" in str(fault)
    if log is None:
        return
    with pytest.raises(RecordError):
        log.publish(run.tick())
    log.close()
    assert_kept(store, published)
    if store.summary("r").state is not RunState.CLEAN:
        store.recover("r")
    assert_kept(store, published)


def lose_power(disk):
    disk.crash_at(1)
    with pytest.raises(CrashedError):
        disk.make_folder(Path("/runs"))
    disk.restart()


def published_until_fault(store, options):
    """A run until the disk fails; gives the ticks that were published."""
    run, published = RandomRun(3, 6), []
    log = None
    try:
        log = store.create(run.info, "r", options=options)
        for _ in range(TICKS):
            record = run.tick()
            log.publish(record)
            published.append(record)
        log.close(seal=False)
    except DiskFaultError:
        if log is not None:
            log.close()
    return published


@pytest.mark.parametrize("at", range(1, UNSEALED + 1))
@pytest.mark.parametrize("sync", [SyncPolicy.EVERY_TICK, SyncPolicy(1000)])
def test_a_failed_sync_and_then_a_power_loss_cost_no_tick_that_counted_as_kept(at, sync):
    options = LogOptions(sync=sync, keyframe_ticks=3, segment_ticks=4)
    disk = MemoryDisk(at)
    disk.fail_at(at, errno.EIO)
    store = store_on(disk)
    published = published_until_fault(store, options)
    disk.spare()
    if not store.runs():
        assert not published
        return
    log = store.resume("r", options=OPTIONS)  # on the same machine, which has given up on some pages
    assert (log.last_tick_id or 0) >= len(published)
    run = RandomRun(3, 6)
    for _ in range(log.last_tick_id or 0):
        run.tick()
    for _ in range(3):
        log.publish(run.tick())
    last = log.last_tick_id
    lose_power(disk)
    resumed = store.resume("r", options=OPTIONS)
    assert resumed.last_tick_id == last
    resumed.close(seal=False)
    again = RandomRun(3, 6)
    assert [differences(one, again.tick()) for one in read_all(store)] == [[]] * (last or 0)


def test_a_reader_goes_on_after_the_segment_that_it_reads_was_written_anew(store, fill):
    log, _ = fill(store, 3, options=OPTIONS, actors=6)
    log.abandon()
    with store.open("a-run") as reader:
        assert reader.last_tick_id == 3
        records = go_on(store, 3)
        reader.refresh()
        assert [differences(one, other) for one, other in zip(reader.records(), records, strict=True)] == [[]] * 6


def test_a_full_disk_is_called_full():
    disk = MemoryDisk()
    run = RandomRun(1)
    log = store_on(disk).create(run.info, "r")
    disk.fail_at(2, errno.ENOSPC)
    with pytest.raises(DiskFaultError, match="storing tick 1 of run r failed: the disk is full; make room"):
        log.publish(run.tick())
    assert log.fault is not None
    assert log.last_tick_id is None


@pytest.mark.slow
def test_without_syncs_a_crash_of_the_machine_leaves_a_readable_beginning():
    for seed in range(short_or_long(12, 40)):
        disk = MemoryDisk(seed)
        run = RandomRun(3, 6)
        options = LogOptions(sync=SyncPolicy.NEVER, keyframe_ticks=3, segment_ticks=1000)
        log = store_on(disk).create(run.info, "r", options=options)
        for _ in range(TICKS):
            log.publish(run.tick())
        disk.crash_at(1)
        with pytest.raises(CrashedError):
            log.close()
        disk.restart()
        store_on(disk).recover("r")
        again = RandomRun(3, 6)
        assert all(differences(one, again.tick()) == [] for one in read_all(store_on(disk)))


@pytest.mark.parametrize(
    ("policy", "syncs"), [(SyncPolicy.EVERY_TICK, 20), (SyncPolicy(500), 5), (SyncPolicy.NEVER, 0)]
)
def test_syncs_come_as_often_as_the_policy_says(policy, syncs):
    disk, clock = MemoryDisk(), ManualClock()
    run = RandomRun(1, 3)
    log = RunStore(Path("/runs"), disk, clock=clock).create(run.info, "r", options=LogOptions(sync=policy))
    log.publish(run.tick())
    before = disk.operations
    for _ in range(20):
        clock.advance(0.125)
        log.publish(run.tick())
    assert disk.operations - before == 20 + syncs + (policy.interval_ms == 500)  # a write each; the folder's first sync


def test_a_run_has_one_writer(store, fill):
    log, _ = fill(store, 2)
    with pytest.raises(RunBusyError, match="another process"):
        store.resume("a-run")
    with pytest.raises(RunBusyError, match="another process"):
        store.recover("a-run")
    log.close()


@pytest.mark.parametrize("keep_log", [True, False])
def test_recovering_a_finished_run_changes_nothing(tmp_path, fill, keep_log):
    store = RunStore(tmp_path)
    log, _ = fill(store, 5, options=replace(OPTIONS, keep_log=keep_log))
    log.close()
    (tmp_path / "a-run" / "lock").unlink()
    before = store.summary("a-run"), everything_in(tmp_path)
    assert store.recover("a-run") == before[0]
    assert (store.summary("a-run"), everything_in(tmp_path)) == before
    assert not before[0].recovered


def everything_in(folder):
    """All files with their content and when they were changed last."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


# Damage


@pytest.fixture
def crashed(tmp_path, fill):
    """A run on a real disk that was never closed, with its ticks and its segments."""
    store = RunStore(tmp_path)
    log, records = fill(store, 12, options=OPTIONS, actors=6)
    log.close(seal=False)
    return store, records, sorted((tmp_path / "a-run" / "live").iterdir())


@pytest.mark.slow
def test_a_torn_tail_is_cut_at_every_byte(crashed):
    store, records, segments = crashed
    whole = segments[-1].read_bytes()
    for size in range(0, len(whole), short_or_long(101, 37)):
        segments[-1].write_bytes(whole[:size])
        with store.open("a-run") as reader:
            found = list(reader.records())
        assert len(found) >= 8  # the last segment has four
        log = store.resume("a-run")
        assert log.last_tick_id == len(found)
        log.close(seal=False)
        with store.open("a-run") as reader:
            assert [differences(one, other) for one, other in zip(reader.records(), records, strict=False)] == [
                [] for _ in found
            ]


def test_a_flipped_bit_in_what_was_safe_is_damage_and_not_a_torn_tail(crashed):
    store, records, segments = crashed
    data = bytearray(segments[-1].read_bytes())
    first = data.index((0x4D544C01).to_bytes(4, "little"), HEADER.size) + HEADER.size + 20
    data[first] ^= 4
    segments[-1].write_bytes(data[:-10])  # and without its end, as after a crash
    with pytest.raises(DamagedRunError, match="recover the run"):
        store.resume("a-run")
    store.recover("a-run")
    with store.open("a-run") as reader:
        assert reader.last_tick_id == 8
        assert reader.meta.cut_bytes > 0
        assert all(differences(one, other) == [] for one, other in zip(reader.records(), records, strict=False))


@pytest.mark.parametrize(
    ("number", "tick", "lost", "behind"),
    [(0, 2, "tick 3", "ticks 4 to 12"), (1, 0, "tick 5", "ticks 6 to 12"), (2, 1, "tick 10", "ticks 11 to 12")],
)
def test_what_is_whole_behind_a_flipped_byte_is_kept_beside(crashed, tmp_path, number, tick, lost, behind):
    store, records, segments = crashed
    data = bytearray(segments[number].read_bytes())
    frames = [found.start() for found in re.finditer(re.escape(MARKER.to_bytes(4, "little")), data)]
    data[frames[1 + tick] + HEADER.size + 20] ^= 4  # after the head's
    segments[number].write_bytes(data)
    later = {path.name: path.read_bytes() for path in segments[number + 1 :]}
    found = store.recover("a-run")
    last = 4 * number + tick
    assert found.ticks == last
    assert found.loss == (
        f"the log is damaged: {lost} can't be read; {behind} after that can't be part of the tables, "
        f"and are kept in {tmp_path / 'a-run' / 'damaged'}"
    )
    beside = {path.name: path.read_bytes() for path in (tmp_path / "a-run" / "damaged").iterdir()}
    assert beside == {segments[number].name: bytes(data), **later}
    with store.open("a-run") as reader:
        assert all(differences(one, other) == [] for one, other in zip(reader.records(), records, strict=False))
    assert store.summary("a-run").state is RunState.CLEAN


def test_a_tail_without_anything_whole_is_cut_and_not_kept(crashed, tmp_path):
    store, _, segments = crashed
    segments[-1].write_bytes(segments[-1].read_bytes()[: HEADER.size + 200])
    assert store.recover("a-run").loss == ""
    assert not (tmp_path / "a-run" / "damaged").exists()


@pytest.mark.parametrize("at", range(1, 30))
def test_a_crash_while_damage_is_cut_loses_nothing_that_is_whole(at):
    disk = MemoryDisk(at)
    run, store = RandomRun(3, 6), store_on(disk)
    log = store.create(run.info, "r", options=OPTIONS)
    for _ in range(12):
        log.publish(run.tick())
    log.close(seal=False)
    live = Path("/runs/r/live")
    later = {name: disk.open(live / name).read() for name in disk.list(live)[1:]}
    disk.truncate(live / disk.list(live)[0], len(later["00000002.tmlog"]) // 2)
    disk.crash_at(at)
    with contextlib.suppress(CrashedError):
        store.recover("r")
    disk.restart()
    if store_on(disk).summary("r").state is not RunState.CLEAN:
        assert "ticks 5 to 12 after that" in store_on(disk).recover("r").loss
    kept = {name: disk.open(Path("/runs/r/damaged") / name).read() for name in disk.list(Path("/runs/r/damaged"))}
    assert later.items() <= kept.items()


@pytest.mark.parametrize("seed", range(short_or_long(12, 30)))
def test_no_flipped_bit_anywhere_changes_a_tick(crashed, seed):
    store, records, segments = crashed
    dice = random.Random(seed)
    victim = dice.choice(segments)
    data = bytearray(victim.read_bytes())
    for _ in range(dice.choice((1, 1, 20))):
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    victim.write_bytes(data)
    read: list[TickRecord] = []
    with contextlib.suppress(RecordError), store.open("a-run") as reader:
        read.extend(reader.records())
    assert all(differences(one, other) == [] for one, other in zip(read, records, strict=False))
    store.recover("a-run")
    with store.open("a-run") as reader:
        kept = list(reader.records())
    assert len(kept) >= len(read)
    assert all(differences(one, other) == [] for one, other in zip(kept, records, strict=False))


def test_a_missing_segment_is_noticed(crashed):
    store, _, segments = crashed
    segments[1].unlink()
    with store.open("a-run") as reader, pytest.raises(DamagedRunError, match="ticks 5 to 8 are missing"):
        list(reader.records())
    with pytest.raises(DamagedRunError, match="are missing"):
        store.resume("a-run")
    assert store.recover("a-run").ticks == 4


def told_only(store, seed):
    """A session of the run that ends before its first tick, in which agents told something."""
    log = store.resume("a-run", options=OPTIONS)
    log.thought(RandomRun(seed, 6).thought())
    log.close(seal=False)


def go_on(store, ticks):
    """One more session of so many ticks; gives all ticks of the run."""
    again = RandomRun(1, 6)
    log = store.resume("a-run", options=OPTIONS)
    records = [again.tick() for _ in range((log.last_tick_id or 0) + ticks)]
    for record in records[log.last_tick_id or 0 :]:
        log.publish(record)
    log.close(seal=False)
    return records


def assert_recovered(store, records):
    assert store.recover("a-run").ticks == len(records)
    with store.open("a-run") as reader:
        found = list(reader.records())
        assert not reader.meta.cut_bytes
    assert [differences(one, other) for one, other in zip(found, records, strict=True)] == [[]] * len(records)


def test_a_session_without_a_tick_costs_no_later_one(store, fill):
    log, _ = fill(store, 3, options=OPTIONS, actors=6)
    log.close(seal=False)
    told_only(store, 5)
    go_on(store, 3)
    told_only(store, 6)
    told_only(store, 7)
    records = go_on(store, 6)
    assert_recovered(store, records)
    with store.open("a-run") as reader:
        assert len(list(reader.thoughts())) == 3


def test_a_first_session_without_a_tick_costs_no_later_one_either(store, fill):
    log, _ = fill(store, 0, options=OPTIONS, actors=6)
    log.thought(RandomRun(5, 6).thought())
    log.close(seal=False)
    assert_recovered(store, go_on(store, 6))


def test_damage_to_a_session_without_a_tick_costs_no_later_one(crashed, tmp_path):
    store, _, segments = crashed
    told_only(store, 5)
    records = go_on(store, 3)
    damaged = tmp_path / "a-run" / "live" / "00000004.tmlog"
    assert damaged not in segments
    data = damaged.read_bytes()
    damaged.write_bytes(data[: len(data) // 2])
    assert store.recover("a-run").ticks == len(records)
    with store.open("a-run") as reader:
        assert reader.meta.cut_bytes == len(data) // 2
        assert all(differences(one, other) == [] for one, other in zip(reader.records(), records, strict=True))


def test_damage_behind_the_last_tick_of_a_segment_costs_no_tick(crashed):
    store, records, segments = crashed
    segments[1].write_bytes(segments[1].read_bytes()[:-30])
    assert store.recover("a-run").ticks == len(records)


def test_damage_at_the_beginning_leaves_nothing_that_hangs_in_the_air(crashed):
    store, _, segments = crashed
    segments[0].write_bytes(b"")
    assert store.recover("a-run").ticks == 0


class RefusingDisk(OsDisk):
    """The disk of somebody who may not see what has all of these names in its path."""

    def __init__(self, *refused):
        self._refused = set(refused)

    def _ask(self, path):
        if self._refused <= set(path.parts):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    def open(self, path):
        self._ask(path)
        return super().open(path)

    def read_bytes(self, path, limit):
        self._ask(path)
        return super().read_bytes(path, limit)

    def list(self, path):
        self._ask(path)
        return super().list(path)

    def size(self, path):
        self._ask(path)
        return super().size(path)

    def is_locked(self, path):
        self._ask(path)
        return super().is_locked(path)


@pytest.mark.parametrize("refused", ["a-run", "live", "meta.json", "00000001.tmlog", "lock"])
def test_a_run_that_may_not_be_read_does_not_hide_the_others(crashed, fill, tmp_path, refused):
    store, _, _ = crashed
    log, _ = fill(store, 1, run_id="other")
    log.close()
    first, second = RunStore(tmp_path, RefusingDisk("a-run", refused)).runs()
    assert (first.run_id, first.state) == ("a-run", RunState.DAMAGED)
    assert first.problem.endswith("this user may not read it; change its permissions, or ask its owner")
    assert second.state is RunState.CLEAN


def test_a_folder_that_may_not_be_read_is_a_plain_error(crashed, tmp_path):
    with pytest.raises(DiskFaultError, match="may not read"):
        RunStore(tmp_path, RefusingDisk(tmp_path.name)).runs()
    with pytest.raises(DiskFaultError, match="may not read"):
        RunStore(tmp_path, RefusingDisk("live")).open("a-run")


def test_looking_at_runs_writes_nothing(crashed, tmp_path):
    store, _, _ = crashed
    (tmp_path / "a-run" / "lock").unlink()
    (summary,) = store.runs()
    assert summary.state is RunState.CRASHED
    assert not (tmp_path / "a-run" / "lock").exists()


def test_a_lock_is_seen_without_taking_it(tmp_path):
    disk = OsDisk()
    assert not disk.is_locked(tmp_path / "lock")
    lock = disk.lock(tmp_path / "lock")
    assert disk.is_locked(tmp_path / "lock")
    lock.release()
    assert not disk.is_locked(tmp_path / "lock")


def test_the_lock_ends_with_its_process(tmp_path):
    disk = OsDisk()
    lock = disk.lock(tmp_path / "lock")
    with pytest.raises(BlockingIOError):
        disk.lock(tmp_path / "lock")
    lock.release()
    lock.release()
    disk.lock(tmp_path / "lock").release()

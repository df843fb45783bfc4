"""The checkpoints of a run: which are kept, how they are named and found, and what a crash leaves of them."""

import itertools
from pathlib import Path

import pytest

from tickmind.base import ManualClock
from tickmind.record import CheckpointFolder, DiskFaultError, RunStore
from tickmind.record.checkpoints import KEPT_CHECKPOINTS
from tickmind.record.testing import MemoryDisk, RandomRun

FOLDER = Path("/runs/one/checkpoints")


@pytest.fixture
def disk():
    return MemoryDisk(1)


def saved(folder, ticks, incarnation=1):
    for tick in ticks:
        folder.save(f"after {tick}".encode(), after_tick=tick, incarnation=incarnation)


def ticks_of(folder):
    return [one.after_tick for one in folder.stored()]


def test_checkpoints_are_files_named_by_tick_and_start(tmp_path):
    folder = CheckpointFolder(tmp_path / "checkpoints")
    assert folder.stored() == []
    assert folder.nearest(5) is None
    saved(folder, (0, 60), incarnation=2)
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == ["000000000000-2", "000000000060-2"]
    assert [(one.after_tick, one.incarnation, one.read()) for one in folder.stored()] == [
        (0, 2, b"after 0"),
        (60, 2, b"after 60"),
    ]


@pytest.mark.parametrize(("tick_id", "found"), [(0, 0), (59, 0), (60, 60), (119, 60), (120, 120), (10**9, 120)])
def test_the_nearest_checkpoint_is_at_or_before_a_tick(disk, tick_id, found):
    folder = CheckpointFolder(FOLDER, disk)
    saved(folder, (0, 60, 120))
    nearest = folder.nearest(tick_id)
    assert nearest is not None
    assert nearest.read() == f"after {found}".encode()


def test_a_later_start_replaces_the_checkpoint_of_its_tick(disk):
    folder = CheckpointFolder(FOLDER, disk)
    saved(folder, (0, 7))
    saved(folder, (7,), incarnation=2)
    assert [(one.after_tick, one.incarnation) for one in folder.stored()] == [(0, 1), (7, 2)]


def test_checkpoints_of_ticks_that_a_crash_took_back_are_removed(disk):
    folder = CheckpointFolder(FOLDER, disk)
    saved(folder, (0, 60, 120))
    saved(folder, (100,), incarnation=2)
    assert ticks_of(folder) == [0, 60, 100]


def test_few_checkpoints_are_all_kept(disk):
    folder = CheckpointFolder(FOLDER, disk)
    saved(folder, range(0, 60 * (KEPT_CHECKPOINTS + 3), 60))
    assert ticks_of(folder) == list(range(0, 60 * (KEPT_CHECKPOINTS + 3), 60))


@pytest.mark.parametrize("count", [5, 17, 100, 333])
def test_a_bounded_number_is_kept_spread_over_the_run_with_the_first_and_the_newest_two(disk, count):
    folder = CheckpointFolder(FOLDER, disk, kept=4)
    saved(folder, range(count))
    kept = ticks_of(folder)
    assert len(kept) == min(count, 7)
    assert kept[0] == 0
    assert kept[-2:] == [count - 2, count - 1]
    gaps = [later - earlier for earlier, later in itertools.pairwise(kept)]
    assert max(gaps) <= max(count * 0.35, 1)


@pytest.mark.parametrize("number", range(1, 9))
def test_a_crash_leaves_the_checkpoint_before_and_perhaps_the_new_one(disk, number):
    folder = CheckpointFolder(FOLDER, disk, kept=1)
    saved(folder, (0, 1, 2, 3))
    disk.crash_at(number)
    with pytest.raises(BaseException, match="stopped"):
        saved(folder, (4, 5))
    disk.restart()
    left = CheckpointFolder(FOLDER, disk, kept=1)
    assert {0, 3} <= {*ticks_of(left)} or {0, 4} <= {*ticks_of(left)}
    assert all(one.read() == f"after {one.after_tick}".encode() for one in left.stored())
    saved(left, (6,))
    assert len(ticks_of(left)) == 4


def test_a_checkpoint_of_an_earlier_version_counts_until_there_is_a_new_one(disk):
    disk.make_folder(FOLDER.parent)
    disk.create(FOLDER.parent / "checkpoint").write(b"old")
    folder = CheckpointFolder(FOLDER, disk)
    nearest = folder.nearest(10)
    assert nearest is not None
    assert (nearest.after_tick, nearest.incarnation, nearest.read()) == (-1, 0, b"old")
    saved(folder, (12,))
    assert ticks_of(folder) == [12]
    assert disk.list(FOLDER.parent) == ["checkpoints"]


def test_other_files_in_the_folder_are_no_checkpoints(disk):
    folder = CheckpointFolder(FOLDER, disk)
    saved(folder, (0,))
    for name in ("000000000060-1.new", "readme", "60-1", "-1"):
        disk.create(FOLDER / name)
    assert ticks_of(folder) == [0]


def test_a_checkpoint_that_can_not_be_written_is_a_disk_fault(disk):
    folder = CheckpointFolder(FOLDER, disk)
    disk.fail_at(3)
    with pytest.raises(DiskFaultError, match="saving the checkpoint"):
        saved(folder, (0,))


def test_a_checkpoint_that_is_gone_is_a_disk_fault(disk):
    folder = CheckpointFolder(FOLDER, disk)
    saved(folder, (0,))
    (stored,) = folder.stored()
    disk.remove(stored.path)
    with pytest.raises(DiskFaultError, match="the checkpoint"):
        stored.read()


def test_a_store_has_the_checkpoints_of_each_run_and_counts_their_size(disk):
    store = RunStore(Path("/runs"), disk, clock=ManualClock())
    run = RandomRun(1)
    with store.create(run.info, "one") as log:
        log.publish(run.tick())
    before = store.summary("one").size_bytes
    store.checkpoints("one").save(b"x" * 1000, after_tick=1, incarnation=1)
    assert store.summary("one").size_bytes == before + 1000
    assert ticks_of(store.checkpoints("one")) == [1]


def test_an_empty_run_goes_with_its_checkpoints(disk):
    store = RunStore(Path("/runs"), disk, clock=ManualClock())
    log = store.create(RandomRun(1).info, "one")
    store.checkpoints("one").save(b"state", after_tick=0, incarnation=1)
    log.abandon()
    assert store.discard_empty("one")
    assert disk.list(Path("/runs")) == []

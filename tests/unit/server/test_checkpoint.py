"""A world goes on after a restart as if nothing had happened."""

from pathlib import Path

import numpy as np
import pytest

from tickmind.protocol import Direction, Move
from tickmind.record import CheckpointFolder
from tickmind.record.testing import MemoryDisk
from tickmind.server import Checkpoint, CheckpointError, ReplayError, load_checkpoint, resume, save_checkpoint
from tickmind.server.testing import meadow
from tickmind.world import SnapshotMismatchError, TileWorld

SCENARIO = meadow(8, radius=4)
FOLDER = Path("/runs/one/checkpoints")


class Past:
    """A record in memory."""

    def __init__(self, records):
        self._records = records

    @property
    def last_tick_id(self):
        return self._records[-1].tick_id if self._records else None

    def records(self, first):
        return [record for record in self._records if first <= record.tick_id]


def played(ticks):
    world = TileWorld.from_scenario(SCENARIO)
    records = [world.step({row: Move(Direction((row + tick) % 8)) for row in range(8)}) for tick in range(ticks)]
    return world, records


@pytest.fixture
def folder():
    """A folder with the checkpoints after ticks 0, 4 and 8, and the tool to damage one."""
    disk = MemoryDisk(1)
    folder = CheckpointFolder(FOLDER, disk)
    for ticks in (0, 4, 8):
        save_checkpoint(folder, Checkpoint(3, ticks + 1, played(ticks)[0].snapshot()))
    return folder, lambda after_tick: disk.truncate(FOLDER / f"{after_tick:012d}-3", 100)


def test_a_checkpoint_is_read_as_it_was_written():
    checkpoint = Checkpoint(3, 17, b"state" * 100)
    assert Checkpoint.decode(checkpoint.encode()) == checkpoint


@pytest.mark.parametrize("spoil", [lambda data: data[:-1], lambda data: data[:40] + b"x" + data[41:], lambda data: b""])
def test_a_damaged_checkpoint_is_refused(spoil):
    data = Checkpoint(1, 2, b"state" * 100).encode()
    with pytest.raises(CheckpointError):
        Checkpoint.decode(spoil(data))


def test_checkpoint_and_record_bring_a_world_back_to_where_it_was():
    world, records = played(10)
    early, _ = played(4)
    again = TileWorld.from_scenario(SCENARIO)
    assert resume(again, Checkpoint(5, 5, early.snapshot()), Past(records)) == 6
    assert again.tick_id == world.tick_id
    assert again.state_hash() == world.state_hash()


def test_a_world_without_a_checkpoint_is_its_first_incarnation():
    assert resume(TileWorld.from_scenario(SCENARIO), None) == 1


def test_a_checkpoint_ahead_of_the_record_gives_its_incarnation_only():
    world, records = played(10)
    again = TileWorld.from_scenario(SCENARIO)
    assert resume(again, Checkpoint(5, 11, world.snapshot()), Past(records[:7])) == 6
    assert again.tick_id == 8
    assert again.state_hash() == records[6].state_hash


def test_a_record_that_ends_too_soon_is_noticed():
    _, records = played(5)

    class Short(Past):
        def records(self, first):
            return super().records(first)[:-1]

    with pytest.raises(ReplayError, match="tick 5 is missing"):
        resume(TileWorld.from_scenario(SCENARIO), None, Short(records))


def test_a_missing_tick_is_noticed():
    _, records = played(5)
    with pytest.raises(ReplayError, match="tick 1 is missing"):
        resume(TileWorld.from_scenario(SCENARIO), None, Past(records[1:]))


def test_a_record_of_another_world_is_noticed():
    world = TileWorld.from_scenario(SCENARIO)
    record = world.step({}, np.zeros(8, dtype=np.bool_))
    other = TileWorld.from_scenario(meadow(8, radius=4, seed=2))
    with pytest.raises(ReplayError, match="another state"):
        resume(other, None, Past([record]))


def test_a_checkpoint_of_another_scenario_is_refused():
    world, _ = played(2)
    with pytest.raises(SnapshotMismatchError):
        resume(TileWorld.from_scenario(meadow(9, radius=4)), Checkpoint(1, 3, world.snapshot()))


def loaded(folder, *before):
    checkpoint = load_checkpoint(folder, *before)
    assert checkpoint is not None
    return checkpoint


def test_a_world_without_checkpoints_has_none_to_load():
    assert load_checkpoint(CheckpointFolder(FOLDER, MemoryDisk())) is None


def test_the_newest_checkpoint_is_loaded_or_the_nearest_before_a_tick(folder):
    folder, _ = folder
    assert loaded(folder).tick_id == 9
    assert [loaded(folder, tick).tick_id for tick in (0, 3, 4, 7, 8, 99)] == [1, 1, 5, 5, 9, 9]


def test_a_torn_checkpoint_is_passed_over_for_the_one_before(folder):
    folder, tear = folder
    tear(8)
    world, records = played(10)
    again = TileWorld.from_scenario(SCENARIO)
    checkpoint = loaded(folder, 10)
    assert checkpoint.tick_id == 5
    assert resume(again, checkpoint, Past(records)) == 4
    assert again.state_hash() == world.state_hash()


def test_a_torn_checkpoint_still_says_how_often_the_world_was_started(folder):
    folder, _ = folder
    save_checkpoint(folder, Checkpoint(7, 9, played(8)[0].snapshot()))
    disk = folder.stored()[-1].disk
    disk.truncate(FOLDER / "000000000008-7", 100)
    checkpoint = loaded(folder)
    assert (checkpoint.tick_id, checkpoint.incarnation) == (5, 7)
    assert resume(TileWorld.from_scenario(SCENARIO), checkpoint) == 8


def test_a_checkpoint_ahead_of_the_record_is_passed_over_for_one_that_is_not(folder):
    folder, _ = folder
    _, records = played(10)
    again = TileWorld.from_scenario(SCENARIO)
    assert resume(again, load_checkpoint(folder, 6), Past(records[:6])) == 4
    assert again.state_hash() == records[5].state_hash


def test_if_all_checkpoints_are_torn_the_world_does_not_begin_anew(folder):
    folder, tear = folder
    for after_tick in (0, 4, 8):
        tear(after_tick)
    with pytest.raises(CheckpointError, match="no checkpoint of the run is sound"):
        load_checkpoint(folder)

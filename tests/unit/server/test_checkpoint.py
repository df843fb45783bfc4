"""A world goes on after a restart as if nothing had happened."""

import numpy as np
import pytest

from tickmind.protocol import Direction, Move
from tickmind.server import Checkpoint, CheckpointError, ReplayError, resume
from tickmind.server.testing import meadow
from tickmind.world import SnapshotMismatchError, TileWorld

SCENARIO = meadow(8, radius=4)


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

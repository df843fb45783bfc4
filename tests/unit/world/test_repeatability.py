"""The same world on every machine and in every version of this rule set."""

from pathlib import Path

import numpy as np
import pytest

from tickmind.protocol import Direction, Drop, Intent, Interact, Move, Pickup, Say, Sleep, Use, Wake
from tickmind.world import TileWorld, load_scenario, parse_scenario
from tickmind.world.chance import Dice

CLEARING = Path(__file__).parents[3] / "scenarios" / "clearing.yaml"
BARE = "world: bare\nfloors: {g: {}}\nmap: {width: 3, height: 2, floor: g}\n"


def anything(dice: Dice) -> Intent:
    other: list[Intent] = [
        Pickup("berries", 2),
        Use("berries"),
        Drop("berries"),
        Say("hm"),
        Interact("door:1"),
        Interact("tree:9"),
        Sleep(),
        Wake(),
    ]
    choice = dice.below(16)
    return other[choice] if choice < len(other) else Move(Direction(dice.below(8)))


def test_two_hundred_ticks_in_the_clearing_end_as_ever():
    world = TileWorld.from_scenario(load_scenario(CLEARING))
    dice = Dice(1)
    for _ in range(200):
        record = world.step({row: anything(dice) for row in range(3)})
    assert record.state_hash.hex() == "c77f60d574bafcc0bf7451f2ce541645"


@pytest.mark.parametrize("more", ["", "actors: [{at: [0, 0]}]\n", "items: {coin: {}}\n"])
def test_a_world_with_hardly_anything_in_it_works(more):
    world = TileWorld.from_scenario(parse_scenario(BARE + more))
    rows = range(len(world.info.actors))
    world.step({row: Pickup("coin") for row in rows})
    assert len(world.observe(rows)) == len(world.observe_columns()) == len(rows)
    other = TileWorld.from_scenario(parse_scenario(BARE + more))
    other.restore(world.snapshot())
    assert other.step({}).state_hash == world.step({}).state_hash


def test_what_is_recorded_cannot_be_written_to():
    record = TileWorld.from_scenario(load_scenario(CLEARING)).step({0: Move(Direction.E)})
    for column in (record.actor_state.x, record.actor_state.status_bits, record.actor_state.facing):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1


def test_the_hash_tells_every_column_and_the_tick():
    world = TileWorld.from_scenario(load_scenario(CLEARING))
    hashes = {world.state_hash()}
    for _, column in world._state.columns():
        if column.size:
            flat = column.reshape(-1)
            flat[-1] ^= np.array(1, dtype=column.dtype)
            hashes.add(world.state_hash())
            flat[-1] ^= np.array(1, dtype=column.dtype)
    assert len(hashes) == 1 + sum(column.size > 0 for _, column in world._state.columns())
    before = world.state_hash()
    world.step({})
    assert world.state_hash() != before


def test_needs_are_told_of_all_now_and_then_and_else_of_those_that_moved_on():
    world = TileWorld.from_scenario(load_scenario(CLEARING))
    told, dice = {}, Dice(2)
    for tick in range(1, 130):
        needs = world.step({row: anything(dice) for row in range(3)}).needs
        now = world.view().needs
        assert now is not None
        if tick in (1, 65, 129):
            assert needs is not None
            assert needs.actor.tolist() == [0, 1, 2]
        for row, energy, hunger in zip(*(needs.actor, needs.energy, needs.hunger), strict=True) if needs else ():
            told[int(row)] = (int(energy), int(hunger))
            assert told[int(row)] == (now.energy[row], now.hunger[row])
        for row, (energy, hunger) in told.items():
            assert abs(energy - int(now.energy[row])) < 20
            assert abs(hunger - int(now.hunger[row])) < 20


def test_a_world_without_needs_tells_of_none():
    world = TileWorld.from_scenario(parse_scenario(BARE + "actors: [{at: [0, 0]}]\n"))
    assert world.step({}).needs is None
    assert world.view().needs is None

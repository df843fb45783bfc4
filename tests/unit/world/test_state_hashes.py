"""The same seed and the same intents give the same world, tick for tick: anew, from a snapshot, from the record."""

import random
import subprocess
import sys

import pytest
from tests.long import short_or_long

from tickmind.protocol import Direction, Drop, Intent, Interact, Move, Pickup, Say, Sleep, Use, Wait, Wake
from tickmind.server.testing import meadow
from tickmind.world import TileWorld

ACTORS = 12
TICKS = short_or_long(60, 600)
SEEDS = range(20)
APART = """
from tests.unit.world.test_state_hashes import SEEDS, live
print("\\n".join(live(seed)[0][-1].hex() for seed in SEEDS))
"""


def intents(dice: random.Random) -> dict[int, Intent]:
    """What some of the actors want in a tick."""
    kinds: list[Intent] = [
        *(Move(direction) for direction in Direction),
        *(Pickup("berries"), Use("berries"), Drop("berries"), Say("hm"), Sleep(), Wake(), Wait()),
        *(Interact(f"door:{number}") for number in range(1, 4)),
    ]
    return {row: dice.choice(kinds) for row in range(ACTORS) if dice.random() < 0.8}


def live(seed):
    """The hashes of a history, its records, and a snapshot from the midst of it."""
    world, dice = TileWorld.from_scenario(meadow(ACTORS, radius=3, seed=seed)), random.Random(seed)
    hashes, records, middle = [], [], b""
    for tick in range(TICKS):
        if tick == TICKS // 2:
            middle = world.snapshot()
        records.append(world.step(intents(dice)))
        hashes.append(records[-1].state_hash)
    return hashes, records, middle


@pytest.mark.parametrize("seed", SEEDS)
def test_a_history_repeats_anew_from_a_snapshot_and_from_its_record(seed):
    hashes, records, middle = live(seed)
    assert len(set(hashes)) == TICKS
    assert live(seed)[0] == hashes
    scenario = meadow(ACTORS, radius=3, seed=seed)
    resumed = TileWorld.from_scenario(scenario)
    resumed.restore(middle)
    assert all(map(resumed.repeat, records[TICKS // 2 :]))
    replayed = TileWorld.from_scenario(scenario)
    assert all(map(replayed.repeat, records))


def test_seeds_give_different_histories():
    assert len({live(seed)[0][-1] for seed in SEEDS}) == len(SEEDS)


@pytest.mark.slow
def test_another_process_with_another_order_of_sets_gives_the_same_histories(pytestconfig):
    done = subprocess.run(
        [sys.executable, "-c", APART],
        env={"PYTHONHASHSEED": "1", "PYTHONPATH": f"{pytestconfig.rootpath}:{pytestconfig.rootpath / 'src'}"},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert done.stdout.split() == [live(seed)[0][-1].hex() for seed in SEEDS]

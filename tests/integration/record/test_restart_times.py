"""How soon a killed world ticks again: within two seconds of work, at p99, with 100,000 ticks on record."""

import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.long import short_or_long

from tickmind.cli.world.run import WorldRuns
from tickmind.protocol import Direction, Move
from tickmind.record import LogOptions, SyncPolicy
from tickmind.server import Checkpoint, load_checkpoint, resume, save_checkpoint
from tickmind.world import TileWorld

CLEARING = Path(__file__).parents[3] / "scenarios" / "clearing.yaml"
TICKS = short_or_long(1_000, 100_000)
ROUNDS = short_or_long(6, 30)
SINCE_CHECKPOINT = 59  # ticks, the most that there can be
TORN_BYTES = 40
MOST_S = short_or_long(0.5, 2.0)  # measured 0.08 to 0.1; a replay of all takes 1.6 s, or three minutes


@pytest.fixture
def runs(tmp_path):
    """The folder of a run that was killed. All but its last ticks are one tick again and again: nobody replays them."""
    options = LogOptions(sync=SyncPolicy.NEVER, keep_log=True)
    run = WorldRuns(tmp_path, options=options).begin(CLEARING.read_text(), str(CLEARING), "long")
    world = TileWorld.from_scenario(run.scenario)
    rows = range(len(world.info.actors))
    record = world.step({row: Move(Direction.E) for row in rows})
    start = TICKS - SINCE_CHECKPOINT
    for tick_id in range(1, start):
        run.log.publish(replace(record, tick_id=tick_id))
    world._tick_id = start
    save_checkpoint(run.checkpoints, Checkpoint(1, start, world.snapshot()))
    for _ in range(SINCE_CHECKPOINT):
        run.log.publish(world.step({row: Move(Direction(world.tick_id % 8)) for row in rows}))
    run.abandon()
    return tmp_path


def tear(runs):
    """Cut off the end of the log, as a crash in the middle of a write does."""
    last = max((runs / "long" / "live").glob("*.tmlog"))
    with last.open("r+b") as file:
        file.truncate(last.stat().st_size - TORN_BYTES)


def restart(runs):
    """Go on with the run, and return the tick that is kept first."""
    run = WorldRuns(runs, options=LogOptions(keep_log=True)).resume("long")
    world = TileWorld.from_scenario(run.scenario)
    resume(world, load_checkpoint(run.checkpoints), run.history)
    record = world.step({})
    run.log.publish(record)
    run.abandon()
    return record.tick_id


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_killed_world_ticks_again_after_next_to_no_work_at_p99(runs):
    restart(runs)  # the first one also imports and compiles
    took_s, ticks = [], []
    for _ in range(ROUNDS):
        tear(runs)
        began_s = time.process_time()
        ticks.append(restart(runs))
        took_s.append(time.process_time() - began_s)
    took_s.sort()
    assert took_s[int(0.99 * ROUNDS)] < MOST_S, took_s
    assert min(ticks) >= TICKS - 1  # one torn tick each time at most, which is ticked again

"""How soon a killed world ticks again, with a long log behind it."""

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.harness import Result, paired
from tickmind.base import SystemClock
from tickmind.cli.world.run import WorldRuns
from tickmind.protocol import Direction, Move
from tickmind.record import LogOptions, SyncPolicy
from tickmind.server import Checkpoint, load_checkpoint, resume, save_checkpoint
from tickmind.wire import SyncWorldClient
from tickmind.world import TileWorld

ROOT = Path(__file__).parents[1]
CLEARING = ROOT / "scenarios" / "clearing.yaml"
TICKS = 100_000
SINCE_CHECKPOINT = 59  # the most that there can be
GOAL_S = 2.0
ROUNDS = 3
# pyarrow loads pandas wherever it is installed, which takes half a second; a world needs none, so it has none here.
PROGRAM = """
import sys
class NoPandas:
    def find_spec(self, name, path, target=None):
        if name == "pandas":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NoPandas())
from tickmind.cli import main
main()
"""


def write_long_log(runs: Path) -> None:
    """A run of so many ticks that was killed. All but the last are one tick again and again: nobody replays them."""
    run = WorldRuns(runs, options=LogOptions(sync=SyncPolicy.NEVER, keep_log=True)).begin(
        CLEARING.read_text(), str(CLEARING), "long"
    )
    world = TileWorld.from_scenario(run.scenario)
    rows = range(len(world.info.actors))
    record = world.step({row: Move(Direction.E) for row in rows})
    start = TICKS - SINCE_CHECKPOINT
    for tick_id in range(1, start):
        run.log.publish(replace(record, tick_id=tick_id))
    world._tick_id = start  # noqa: SLF001 - a shortcut through 100,000 ticks
    save_checkpoint(run.checkpoints, Checkpoint(1, start, world.snapshot()))
    for _ in range(SINCE_CHECKPOINT + 1):
        run.log.publish(world.step({row: Move(Direction(world.tick_id % 8)) for row in rows}))
    run.abandon()


def restart(runs: Path) -> float:
    """Take the run up in this process, and give the seconds until a new tick is kept."""
    clock = SystemClock()
    started_s = clock.monotonic()
    run = WorldRuns(runs, options=LogOptions(keep_log=True)).resume("long")
    world = TileWorld.from_scenario(run.scenario)
    resume(world, load_checkpoint(run.checkpoints), run.history)
    run.log.publish(world.step({}))
    passed_s = clock.monotonic() - started_s
    run.abandon()
    return passed_s


def replay(runs: Path, ticks: int) -> float:
    """Read so many ticks from the beginning and repeat them, as a restart without a checkpoint would."""
    run = WorldRuns(runs, options=LogOptions(keep_log=True)).resume("long")
    world = TileWorld.from_scenario(run.scenario)
    clock = SystemClock()
    started_s = clock.monotonic()
    for record in run.history.records(1, ticks):
        world.repeat(record)
    passed_s = clock.monotonic() - started_s
    run.abandon()
    return passed_s


def command(runs: Path) -> float:
    """Start the program anew, and give the seconds until somebody outside is told of a tick; kills it."""
    address = runs / "s"
    started_s = time.monotonic()
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            PROGRAM,
            "world",
            "--resume",
            "long",
            "--runs",
            runs,
            "--socket",
            address,
            "--speed",
            "50",
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stderr=subprocess.DEVNULL,
    )
    try:
        while not address.exists():
            assert process.poll() is None, "the world has ended"
            time.sleep(0.005)
        with SyncWorldClient(f"unix:{address}") as client:
            next(iter(client.ticks()))
            return time.monotonic() - started_s
    finally:
        process.kill()
        process.wait()
        address.unlink(missing_ok=True)


def restart_with_a_long_log() -> list[Result]:
    """A world with 100,000 ticks behind it is killed and ticks again."""
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder)
        write_long_log(runs)
        command(runs)  # compiles what is not compiled yet
        inside = [restart(runs) for _ in range(ROUNDS)]
        whole = [command(runs) for _ in range(ROUNDS)]
        sample = TICKS // 50
        from_start_s = replay(runs, sample) / sample * TICKS
    limits = [GOAL_S] * ROUNDS
    return [
        paired(
            "restart to next tick, 100,000 ticks on record",
            inside,
            [from_start_s] * ROUNDS,
            unit="s",
            peer_name="replay of all",
            bar=from_start_s / GOAL_S,
        ),
        paired("the same, with the start of the program", whole, limits, unit="s", peer_name="the limit", bar=1.0),
    ]


BENCHMARKS = (restart_with_a_long_log,)

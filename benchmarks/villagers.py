"""Villages of real processes: 500 villagers in ten of them, with a mocked model, at one tick a second.

Their minds are full from the beginning: each has a persona, relations, a memory at its budget and days with errands.
The figures are the world's own: how long after the start of a tick intents arrive. `python -m benchmarks.villagers
--villagers 500 --processes 10 --seconds 30` runs it by itself, `--empty` with villagers who know nothing yet.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from benchmarks.full_villager import SIDE, peopled_village
from benchmarks.harness import Result
from benchmarks.served_village import run_villagers, serve_world
from tickmind.server import ServerStatistics
from tickmind.world import TileWorld, parse_scenario
from tickmind.world.generators import generate_village

SECONDS = 300 if os.environ.get("LONG") else 60
VILLAGERS, PROCESSES = 500, 10
ANSWERS_MS = 250.0
SETTLE_TICKS = 10  # before anything counts, in which minds are filled and shown
CHOICE = "see what is new"  # which a villager can do while there is something that it does not know


def _village(villagers: int, *, empty: bool) -> TileWorld:
    drawn = generate_village(7, width=SIDE, height=SIDE, houses=60, actors=villagers)
    return TileWorld.from_scenario(parse_scenario(drawn if empty else peopled_village(villagers)))


@contextmanager
def model() -> Iterator[tuple[str, int]]:
    """A model that always answers the same, as a gateway's address, and the id of its process."""
    command = [sys.executable, "-m", "tickmind.llm.testing.server", "--text", CHOICE]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip(), process.pid
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


def cpu_s(pid: int) -> float:
    """The CPU time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(
    villagers: int, processes: int, seconds: float, *, empty: bool = False
) -> tuple[ServerStatistics, dict[str, float]]:
    """Let them live; return the world's figures, and the cores that each part used, this process among them."""
    module = "tickmind.characters.villager" if empty else "benchmarks.full_villager"
    with (
        serve_world(partial(_village, villagers, empty=empty)) as world,
        model() as (gateway_url, model_pid),
        run_villagers(world, gateway_url, processes, module=module) as villager_pids,
    ):
        world.wait_until_controlled()
        time.sleep(SETTLE_TICKS)
        world.reset()
        parts = {
            "villagers": villager_pids,
            "world": [world.pid],
            "model": [model_pid],
            "measuring": [os.getpid()],
        }
        used_s = {name: sum(map(cpu_s, pids)) for name, pids in parts.items()}
        time.sleep(seconds)
        figures, _ = world.look()
        return figures, {name: (sum(map(cpu_s, pids)) - used_s[name]) / seconds for name, pids in parts.items()}


def bench_villagers(
    villagers: int = VILLAGERS, processes: int = PROCESSES, seconds: float = SECONDS, *, empty: bool = False
) -> list[Result]:
    """500 villagers with full minds in ten processes, each of whom acts in every tick."""
    figures, cores = run(villagers, processes, seconds, empty=empty)
    acted = figures.accepted / max(1, figures.ticks * villagers)
    print(
        f"  {figures.ticks} ticks, {figures.overruns} overruns, {acted:.1%} of all intents arrived, "
        f"p50 {figures.answers_p50_ms:.0f} ms, p99 {figures.answers_p99_ms:.0f} ms; "
        f"cores used: {', '.join(f'{name} {used:.2f}' for name, used in cores.items())}"
    )
    p99_ms = figures.answers_p99_ms
    return [
        Result("villagers: answers p99", p99_ms, "ms", "the limit", ANSWERS_MS, ANSWERS_MS / max(p99_ms, 1e-3), 1.0),
        Result("villagers: acted", acted, "", "all", 1.0, acted, 0.99),
    ]


BENCHMARKS = [bench_villagers]


def main() -> None:
    """Run it by itself."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--villagers", type=int, default=VILLAGERS)
    parser.add_argument("--processes", type=int, default=PROCESSES)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--empty", action="store_true")
    options = parser.parse_args()
    results = bench_villagers(options.villagers, options.processes, options.seconds, empty=options.empty)
    for result in results:
        print(f"{result.name}: {result.ours:,.3g} {result.unit} ({'holds' if result.holds else 'FAILS'})")


if __name__ == "__main__":
    main()

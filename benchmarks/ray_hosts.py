"""100,000 hosted characters: the runner's processes on this machine, and the same ones as Ray actors, by turns.

Each of ten processes hosts 10,000 characters that go about, over one batched stream. The figures are the world's own.
Ray moves no observation, so with it they should be the same. `python -m benchmarks.ray_hosts --seconds 10 --rounds 1`
runs it by itself; `ACTORS=20000` in the environment hosts fewer.
"""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from tests.kits.ray_cluster import RAY_SETTINGS, local_ray

from benchmarks.harness import Result, paired
from benchmarks.villagers import cpu_s
from benchmarks.world_load import Figures, world
from tickmind.adapters.ray import RayLauncher, connect_ray
from tickmind.agent import Launch
from tickmind.protocol import ACTION_CODES, UNUSED, ActionType, IntentColumns
from tickmind.runner import (
    AgentLauncher,
    AgentSpec,
    LifeState,
    LocalLauncher,
    Match,
    ResourceRequest,
    Rule,
    Runner,
    RunnerMapping,
)
from tickmind.wire import WorldClient, WorldEndpoint

ACTORS, PROCESSES = int(os.environ.get("ACTORS", "100000")), 10
SECONDS = 60.0 if os.environ.get("LONG") else 15.0
ROUNDS = 3
READY_S = 400.0  # ten processes start on two cores
SETTLE_S = 3.0
BAR = 0.9  # within a tenth
_RAY_PROGRAMS = (b"/ray/core/", b"/ray/dashboard/", b"/ray/_private/")
ROOT = Path(__file__).parents[1]
HOST = AgentSpec(
    "host",
    ("python", "-m", "benchmarks.ray_hosts", "host"),
    ROOT,
    per_process=ACTORS // PROCESSES,
    heartbeat_timeout_ms=0,
    missed_intents=0,
    start_timeout_ms=120_000,
    place=ResourceRequest(cpus=0.5, memory_mb=200),
)


async def _host() -> None:
    """Be the process of many characters that all go about."""
    launch = Launch.from_environment(os.environ)
    mine = {each.entity_id for each in launch.entities}
    dice = np.random.default_rng(len(launch.entities[0].entity_id))
    move = ACTION_CODES[ActionType.MOVE]
    async with WorldClient(WorldEndpoint(launch.world_addr, timeout_s=60)) as client:
        info = await client.world()
        rows = np.array([row for row, actor in enumerate(info.actors) if actor.entity_id in mine], dtype=np.int32)
        async with client.control_batch(info, launch.entities[0].controller_id, rows) as session:
            async for part in session:
                seen = part.observations
                count = len(seen)
                unused = np.full(count, UNUSED, dtype=np.int32)
                actions, ways = np.full(count, move, dtype=np.uint8), dice.integers(0, 8, count, dtype=np.int8)
                columns = IntentColumns(np.array(seen.actor), actions, ways, unused, unused, unused, {})
                session.submit_nowait(seen.tick_id, columns)


async def _ask(pipe: Any, word: str) -> Any:
    pipe.send(word)
    return await asyncio.to_thread(pipe.recv)


@asynccontextmanager
async def _running(address: str, launcher: AgentLauncher) -> AsyncIterator[Runner]:
    """A runner of all characters, and in the end none of its processes."""
    mapping = RunnerMapping({HOST.name: HOST}, (Rule(Match(), HOST.name),), world_addr=address)
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(mapping, Path(folder), launcher=launcher)
        task = asyncio.create_task(runner.run())
        try:
            yield runner
        finally:
            runner.stop()
            await task
            await launcher.close()


def _ray_cpu_s() -> float:
    """The CPU time of Ray's own processes on this machine: actors without their agents, raylets and the rest."""
    used_s = 0.0
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended
            command = (folder / "cmdline").read_bytes()
            if command.startswith(b"ray::") or any(part in command for part in _RAY_PROGRAMS):
                used_s += cpu_s(int(folder.name))
    return used_s


async def _round(address: str, pipe: Any, launcher: AgentLauncher, seconds: float) -> tuple[Figures, float]:
    """Host all characters for some time, once all of them act; return the figures and the cores that Ray used."""
    async with _running(address, launcher) as runner:
        async with asyncio.timeout(READY_S):
            while (ready := runner.statistics().states.get(LifeState.RUNNING, 0)) < PROCESSES:
                print(f"    {ready} of {PROCESSES} processes act", flush=True)
                await asyncio.sleep(2.0)
        await asyncio.sleep(SETTLE_S)
        before_s = _ray_cpu_s()
        await _ask(pipe, "reset")
        await asyncio.sleep(seconds)
        found: Figures = await _ask(pipe, "figures")
        return found, (_ray_cpu_s() - before_s) / seconds


def bench_ray_hosts(seconds: float = SECONDS, rounds: int = ROUNDS) -> list[Result]:
    """100,000 hosted characters over Ray actors, beside the same processes without Ray."""
    sides: dict[str, list[Figures]] = {"Ray": [], "here": []}
    with world(ACTORS) as (address, pipe), local_ray(nodes=2, cpus=PROCESSES) as ray:
        os.environ.update(RAY_SETTINGS)
        cluster = connect_ray("ray", {**os.environ, **ray.environment})
        try:
            for _ in range(rounds):
                for name, found in sides.items():
                    launcher: AgentLauncher = RayLauncher(cluster) if name == "Ray" else LocalLauncher()
                    last, cores = asyncio.run(_round(address, pipe, launcher, seconds))
                    found.append(last)
                    print(
                        f"  {name}: answers p50 {last.answers_p50_ms:.0f} ms, p99 {last.answers_p99_ms:.0f} ms, "
                        f"{last.accepted / max(1, last.ticks * ACTORS):.1%} acted, {last.overruns} overruns, "
                        f"world {last.cpu_s / max(1, last.ticks) * 1000:.0f} ms CPU a tick; "
                        f"Ray itself {cores:.2f} cores"
                    )
        finally:
            cluster.leave()
    over, here = sides["Ray"], sides["here"]
    acted = statistics.median(each.accepted / max(1, each.ticks * ACTORS) for each in over)
    peer_name = "without Ray"
    return [
        paired(
            f"{ACTORS:,} over Ray: answers p50",
            [each.answers_p50_ms for each in over],
            [each.answers_p50_ms for each in here],
            unit="ms",
            peer_name=peer_name,
            bar=BAR,
        ),
        paired(
            f"{ACTORS:,} over Ray: answers p99",
            [each.answers_p99_ms for each in over],
            [each.answers_p99_ms for each in here],
            unit="ms",
            peer_name=peer_name,
            bar=BAR,
        ),
        paired(
            f"{ACTORS:,} over Ray: the world's CPU for a tick",
            [each.cpu_s / max(1, each.ticks) * 1000 for each in over],
            [each.cpu_s / max(1, each.ticks) * 1000 for each in here],
            unit="ms",
            peer_name=peer_name,
            bar=BAR,
        ),
        Result(f"{ACTORS:,} over Ray: acted", acted, "", "all", 1.0, acted, 0.99),
    ]


BENCHMARKS = [bench_ray_hosts]


def main() -> None:
    """Run it by itself, or be one of its hosts."""
    if sys.argv[1:] == ["host"]:
        asyncio.run(_host())
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    for result in bench_ray_hosts(options.seconds, options.rounds):
        print(f"{result.name}: {result.ours:,.3g} {result.unit}, ratio {result.ratio:.2f}, {result.spread}")


if __name__ == "__main__":
    main()

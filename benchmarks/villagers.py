"""Villages of real processes: 500 villagers in ten of them, with a mocked model, at one tick a second.

The figures are the world's own: how long after the start of a tick intents arrive. `python -m benchmarks.villagers
--villagers 500 --processes 10 --seconds 30` runs it by itself.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any

from benchmarks.harness import Result
from tickmind.agent import Assignment, Launch
from tickmind.server import ServerStatistics
from tickmind.server.event_loop import run_on_quick_loop
from tickmind.world.generators import generate_village

SECONDS = 300 if os.environ.get("LONG") else 60
VILLAGERS, PROCESSES = 500, 10
ANSWERS_MS = 250.0
SETTLE_TICKS = 5  # before anything counts
READY_S = 120
SIDE = 140
PLAN = json.dumps({"goal": "explore", "who": "", "say": "", "remember": "The mill is to the east."})


def _serve(pipe: Pipe, villagers: int) -> None:
    run_on_quick_loop(_serve_until_told(pipe, villagers))


async def _serve_until_told(pipe: Pipe, villagers: int) -> None:
    from tickmind.server import ServerConfig, WorldServer
    from tickmind.server.statistics import Tally
    from tickmind.world import TileWorld, parse_scenario

    world = TileWorld.from_scenario(
        parse_scenario(generate_village(7, width=SIDE, height=SIDE, houses=60, actors=villagers))
    )
    async with WorldServer(world, ServerConfig("127.0.0.1:0", keep_garbage=True)) as server:
        running = asyncio.create_task(server.run())
        pipe.send((server.address, [actor.entity_id for actor in world.info.actors]))
        while True:
            await asyncio.sleep(0.05)
            if not pipe.poll():
                continue
            word = pipe.recv()
            if word == "stop":
                break
            pipe.send(server.statistics())
            if word == "reset":
                server.authority.tally = Tally()
        server.stop()
        await running


@contextmanager
def world(villagers: int) -> Iterator[tuple[str, list[str], Pipe, int]]:
    """A village in a process of its own: its address, who lives there, the pipe to it, and the process's id."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, villagers), daemon=True)
    process.start()
    try:
        yield *here.recv(), here, process.pid or 0
    finally:
        here.send("stop")
        process.join(30)
        if process.is_alive():
            process.terminate()


@contextmanager
def model() -> Iterator[tuple[str, int]]:
    """A model that always answers the same, as a gateway's address, and the id of its process."""
    command = [sys.executable, "-m", "tickmind.llm.testing.server", "--text", PLAN]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip(), process.pid
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


@contextmanager
def hosts(address: str, ids: list[str], processes: int, gateway_url: str, folder: Path) -> Iterator[list[Any]]:
    """The villagers, shared among so many processes."""
    running = []
    for number in range(processes):
        launch = Launch(
            tuple(Assignment(entity_id, f"host:{number}") for entity_id in ids[number::processes]),
            world_addr=address,
            gateway_url=gateway_url,
            session="village",
            seed=number,
            config_path=folder / f"{number}.json",
        )
        launch.write_file()
        env = {**os.environ, **launch.to_environment(), "AGENT_LOG_LEVEL": "ERROR"}
        running.append(subprocess.Popen([sys.executable, "-m", "tickmind.characters.villager"], env=env))
    try:
        yield running
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(60)


def cpu_s(pid: int) -> float:
    """The CPU time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(villagers: int, processes: int, seconds: float) -> tuple[ServerStatistics, dict[str, float]]:
    """Let them live; gives the world's figures, and the cores that each part used, this process among them."""
    with (
        tempfile.TemporaryDirectory() as folder,
        world(villagers) as (address, ids, pipe, world_pid),
        model() as (gateway_url, model_pid),
        hosts(address, ids, processes, gateway_url, Path(folder)) as running,
    ):
        end_s = time.monotonic() + READY_S
        while _ask(pipe, "look").controlled < villagers:
            if time.monotonic() > end_s:
                raise RuntimeError("not all villagers came to life")
            time.sleep(0.5)
        time.sleep(SETTLE_TICKS)
        _ask(pipe, "reset")
        parts = {
            "villagers": [process.pid for process in running],
            "world": [world_pid],
            "model": [model_pid],
            "measuring": [os.getpid()],
        }
        used_s = {name: sum(map(cpu_s, pids)) for name, pids in parts.items()}
        time.sleep(seconds)
        figures = _ask(pipe, "look")
        return figures, {name: (sum(map(cpu_s, pids)) - used_s[name]) / seconds for name, pids in parts.items()}


def _ask(pipe: Pipe, word: str) -> ServerStatistics:
    pipe.send(word)
    found: ServerStatistics = pipe.recv()
    return found


def bench_villagers(villagers: int = VILLAGERS, processes: int = PROCESSES, seconds: float = SECONDS) -> list[Result]:
    """500 villagers of ten processes, each of whom acts in every tick."""
    figures, cores = run(villagers, processes, seconds)
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
    options = parser.parse_args()
    for result in bench_villagers(options.villagers, options.processes, options.seconds):
        print(f"{result.name}: {result.ours:,.3g} {result.unit} ({'holds' if result.holds else 'FAILS'})")


if __name__ == "__main__":
    main()

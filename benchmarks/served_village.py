"""A world served by one process and villagers run by others, for benchmarks of whole villages."""

import asyncio
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from tickmind.agent import Assignment, Launch, Settings
from tickmind.protocol import AgentStatus, Insight, Thought, ThoughtReport
from tickmind.server import ServerConfig, ServerStatistics, WorldServer
from tickmind.server.event_loop import run_on_quick_loop
from tickmind.server.pace import TickPace
from tickmind.server.statistics import TickTally
from tickmind.world import TileWorld

READY_S = 120
STOP_S = 60
_POLL_S = 0.05


@dataclass(frozen=True)
class ReceivedThought:
    """A thought, its character, and when the world received it."""

    entity_id: str
    at_s: float  # of the monotonic clock, which all processes share
    thought: Thought


class ThoughtList:
    """Keeps the thoughts that agents report to the world."""

    def __init__(self) -> None:
        self.thoughts: list[ReceivedThought] = []

    def thought(self, report: ThoughtReport) -> None:
        """Keep a thought."""
        self.thoughts.append(ReceivedThought(report.entity_id, time.monotonic(), report.thought))

    def status(self, status: AgentStatus) -> None:
        """Pass over how an agent is doing."""

    def insight(self, insight: Insight) -> None:
        """Pass over what a mind shows."""


@dataclass(frozen=True)
class ServedWorld:
    """A world that another process serves."""

    address: str
    actor_ids: list[str]
    pid: int
    pipe: Connection

    def look(self) -> tuple[ServerStatistics, list[ReceivedThought]]:
        """Return the figures and the thoughts since the last reset."""
        return self._ask("look")

    def reset(self) -> None:
        """Count from here."""
        self._ask("reset")

    def wait_until_controlled(self) -> None:
        """Wait until every actor has a controller."""
        end_s = time.monotonic() + READY_S
        while self.look()[0].controlled < len(self.actor_ids):
            if time.monotonic() > end_s:
                raise RuntimeError("not all villagers came to life")
            time.sleep(0.1)

    def _ask(self, word: str) -> tuple[ServerStatistics, list[ReceivedThought]]:
        self.pipe.send(word)
        answer: tuple[ServerStatistics, list[ReceivedThought]] = self.pipe.recv()
        return answer


@contextmanager
def serve_world(make_world: Callable[[], TileWorld], *, tps: float = 1.0) -> Iterator[ServedWorld]:
    """Serve a world in a process of its own; `make_world` is called there, so it must be picklable."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, make_world, tps), daemon=True)
    process.start()
    try:
        address, actor_ids = here.recv()
        yield ServedWorld(address, actor_ids, process.pid or 0, here)
    finally:
        here.send("stop")
        process.join(STOP_S)
        if process.is_alive():
            process.terminate()


def _serve(pipe: Connection, make_world: Callable[[], TileWorld], tps: float) -> None:
    run_on_quick_loop(_serve_until_stopped(pipe, make_world, tps))


async def _serve_until_stopped(pipe: Connection, make_world: Callable[[], TileWorld], tps: float) -> None:
    world, reports = make_world(), ThoughtList()
    config, pace = ServerConfig("127.0.0.1:0", keep_garbage=True), TickPace(1 / tps, 0.5 / tps)
    async with WorldServer(world, config, pace=pace, reports=reports) as server:
        running = asyncio.create_task(server.run())
        pipe.send((server.address, [actor.entity_id for actor in world.info.actors]))
        while True:
            await asyncio.sleep(_POLL_S)
            if not pipe.poll():
                continue
            word = pipe.recv()
            if word == "stop":
                break
            pipe.send((server.statistics(), reports.thoughts))
            if word == "reset":
                server.authority.tally = TickTally()
                reports.thoughts = []
        server.stop()
        await running


@contextmanager
def run_villagers(
    world: ServedWorld,
    gateway_url: str,
    processes: int,
    *,
    module: str = "tickmind.characters.villager",
    settings: Settings | None = None,
) -> Iterator[list[int]]:
    """Share the world's actors among so many processes of a module; give their ids."""
    running: list[subprocess.Popen[bytes]] = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            for number in range(processes):
                launch = Launch(
                    tuple(Assignment(entity_id, f"host:{number}") for entity_id in world.actor_ids[number::processes]),
                    world_addr=world.address,
                    gateway_url=gateway_url,
                    session="village",
                    settings=settings or Settings({}),
                    config_path=Path(folder) / f"{number}.json",
                )
                launch.write_file()
                env = {**os.environ, **launch.to_environment(), "AGENT_LOG_LEVEL": "ERROR"}
                running.append(subprocess.Popen([sys.executable, "-m", module], env=env))
            yield [process.pid for process in running]
        finally:
            for process in running:
                process.terminate()
            for process in running:
                process.wait(STOP_S)

"""The simulated machine: a disk, a clock, and one process after another that serves the world from them."""

import asyncio
import contextvars
import random
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.sim.clocks import SimClock
from tests.sim.loop import OWNER
from tests.sim.network import Network
from tests.sim.referee import Referee
from tests.sim.witness import Court, Witness

from tickmind.cli.world import run as world_run
from tickmind.cli.world.run import WorldRun, WorldRuns
from tickmind.protocol import AgentState, AgentStatus, WorldInfo
from tickmind.record import DiskFaultError, LogOptions, RunStore, store
from tickmind.record.limits import MAX_CHUNK_BYTES
from tickmind.record.tables.world_files import WORLD_TABLES, write_world
from tickmind.record.testing import CrashedError, MemoryDisk
from tickmind.server import Authority, TickLoop, TickPace, load_checkpoint, resume
from tickmind.server.services import services_of
from tickmind.world import Scenario, TileWorld, parse_scenario

ROOT = Path("/sim/runs")
PACE = TickPace(0.2, 0.1)
TTL_MS = 600
CHECKPOINT_TICKS = 3
OPTIONS = LogOptions()


@cache
def read_scenario(text: str, source: str, *, seed: int | None = None) -> Scenario:
    """Read a scenario once for all histories, which have the same."""
    return parse_scenario(text, source, seed=seed)


@cache
def info_of(scenario: str) -> WorldInfo:
    """What never changes in the world of a scenario."""
    return TileWorld.from_scenario(read_scenario(scenario, "sim.yaml")).info


_worlds: dict[tuple[bytes, ...], WorldInfo] = {}  # content of the files of a world -> what it says
_files: dict[tuple[str, WorldInfo], list[tuple[str, bytes]]] = {}  # run and world -> its files


def _quick_files(info: WorldInfo, run_id: str) -> list[tuple[str, bytes]]:
    if (run_id, info) not in _files:
        _files[run_id, info] = list(write_world(info, run_id))
    return _files[run_id, info]


@contextmanager
def quick_worlds() -> Iterator[None]:
    """Let what never changes be read, and written as bytes, only once, as long as it is the same."""
    read, known = RunStore._info, _worlds

    def info(runs: RunStore, folder: Path, world: Mapping[str, Any]) -> WorldInfo:
        key = tuple(runs._disk.read_bytes(folder / one.file_name, MAX_CHUNK_BYTES) for one in WORLD_TABLES.values())
        if key not in known:
            known[key] = read(runs, folder, world)
        return known[key]

    with (
        patch.object(RunStore, "_info", info),
        patch.object(store, "write_world", _quick_files),
        patch.object(world_run, "parse_scenario", read_scenario),
    ):
        yield


class Machine:
    """What outlives a process."""

    def __init__(self, rng: random.Random, scenario: str, network: Network, witness: Witness, court: Court) -> None:
        self.rng = rng
        self.scenario = scenario
        self.network = network
        self.witness = witness
        self.court = court
        self.disk = MemoryDisk(rng.randrange(2**32))
        self.clock = SimClock()
        self.process: Process | None = None
        self.slowest_disk_s = 0.02
        self.starts = 0
        self.run_id = ""  # of the run that is recorded; empty until one has begun
        self.ends: list[str] = []  # how processes ended
        self.impatient: random.Random | None = None  # by which somebody stops processes that have just begun

    def store(self) -> RunStore:
        return RunStore(ROOT, disk=self.disk)

    async def run(self) -> None:
        """Keep a world running: whenever a process has ended, start another one, as an operator would."""
        while True:
            self.process = process = Process(self, random.Random(self.rng.randrange(2**32)))
            self.starts += 1
            if self.impatient is not None and self.impatient.random() < 0.7:
                asyncio.get_running_loop().call_later(self.impatient.uniform(0.0, 0.15), process.stop)
            self.ends.append(await process.run())
            await asyncio.sleep(self.rng.uniform(0.0, 0.3))
            self._boot()

    def _boot(self) -> None:
        """Before the next start, the machine may have been off."""
        if self.rng.random() < 0.7:
            self.disk.restart()
            self.clock = SimClock(monotonic_s=self.rng.uniform(0.0, 1e6), wall_s=self.clock.wall())
        else:
            self.disk.restart(lost_power=False)

    def kill(self) -> None:
        """Kill the process that runs, if one does."""
        if self.process is not None:
            self.process.die()


class Process:
    """One start of the world, wired as the program does it."""

    def __init__(self, machine: Machine, rng: random.Random) -> None:
        self.machine = machine
        self.rng = rng
        self.alive = True
        self.tasks: set[asyncio.Task[Any]] = set()
        self.loop: TickLoop | None = None
        self._context = contextvars.copy_context()
        self._context.run(OWNER.set, self)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        return asyncio.get_running_loop().create_task(work, context=self._context)

    def thread_delays_s(self) -> tuple[float, float]:
        slowest_s = self.machine.slowest_disk_s
        return self.rng.uniform(0.0, slowest_s), self.rng.uniform(0.0, slowest_s)

    def die(self) -> None:
        """Stop at once, in the middle of whatever it is doing."""
        if self.alive:
            self.alive = False
            self.machine.disk.crashed = True
            self.machine.network.fall()
            for task in list(self.tasks):
                task.cancel()

    def stop(self) -> None:
        """End in good order, as by SIGTERM."""
        if self.alive and self.loop is not None:
            self.loop.stop()

    async def run(self) -> str:
        """Serve until the end, and tell how it came."""
        serving = self.spawn(self._serve())
        await asyncio.wait({serving})
        try:
            serving.result()
            how = "stopped"
        except (CrashedError, asyncio.CancelledError):
            how = "killed"
        except DiskFaultError:
            how = "disk fault"
        self.die()
        return how

    async def _serve(self) -> None:
        machine = self.machine
        run = self._open()
        world = TileWorld.from_scenario(run.scenario)
        checkpoint = load_checkpoint(run.checkpoints, run.history.last_tick_id or 0)
        incarnation = resume(world, checkpoint, run.history)
        machine.witness.check_length(world.tick_id - 1)
        authority = Authority(
            world,
            clock=machine.clock,
            pace=PACE,
            lease_ttl_ms=TTL_MS,
            secrets=lambda: f"{self.rng.getrandbits(128):032x}",
            incarnation=incarnation,
            reports=run.log,
        )
        Referee(authority, machine.clock, machine.court)
        self.loop = loop = TickLoop(
            authority, sink=run.log, checkpoints=run.checkpoints, checkpoint_every_ticks=CHECKPOINT_TICKS
        )
        loop.save()
        machine.network.listen(self, services_of(authority))
        if machine.impatient is not None:  # there is always an agent that tells something before the first tick
            run.log.status(AgentStatus("entity:1", world.tick_id, AgentState.STARTING))
        await loop.run()
        run.pause()

    def _open(self) -> WorldRun:
        machine = self.machine
        runs = WorldRuns(ROOT, machine.disk, clock=machine.clock, options=OPTIONS)
        if machine.run_id:
            return runs.resume(machine.run_id)
        run = runs.begin(machine.scenario, "sim.yaml", f"run-{len(machine.ends)}")
        machine.run_id = run.run_id
        return run

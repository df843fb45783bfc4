"""Kills real worlds while somebody watches and somebody acts, and checks what is left of them."""

import asyncio
import os
import random
import sys
from pathlib import Path
from types import TracebackType

from tests.sim.launcher import Order
from tests.sim.simulation import SCENARIO

from tickmind.base import Secret
from tickmind.protocol import Direction, Lease, Move
from tickmind.record import RunStore
from tickmind.wire import ViewerEvent, WireError, WorldClient, WorldEndpoint
from tickmind.world import TileWorld, parse_scenario

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60.0
KILLED = -9
FAILED = 1


class Launcher:
    """The process from which worlds are forked."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> "Launcher":
        with self.log.open("wb") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "tests.sim.launcher",
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "PYTHONWARNINGS": "ignore"},
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )
        assert await self.read() == "launcher", self.log.read_text()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.close()
        if exc_type is not None:
            self._process.kill()
        await self._process.wait()

    async def send(self, order: Order) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(order.line().encode())
        await self._process.stdin.drain()

    async def read(self) -> str:
        """What it says next."""
        assert self._process is not None
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE_S * 3):
            return (await self._process.stdout.readline()).decode().strip()


class KillSite:
    """A world that is killed and resumed again and again, and what was seen of it."""

    def __init__(self, folder: Path, launcher: Launcher, rng: random.Random) -> None:
        self.runs = folder / "runs"
        self.socket = folder / "s"
        self.launcher = launcher
        self.rng = rng
        self.run_id = ""  # empty until the run has begun
        self.begun = 0
        self.kills = 0
        self.epochs: list[int] = []
        self.accepted = 0
        self.seen: dict[int, ViewerEvent] = {}  # tick -> how it was shown
        self._previous: Secret | None = None

    async def live(self, **when: object) -> int:
        """One life of the world; gives its exit code. What it did, and what it left, is checked."""
        run_id = self.run_id or f"run-{self.begun}"
        self.begun += 1
        scenario = "" if self.run_id else SCENARIO
        await self.launcher.send(Order(str(self.runs), run_id, str(self.socket), scenario, **when))  # type: ignore[arg-type]  # whatever an order takes
        said = await self.launcher.read()
        if said == "ready":
            self.run_id = run_id
            said = await self._be_there()
        code = int(said.removeprefix("ended "))
        self.kills += code == KILLED
        self.check_length()
        return code

    async def be_seen(self) -> None:
        """Live on until the agent has acted and the viewer has seen it, however slow the machine is."""
        while not (self.seen and self.accepted and self.epochs):
            assert await self.live(ticks=5, tick_s=0.2) == 0
        assert await self.live(ticks=2) == 0

    async def _be_there(self) -> str:
        """Watch and act until the world has ended."""
        others = [asyncio.create_task(self._watch()), asyncio.create_task(self._act())]
        try:
            return await self.launcher.read()
        finally:
            for task in others:
                task.cancel()
            for result in await asyncio.gather(*others, return_exceptions=True):
                if not isinstance(result, (WireError, asyncio.CancelledError, type(None))):
                    raise result

    async def _watch(self) -> None:
        async with WorldClient(WorldEndpoint(f"unix:{self.socket}", timeout_s=PATIENCE_S)) as client:
            world = await client.world()
            async for event in client.viewer_events(world, retry=None):
                before = self.seen.setdefault(event.tick_id, event)
                assert before is event, f"tick {event.tick_id} was shown twice"

    async def _act(self) -> None:
        async with WorldClient(WorldEndpoint(f"unix:{self.socket}", timeout_s=PATIENCE_S)) as client:
            session = client.control("entity:1", "me", previous=self._previous, release=False)
            async with session:
                self._hold(session.lease)
                async for seen in session:
                    ack = await session.submit(seen.tick_id, Move(Direction(self.rng.randrange(8))))
                    self.accepted += ack.accepted

    def _hold(self, lease: Lease) -> None:
        assert lease.epoch > max(self.epochs, default=0), "an epoch did not grow"
        self.epochs.append(lease.epoch)
        self._previous = lease.lease_id

    def check_length(self) -> None:
        """Nothing that was shown is missing at the end."""
        if self.seen:
            with RunStore(self.runs).open(self.run_id) as reader:
                assert max(self.seen) <= (reader.last_tick_id or 0), "a tick that was shown is lost"

    def check(self) -> int:
        """All that was shown is on record, and the record gives the same world again; gives its length."""
        world = TileWorld.from_scenario(parse_scenario(SCENARIO))
        ticks = 0
        with RunStore(self.runs).open(self.run_id) as reader:
            for record in reader.records():
                assert record.tick_id == world.tick_id, "a tick is missing"
                assert world.repeat(record)
                event = self.seen.pop(record.tick_id, None)
                if event is not None:
                    assert event.state.x.tolist() == record.actor_state.x[event.actor].tolist()
                    assert event.state.y.tolist() == record.actor_state.y[event.actor].tolist()
                    assert event.results.reason.tolist() == record.results.reason.tolist()
                ticks = record.tick_id
        assert not self.seen, "ticks that were shown are not on record"
        return ticks

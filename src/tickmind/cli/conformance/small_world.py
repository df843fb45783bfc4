"""The world of a trial: one actor on a meadow, which can stand still, restart, and refuse what an agent asks."""

import asyncio
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from tickmind.base import secret_token
from tickmind.cli.conformance.credentials import TrialCredentials
from tickmind.cli.conformance.evidence import TrialPlan
from tickmind.cli.conformance.witness import IntentWitness, WatchedInbox
from tickmind.protocol import Reason, TickRecord
from tickmind.server import ServerConfig, TickPace, WorldServer
from tickmind.server.testing import meadow
from tickmind.world import TileWorld

ENTITY_ID = "entity:1"
DEADLINE = 0.8  # of a tick
BY_INBOX = (Reason.LATE_TICK, Reason.EARLY_TICK, Reason.DUPLICATE_INTENT)


@dataclass(frozen=True, slots=True)
class _Kept:
    """A checkpoint in memory."""

    data: bytes
    after_tick: int
    incarnation: int

    def read(self) -> bytes:
        return self.data


class MemoryCheckpoints:
    """Keeps the newest checkpoint in memory."""

    def __init__(self) -> None:
        self._kept: list[_Kept] = []

    def save(self, data: bytes, *, after_tick: int, incarnation: int) -> None:
        """Keep a checkpoint instead of the one before."""
        self._kept = [_Kept(data, after_tick, incarnation)]

    def stored(self) -> Sequence[_Kept]:
        """Return what is kept."""
        return self._kept


class PausingSink:
    """Keeps no record; while it is held, a world stands still between two ticks and answers its agents."""

    def __init__(self) -> None:
        self._free = threading.Event()
        self._free.set()

    def publish(self, _record: TickRecord) -> None:
        """Return as soon as it is not held."""
        self._free.wait()

    def hold(self) -> None:
        """Let the world stand still after the next tick."""
        self._free.clear()

    def release(self) -> None:
        """Let the world go on."""
        self._free.set()


class TrialWorld:
    """One world for one trial, watched by a witness; `start` it again after `stop`, and it goes on with its run."""

    def __init__(self, plan: TrialPlan, witness: IntentWitness, credentials: TrialCredentials | None = None) -> None:
        self._config = ServerConfig(
            "127.0.0.1:0",
            lease_ttl_ms=plan.lease_ttl_ms,
            tls=None if credentials is None else credentials.server_tls(),
            tokens=() if credentials is None else credentials.tokens(),
        )
        self.sink = PausingSink()
        self._plan = plan
        self._witness = witness
        self._checkpoints = MemoryCheckpoints()
        self._server: WorldServer | None = None
        self._running: asyncio.Task[int] | None = None

    async def start(self) -> str:
        """Serve the world, and return its address."""
        plan, inbox = self._plan, WatchedInbox(self._witness)
        world = TileWorld.from_scenario(meadow(1))
        server = WorldServer(
            world,
            self._config,
            pace=TickPace(plan.tick_ms / 1000, DEADLINE * plan.tick_ms / 1000),
            sink=self.sink,
            checkpoints=self._checkpoints,
            run_id="conformance",
            secrets=self._secret,
            on_tick=lambda record: self._witness.tick(record, answered=inbox.was_answered),
        )
        server.authority.inbox = inbox
        await server.__aenter__()
        self._server = server
        self._running = asyncio.create_task(server.run())
        return server.address

    async def stop(self) -> None:
        """End the world, as a restart does."""
        self.sink.release()
        server, running, self._server, self._running = self._server, self._running, None, None
        if server is not None:
            await server.close()
        if running is not None:
            with suppress(asyncio.CancelledError):
                await running

    @property
    def streams_cut(self) -> int:
        """How many streams the world has cut off since its last start."""
        return 0 if self._server is None else self._server.authority.streams.cut

    @property
    def is_held(self) -> bool:
        """Whether some controller has the actor's lease now."""
        if self._server is None:
            return False
        leases = self._server.authority.leases
        leases.expire()
        return bool(leases.controlled.any())

    def unseen_refusals(self) -> Counter[Reason]:
        """Return refusals since the last start that no inbox has seen: of intents that can't be read, and of floods."""
        refused = Counter() if self._server is None else Counter(self._server.statistics().refused)
        return Counter({reason: count for reason, count in refused.items() if reason not in BY_INBOX})

    def _secret(self) -> str:
        secret = secret_token()
        self._witness.secrets.append(secret)
        return secret

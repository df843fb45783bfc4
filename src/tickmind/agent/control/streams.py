"""`ControlStream`: control of a process's entities, one over its own stream, several over a batched one."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tickmind.agent.contract import Assignment
from tickmind.agent.errors import AgentError
from tickmind.base import Clock, Secret, get_logger
from tickmind.protocol import REASONS, Intent, Lease, Observation, RunInfo, Wait
from tickmind.wire import ControlSession, MessageError, WorldClient

if TYPE_CHECKING:
    from tickmind.protocol import IntentColumns, WorldInfo
    from tickmind.protocol.columns import Int32
    from tickmind.wire.client.batch_control import BatchSession

_UNSENDABLE = (MessageError, TypeError, ValueError, OverflowError)  # what a field of the wrong type may raise
RETRY_MISSING_S = 10.0  # between two attempts to get entities that another controller holds
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class TickPart:
    """The start of a tick, or of a part of it, for some of the entities."""

    tick_id: int
    deadline_ms: int
    received_s: float
    observations: tuple[Observation, ...]


class ControlStream(ABC):
    """An open stream that keeps control of some entities."""

    def __init__(
        self,
        session: "ControlSession | BatchSession",
        clock: Clock,
        run: RunInfo,
        leases: dict[str, Lease],
    ) -> None:
        self._session = session
        self._clock = clock
        self._run = run
        self._leases = leases

    @property
    def leases(self) -> Mapping[str, Lease]:
        """The entities whose leases were granted and not lost since; none once the stream has ended."""
        return self._leases if self._session.controlled else {}

    @property
    def run(self) -> RunInfo:
        """The run that the world is in."""
        return self._run

    @property
    def refused(self) -> int:
        """How many intents the world has refused."""
        return self._session.statistics().refused

    @property
    @abstractmethod
    def secret(self) -> Secret:
        """The secret that takes the leases back after a break."""

    @abstractmethod
    def parts(self) -> AsyncIterator[TickPart]:
        """Yield the newest observations until control is lost, which raises `WireError`."""

    @abstractmethod
    def answer(self, tick_id: int, intents: Mapping[str, Intent]) -> dict[str, str]:
        """Send the intents of a tick; return the entities whose intent can't be sent and becomes `Wait`, and why."""


OpenStream = Callable[[Secret | None], AbstractAsyncContextManager[ControlStream]]


def stream_opener(client: WorldClient, entities: tuple[Assignment, ...], clock: Clock) -> OpenStream:
    """Return the kind of stream that fits the number of entities; leaving it gives up no lease."""
    if len(entities) == 1:
        return lambda previous: _open_solo(client, entities[0], previous, clock)
    return lambda previous: _open_host(client, entities, previous, clock)


@asynccontextmanager
async def _open_solo(
    client: WorldClient, entity: Assignment, previous: Secret | None, clock: Clock
) -> AsyncIterator[ControlStream]:
    session = client.control(entity.entity_id, entity.controller_id, previous=previous, release=False)
    async with session:
        yield SingleEntityStream(session, clock)


class SingleEntityStream(ControlStream):
    """One entity over its own stream."""

    _session: ControlSession

    def __init__(self, session: ControlSession, clock: Clock) -> None:
        super().__init__(session, clock, session.run, {session.lease.entity_id: session.lease})

    @property
    def secret(self) -> Secret:
        """The secret of the lease."""
        return self._session.lease.lease_id

    async def parts(self) -> AsyncIterator[TickPart]:
        """Yield the newest observation."""
        async for observation in self._session:
            yield TickPart(observation.tick_id, observation.deadline_ms, self._clock.monotonic(), (observation,))

    def answer(self, tick_id: int, intents: Mapping[str, Intent]) -> dict[str, str]:
        """Send the intent; an invalid one becomes `Wait`."""
        unsent: dict[str, str] = {}
        for entity_id, intent in intents.items():
            try:
                self._session.submit_checked_nowait(tick_id, intent)
            except MessageError as error:
                unsent[entity_id] = str(error)
                self._session.submit_nowait(tick_id, Wait())
        return unsent


@asynccontextmanager
async def _open_host(
    client: WorldClient, entities: tuple[Assignment, ...], previous: Secret | None, clock: Clock
) -> AsyncIterator[ControlStream]:
    import numpy as np

    world = await client.world()
    rows = {actor.entity_id: row for row, actor in enumerate(world.actors)}
    unknown = [each.entity_id for each in entities if each.entity_id not in rows]
    if unknown:
        raise AgentError(f"the world has no entity {', '.join(unknown[:5])}; correct the launch file's entities")
    actor = np.array(sorted(rows[each.entity_id] for each in entities), dtype=np.int32)
    controller_id = entities[0].controller_id
    session = client.control_batch(world, controller_id, actor, previous=previous, release=False)
    async with session:
        yield BatchedStream(session, world, controller_id, actor, clock)


class BatchedStream(ControlStream):
    """Several entities over one stream."""

    _session: "BatchSession"

    def __init__(
        self, session: "BatchSession", world: "WorldInfo", controller_id: str, actor: "Int32", clock: Clock
    ) -> None:
        from tickmind.agent.control.columns import ColumnReader
        from tickmind.protocol.compiling import WorldCodes
        from tickmind.wire.columns import ColumnBounds

        opened = session.opened
        self._names = names = [each.entity_id for each in world.actors]
        leases = {
            names[row]: Lease(opened.lease_id, names[row], controller_id, epoch, opened.ttl_ms)
            for row, epoch in zip(opened.granted.tolist(), opened.epoch.tolist(), strict=True)
        }
        super().__init__(session, clock, world.describe(opened.run, leases), leases)
        self._reader = ColumnReader(world)
        self._codes = WorldCodes.of(world)
        self._bounds = ColumnBounds.of(world)
        self._wanted = len(actor)
        self._opened_s = clock.monotonic()
        if len(opened.refused):
            held = [self._names[row] for row in opened.refused[:5].tolist()]
            _log.warning("another controller holds some of the entities", entities=held, count=len(opened.refused))

    @property
    def secret(self) -> Secret:
        """The one secret of all leases."""
        return self._session.opened.lease_id

    async def parts(self) -> AsyncIterator[TickPart]:
        """Yield the parts of the newest tick; ends by itself when it is time to ask for missing entities."""
        async for part in self._session:
            self._note_lost()
            if len(self._leases) < self._wanted and self._clock.monotonic() - self._opened_s > RETRY_MISSING_S:
                return
            received_s = self._clock.monotonic()
            observations = self._reader.read(part.observations)
            mine = tuple([seen for seen in observations if seen.me.entity_id in self._leases])
            yield TickPart(part.observations.tick_id, part.observations.deadline_ms, received_s, mine)

    def answer(self, tick_id: int, intents: Mapping[str, Intent]) -> dict[str, str]:
        """Send the intents in one batch; invalid ones become `Wait`."""
        rows = {self._codes.actor_row[name]: intent for name, intent in intents.items()}
        unsent: dict[str, str] = {}
        try:
            self._session.submit_nowait(tick_id, self._columns(rows, unsent))
        except _UNSENDABLE:  # one bad intent spoils the batch
            unsent.clear()
            sendable = {row: self._sendable(row, intent, unsent) for row, intent in rows.items()}
            self._session.submit_nowait(tick_id, self._columns(sendable, unsent))
        return unsent

    def _columns(self, intents: Mapping[int, Intent], unsent: dict[str, str]) -> "IntentColumns":
        from tickmind.protocol.compiling import compile_intents
        from tickmind.wire.columns.intents import refused_rows

        columns = compile_intents(self._codes, intents)
        refused = refused_rows(columns, self._bounds).tolist()
        if not refused:
            return columns
        for row in refused:
            unsent[self._names[row]] = f"a field of {type(intents[row]).__name__} is out of bounds"
        return compile_intents(self._codes, {**intents, **dict.fromkeys(refused, Wait())})

    def _sendable(self, row: int, intent: Intent, unsent: dict[str, str]) -> Intent:
        from tickmind.wire.columns.intents import encode_intent_batch

        try:
            encode_intent_batch(0, self._columns({row: intent}, {}))
        except _UNSENDABLE as error:
            unsent[self._names[row]] = str(error)
            return Wait()
        return intent

    def _note_lost(self) -> None:
        for lost in self._session.lost():
            for row, code in zip(lost.actor.tolist(), lost.reason.tolist(), strict=True):
                self._leases.pop(self._names[row], None)
                _log.warning("lost control of an entity", entity_id=self._names[row], reason=str(REASONS[code]))

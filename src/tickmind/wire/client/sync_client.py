"""The blocking client, for scripts and threads, with its own event loop in the background."""

import random
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from tickmind.base import Secret
from tickmind.base.background import BackgroundLoop
from tickmind.protocol import (
    Ack,
    AgentStatus,
    EntityInfo,
    Insight,
    Intent,
    IntentColumns,
    Lease,
    LifecycleEvent,
    Observation,
    Reason,
    Thought,
    TickEvent,
    WorldInfo,
)
from tickmind.wire.client.async_client import EVERYTHING, RETRY, WorldClient
from tickmind.wire.client.backoff import Backoff
from tickmind.wire.client.connection import WorldEndpoint
from tickmind.wire.client.control import ControlSession
from tickmind.wire.client.session import ControlStatistics, StreamSession
from tickmind.wire.errors import UnreachableError, WireConfigError
from tickmind.wire.messages.frames import AckBatch, BatchOpened, LeasesLost, ObservationBatch
from tickmind.wire.messages.placements import PlacementOutcome
from tickmind.wire.messages.viewing import ViewerEvent, ViewerSnapshot, ViewFilter

if TYPE_CHECKING:
    from tickmind.protocol.columns import Int32
    from tickmind.wire.client.batch_control import BatchSession

AckT = TypeVar("AckT")
Part = TypeVar("Part")


def _cancelled(message: str) -> UnreachableError:
    return UnreachableError(message, status="CANCELLED")


class _SyncSession(Generic[AckT, Part]):
    """What both blocking sessions have in common."""

    def __init__(self, background: BackgroundLoop, session: StreamSession[Any, Any, AckT, Part]) -> None:
        self._background = background
        self._stream = session

    def __enter__(self) -> Self:
        self._background.run(self._stream.__aenter__())
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._background.run(self._stream.__aexit__(exc_type, exc, trace))

    def __iter__(self) -> Iterator[Part]:
        return self._background.iterate(aiter(self._stream))

    @property
    def controlled(self) -> bool:
        """Whether the control stream is open."""
        return self._stream.controlled

    def statistics(self) -> ControlStatistics:
        """Return the counters of the stream."""
        return self._stream.statistics()


class SyncControlSession(_SyncSession[Ack, Observation]):
    """`ControlSession`, blocking: use it in `with`, iterate for observations and `submit` intents."""

    def __init__(self, background: BackgroundLoop, session: ControlSession) -> None:
        super().__init__(background, session)
        self._session = session

    @property
    def lease(self) -> Lease:
        """The lease; its secret takes the entity back after a break."""
        return self._session.lease

    def submit(self, tick_id: int, intent: Intent) -> Ack:
        """Send the intent of a tick and wait for the acknowledgement."""
        return self._background.run(self._session.submit(tick_id, intent))


class SyncBatchSession(_SyncSession[AckBatch, ObservationBatch]):
    """`BatchSession`, blocking: use it in `with`, iterate for parts of observations and `submit` columns."""

    def __init__(self, background: BackgroundLoop, session: "BatchSession") -> None:
        super().__init__(background, session)
        self._session = session

    @property
    def opened(self) -> BatchOpened:
        """The granted entities, and the secret that takes them back after a break."""
        return self._session.opened

    def lost(self) -> tuple[LeasesLost, ...]:
        """Return the entities that were lost since the last call."""
        return self._session.lost()

    def submit(self, tick_id: int, intents: IntentColumns) -> AckBatch:
        """Send intents of a tick and wait for the acknowledgement."""
        return self._background.run(self._session.submit(tick_id, intents))


class SyncWorldClient:
    """`WorldClient` for code without an event loop, with the same methods, blocking. It is thread-safe.

    with SyncWorldClient("127.0.0.1:50051") as client:
        print(client.world().name)
    """

    def __init__(self, connection: WorldEndpoint | str, *, rng: random.Random | None = None) -> None:
        self._background = BackgroundLoop(
            "tickmind-wire", refuse=WireConfigError, cancelled=_cancelled, instead="WorldClient"
        )
        try:
            self._client = self._background.run(_make(connection, rng))
        except BaseException:
            self._background.close()
            raise

    def __enter__(self) -> "SyncWorldClient":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Sync{self._client!r}"

    def close(self) -> None:
        """Close the connection, all streams on it, and the thread."""
        try:
            self._background.run(self._client.close())
        except WireConfigError:
            return  # already closed
        self._background.close()

    def is_serving(self) -> bool:
        """Return whether the world reports that it is healthy."""
        return self._background.run(self._client.is_serving())

    def ticks(self, *, retry: Backoff | None = RETRY) -> Iterator[TickEvent]:
        """Iterate over the starts of ticks."""
        return self._background.iterate(self._client.ticks(retry=retry))

    def entities(self, *, uncontrolled_only: bool = False) -> tuple[EntityInfo, ...]:
        """Return all controllable actors, or those without a controller."""
        return self._background.run(self._client.entities(uncontrolled_only=uncontrolled_only))

    def lifecycle(self, *, include_present: bool = True, retry: Backoff | None = RETRY) -> Iterator[LifecycleEvent]:
        """Iterate over lifecycle events."""
        return self._background.iterate(self._client.lifecycle(include_present=include_present, retry=retry))

    def world(self) -> WorldInfo:
        """Return everything that never changes in a run."""
        return self._background.run(self._client.world())

    def acquire(self, entity_id: str, controller_id: str, *, previous: Secret | None = None) -> Lease:
        """Acquire control of an entity; raises `LeaseRefusedError` if the world refuses."""
        return self._background.run(self._client.acquire(entity_id, controller_id, previous=previous))

    def renew(self, lease: Lease) -> Lease:
        """Renew a lease for its whole lifetime; raises `LeaseRefusedError` if the world refuses."""
        return self._background.run(self._client.renew(lease))

    def release(self, lease: Lease) -> Reason:
        """Release an entity at once."""
        return self._background.run(self._client.release(lease))

    def observations(
        self, lease: Lease, *, want_floors: bool = False, retry: Backoff | None = RETRY
    ) -> Iterator[Observation]:
        """Iterate over an entity's observations, one at the start of each tick."""
        return self._background.iterate(self._client.observations(lease, want_floors=want_floors, retry=retry))

    def submit(self, lease: Lease, tick_id: int, intent: Intent) -> Ack:
        """Submit the intent of one tick."""
        return self._background.run(self._client.submit(lease, tick_id, intent))

    def control(
        self,
        entity_id: str,
        controller_id: str,
        *,
        previous: Secret | None = None,
        want_floors: bool = False,
        release: bool = True,
    ) -> SyncControlSession:
        """Control an entity over one stream, in `with`."""

        async def open_session() -> ControlSession:
            return self._client.control(
                entity_id, controller_id, previous=previous, want_floors=want_floors, release=release
            )

        return SyncControlSession(self._background, self._background.run(open_session()))

    def control_batch(
        self,
        world: WorldInfo,
        controller_id: str,
        actor: "Int32",
        *,
        previous: Secret | None = None,
        release: bool = True,
    ) -> SyncBatchSession:
        """Control many actors, given by their ascending rows, over one stream, in `with`."""

        async def open_session() -> "BatchSession":
            return self._client.control_batch(world, controller_id, actor, previous=previous, release=release)

        return SyncBatchSession(self._background, self._background.run(open_session()))

    def viewer_events(
        self, world: WorldInfo, view: ViewFilter = EVERYTHING, *, retry: Backoff | None = RETRY
    ) -> Iterator[ViewerEvent]:
        """Iterate over the events of each tick that pass the filter."""
        return self._background.iterate(self._client.viewer_events(world, view, retry=retry))

    def snapshot(self, world: WorldInfo, view: ViewFilter = EVERYTHING) -> ViewerSnapshot:
        """Return the world after the last recorded tick."""
        return self._background.run(self._client.snapshot(world, view))

    def report_thought(self, lease: Lease, tick_id: int, thought: Thought) -> Ack:
        """Report an entity's thought to the record and the viewers."""
        return self._background.run(self._client.report_thought(lease, tick_id, thought))

    def report_status(self, lease: Lease, status: AgentStatus) -> Ack:
        """Report an agent's status to the record and the viewers."""
        return self._background.run(self._client.report_status(lease, status))

    def report_insights(self, lease: Lease, insights: Sequence[Insight]) -> Ack:
        """Report insights into the minds of entities of the lease to the record and the viewers."""
        return self._background.run(self._client.report_insights(lease, insights))

    def spawn(self, entity_id: str, at: tuple[int, int] | None = None) -> PlacementOutcome:
        """Bring an actor that is away into the world."""
        return self._background.run(self._client.spawn(entity_id, at))

    def despawn(self, entity_id: str) -> PlacementOutcome:
        """Take an actor out of the world."""
        return self._background.run(self._client.despawn(entity_id))


async def _make(connection: WorldEndpoint | str, rng: random.Random | None) -> WorldClient:
    """Make the client on its own loop."""
    return WorldClient(connection, rng=rng)

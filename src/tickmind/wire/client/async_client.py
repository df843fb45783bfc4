"""The asyncio client: typed methods for all services of a world."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import grpc.aio

from tickmind.base import Secret
from tickmind.protocol import (
    Ack,
    AgentStatus,
    EntityInfo,
    Insight,
    Intent,
    Lease,
    LifecycleEvent,
    Observation,
    Reason,
    Thought,
    ThoughtReport,
    TickEvent,
    WorldInfo,
)
from tickmind.wire import codec
from tickmind.wire.client.backoff import Backoff
from tickmind.wire.client.calls import call_error, open_channel
from tickmind.wire.client.connection import WorldEndpoint
from tickmind.wire.client.control import ControlSession
from tickmind.wire.client.service_calls import service_calls
from tickmind.wire.errors import LeaseRefusedError, MessageError, NotAllowedError, OverloadedError, UnreachableError
from tickmind.wire.messages.frames import BatchOpen, Closed, ControlOpen
from tickmind.wire.messages.placements import PlacementOutcome, PlacementRequest
from tickmind.wire.messages.requests import (
    AcquireRequest,
    EntitiesRequest,
    InsightsRequest,
    ObservationsRequest,
    StatusRequest,
    SubmitRequest,
    ThoughtRequest,
)
from tickmind.wire.messages.viewing import ViewerEvent, ViewerSnapshot, ViewFilter
from tickmind.wire.v1 import (
    action_pb2,
    control_pb2,
    entity_pb2,
    lease_pb2,
    observation_pb2,
    operator_pb2,
    telemetry_pb2,
    tick_pb2,
    viewer_pb2,
)

if TYPE_CHECKING:
    from tickmind.protocol.columns import Int32
    from tickmind.wire.client.batch_control import BatchSession

T = TypeVar("T")
RETRY = Backoff()
EVERYTHING = ViewFilter()


class WorldClient:
    """A client of the world at an address. It connects on first use; `close` it, or use it in `async with`.

    Streams other than control reconnect after a break, as `retry` says; with `retry=None` the error is raised.

        async with WorldClient("127.0.0.1:50051") as client:
            for entity in await client.entities(uncontrolled_only=True):
                ...
    """

    def __init__(self, connection: WorldEndpoint | str, *, rng: random.Random | None = None) -> None:
        self._connection = WorldEndpoint(connection) if isinstance(connection, str) else connection
        self._rng = rng or random.SystemRandom()
        channel = self._channel = open_channel(self._connection)
        self._ticks = service_calls(channel, tick_pb2.DESCRIPTOR)
        self._entities = service_calls(channel, entity_pb2.DESCRIPTOR)
        self._leases = service_calls(channel, lease_pb2.DESCRIPTOR)
        self._observations = service_calls(channel, observation_pb2.DESCRIPTOR)
        self._actions = service_calls(channel, action_pb2.DESCRIPTOR)
        self._control = service_calls(channel, control_pb2.DESCRIPTOR)
        self._viewer = service_calls(channel, viewer_pb2.DESCRIPTOR)
        self._telemetry = service_calls(channel, telemetry_pb2.DESCRIPTOR)
        self._operator = service_calls(channel, operator_pb2.DESCRIPTOR)

    async def __aenter__(self) -> "WorldClient":
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"WorldClient({self._connection.address!r})"

    async def close(self) -> None:
        """Close the connection and all streams on it."""
        await self._channel.close()

    async def is_serving(self) -> bool:
        """Return whether the world reports that it is healthy."""
        from grpc_health.v1 import health_pb2, health_pb2_grpc

        check = health_pb2_grpc.HealthStub(self._channel).Check
        answer = await self._call(check, health_pb2.HealthCheckRequest())
        return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)

    def ticks(self, *, retry: Backoff | None = RETRY) -> AsyncIterator[TickEvent]:
        """Iterate over the starts of ticks."""
        return self._stream(
            self._ticks.StreamTicks, tick_pb2.StreamTicksRequest(), _part("tick", codec.decode_tick), retry
        )

    async def entities(self, *, uncontrolled_only: bool = False) -> tuple[EntityInfo, ...]:
        """Return all controllable actors, or those without a controller, in ascending ids.

        Raises `MessageError` if the world's pages are not in this order.
        """
        actors: list[EntityInfo] = []
        more = True
        while more:
            after = actors[-1].entity_id if actors else ""
            request = codec.encode_entities_request(EntitiesRequest(uncontrolled_only, after_entity_id=after))
            page, more = codec.decode_page(await self._call(self._entities.ListControllableEntities, request))
            if page and page[0].entity_id <= after:
                raise MessageError("entities", "in ascending order over all pages")
            actors += page
        return tuple(actors)

    def lifecycle(
        self, *, include_present: bool = True, retry: Backoff | None = RETRY
    ) -> AsyncIterator[LifecycleEvent]:
        """Iterate over lifecycle events; `include_present` begins, also after a break, with the present state."""
        request = entity_pb2.StreamEntityLifecycleRequest(include_present=include_present)
        return self._stream(
            self._entities.StreamEntityLifecycle, request, _part("event", codec.decode_lifecycle), retry
        )

    async def world(self) -> WorldInfo:
        """Return everything that never changes in a run."""
        reader = codec.WorldReader()
        call = self._entities.StreamWorld(
            entity_pb2.StreamWorldRequest(), metadata=self._connection.metadata, timeout=self._connection.timeout_s
        )
        try:
            async for part in call:
                reader.add(part)
        except grpc.aio.AioRpcError as error:
            raise call_error(error, self._connection) from None
        finally:
            call.cancel()
        return reader.finish()

    async def acquire(self, entity_id: str, controller_id: str, *, previous: Secret | None = None) -> Lease:
        """Acquire control of an entity; raises `LeaseRefusedError` if the world refuses."""
        request = codec.encode_acquire(AcquireRequest(entity_id, controller_id, previous))
        answer = codec.decode_lease_answer(await self._call(self._leases.AcquireLease, request))
        return _granted(answer, f"refused control of {entity_id}")

    async def renew(self, lease: Lease) -> Lease:
        """Renew a lease for its whole lifetime; raises `LeaseRefusedError` if the world refuses."""
        request = lease_pb2.RenewLeaseRequest(lease_id=lease.lease_id.reveal())
        answer = codec.decode_lease_answer(await self._call(self._leases.RenewLease, request))
        return _granted(answer, f"did not renew the lease of {lease.entity_id}")

    async def release(self, lease: Lease) -> Reason:
        """Release an entity at once; return why that was not possible, if so."""
        request = lease_pb2.ReleaseLeaseRequest(lease_id=lease.lease_id.reveal())
        return codec.decode_released(await self._call(self._leases.ReleaseLease, request))

    def observations(
        self, lease: Lease, *, want_floors: bool = False, retry: Backoff | None = RETRY
    ) -> AsyncIterator[Observation]:
        """Iterate over an entity's observations, one at the start of each tick; `control` is faster.

        A caller that is slower than the ticks gets the newest observation each time, never a backlog.
        """
        request = codec.encode_observations_request(
            ObservationsRequest(lease.lease_id, lease.entity_id, want_floors, once=True)
        )
        decode = _part("observation", codec.decode_observation)
        return self._stream(self._observations.StreamObservations, request, decode, retry, again=True)

    async def submit(self, lease: Lease, tick_id: int, intent: Intent) -> Ack:
        """Submit the intent of one tick."""
        request = codec.encode_submit(SubmitRequest(lease.lease_id, lease.entity_id, tick_id, intent))
        return _ack(await self._call(self._actions.SubmitIntent, request))

    def control(
        self,
        entity_id: str,
        controller_id: str,
        *,
        previous: Secret | None = None,
        want_floors: bool = False,
        release: bool = True,
    ) -> ControlSession:
        """Control an entity over one stream, in `async with`; `release=False` lets the lease run out afterwards."""
        dial = partial(self._control.Control, metadata=self._connection.metadata)
        opening = ControlOpen(entity_id, controller_id, previous, want_floors)
        return ControlSession(dial, self._connection, opening, release=release)

    def play(
        self, entity_id: str, controller_id: str, *, previous: Secret | None = None, release: bool = True
    ) -> ControlSession:
        """Control an entity for a person, who borrows it from its agent; the operator's token may be required."""
        dial = partial(self._operator.Play, metadata=self._connection.metadata)
        opening = ControlOpen(entity_id, controller_id, previous, play=True)
        return ControlSession(dial, self._connection, opening, release=release)

    def control_batch(
        self,
        world: WorldInfo,
        controller_id: str,
        actor: "Int32",
        *,
        previous: Secret | None = None,
        release: bool = True,
    ) -> "BatchSession":
        """Control many actors, given by their ascending rows, over one stream, in `async with`."""
        from tickmind.wire.client.batch_control import BatchSession
        from tickmind.wire.columns import ColumnBounds

        dial = partial(self._control.ControlBatch, metadata=self._connection.metadata)
        opening = BatchOpen(controller_id, actor, previous)
        return BatchSession(dial, self._connection, opening, ColumnBounds.of(world), release=release)

    def viewer_events(
        self,
        world: WorldInfo,
        view: ViewFilter = EVERYTHING,
        *,
        retry: Backoff | None = RETRY,
        on_open: Callable[[], None] | None = None,
    ) -> AsyncIterator[ViewerEvent]:
        """Iterate over the events of each tick that pass the filter. After a break, ticks are missing.

        `on_open` is called whenever the world has answered: from then on it leaves out no tick, or the stream fails.
        """
        from tickmind.wire import columns

        bounds = columns.ColumnBounds.of(world)
        request = viewer_pb2.StreamViewerEventsRequest(filter=columns.encode_filter(view))
        decode = _part("event", lambda event: columns.decode_viewer_event(event, bounds))
        return self._stream(self._viewer.StreamViewerEvents, request, decode, retry, on_open=on_open)

    async def snapshot(self, world: WorldInfo, view: ViewFilter = EVERYTHING) -> ViewerSnapshot:
        """Return the world after the last recorded tick."""
        from tickmind.wire import columns

        request = viewer_pb2.GetViewerSnapshotRequest(filter=columns.encode_filter(view))
        answer = await self._call(self._viewer.GetViewerSnapshot, request)
        bounds = columns.ColumnBounds.of(world)
        return _part("snapshot", lambda message: columns.decode_snapshot(message, bounds))(answer)

    async def report_thought(self, lease: Lease, tick_id: int, thought: Thought) -> Ack:
        """Report an entity's thought to the record and the viewers."""
        report = ThoughtReport(lease.entity_id, tick_id, thought)
        request = codec.encode_thought_request(ThoughtRequest(lease.lease_id, report))
        return _ack(await self._call(self._telemetry.ReportThought, request))

    async def report_status(self, lease: Lease, status: AgentStatus) -> Ack:
        """Report an agent's status to the record and the viewers."""
        request = codec.encode_status_request(StatusRequest(lease.lease_id, status))
        return _ack(await self._call(self._telemetry.ReportStatus, request))

    async def report_insights(self, lease: Lease, insights: Sequence[Insight]) -> Ack:
        """Report insights into the minds of entities of the lease to the record and the viewers."""
        request = codec.encode_insights_request(InsightsRequest(lease.lease_id, tuple(insights)))
        return _ack(await self._call(self._telemetry.ReportInsights, request))

    async def spawn(self, entity_id: str, at: tuple[int, int] | None = None) -> PlacementOutcome:
        """Bring an actor that is away into the world, to a tile or to where its scenario puts it.

        Returns when the tick is recorded at whose end it came, or was refused; the operator's token may be required.
        If that takes longer than `WorldEndpoint.timeout_s`, it raises, and the order is withdrawn.
        """
        request = codec.encode_placement_request(PlacementRequest(entity_id, at))
        return codec.decode_placement_outcome(await self._call(self._operator.SpawnActor, request))

    async def despawn(self, entity_id: str) -> PlacementOutcome:
        """Take an actor out of the world, with all that it carries; `spawn` brings it back, and has the same limits."""
        request = codec.encode_placement_request(PlacementRequest(entity_id, leaves=True))
        return codec.decode_placement_outcome(await self._call(self._operator.DespawnActor, request))

    async def _call(self, method: Any, request: Any) -> Any:
        connection = self._connection
        try:
            return await method(request, metadata=connection.metadata, timeout=connection.timeout_s)
        except grpc.aio.AioRpcError as error:
            raise call_error(error, connection) from None

    async def _stream(
        self,
        method: Any,
        request: Any,
        decode: Callable[[Any], T],
        retry: Backoff | None,
        *,
        again: bool = False,
        on_open: Callable[[], None] | None = None,
    ) -> AsyncIterator[T]:
        """Read a stream, and reopen it after a break; `again` reopens it after every end that follows an item."""
        failures = 0
        while True:
            sent = self._connection.metadata
            call, brought = method(request, metadata=sent), False
            try:
                if on_open:
                    await call.wait_for_connection()
                    on_open()
                async for message in call:
                    failures, brought = 0, True
                    yield decode(message)
                if again and brought:
                    continue
                if retry is None or failures >= retry.attempts:
                    return
            except grpc.aio.AioRpcError as error:
                failure = call_error(error, self._connection)
                exchanged = isinstance(failure, NotAllowedError) and self._connection.metadata != sent  # the token
                lasting = not (exchanged or isinstance(failure, (UnreachableError, OverloadedError)))
                if retry is None or lasting or failures >= retry.attempts:
                    raise failure from None
            finally:
                call.cancel()
            await asyncio.sleep(retry.wait_s(failures, self._rng))
            failures += 1


def _part(field: str, decode: Callable[[Any], T]) -> Callable[[Any], T]:
    """Return a reader of the one part of an answer, which must be present."""

    def read(message: Any) -> T:
        if not message.HasField(field):
            raise MessageError(field, "set")
        return decode(getattr(message, field))

    return read


_ack: Callable[[Any], Ack] = _part("ack", codec.decode_ack)


def _granted(answer: Lease | Closed, what: str) -> Lease:
    if isinstance(answer, Lease):
        return answer
    raise LeaseRefusedError(
        f"the world {what}: {answer.reason}", reason=answer.reason, retry_after_ms=answer.retry_after_ms
    )

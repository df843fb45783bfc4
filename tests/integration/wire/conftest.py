"""A world of three actors behind a real gRPC server on a free port, as far as clients can tell."""

# The schema names the methods of services.
# ruff: noqa: N802

import asyncio
import threading
from contextlib import asynccontextmanager, contextmanager

import grpc
import numpy as np
import pytest
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health, health_pb2_grpc
from tests.kits.wire_sample_columns import ColumnSamples

from tickmind.base import Secret
from tickmind.protocol import (
    Ack,
    ActorStatus,
    Direction,
    EntityInfo,
    FloorInfo,
    Lease,
    LifecycleEvent,
    LifecycleKind,
    Observation,
    Reason,
    SelfState,
    TickEvent,
    VisibleTiles,
    WorldInfo,
)
from tickmind.wire import MessageError, codec, columns, server_options
from tickmind.wire.messages.frames import (
    AckBatch,
    BatchOpen,
    BatchOpened,
    Closed,
    ControlAck,
    ControlIntent,
    ControlOpen,
    ControlOpened,
    IntentBatch,
    KeepAlive,
    LeasesLost,
    ObservationBatch,
    Release,
)
from tickmind.wire.v1 import (
    action_pb2,
    control_pb2,
    entity_pb2,
    lease_pb2,
    observation_pb2,
    telemetry_pb2,
    tick_pb2,
    viewer_pb2,
)

ACTORS = tuple(EntityInfo(f"actor:{number}", "villager", ("npc",)) for number in range(3))
WORLD = WorldInfo(
    "hamlet",
    "1.0.0",
    3,
    2,
    5,
    5,
    1000,
    500,
    (FloorInfo("grass", True, False),),
    bytes(6),
    ("berries",),
    ("",),
    (),
    (),
    ACTORS,
)
SECRET = "lease-secret-0123456789"


def observation(tick_id):
    me = SelfState("actor:0", 1, 1, ActorStatus.AWAKE, Direction.N)
    return Observation(tick_id, 500, me, VisibleTiles(0, 1, 1, b"\x01", b"\x01"))


class FakeWorld:
    """Answers every call and remembers what it was told."""

    def __init__(self):
        self.world = WORLD
        self.port = 0
        self.token = ""
        self.ttl_ms = 10_000
        self.page = 2
        self.lease_held = False
        self.silent = False  # whether renewing a lease is never answered
        self.tick_failures = 0  # streams of ticks that break off first
        self.status = grpc.StatusCode.UNAVAILABLE  # how they break off
        self.seen = []  # all that was received on control streams and by reports
        self.ticks_before_pause = 3
        self.ticks_to_see: tuple[int, ...] = (5, 6)  # of the observations that are still to be sent
        self.samples = ColumnSamples(5, columns.ColumnBounds.of(WORLD))
        self.close_after_intent = None
        self.mute = False  # whether intents are never answered

    async def _admit(self, context):
        if self.token:
            given = dict(context.invocation_metadata()).get("authorization", "")
            if given != f"Bearer {self.token}":
                await context.abort(grpc.StatusCode.UNAUTHENTICATED, f"bad token {given}")

    def lease(self, entity_id="actor:0", controller_id="me"):
        return Lease(Secret(SECRET), entity_id, controller_id, 7, self.ttl_ms)

    async def StreamTicks(self, request, context):
        await self._admit(context)
        for tick_id in (1, 2):
            yield tick_pb2.StreamTicksResponse(tick=codec.encode_tick(TickEvent(tick_id, 10, 20, 1000, "1.0.0")))
        if self.tick_failures:
            self.tick_failures -= 1
            await context.abort(self.status, "broken off")

    async def ListControllableEntities(self, request, context):
        asked = codec.decode_entities_request(request)
        left = [actor for actor in ACTORS if actor.entity_id > asked.after_entity_id]
        page = [codec.encode_entity(actor) for actor in left[: self.page]]
        return entity_pb2.ListControllableEntitiesResponse(entities=page, more=len(left) > self.page)

    async def StreamEntityLifecycle(self, request, context):
        event = LifecycleEvent(4, LifecycleKind.SPAWNED, ACTORS[0])
        yield entity_pb2.StreamEntityLifecycleResponse(event=codec.encode_lifecycle(event))

    async def StreamWorld(self, request, context):
        for part in codec.encode_world(self.world):
            yield part

    async def AcquireLease(self, request, context):
        asked = codec.decode_acquire(request)
        self.seen.append(asked)
        answer = (
            Closed(Reason.LEASE_HELD, 2500) if self.lease_held else self.lease(asked.entity_id, asked.controller_id)
        )
        return codec.encode_acquired(answer)

    async def RenewLease(self, request, context):
        if self.silent:
            await asyncio.Event().wait()
        known = codec.decode_lease_id(request) == Secret(SECRET) and not self.lease_held
        return codec.encode_renewed(self.lease() if known else Closed(Reason.EXPIRED_LEASE))

    async def ReleaseLease(self, request, context):
        return lease_pb2.ReleaseLeaseResponse()

    async def StreamObservations(self, request, context):
        self.seen.append(codec.decode_observations_request(request))
        for tick_id in self.ticks_to_see[: 1 if request.once else None]:
            self.ticks_to_see = self.ticks_to_see[1:]
            yield observation_pb2.StreamObservationsResponse(observation=codec.encode_observation(observation(tick_id)))

    async def SubmitIntent(self, request, context):
        try:
            self.seen.append(codec.decode_submit(request))
            ack = Ack(True)
        except MessageError as error:
            ack = Ack(False, error.reason)
        return action_pb2.SubmitIntentResponse(ack=codec.encode_ack(ack))

    async def ReportThought(self, request, context):
        self.seen.append(codec.decode_thought_request(request))
        return telemetry_pb2.ReportThoughtResponse(ack=codec.encode_ack(Ack(True)))

    async def ReportStatus(self, request, context):
        self.seen.append(codec.decode_status_request(request))
        return telemetry_pb2.ReportStatusResponse(ack=codec.encode_ack(Ack(True)))

    async def StreamViewerEvents(self, request, context):
        await self._admit(context)
        self.seen.append(columns.decode_filter(request.filter))
        yield viewer_pb2.StreamViewerEventsResponse(event=columns.encode_viewer_event(self.samples.viewer_event()))

    async def GetViewerSnapshot(self, request, context):
        return viewer_pb2.GetViewerSnapshotResponse(snapshot=columns.encode_snapshot(self.samples.snapshot()))

    async def Control(self, requests, context):
        await self._admit(context)
        opening = codec.decode_up(await anext(aiter(requests)))
        assert isinstance(opening, ControlOpen)
        self.seen.append(opening)
        if self.lease_held:
            yield codec.encode_down(Closed(Reason.LEASE_HELD, 2500))
            return
        yield codec.encode_down(ControlOpened(self.lease(opening.entity_id, opening.controller_id)))
        for tick_id in range(1, self.ticks_before_pause + 1):
            yield codec.encode_down(observation(tick_id))
        async for request in requests:
            try:
                frame = codec.decode_up(request)
            except MessageError as error:
                yield codec.encode_down(ControlAck(request.intent.tick_id, Ack(False, error.reason)))
                continue
            self.seen.append(frame)
            match frame:
                case Release():
                    yield codec.encode_down(Closed())
                    return
                case ControlIntent(tick_id):
                    if self.mute:
                        continue
                    if self.close_after_intent:
                        yield codec.encode_down(self.close_after_intent)
                        return
                    yield codec.encode_down(ControlAck(tick_id, Ack(True)))
                    yield codec.encode_down(observation(tick_id + 1))
                case KeepAlive():
                    pass

    async def ControlBatch(self, requests, context):
        bounds = columns.ColumnBounds.of(WORLD)
        opening = columns.decode_batch_up(await anext(aiter(requests)), bounds)
        assert isinstance(opening, BatchOpen)
        self.seen.append(opening)
        nobody = np.empty(0, np.int32), np.empty(0, np.uint8)
        epochs = np.arange(len(opening.actor), dtype=np.int64)
        opened = BatchOpened(Secret(SECRET), self.ttl_ms, opening.actor, epochs, *nobody)
        yield columns.encode_batch_down(opened)
        part = self.samples.observation_columns(len(opening.actor))
        yield columns.encode_batch_down(ObservationBatch(0, 2, part))
        yield columns.encode_batch_down(ObservationBatch(1, 2, part))
        async for request in requests:
            frame = columns.decode_batch_up(request, bounds)
            self.seen.append(frame)
            match frame:
                case Release():
                    yield columns.encode_batch_down(Closed())
                    return
                case IntentBatch():
                    if self.mute:
                        continue
                    lost = LeasesLost(np.array([0], np.int32), np.array([4], np.uint8))
                    yield columns.encode_batch_down(lost)
                    acks = AckBatch(frame.tick_id, len(frame.intents), frame.refused, frame.refused_reason)
                    yield columns.encode_batch_down(acks)
                case KeepAlive():
                    pass


SCHEMA = (action_pb2, control_pb2, entity_pb2, lease_pb2, observation_pb2, telemetry_pb2, tick_pb2, viewer_pb2)


def handler_of(method, answer):
    """A handler for gRPC that reads the request of a method, and writes what it answers."""
    up = "stream" if method.client_streaming else "unary"
    down = "stream" if method.server_streaming else "unary"
    return getattr(grpc, f"{up}_{down}_rpc_method_handler")(
        answer,
        request_deserializer=GetMessageClass(method.input_type).FromString,
        response_serializer=GetMessageClass(method.output_type).SerializeToString,
    )


def add_all(world, server):
    health_pb2_grpc.add_HealthServicer_to_server(health.aio.HealthServicer(), server)
    for file in SCHEMA:
        (service,) = file.DESCRIPTOR.services_by_name.values()
        answers = {method: getattr(world, method.name, None) for method in service.methods}
        handlers = {method.name: handler_of(method, answer) for method, answer in answers.items() if answer}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service.full_name, handlers),))


@asynccontextmanager
async def running(world, address="127.0.0.1:0", credentials=None):
    server = grpc.aio.server(options=server_options())
    add_all(world, server)
    if credentials:
        world.port = server.add_secure_port(address, credentials)
    else:
        world.port = server.add_insecure_port(address)
    await server.start()
    try:
        yield world
    finally:
        await server.stop(None)


@contextmanager
def running_in_thread(world):
    """The same world on an event loop of its own, for clients that block."""
    ready, stop = threading.Event(), asyncio.Event()

    async def serve():
        async with running(world):
            ready.set()
            await stop.wait()

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert ready.wait(30)
    try:
        yield world
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(30)
        loop.close()


@pytest.fixture
def fake_world():
    return FakeWorld


@pytest.fixture
def run_world():
    return running


@pytest.fixture
def run_world_in_thread():
    return running_in_thread


@pytest.fixture
def hamlet():
    return WORLD

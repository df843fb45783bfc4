"""Every call with every credential that is none: no token or a wrong one, no lease, a wrong, an expired, another's."""

import asyncio
import importlib
import pkgutil
from typing import Any

import grpc
import pytest
import pytest_asyncio

import tickmind.wire.v1
from tickmind.base import ManualClock, Secret
from tickmind.base.access.token_file import TokenFile
from tickmind.protocol import (
    AgentState,
    AgentStatus,
    Direction,
    Insight,
    Move,
    Reason,
    Thought,
    ThoughtReport,
)
from tickmind.server import ServerConfig
from tickmind.wire.client.link import STATUS_LOST
from tickmind.wire.codec import encode_intent
from tickmind.wire.codec.insights import encode_insight
from tickmind.wire.codec.telemetry import encode_status, encode_thought_report
from tickmind.wire.v1 import (
    action_pb2,
    control_pb2,
    entity_pb2,
    lease_pb2,
    observation_pb2,
    operator_pb2,
    relay_pb2,
    telemetry_pb2,
    tick_pb2,
    viewer_pb2,
)

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(120)]
OPERATOR = "token-of-the-operator"
TOKEN = "a-token-of-this-world"


def methods():
    """All methods of the schema: path -> description."""
    found: dict[str, Any] = {}
    for module in pkgutil.iter_modules(tickmind.wire.v1.__path__):
        if module.name.endswith("_pb2"):
            described = importlib.import_module(f"tickmind.wire.v1.{module.name}").DESCRIPTOR
            for service in described.services_by_name.values():
                found |= {f"/{service.full_name}/{method.name}": method for method in service.methods}
    return found


METHODS = methods()
STATUSES = {status.value[0]: status.name for status in grpc.StatusCode}


def holds_lease(message, seen=()):
    """Whether a message, or one in it, has a field for the secret of a lease."""
    return message.name == "RelayedFrame" or any(
        field.name.endswith("lease_id")
        or (field.message_type and field.message_type not in seen and holds_lease(field.message_type, (*seen, message)))
        for field in message.fields
    )


def requests(lease_id, entity_id="entity:1"):
    """A request of each method that says who asks by a lease: path -> message."""

    def opening(lease_id):
        opened = control_pb2.ControlOpen(entity_id=entity_id, controller_id="thief", previous_lease_id=lease_id)
        return control_pb2.ControlRequest(open=opened).SerializeToString()

    move = encode_intent(Move(Direction.E))
    status = encode_status(AgentStatus(entity_id, 1, AgentState.RUNNING))
    thought = encode_thought_report(ThoughtReport(entity_id, 1, Thought(0, 0, 1, "s", "u")))
    insight = encode_insight(Insight(entity_id, 1))
    asked = {
        "ActionService/SubmitIntent": action_pb2.SubmitIntentRequest(
            lease_id=lease_id, entity_id=entity_id, tick_id=1, intent=move
        ),
        "LeaseService/AcquireLease": lease_pb2.AcquireLeaseRequest(
            entity_id=entity_id, controller_id="thief", previous_lease_id=lease_id
        ),
        "LeaseService/RenewLease": lease_pb2.RenewLeaseRequest(lease_id=lease_id),
        "LeaseService/ReleaseLease": lease_pb2.ReleaseLeaseRequest(lease_id=lease_id),
        "ObservationService/StreamObservations": observation_pb2.StreamObservationsRequest(
            lease_id=lease_id, entity_id=entity_id
        ),
        "ControlService/Control": control_pb2.ControlRequest(
            open=control_pb2.ControlOpen(entity_id=entity_id, controller_id="thief", previous_lease_id=lease_id)
        ),
        "OperatorService/Play": control_pb2.ControlRequest(
            open=control_pb2.ControlOpen(entity_id=entity_id, controller_id="thief", previous_lease_id=lease_id)
        ),
        "ControlService/ControlBatch": control_pb2.ControlBatchRequest(
            open=control_pb2.ControlBatchOpen(
                controller_id="thief", actor=(0).to_bytes(4, "little"), previous_lease_id=lease_id
            )
        ),
        "RelayService/RelayControl": relay_pb2.RelayControlRequest(frames=[{"stream": 1, "frame": opening(lease_id)}]),
        "AgentTelemetry/ReportThought": telemetry_pb2.ReportThoughtRequest(lease_id=lease_id, report=thought),
        "AgentTelemetry/ReportStatus": telemetry_pb2.ReportStatusRequest(lease_id=lease_id, status=status),
        "AgentTelemetry/ReportInsights": telemetry_pb2.ReportInsightsRequest(lease_id=lease_id, insights=[insight]),
    }
    return {f"/tickmind.v1.{name}": message for name, message in asked.items()}


OTHERS = {  # what may be asked by anybody who has a token
    "/tickmind.v1.EntityDiscovery/ListControllableEntities": entity_pb2.ListControllableEntitiesRequest(),
    "/tickmind.v1.EntityDiscovery/StreamEntityLifecycle": entity_pb2.StreamEntityLifecycleRequest(),
    "/tickmind.v1.EntityDiscovery/StreamWorld": entity_pb2.StreamWorldRequest(),
    "/tickmind.v1.OperatorService/SpawnActor": operator_pb2.SpawnActorRequest(entity_id="entity:1"),
    "/tickmind.v1.OperatorService/DespawnActor": operator_pb2.DespawnActorRequest(entity_id="entity:1"),
    "/tickmind.v1.TickService/StreamTicks": tick_pb2.StreamTicksRequest(),
    "/tickmind.v1.ViewerService/StreamViewerEvents": viewer_pb2.StreamViewerEventsRequest(),
    "/tickmind.v1.ViewerService/GetViewerSnapshot": viewer_pb2.GetViewerSnapshotRequest(),
}
LEASED = {path for path, method in METHODS.items() if holds_lease(method.input_type)}


async def test_the_tables_name_every_call_of_the_schema():
    assert set(requests("")) == LEASED
    assert set(OTHERS) == set(METHODS) - LEASED


async def ask(channel, path, message, metadata=(), tries=3, timeout_s=60):
    """The first answer to a call, or the name of the status that ends it; None if it ends without either."""
    method, data = METHODS[path], message.SerializeToString()
    try:
        if not method.server_streaming:
            answer = await channel.unary_unary(path)(data, metadata=metadata, timeout=timeout_s)
            return method_answer(method, answer)
        if method.client_streaming:
            call = channel.stream_stream(path)(metadata=metadata, timeout=timeout_s)
            await call.write(data)
        else:
            call = channel.unary_stream(path)(data, metadata=metadata, timeout=timeout_s)
        try:
            answer = await call.read()
        finally:
            call.cancel()
        return None if answer is grpc.aio.EOF else method_answer(method, answer)
    except grpc.aio.AioRpcError as error:
        if error.details() == STATUS_LOST:  # gRPC's own: the world closed the stream before the first frame was written
            assert tries > 1, "the world's own answer never arrives"
            return await ask(channel, path, message, metadata, tries - 1, timeout_s)
        return error.code().name


def method_answer(method, data):
    name = method.output_type.name
    module = importlib.import_module(f"tickmind.wire.v1.{method.output_type.file.name.rsplit('/', 1)[1][:-6]}_pb2")
    answer = getattr(module, name).FromString(data)
    if not isinstance(answer, relay_pb2.RelayControlResponse):
        return answer
    first = answer.frames[0]
    return STATUSES[first.end.status] if first.HasField("end") else control_pb2.ControlResponse.FromString(first.frame)


def refused(answer):
    """Whether an answer gives nothing to the caller."""
    if isinstance(answer, str):
        return answer in {"PERMISSION_DENIED", "INVALID_ARGUMENT", "UNAUTHENTICATED"}
    fields = {field.name for field, _ in answer.ListFields()}
    if "ack" in fields:
        return not answer.ack.accepted
    return fields <= {"closed", "reason", "retry_after_ms"} and bool(fields)


def tick(authority):
    """Go through the rest of a tick, and begin the next."""
    authority.publish(authority.resolve())
    for _ in authority.prepare():
        pass
    authority.begin()


@pytest_asyncio.fixture
async def channel_to():
    channels = []

    def open_channel(server):
        channels.append(grpc.aio.insecure_channel(server.address))
        return channels[-1]

    yield open_channel
    for channel in channels:
        await channel.close()


@pytest.mark.parametrize(
    "metadata",
    [
        (),
        (("authorization", "Bearer another-token"),),
        (("authorization", f"Basic {TOKEN}"),),
        (("authorization", f"Bearer {TOKEN}x"),),
        (("authorization", "Bearer "), ("authorization", f"Bearer {TOKEN}")),
        (("x-authorization", f"Bearer {TOKEN}"),),
    ],
    ids=["none", "another", "another scheme", "longer", "two", "another header"],
)
async def test_no_call_is_answered_without_a_token_of_the_world(serve, channel_to, metadata):
    config = ServerConfig("127.0.0.1:0", tokens=(Secret(TOKEN),))
    async with serve(config=config, running=False) as server:
        channel = channel_to(server)
        asked = requests("x" * 32) | OTHERS
        answers = await asyncio.gather(*(ask(channel, path, asked[path], metadata) for path in sorted(asked)))
        assert dict(zip(sorted(asked), answers, strict=True)) == dict.fromkeys(sorted(asked), "UNAUTHENTICATED")
        assert server.statistics().leases == 0


async def test_with_a_lease_of_its_own_a_caller_may_do_all_of_it(serve, talk, channel_to):
    """Else the refusals below would prove nothing."""
    clock = ManualClock()
    async with serve(running=False, clock=clock) as server, talk(server) as client:
        server.authority.begin()
        channel = channel_to(server)
        for path in requests(""):
            lease = await client.acquire("entity:1", "thief")
            asking = asyncio.create_task(ask(channel, path, requests(lease.lease_id.reveal())[path]))
            while METHODS[path].server_streaming and not asking.done():
                tick(server.authority)  # so that there is something to see
                await asyncio.sleep(0.01)
            answer = await asking
            assert not refused(answer), (path, answer)
            clock.advance(11)


@pytest.mark.parametrize("kind", ["none", "wrong", "expired", "another's", "released"])
async def test_no_call_does_anything_with_a_lease_that_is_not_the_callers(serve, talk, channel_to, kind):
    clock = ManualClock()
    async with serve(running=False, clock=clock) as server, talk(server) as client:
        lease_id = {"none": "", "wrong": "w" * 32}.get(kind, "")
        if kind in {"expired", "released"}:
            old = await client.acquire("entity:1", "me")
            lease_id = old.lease_id.reveal()
            if kind == "expired":
                clock.advance(11)
            else:
                await client.release(old)
        if kind == "another's":
            lease_id = (await client.acquire("entity:2", "thief")).lease_id.reveal()
        mine = await client.acquire("entity:1", "me")
        authority = server.authority
        authority.begin()
        channel = channel_to(server)
        for path, message in requests(lease_id).items():
            if kind == "another's" and path.endswith(("RenewLease", "ReleaseLease")):
                continue  # these name no entity, so it is the caller's own after all
            answer = await ask(channel, path, message)
            assert refused(answer), (path, answer)
        assert (await client.renew(mine)).entity_id == "entity:1"  # the rightful one holds it still
        assert authority.inbox.answered.sum() == 0
        assert (await client.submit(mine, 1, Move(Direction.E))).reason is Reason.NONE
        assert authority.statistics().accepted == 1


async def test_persons_play_with_the_right_of_an_operator_only(serve, channel_to):
    config = ServerConfig("127.0.0.1:0", tokens=(Secret(TOKEN),), operator_tokens=(Secret(OPERATOR),))
    opening = control_pb2.ControlRequest(
        open=control_pb2.ControlOpen(entity_id="entity:1", controller_id="person:Ada", play=True)
    )
    play, control = "/tickmind.v1.OperatorService/Play", "/tickmind.v1.ControlService/Control"
    relay = "/tickmind.v1.RelayService/RelayControl"
    client, operator = (("authorization", f"Bearer {TOKEN}"),), (("authorization", f"Bearer {OPERATOR}"),)
    async with serve(config=config, running=False) as server:
        channel = channel_to(server)
        assert await ask(channel, play, opening) == "UNAUTHENTICATED"
        assert await ask(channel, play, opening, client) == "PERMISSION_DENIED"
        assert await ask(channel, control, opening, client) == "INVALID_ARGUMENT"
        relayed = relay_pb2.RelayControlRequest(frames=[{"stream": 1, "frame": opening.SerializeToString()}])
        assert await ask(channel, relay, relayed, client) == "INVALID_ARGUMENT"
        assert not server.authority.leases.played.any()
        assert (await ask(channel, play, opening, operator)).opened.lease.lease_id
        assert server.authority.leases.played.tolist()[0]


VIEWER = "token-of-the-viewers"
OF_VIEWERS = ("EntityDiscovery/", "TickService/", "ViewerService/")


async def test_a_viewer_is_answered_by_every_call_that_looks_and_by_no_other(serve, channel_to):
    config = ServerConfig(
        "127.0.0.1:0",
        tokens=(Secret(TOKEN),),
        operator_tokens=(Secret(OPERATOR),),
        viewer_tokens=(Secret(VIEWER),),
    )
    async with serve(config=config) as server:
        channel = channel_to(server)
        asked = requests("x" * 32) | OTHERS
        metadata = (("authorization", f"Bearer {VIEWER}"),)
        # Nobody comes or goes here, so a call that is let in to hear of that hears nothing.
        limits_s = {path: 3 if path.endswith("/StreamEntityLifecycle") else 60 for path in asked}
        answers = await asyncio.gather(
            *(ask(channel, path, asked[path], metadata, timeout_s=limits_s[path]) for path in sorted(asked))
        )
        for path, answer in zip(sorted(asked), answers, strict=True):
            looks = any(part in path for part in OF_VIEWERS)
            assert (answer == "PERMISSION_DENIED") is not looks, (path, answer)
        assert server.statistics().leases == 0


async def test_no_call_does_anything_with_a_lease_that_another_holder_of_a_token_was_granted(
    serve, talk, channel_to, tmp_path
):
    """Though the thief knows all of it: the lease id, the entity, and the name of the controller."""
    path = tmp_path / "tokens"
    path.touch(0o600)
    path.write_text(f"host-a: {TOKEN}\nhost-b: {TOKEN}-of-the-thief\n")
    config = ServerConfig("127.0.0.1:0", tokens=TokenFile(path))
    clock = ManualClock()
    async with (
        serve(config=config, running=False, clock=clock) as server,
        talk(server, token=Secret(TOKEN)) as client,
    ):
        mine = await client.acquire("entity:1", "thief")
        server.authority.begin()
        channel = channel_to(server)
        thief = (("authorization", f"Bearer {TOKEN}-of-the-thief"),)
        for called, message in requests(mine.lease_id.reveal()).items():
            answer = await ask(channel, called, message, thief)
            assert refused(answer), (called, answer)
        assert (await client.renew(mine)).entity_id == "entity:1"
        assert server.authority.inbox.answered.sum() == 0

"""All services of a world, over gRPC, with the clients that agents use."""

import asyncio

import grpc
import grpc.aio
import numpy as np
import pytest
from tests.unit.world.test_setting import VILLAGE

from tickmind.agent import Assignment
from tickmind.agent.control.streams import stream_opener
from tickmind.base import Secret, SystemClock
from tickmind.protocol import (
    UNUSED,
    Ack,
    AgentState,
    AgentStatus,
    Direction,
    IntentColumns,
    LifecycleKind,
    Move,
    Reason,
    Say,
    Thought,
    Wait,
)
from tickmind.server import ServerConfig
from tickmind.server.limits import MAX, ServerLimits
from tickmind.server.seats import ControlSeat
from tickmind.wire import (
    ControlClosedError,
    LeaseRefusedError,
    NotAllowedError,
    OverloadedError,
    RefusedMessageError,
    RpcError,
    UnreachableError,
    codec,
)
from tickmind.wire.client.link import STATUS_LOST
from tickmind.wire.v1 import control_pb2
from tickmind.world import parse_scenario

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(180)]


def waits(rows):
    unused = np.full(len(rows), UNUSED, dtype=np.int32)
    actions = np.zeros(len(rows), dtype=np.uint8)
    return IntentColumns(np.array(rows), actions, unused.astype(np.int8), unused, unused, unused, {})


async def read_on(stream):
    """Read whatever comes until the stream ends."""
    async for _ in stream:
        pass


async def test_an_agent_lives_over_one_control_stream(serve, talk, lockstep, until):
    async with serve(pace=lockstep) as server, talk(server) as client:
        seen = []
        async with client.control("entity:1", "me") as session:
            async for observation in session:
                seen.append(observation)
                assert await session.submit(observation.tick_id, Move(Direction.E)) == Ack(True)
                if len(seen) == 4:
                    break
        assert [one.tick_id for one in seen] == [1, 2, 3, 4]
        assert seen[0].result is None
        assert all(one.result.action_type == "Move" for one in seen[1:])
        await until(lambda: server.statistics().controlled == 0)


async def test_lockstep_waits_for_all_of_several_agents(serve, talk, lockstep):
    async with serve(pace=lockstep) as server, talk(server) as client:

        async def live(entity_id, ticks):
            seen = []
            async with client.control(entity_id, entity_id) as session:
                async for observation in session:
                    assert (await session.submit(observation.tick_id, Wait())).accepted
                    seen.append(observation.tick_id)
                    if len(seen) == ticks:
                        return seen
            raise AssertionError("the stream ended")

        found = await asyncio.gather(*[live(f"entity:{number}", 10) for number in range(1, 5)])
        for ticks in found:
            assert ticks == list(range(ticks[0], ticks[0] + 10)), "no tick was missed"
        assert server.statistics().late_intents == 0


async def test_a_slow_plain_reader_gets_the_newest_observation_and_no_backlog(serve, talk, until):
    async with serve() as server, talk(server) as client:
        stream = aiter(client.observations(await client.acquire("entity:1", "me")))
        first = await anext(stream)
        await until(lambda: server.statistics().tick_id > first.tick_id + 10)
        now = server.statistics().tick_id
        seen = await anext(stream)
        assert seen.tick_id >= now
        assert seen.intent_deadline_server_time_ms > seen.tick_start_server_time_ms > first.tick_start_server_time_ms


async def test_speech_that_nobody_could_hear_is_refused_in_the_ack(serve, talk, lockstep):
    async with serve(pace=lockstep) as server, talk(server) as client:
        lease = await client.acquire("entity:1", "me")
        seen = await anext(aiter(client.observations(lease)))
        for said in (Say(""), Say("hi", "radio")):
            assert await client.submit(lease, seen.tick_id, said) == Ack(False, Reason.ILLEGAL_ACTION)
        assert (await client.submit(lease, seen.tick_id, Say("hi"))).accepted


async def test_an_agent_lives_with_plain_calls(serve, talk):
    async with serve() as server, talk(server) as client:
        lease = await client.acquire("entity:2", "me")
        acks = []
        async for observation in client.observations(lease):
            acks.append(await client.submit(lease, observation.tick_id, Say("hello")))
            assert (await client.renew(lease)).epoch == lease.epoch
            if sum(ack.accepted for ack in acks) == 2:
                break
        assert await client.release(lease) is Reason.NONE
        assert await client.release(lease) is Reason.INVALID_LEASE
        with pytest.raises(LeaseRefusedError) as caught:
            await client.renew(lease)
        assert caught.value.reason is Reason.INVALID_LEASE


async def test_a_host_lives_over_one_batched_stream(serve, talk, lockstep):
    async with serve(40, pace=lockstep) as server, talk(server) as client:
        info = await client.world()
        rows = np.arange(40, dtype=np.int32)
        ticks = []
        async with client.control_batch(info, "host", rows) as session:
            assert session.opened.granted.tolist() == rows.tolist()
            async for part in session:
                ack = await session.submit(part.observations.tick_id, waits(part.observations.actor))
                assert (ack.accepted, ack.refused.tolist()) == (40, [])
                ticks.append(part.observations.tick_id)
                if len(ticks) == 3:
                    break
        assert ticks == [1, 2, 3]


async def test_a_held_entity_is_refused_over_every_way(serve, talk):
    async with serve() as server, talk(server) as client, client.control("entity:1", "me"):
        with pytest.raises(LeaseRefusedError) as plain:
            await client.acquire("entity:1", "other")
        with pytest.raises(LeaseRefusedError) as stream:
            async with client.control("entity:1", "other"):
                pytest.fail("it was not refused")
        assert plain.value.reason is stream.value.reason is Reason.LEASE_HELD
        assert 0 < plain.value.retry_after_ms <= 10_000


async def test_who_takes_control_gets_its_persona_and_the_setting_alone_or_as_a_host(serve, talk):
    """A host has them from the description of the world, which it needs anyway."""
    async with serve(scenario=parse_scenario(VILLAGE)) as server, talk(server) as client:
        world = server.authority.world
        ada = world.info.actors[0].persona
        assert ada is not None
        async with client.control("ada", "me") as session:
            assert (session.run.setting, session.run.personas) == (world.info.setting, {"ada": ada})
            assert session.run.kinds == world.info.kinds
        async with client.control("dov", "me") as session:
            assert (session.run.setting, session.run.personas) == (world.info.setting, {})
        described = await client.world()
        assert described.setting == world.info.setting
        assert [actor.persona for actor in described.actors] == [actor.persona for actor in world.info.actors]
        entities = tuple(Assignment(name, "host") for name in ("ada", "dov"))
        async with stream_opener(client, entities, SystemClock())(None) as stream:
            assert (stream.run.setting, stream.run.personas) == (world.info.setting, {"ada": ada})
            assert stream.run.kinds == world.info.kinds


async def test_who_takes_control_gets_what_minds_need_to_know_of_the_run(serve, talk):
    async with serve() as server, talk(server) as client:
        run = server.authority.run
        async with client.control("entity:1", "me") as session:
            assert session.run == run
            assert run.mind_seed > 0
        info = await client.world()
        async with client.control_batch(info, "host", np.array([1, 2], dtype=np.int32)) as batch:
            opened = batch.opened.run  # the rest is in the description of the world, which a host has
            assert (opened.run_id, opened.mind_seed, opened.thinking_ticks) == (run.run_id, run.mind_seed, 0)


async def test_after_a_break_the_same_controller_is_back_at_once(serve, talk):
    async with serve() as server, talk(server) as client:
        async with client.control("entity:1", "me", release=False) as session:
            lost = session.lease
        async with client.control("entity:1", "me", previous=lost.lease_id) as session:
            assert session.lease.epoch == lost.epoch + 1
            assert (await anext(aiter(session))).me.entity_id == "entity:1"


async def test_a_newer_stream_ends_the_older(serve, talk):
    async with serve() as server, talk(server) as client, client.control("entity:1", "me") as older:
        async with client.control("entity:1", "me", previous=older.lease.lease_id):
            with pytest.raises(ControlClosedError) as caught:
                async for _ in older:
                    pass
        assert caught.value.reason is Reason.INVALID_LEASE


async def test_viewers_see_what_happens_and_a_snapshot_of_all(serve, talk, lockstep):
    async with serve(pace=lockstep) as server, talk(server) as client:
        info = await client.world()
        assert (await client.snapshot(info)).tick_id == 0
        opened = asyncio.Event()
        events = aiter(client.viewer_events(info, on_open=opened.set))
        watching = asyncio.ensure_future(anext(events))
        await opened.wait()
        assert server.statistics().streams.get("viewer") == 1
        async with client.control("entity:1", "me") as session:
            observation = await anext(aiter(session))
            lease = session.lease
            thought = Thought(1, 1, 1, "You are a villager.", "What now?", "I wave.")
            assert await client.report_thought(lease, 1, thought) == Ack(True)
            assert await client.report_status(lease, AgentStatus("entity:1", 1, AgentState.RUNNING)) == Ack(True)
            assert await session.submit(observation.tick_id, Say("hello")) == Ack(True)
            event = await asyncio.wait_for(watching, 60)
        await events.aclose()
        assert [said.text for said in event.utterances] == ["hello"]
        assert [item.kind for item in event.lifecycle] == [LifecycleKind.CONTROLLED]
        assert [item.thought.reply for item in event.thoughts] == ["I wave."]
        assert [item.state for item in event.statuses] == [AgentState.RUNNING]
        snapshot = await client.snapshot(info)
        assert snapshot.tick_id == 1
        assert snapshot.actor.tolist() == [0, 1, 2, 3]
        assert len(snapshot.objects.row) == len(info.objects)


async def test_runners_follow_the_lifecycle(serve, talk):
    async with serve() as server, talk(server) as client:
        events = aiter(client.lifecycle())
        present = [await anext(events) for _ in range(4)]
        assert {event.kind for event in present} == {LifecycleKind.SPAWNED}
        lease = await client.acquire("entity:3", "me")
        taken = await anext(events)
        await client.release(lease)
        given_up = await anext(events)
        await events.aclose()
        assert [(event.kind, event.entity.entity_id) for event in (taken, given_up)] == [
            (LifecycleKind.CONTROLLED, "entity:3"),
            (LifecycleKind.UNCONTROLLED, "entity:3"),
        ]


async def test_entities_and_the_world_are_told_as_they_are(serve, talk):
    async with serve(7) as server, talk(server) as client:
        assert await client.is_serving()
        info = await client.world()
        assert info == server.authority.info
        assert {entity.entity_id for entity in await client.entities()} == {f"entity:{n}" for n in range(1, 8)}
        async with client.control("entity:3", "me"):
            left = await client.entities(uncontrolled_only=True)
        assert "entity:3" not in {entity.entity_id for entity in left}


async def test_what_never_changes_is_written_before_anybody_can_ask_for_it(serve, talk, monkeypatch):
    written = []
    encode = codec.encode_world

    def write(info):
        written.append(info)
        return encode(info)

    monkeypatch.setattr(codec, "encode_world", write)
    async with serve() as server:
        assert written == [server.authority.info]
        async with talk(server) as client:
            assert await client.world() == await client.world()
    assert len(written) == 1


async def test_ticks_are_told_as_they_begin(serve, talk):
    async with serve() as server, talk(server) as client:
        ticks = []
        async for event in client.ticks():
            ticks.append(event)
            if len(ticks) == 3:
                break
        assert [event.tick_id - ticks[0].tick_id for event in ticks] == [0, 1, 2]
        assert all(event.intent_deadline_server_time_ms - event.tick_start_server_time_ms == 50 for event in ticks)
        assert {event.tick_duration_ms for event in ticks} == {100}


async def test_a_stream_without_the_right_to_it_is_refused(serve, talk):
    async with serve() as server, talk(server) as client:
        lease = await client.acquire("entity:1", "me")
        await client.release(lease)
        with pytest.raises(NotAllowedError, match="invalid_lease") as caught:
            await anext(aiter(client.observations(lease, retry=None)))
        assert lease.lease_id.reveal() not in str(caught.value)


async def test_a_plain_stream_ends_when_its_lease_does(serve, talk):
    async with serve() as server, talk(server) as client:
        lease = await client.acquire("entity:1", "me")
        stream = aiter(client.observations(lease, retry=None))
        await anext(stream)
        await client.release(lease)
        with pytest.raises(NotAllowedError):
            await read_on(stream)


async def test_a_stopping_world_tells_everybody(serve, talk):
    async with serve() as server, talk(server) as client:
        ticks = aiter(client.ticks(retry=None))
        await anext(ticks)
        async with client.control("entity:1", "me") as session:
            await anext(aiter(session))
            await server.close()
            with pytest.raises(ControlClosedError) as closed:
                async for _ in session:
                    pass
            assert closed.value.reason is Reason.STOPPING
        with pytest.raises(UnreachableError):
            await read_on(ticks)


async def test_a_silent_stream_is_not_waited_for(serve, talk):
    limits = ServerLimits(open_s=MAX.open_s.at(0.05))
    async with serve(config=ServerConfig("127.0.0.1:0", limits=limits)) as server:
        channel = grpc.aio.insecure_channel(server.address)
        call = channel.stream_stream("/tickmind.v1.ControlService/Control")()
        assert await asyncio.wait_for(call.code(), 60) is grpc.StatusCode.INVALID_ARGUMENT
        assert "0.05 s" in await call.details()
        await channel.close()


@pytest.mark.parametrize("first", [b"\xff\xff", control_pb2.ControlRequest(keep_alive={}).SerializeToString()])
@pytest.mark.parametrize("method", ["Control", "ControlBatch"])
async def test_a_first_frame_that_does_not_open_ends_the_stream(serve, first, method):
    async with serve() as server:
        channel = grpc.aio.insecure_channel(server.address)
        call = channel.stream_stream(f"/tickmind.v1.ControlService/{method}")()
        await call.write(first)
        assert await asyncio.wait_for(call.code(), 60) is grpc.StatusCode.INVALID_ARGUMENT
        await channel.close()


async def test_a_request_that_can_not_be_read_is_an_invalid_argument(serve):
    async with serve() as server:
        channel = grpc.aio.insecure_channel(server.address)
        acquire = channel.unary_unary("/tickmind.v1.LeaseService/AcquireLease")
        for data in (b"\xff\xff\xff", b""):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await acquire(data)
            assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        await channel.close()


async def test_a_failure_of_ours_ends_the_stream_and_is_in_the_log(serve, talk, monkeypatch, caplog):
    def take(_seat, _data):
        raise RuntimeError("a mistake in taking frames")

    async with serve() as server, talk(server) as client, client.control("entity:1", "me") as session:
        monkeypatch.setattr(ControlSeat, "take", take)
        async with asyncio.timeout(60):
            with pytest.raises(RpcError, match="see its log"):
                await session.submit(1, Wait())
    assert "a mistake in taking frames" in caplog.text


async def test_too_many_streams_are_refused(serve, talk, until):
    limits = ServerLimits(peer_streams=MAX.peer_streams.at(2))
    async with serve(config=ServerConfig("127.0.0.1:0", limits=limits)) as server, talk(server) as client:
        streams = [aiter(client.ticks(retry=None)) for _ in range(2)]
        for stream in streams:
            await anext(stream)
        with pytest.raises(OverloadedError, match="one host"):
            await anext(aiter(client.ticks(retry=None)))
        await streams[0].aclose()
        await until(lambda: len(server.authority.streams) < 2)
        await anext(aiter(client.ticks(retry=None)))


async def test_a_message_that_is_too_large_is_refused(serve, talk):
    async with serve() as server:
        channel = grpc.aio.insecure_channel(server.address, options=[("grpc.max_send_message_length", -1)])
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await channel.unary_unary("/tickmind.v1.LeaseService/AcquireLease")(bytes(5 * 1024 * 1024))
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        await channel.close()


async def test_a_world_is_served_over_a_unix_socket(serve, talk, tmp_path):
    path = tmp_path / "world.sock"
    async with serve(config=ServerConfig(f"unix:{path}")) as server, talk(server) as client:
        assert await client.is_serving()
        assert (await client.acquire("entity:1", "me")).entity_id == "entity:1"
    assert not path.exists()


async def test_reflection_is_there_on_this_machine_unless_it_is_switched_off(serve):
    from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

    async def names(config):
        async with serve(config=config) as server:
            channel = grpc.aio.insecure_channel(server.address)
            stub = reflection_pb2_grpc.ServerReflectionStub(channel)
            request = reflection_pb2.ServerReflectionRequest(list_services="")
            try:
                while True:
                    try:
                        answers = [answer async for answer in stub.ServerReflectionInfo(iter([request]))]
                    except grpc.aio.AioRpcError as error:
                        if error.details() == STATUS_LOST:  # gRPC's own: the stream was closed before it was written to
                            continue
                        return error.code()
                    return {service.name for service in answers[0].list_services_response.service}
            finally:
                await channel.close()

    assert "tickmind.v1.ControlService" in await names(ServerConfig("127.0.0.1:0"))
    assert await names(ServerConfig("127.0.0.1:0", reflection=False)) is grpc.StatusCode.UNIMPLEMENTED
    assert not ServerConfig("0.0.0.0:0").reflects
    assert ServerConfig("0.0.0.0:0", reflection=True).reflects
    assert ServerConfig("[::1]:0").reflects


async def test_metrics_are_served_on_a_port_of_their_own(serve):
    async with serve(config=ServerConfig("127.0.0.1:0", metrics_port=0)) as server:
        host, port = server.metrics_url.removeprefix("http://").removesuffix("/metrics").split(":")

        async def get(path):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
            data = await asyncio.wait_for(reader.read(), 60)
            writer.close()
            return data.decode()

        page = await get("/metrics")
        assert page.startswith("HTTP/1.1 200 OK")
        assert "tickmind_world_actors 4" in page
        assert (await get("/secrets")).startswith("HTTP/1.1 404")


async def test_many_open_streams_do_not_starve_plain_calls(serve, talk):
    async with serve(40) as server, talk(server) as client:
        leases = [await client.acquire(f"entity:{number}", "me") for number in range(1, 41)]
        streams = [aiter(client.observations(lease)) for lease in leases]
        await asyncio.gather(*[anext(stream) for stream in streams])
        renewed = await asyncio.gather(*[client.renew(lease) for lease in leases])
        assert [one.epoch for one in renewed] == [one.epoch for one in leases]


async def test_a_guessed_secret_opens_nothing(serve, talk):
    async with serve() as server, talk(server) as client:
        lease = await client.acquire("entity:1", "me")
        forged = type(lease)(Secret("A" * 32), lease.entity_id, lease.controller_id, lease.epoch, lease.ttl_ms)
        assert await client.submit(forged, 1, Wait()) == Ack(False, Reason.INVALID_LEASE)
        with pytest.raises(LeaseRefusedError):
            await client.acquire("entity:1", "me", previous=forged.lease_id)


async def test_wrong_columns_end_a_batched_stream(serve, talk):
    async with serve() as server, talk(server) as client:
        info = await client.world()
        with pytest.raises(RefusedMessageError):
            async with client.control_batch(info, "host", np.array([9], dtype=np.int32)):
                pytest.fail("it was not refused")

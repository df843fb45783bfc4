"""Control over WebSocket: leases, intents and observations as over gRPC."""

from typing import Any

import pytest
from tests.kits.socket_client import SUBPROTOCOLS, connected

from tickmind.base import ManualClock
from tickmind.protocol import Wait
from tickmind.wire import WorldClient
from tickmind.wire.v1 import action_pb2, door_pb2

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(120)]
EAST = {"move": {"direction": "DIRECTION_E"}}
WAIT: dict[str, Any] = {"wait": {}}


def tick(authority):
    """Go through the rest of a tick, and begin the next."""
    authority.publish(authority.resolve())
    for _ in authority.prepare():
        pass
    authority.begin()


@pytest.mark.parametrize("subprotocol", SUBPROTOCOLS)
async def test_an_agent_observes_and_acts(serve, subprotocol):
    async with serve() as (_, server), connected(server.url, subprotocol) as client:
        opened = await client.open()
        assert opened.lease.entity_id == "entity:1"
        assert opened.lease.ttl_ms == 10_000
        observation = await client.receive_until("control.observation")
        assert observation.me.entity_id == "entity:1"
        assert (await client.intend(observation.tick_id, EAST)).accepted
        following = await client.receive_until("control.observation")
        assert following.tick_id == observation.tick_id + 1
        assert following.result.action_type == action_pb2.ACTION_TYPE_MOVE


async def test_an_agent_over_grpc_and_one_over_websocket_live_in_the_same_ticks(serve):
    async with serve() as (world, server), WorldClient(world.address) as client, connected(server.url) as socket:
        await socket.open("entity:1")
        async with client.control("entity:2", "grpc") as session:
            ticks: list[int] = []
            async for observation in session:
                if len(ticks) == 20:
                    break
                there = await socket.receive_until("control.observation")
                while there.tick_id < observation.tick_id:
                    assert (await socket.intend(there.tick_id, WAIT)).accepted or not ticks
                    there = await socket.receive_until("control.observation")
                ticks.append(there.tick_id)
                assert (await socket.intend(there.tick_id, EAST)).accepted
                assert (await session.submit(observation.tick_id, Wait())).accepted
            assert ticks == list(range(ticks[0], ticks[0] + 20)), "a tick was missed"


@pytest.mark.parametrize("subprotocol", SUBPROTOCOLS)
async def test_intents_are_refused_with_the_reason_of_the_world(serve, subprotocol):
    async with serve(running=False) as (world, server), connected(server.url, subprotocol) as client:
        world.authority.begin()
        await client.open()
        assert (await client.intend(0, WAIT)).reason == action_pb2.REASON_LATE_TICK
        assert (await client.intend(5, WAIT)).reason == action_pb2.REASON_EARLY_TICK
        assert (await client.intend(1, {})).reason == action_pb2.REASON_ILLEGAL_ACTION
        assert (await client.intend(1, {"say": {"text": "x" * 501}})).reason == action_pb2.REASON_TEXT_TOO_LONG
        assert (await client.intend(1, WAIT)).accepted
        assert (await client.intend(1, EAST)).reason == action_pb2.REASON_DUPLICATE_INTENT


async def test_an_entity_that_is_held_is_refused_with_the_time_to_wait(serve):
    async with serve() as (_, server), connected(server.url) as first, connected(server.url) as second:
        await first.open(controller_id="first")
        await second.send(control={"open": {"entityId": "entity:1", "controllerId": "second"}})
        closed = await second.receive_until("control.closed")
        assert closed.reason == action_pb2.REASON_LEASE_HELD
        assert 0 < closed.retry_after_ms <= 10_000
        assert await second.receive() is None
        assert second.socket.close_code == 1000


async def test_an_unknown_entity_is_refused(serve):
    async with serve() as (_, server), connected(server.url) as client:
        await client.send(control={"open": {"entityId": "nobody", "controllerId": "me"}})
        assert (await client.receive_until("control.closed")).reason == action_pb2.REASON_UNKNOWN_ENTITY


async def test_a_released_entity_is_free_at_once(serve):
    async with serve() as (world, server):
        async with connected(server.url) as client:
            await client.open()
            await client.send(control={"release": {}})
            while await client.receive() is not None:
                pass
            assert client.socket.close_code == 1000
        assert world.statistics().leases == 0


async def test_a_client_that_leaves_without_release_keeps_its_lease_until_it_expires(serve):
    clock = ManualClock()
    async with serve(running=False, clock=clock) as (world, server):
        world.authority.begin()
        async with connected(server.url) as client:
            lease_id = (await client.open(controller_id="me")).lease.lease_id
        async with connected(server.url) as other:
            await other.send(control={"open": {"entityId": "entity:1", "controllerId": "other"}})
            assert (await other.receive_until("control.closed")).reason == action_pb2.REASON_LEASE_HELD
        async with connected(server.url) as client:
            again = await client.open(controller_id="me", previousLeaseId=lease_id)
            assert again.lease.epoch > 1
        clock.advance(11)
        async with connected(server.url) as other:
            assert (await other.open(controller_id="other")).lease.controller_id == "other"


async def test_only_frames_of_the_client_keep_its_lease(serve):
    """The connection stays, as that of a closed laptop does."""
    clock = ManualClock()
    async with serve(running=False, clock=clock) as (world, server), connected(server.url) as client:
        world.authority.begin()
        await client.open()
        for _ in range(3):
            clock.advance(6)
            await client.send(control={"keepAlive": {}})
            assert (await client.intend(99, WAIT)).reason == action_pb2.REASON_EARLY_TICK  # all before was read
        tick(world.authority)
        assert (await client.receive_until("control.observation")).tick_id == 2
        clock.advance(11)
        tick(world.authority)
        assert (await client.receive_until("control.closed")).reason == action_pb2.REASON_EXPIRED_LEASE
        assert await client.receive() is None


@pytest.mark.parametrize("subprotocol", SUBPROTOCOLS)
async def test_reports_of_a_controller_need_no_lease_in_the_frame(serve, subprotocol):
    status = {"entityId": "entity:1", "tickId": "1", "state": "AGENT_STATE_RUNNING"}
    thought = {"entityId": "entity:1", "tickId": "1", "thought": {"reply": "go east", "answeredTick": "1"}}
    insight = {"entityId": "entity:1", "tickId": "1", "whole": True}
    async with serve(running=False) as (world, server), connected(server.url, subprotocol) as client:
        world.authority.begin()
        await client.open()
        for number, report in enumerate(
            ({"status": {"status": status}}, {"thought": {"report": thought}}, {"insights": {"insights": [insight]}}), 1
        ):
            await client.send(telemetry=report, requestId=number)
            answer = await client.receive()
            assert answer is not None
            assert (answer.telemetry.ack.accepted, answer.request_id) == (True, number)
        other = status | {"entityId": "entity:2"}
        await client.send(telemetry={"status": {"status": other}})
        assert not (await client.receive_until("telemetry")).ack.accepted


async def test_a_second_open_is_a_bad_frame_and_control_goes_on(serve):
    async with serve() as (_, server), connected(server.url) as client:
        await client.open()
        observation = await client.receive_until("control.observation")
        second = {"entityId": "entity:2", "controllerId": "me"}
        frames: list[dict[str, Any]] = [{"control": {"open": second}}, {"control": {}}, {}, {"token": "late" * 5}]
        for frame in frames:
            await client.send(frame)
            answer = await client.receive()
            assert answer is not None
            assert (answer.error.code, answer.error.ends) == (door_pb2.SOCKET_ERROR_CODE_BAD_FRAME, False)
        assert (await client.intend(observation.tick_id, WAIT)).accepted

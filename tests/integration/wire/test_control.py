import asyncio
from typing import Any

import grpc.aio
import numpy as np
import pytest
import pytest_asyncio

from tickmind.agent.contract import Assignment
from tickmind.agent.control.streams import stream_opener
from tickmind.base import Secret, SystemClock
from tickmind.protocol import UNUSED, Ack, Direction, Drop, IntentColumns, Move, Reason, Say, Wait
from tickmind.wire import (
    ControlClosedError,
    LeaseRefusedError,
    MessageError,
    RpcError,
    UnreachableError,
    WorldClient,
    WorldEndpoint,
)
from tickmind.wire.client.calls import open_channel
from tickmind.wire.client.link import LOOKS, STATUS_LOST, Link
from tickmind.wire.client.service_calls import service_calls
from tickmind.wire.codec import decode_down, encode_up
from tickmind.wire.messages.frames import (
    Closed,
    ControlDown,
    ControlIntent,
    ControlOpen,
    ControlOpened,
    KeepAlive,
    Release,
)
from tickmind.wire.v1 import action_pb2, control_pb2

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(120)]


@pytest_asyncio.fixture
async def world(fake_world, run_world):
    async with run_world(fake_world()) as running:
        yield running


@pytest_asyncio.fixture
async def client(world):
    async with WorldClient(WorldEndpoint(f"127.0.0.1:{world.port}", timeout_s=30)) as client:
        yield client


async def until(condition):
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - a count of what another side saw has no event
            await asyncio.sleep(0.01)


async def test_observations_come_down_and_intents_go_up(world, client):
    world.ticks_before_pause = 1
    ticks = []
    async with client.control("actor:0", "me", want_floors=True) as session:
        assert session.controlled
        async for seen in session:
            ticks.append(seen.tick_id)
            if len(ticks) == 3:
                break
            assert await session.submit(seen.tick_id, Move(Direction.N)) == Ack(True)
        assert session.statistics().accepted == 2
    assert ticks == [1, 2, 3]
    assert not session.controlled
    assert world.seen[0] == ControlOpen("actor:0", "me", None, True)
    assert world.seen[1] == ControlIntent(1, Move(Direction.N))
    assert world.seen[-1] == Release()


@pytest.fixture
def encoded(monkeypatch):
    """The number of intents that were encoded so far, as a list of one count."""
    count, build = [0], action_pb2.Intent

    def counting(**fields):
        count[0] += 1
        return build(**fields)

    monkeypatch.setattr(action_pb2, "Intent", counting)
    return count


async def test_the_stream_of_an_agent_encodes_an_intent_once(world, client, encoded):
    async with stream_opener(client, (Assignment("actor:0", "me"),), SystemClock())(None) as stream:
        assert stream.answer(1, {"actor:0": Move(Direction.N)}) == {}
        await until(lambda: ControlIntent(1, Move(Direction.N)) in world.seen)
    assert encoded == [1]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("Move", "intent must be made of values that fit its message (TypeError)"),
        (Drop("berries", 2**70), "intent must be made of values that fit its message (ValueError)"),
        (Drop(""), "kind must be the name of a kind of item, unless item_id is set"),
        (Say("x" * 501), "text must be"),
    ],
)
async def test_the_stream_of_an_agent_sends_wait_for_an_invalid_intent_and_says_why(world, client, wrong, why):
    async with stream_opener(client, (Assignment("actor:0", "me"),), SystemClock())(None) as stream:
        unsent = stream.answer(1, {"actor:0": wrong})
        assert list(unsent) == ["actor:0"]
        assert unsent["actor:0"].startswith(why)
        await until(lambda: ControlIntent(1, Wait()) in world.seen)


async def test_a_checked_intent_that_is_invalid_is_not_sent(world, client):
    async with client.control("actor:0", "me") as session:
        with pytest.raises(MessageError, match="kind must be"):
            session.submit_checked_nowait(1, Drop(""))
        assert await session.submit(1, Wait()) == Ack(True)
    assert [frame for frame in world.seen if isinstance(frame, ControlIntent)] == [ControlIntent(1, Wait())]


async def test_only_the_newest_observation_waits(world, client):
    world.ticks_before_pause = 50
    async with client.control("actor:0", "me") as session:
        await until(lambda: session.statistics().observations == 50)
        newest = await anext(aiter(session))
        assert newest.tick_id == 50
        assert session.statistics().missed == 49


async def test_a_held_entity_is_refused_with_the_time_to_come_back(world, client):
    world.lease_held = True
    with pytest.raises(LeaseRefusedError) as caught:
        async with client.control("actor:0", "me"):
            pytest.fail("it was not refused")
    assert (caught.value.reason, caught.value.retry_after_ms) == (Reason.LEASE_HELD, 2500)


async def test_an_idle_session_shows_signs_of_life(world, client):
    world.ttl_ms = 150
    async with client.control("actor:0", "me"):
        await until(lambda: world.seen.count(KeepAlive()) >= 3)


def waits(rows):
    unused = np.full(len(rows), UNUSED, dtype=np.int32)
    actions = np.zeros(len(rows), dtype=np.uint8)
    return IntentColumns(rows, actions, unused.astype(np.int8), unused, unused, unused, {})


async def test_an_intent_that_is_never_answered_ends_the_session(world, client):
    world.ttl_ms, world.mute = 300, True
    async with client.control("actor:0", "me") as session:
        async with asyncio.timeout(30):
            with pytest.raises(ControlClosedError, match="has not answered"):
                await session.submit(3, Wait())
            with pytest.raises(ControlClosedError, match="has not answered"):
                async for _ in session:
                    pass
        assert not session.controlled


async def test_a_batch_that_is_never_answered_ends_the_session(world, client, hamlet):
    world.ttl_ms, world.mute = 300, True
    rows = np.arange(3, dtype=np.int32)
    async with client.control_batch(hamlet, "host", rows) as session:
        session.submit_nowait(5, waits(rows))
        async with asyncio.timeout(30):
            with pytest.raises(ControlClosedError, match="has not answered"):
                async for _ in session:
                    pass
        assert not session.controlled


async def test_a_world_that_was_asked_for_nothing_may_be_silent_for_long(world, client):
    world.ttl_ms = 2400  # which is also how long it may owe an answer, however busy this machine is
    async with client.control("actor:0", "me") as session:
        await until(lambda: world.seen.count(KeepAlive()) > LOOKS + 1)
        assert session.controlled
        assert await session.submit(3, Wait()) == Ack(True)


async def test_a_call_that_failed_before_it_was_used_says_why(fake_world, run_world):
    async with run_world(fake_world()) as world:
        address = f"127.0.0.1:{world.port}"
    async with WorldClient(WorldEndpoint(address, timeout_s=30)) as client:
        session = client.control("actor:0", "me")
        await until(session._link._call.done)
        with pytest.raises(UnreachableError):
            await session.__aenter__()


async def keep_writing(call):
    async with asyncio.timeout(30):
        while True:
            await call.write(encode_up(ControlIntent(1, Wait())))
            await asyncio.sleep(0.01)


async def test_what_the_world_said_last_is_read_although_writing_fails(world):
    world.close_after_intent, world.ticks_before_pause = Closed(Reason.EXPIRED_LEASE, 100), 0
    connection = WorldEndpoint(f"127.0.0.1:{world.port}", timeout_s=30)
    frames: list[ControlDown] = []
    ended = asyncio.Event()
    async with open_channel(connection) as channel:
        call = service_calls(channel, control_pb2.DESCRIPTOR).Control()
        link = Link(
            lambda: call,
            connection,
            encode=encode_up,
            decode=decode_down,
            on_frame=frames.append,
            on_end=lambda _: ended.set(),
            awaits=lambda: False,
        )
        assert isinstance(await link.open(ControlOpen("actor:0", "me")), ControlOpened)
        with pytest.raises(grpc.aio.AioRpcError):  # the world has ended the stream, which nobody has read yet
            await keep_writing(call)
        link.start(10_000, KeepAlive())
        async with asyncio.timeout(30):
            await ended.wait()
        await link.close()
    assert frames == [world.close_after_intent]


class LostStatus:
    """A call whose status gRPC lost, because the world had closed it before the first frame was written."""

    def write(self, _message):
        raise asyncio.InvalidStateError

    def cancel(self):
        pass

    def __aiter__(self):
        return self

    async def __anext__(self):
        no_metadata = grpc.aio.Metadata()
        raise grpc.aio.AioRpcError(grpc.StatusCode.INTERNAL, no_metadata, no_metadata, STATUS_LOST)


async def test_a_stream_whose_refusal_was_lost_is_opened_once_more(world):
    connection = WorldEndpoint(f"127.0.0.1:{world.port}", timeout_s=30)
    async with open_channel(connection) as channel:
        calls = [LostStatus(), service_calls(channel, control_pb2.DESCRIPTOR).Control()]
        options: Any = {"encode": encode_up, "decode": decode_down, "awaits": lambda: False}
        link = Link(lambda: calls.pop(0), connection, on_frame=lambda _: None, on_end=lambda _: None, **options)
        assert isinstance(await link.open(ControlOpen("actor:0", "me")), ControlOpened)
        await link.close()
        lost = Link(LostStatus, connection, on_frame=lambda _: None, on_end=lambda _: None, **options)
        with pytest.raises(RpcError, match="INTERNAL"):
            await lost.open(ControlOpen("actor:0", "me"))


async def test_the_end_of_control_reaches_whoever_waits(world, client):
    world.close_after_intent = Closed(Reason.EXPIRED_LEASE, 100)
    async with client.control("actor:0", "me") as session:
        with pytest.raises(ControlClosedError) as submitting:
            await session.submit(3, Wait())
        assert submitting.value.reason is Reason.EXPIRED_LEASE
        with pytest.raises(ControlClosedError):
            async for _ in session:
                pass
        with pytest.raises(ControlClosedError):
            session.submit_nowait(4, Wait())
        assert not session.controlled


async def test_a_stopped_world_ends_the_session(fake_world, run_world):
    async with run_world(fake_world()) as world:
        client = WorldClient(WorldEndpoint(f"127.0.0.1:{world.port}", timeout_s=30))
        session = client.control("actor:0", "me")
        await session.__aenter__()
    with pytest.raises(Exception, match="the world at"):
        async for _ in session:
            pass
    assert not session.controlled
    await session.__aexit__(None, None, None)
    await client.close()


async def test_a_session_takes_its_entity_back_with_the_old_secret(world, client):
    async with client.control("actor:0", "me", release=False) as session:
        secret = session.lease.lease_id
    async with client.control("actor:0", "me", previous=secret):
        pass
    assert world.seen[-2] == ControlOpen("actor:0", "me", secret)
    assert Release() not in world.seen[:-1]


async def test_an_illegal_intent_is_acknowledged_as_refused(client):
    async with client.control("actor:0", "me") as session:
        assert await session.submit(3, Say("x" * 501)) == Ack(False, Reason.TEXT_TOO_LONG)
        assert session.statistics().refused == 1


async def test_a_cancelled_submit_leaves_the_order_of_acks(world, client):
    async with client.control("actor:0", "me") as session:
        cancelled = asyncio.create_task(session.submit(3, Say("x" * 501)))
        await asyncio.sleep(0)
        cancelled.cancel()
        assert await session.submit(4, Wait()) == Ack(True)


async def test_many_actors_over_one_stream(world, client, hamlet):
    rows = np.arange(3, dtype=np.int32)
    async with client.control_batch(hamlet, "host", rows) as session:
        assert session.opened.granted.tolist() == [0, 1, 2]
        assert session.opened.lease_id != Secret("")
        parts = []
        async for part in session:
            parts.append(part.part)
            if len(parts) == 2:
                break
        assert parts == [0, 1]
        intents = IntentColumns(
            actor=rows,
            action=np.array([1, 4, 99], np.uint8),
            direction=np.array([2, UNUSED, UNUSED], np.int8),
            kind=np.full(3, UNUSED, np.int32),
            amount=np.full(3, UNUSED, np.int32),
            target=np.full(3, UNUSED, np.int32),
            texts={1: ("local", "hello")},
        )
        acks = await session.submit(5, intents)
        assert (acks.accepted, acks.refused.tolist()) == (2, [2])
        (lost,) = session.lost()
        assert lost.actor.tolist() == [0]
        assert session.lost() == ()
    received = world.seen[1].intents
    assert received.actor.tolist() == [0, 1]
    assert received.texts == {1: ("local", "hello")}
    assert received.actor.flags.writeable

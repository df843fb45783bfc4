"""Plain calls get a share of the loop's time: a flood waits or is refused, and leases do not wait for it."""

import asyncio
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import grpc
import pytest

from tickmind.base import Limit, ManualClock
from tickmind.protocol import REASON_CODES, Reason
from tickmind.server import Authority, TickPace
from tickmind.server.limits import MAX
from tickmind.server.services import services_of
from tickmind.server.services.gate import CALL_S, CallGate, CallsRefusedError
from tickmind.server.services.snapshots import Snapshots
from tickmind.server.testing import meadow
from tickmind.wire.v1 import action_pb2, lease_pb2, viewer_pb2
from tickmind.world import TileWorld

pytestmark = pytest.mark.asyncio

LIMITS = replace(MAX, waiting_calls=MAX.waiting_calls.at(500))
MANY = Limit("number of waiting plain calls", 1000)


async def call(gate, peer, order):
    async with gate.passing(peer):
        order.append(peer)


async def turns(count=20):
    """Let everything run that can without time going by."""
    for _ in range(count):
        await asyncio.sleep(0)


async def test_calls_within_the_share_do_not_wait(loop_clock):
    with loop_clock.stopped():
        gate, order = CallGate(0.5, tick_s=1.0, waiting=MANY), list[str]()
        for _ in range(1000):  # 0.2 s of work; half a second may come at once
            await call(gate, "a", order)
        assert len(order) == 1000


async def test_calls_beyond_the_share_wait_for_their_time(loop_clock):
    with loop_clock.stopped():
        gate, order = CallGate(0.5, tick_s=0.1, waiting=MANY), list[str]()
        burst = round(0.05 / CALL_S)
        flood = [asyncio.create_task(call(gate, "a", order)) for _ in range(burst + 500)]
        await turns()
        assert len(order) == pytest.approx(burst, abs=1)
        for step in range(1, 11):
            loop_clock.skip(0.01)
            await turns()
            assert len(order) == pytest.approx(burst + step * 0.01 * 0.5 / CALL_S, abs=3)
        for task in flood:
            task.cancel()


async def test_work_that_a_call_took_counts_too(loop_clock):
    with loop_clock.stopped():
        gate, order = CallGate(0.5, tick_s=0.1, waiting=MANY), list[str]()
        async with gate.passing("a"):
            loop_clock.skip(0.4)
        async with asyncio.timeout(None):
            waiting = asyncio.create_task(call(gate, "a", order))
            await turns()
            loop_clock.skip(0.2)
            await turns()
            assert order == []
            loop_clock.skip(0.6)
            await turns()
            assert order == ["a"]
            await waiting


async def exhausted(loop_clock, **given):
    gate = CallGate(0.5, tick_s=0.1, **given)
    async with gate.passing("x"):
        loop_clock.skip(0.2)
    return gate


async def test_a_flood_from_one_connection_keeps_no_other_waiting(loop_clock):
    with loop_clock.stopped():
        gate, order = await exhausted(loop_clock, waiting=MANY), list[str]()
        tasks = [asyncio.create_task(call(gate, "flood", order)) for _ in range(300)]
        await turns()
        tasks += [asyncio.create_task(call(gate, peer, order)) for peer in ("b", "c")]
        await turns()
        loop_clock.skip(1.0)
        await turns()
        assert order.index("b") <= 2
        assert order.index("c") <= 3
        for task in tasks:
            task.cancel()


async def test_more_than_may_wait_are_refused_and_counted(loop_clock):
    with loop_clock.stopped():
        refused = []
        gate = await exhausted(loop_clock, waiting=MANY.at(3), on_refused=lambda: refused.append(1))
        order: list[str] = []
        tasks = [asyncio.create_task(call(gate, "a", order)) for _ in range(3)]
        await turns()
        with pytest.raises(CallsRefusedError, match="number of waiting plain calls"):
            await call(gate, "b", order)
        assert refused == [1]
        tasks[1].cancel()
        await turns()
        assert gate.waiting == 2
        tasks.append(asyncio.create_task(call(gate, "b", order)))
        await turns()
        loop_clock.skip(10.0)
        await turns()
        assert (sorted(order), gate.waiting) == (["a", "a", "b"], 0)
        await asyncio.gather(*tasks, return_exceptions=True)


# The services


class Context:
    """The server's side of a plain call."""

    def __init__(self, peer):
        self._peer = peer

    def peer(self):
        return self._peer

    async def abort(self, code, details):
        raise grpc.aio.AbortError(code.name)


@pytest.fixture
def authority():
    world = TileWorld.from_scenario(meadow(4))
    return Authority(world, clock=ManualClock(), pace=TickPace(1.0, 0.5), limits=LIMITS)


def caller_of(authority):
    services = services_of(authority)

    async def ask(path, message, peer="ipv4:127.0.0.1:1"):
        service = services[f"tickmind.v1.{path.partition('/')[0]}"]
        handler = service.service(SimpleNamespace(method=f"/tickmind.v1.{path}", invocation_metadata=()))
        return await handler.unary_unary(message.SerializeToString(), Context(peer))

    return ask


async def test_a_renewal_passes_a_flood_of_intents_of_the_same_connection(authority, loop_clock):
    with loop_clock.stopped():
        ask = caller_of(authority)
        wanted = lease_pb2.AcquireLeaseRequest(entity_id="entity:1", controller_id="me")
        answer = lease_pb2.AcquireLeaseResponse.FromString(await ask("LeaseService/AcquireLease", wanted))
        intent = action_pb2.SubmitIntentRequest(entity_id="entity:9", tick_id=1)
        flood = [asyncio.create_task(ask("ActionService/SubmitIntent", intent)) for _ in range(4000)]
        await turns()
        answered = sum(task.done() and not task.exception() for task in flood)
        assert 0 < answered <= 0.4 / CALL_S + 1
        assert authority.statistics().calls_refused == 4000 - answered - 500
        renewal = lease_pb2.RenewLeaseRequest(lease_id=answer.lease.lease_id)
        async with asyncio.timeout(30):  # real time stands still, so this passes at once or never
            renewed = lease_pb2.RenewLeaseResponse.FromString(await ask("LeaseService/RenewLease", renewal))
        assert renewed.reason == REASON_CODES[Reason.NONE]
        for task in flood:
            task.cancel()
        await asyncio.gather(*flood, return_exceptions=True)


async def test_a_snapshot_is_not_made_on_the_loop_of_the_tick(authority, monkeypatch):
    ask, threads, go_on = caller_of(authority), [], threading.Event()
    make = authority.viewing.snapshot

    def slow(world, view):
        threads.append(threading.get_ident())
        assert go_on.wait(60)
        return make(world, view)

    monkeypatch.setattr(authority.viewing, "snapshot", slow)
    looking = asyncio.create_task(ask("ViewerService/GetViewerSnapshot", viewer_pb2.GetViewerSnapshotRequest()))
    while not threads:  # noqa: ASYNC110 - a thread has no event of this loop
        await asyncio.sleep(0.001)
    authority.begin()
    authority.publish(authority.resolve())  # the tick goes on meanwhile
    go_on.set()
    snapshot = viewer_pb2.GetViewerSnapshotResponse.FromString(await looking).snapshot
    assert threads[0] != threading.get_ident()
    assert snapshot.tick_id == 0  # as the world was when it was asked for


async def test_those_who_ask_the_same_of_a_tick_share_one_snapshot(authority, monkeypatch):
    snapshots, made = Snapshots(authority), []
    make = authority.viewing.snapshot

    def counted(world, view):
        made.append(view)
        return make(world, view)

    monkeypatch.setattr(authority.viewing, "snapshot", counted)
    data = viewer_pb2.GetViewerSnapshotRequest().SerializeToString()
    answers = await asyncio.gather(*(snapshots.answer(data) for _ in range(20)))
    assert (len(made), len(set(answers))) == (1, 1)
    authority.begin()
    authority.publish(authority.resolve())
    later = await snapshots.answer(data)
    assert (len(made), later == answers[0]) == (2, False)


async def test_more_snapshots_than_may_wait_are_refused(authority, monkeypatch):
    snapshots, go_on = Snapshots(authority), threading.Event()
    make = authority.viewing.snapshot
    monkeypatch.setattr(authority.viewing, "snapshot", lambda world, view: go_on.wait(60) and make(world, view))
    data = viewer_pb2.GetViewerSnapshotRequest().SerializeToString()
    most = int(MAX.waiting_snapshots.maximum)
    asked = [asyncio.create_task(snapshots.answer(data)) for _ in range(most)]
    await turns()
    began_s = time.monotonic()
    with pytest.raises(CallsRefusedError, match="snapshots"):
        await snapshots.answer(data)
    assert time.monotonic() - began_s < 30
    go_on.set()
    assert len(set(await asyncio.gather(*asked))) == 1
    assert authority.statistics().calls_refused == 1

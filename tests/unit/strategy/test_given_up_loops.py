"""A loop that somebody blocks is given up; the clients of the others go on in the next one, over real connections."""

import asyncio
import threading

import pytest

from tickmind.llm import GatewayClient, LLMConfigError, ModelClient, ModelConfig, load_gateway_config
from tickmind.llm.sync import background_loop
from tickmind.llm.testing import FakeProvider, Respond
from tickmind.llm.transports.wire import WireTransport
from tickmind.strategy.clients.workers import LOOP_PATIENCE_S

pytestmark = pytest.mark.usefixtures("lasting_connections")
GOAL = '{"goal": "hunt"}'
COOLDOWN = '{"waitMs":200,"activeGames":4,"rateLimit":{"requestsPerMinute":3000,"effectiveRPM":3000}}'


def connections(client):
    assert isinstance(client.transport, WireTransport)
    return client.transport.http.statistics()


def block(s, blocking):
    """Have somebody block the loop until it is given up."""
    s.manager.register_client(blocking, "blocking")
    s.spawn(client="blocking", query_interval=1000, last_query_tick=s.engine.tick_number - 999, max_retries=100)
    s.tick()
    assert blocking.entered.wait(60)
    s.clock.advance(30)
    s.tick()
    s.clock.advance(30 + LOOP_PATIENCE_S)  # what was still asked in the blocked loop is over then, too


def test_a_model_client_goes_on_in_the_loop_that_takes_the_place_of_a_blocked_one(stage, blocking, until):
    with FakeProvider.in_thread(lambda _request: GOAL) as double:
        client = ModelClient(ModelConfig(model="double", base_url=double.base_url))
        s = stage(client, query_timeout=30.0)
        eid = s.spawn(query_interval=2, last_query_tick=-1)
        s.step(2)
        assert s.data(eid) == {"goal": "hunt"}
        assert connections(client) == {"busy": 0, "idle": 1}
        block(s, blocking)
        before = len(s.responses)
        s.step(4)
        assert len(s.responses) > before
        assert [kind for _, kind, _ in s.errors if kind != "timeout"] == []
        blocking.released.set()
        until(lambda: s.system.statistics().workers.stuck == 0)
        s.step(4)
        assert [kind for _, kind, _ in s.errors if kind != "timeout"] == []
        s.system.shutdown()
        until(lambda: connections(client) == {"busy": 0, "idle": 0})


def test_a_call_that_was_under_way_in_the_blocked_loop_disturbs_nobody_when_it_comes_back(stage, blocking, until):
    held = threading.Event()

    async def hold_first(_request):
        if not held.is_set():
            held.set()
            await asyncio.sleep(3600)
        return GOAL

    with FakeProvider.in_thread(hold_first) as double:
        client = ModelClient(ModelConfig(model="double", base_url=double.base_url))
        s = stage(client, query_timeout=30.0)
        eid = s.spawn(query_interval=2, last_query_tick=-1, max_retries=100)
        s.tick()
        assert held.wait(60)
        block(s, blocking)
        s.step(3)
        assert s.data(eid) == {"goal": "hunt"}
        blocking.released.set()
        until(lambda: s.system.statistics().workers.stuck == 0)
        until(lambda: connections(client)["busy"] == 0)
        s.step(4)
        assert {kind for _, kind, _ in s.errors} == {"timeout"}


def test_a_gateway_client_keeps_its_turns_and_its_heartbeat(stage, blocking, until):
    beats = threading.Semaphore(0)
    with FakeProvider.in_thread(lambda _request: Respond(GOAL, headers={"x-tickmind-cooldown": COOLDOWN})) as double:
        client = GatewayClient(load_gateway_config(url=double.origin, model="double"), heartbeat_s=0.01)

        async def beat():
            beats.release()
            return 1

        client.heartbeat = beat  # type: ignore[method-assign]  # the double is no gateway
        s = stage(client, query_timeout=30.0)
        eid = s.spawn(query_interval=2, last_query_tick=-1, max_retries=100)
        s.step(2)
        assert s.data(eid) == {"goal": "hunt"}
        assert beats.acquire(timeout=60)
        old_heart = client._heart
        block(s, blocking)
        while beats.acquire(blocking=False):
            pass
        before = len(s.responses)
        until(lambda: s.tick() or len(s.responses) > before)
        assert beats.acquire(timeout=60)
        assert client._heart is not old_heart
        blocking.released.set()
        until(lambda: s.system.statistics().workers.stuck == 0)
        assert {kind for _, kind, _ in s.errors} <= {"timeout"}


def test_a_client_that_is_used_in_two_healthy_loops_is_still_refused():
    first, second = background_loop("first"), background_loop("second")
    with FakeProvider.in_thread([GOAL] * 9) as double:
        client = ModelClient(ModelConfig(model="double", base_url=double.base_url))
        try:
            assert first.run(client.complete("Hello")).content == GOAL
            with pytest.raises(LLMConfigError, match="another event loop"):
                second.run(client.complete("Hello"))
            first.give_up()
            assert second.run(client.complete("Hello")).content == GOAL
            with pytest.raises(LLMConfigError, match="another event loop"):
                first.run(client.complete("Hello"))
        finally:
            second.run(client.aclose())
            first.close()
            second.close()


def test_a_client_goes_on_when_its_loop_was_closed():
    first, second = background_loop("first"), background_loop("second")
    with FakeProvider.in_thread([Respond(GOAL, headers={"connection": "close"})] * 2) as double:
        client = ModelClient(ModelConfig(model="double", base_url=double.base_url))
        assert first.run(client.complete("Hello")).content == GOAL
        first.close()
        assert second.run(client.complete("Hello")).content == GOAL
        second.run(client.aclose())
        second.close()

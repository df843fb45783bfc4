"""A model that is too slow for all who ask: what callers hear over HTTP, with the time driven by the test."""

import asyncio
from typing import Any

import pytest

from tickmind.gateway.settings.config import Limits
from tickmind.llm.config import CallConfig, ModelConfig
from tickmind.llm.errors import LLMCooldownError
from tickmind.llm.gateway_client import GatewayClient

SERVICE_S = 20.0
BODY = b'{"choices":[{"message":{"role":"assistant","content":"Run!"},"finish_reason":"stop"}]}'
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY)

pytestmark = pytest.mark.asyncio


class SlowModel:
    """Answers each request when the test says so."""

    def __init__(self) -> None:
        self.asked: asyncio.Queue[asyncio.Event] = asyncio.Queue()

    async def __call__(self, connection: Any) -> None:
        go = asyncio.Event()
        self.asked.put_nowait(go)
        going = asyncio.create_task(go.wait())
        leaving = asyncio.create_task(connection.reader.read(1))  # the gateway goes when a deadline passes
        done, _ = await asyncio.wait({going, leaving}, return_when=asyncio.FIRST_COMPLETED)
        leaving.cancel()
        if going not in done:
            going.cancel()
            raise EOFError
        await connection.send(ANSWER)


@pytest.fixture
def overloaded(raw_housing: Any, with_provider: Any, loop_clock: Any) -> Any:
    """A gateway with one slot whose model is known to take 20 s, and at work on a request."""
    return Overloaded(raw_housing, with_provider("raw", limits=Limits(concurrency=1)), loop_clock)


class Overloaded:
    def __init__(self, raw_housing: Any, change: Any, loop_clock: Any) -> None:
        self._raw_housing = raw_housing
        self._change = change
        self.clock = loop_clock
        self.model = SlowModel()

    async def __aenter__(self) -> Any:
        self._housing = self._raw_housing(self.model, change=self._change)
        house = await self._housing.__aenter__()
        for _ in range(4):
            asking = asyncio.create_task(house.chat(headers={"x_tickmind_agent": "first"}))
            go = await self.model.asked.get()
            self.clock.skip(SERVICE_S)
            go.set()
            assert (await asking).status == 200
        self.under_way = asyncio.create_task(house.chat(headers={"x_tickmind_agent": "first"}))
        self.go = await self.model.asked.get()
        return house

    async def __aexit__(self, *exc: object) -> None:
        self.go.set()
        await self.under_way
        await self._housing.__aexit__(*exc)


def wait_s(reply: Any) -> float:
    """The wait in a reply, which stands in three places."""
    told_s: float = reply.json["cooldown"]["waitMs"] / 1000
    assert int(reply.headers["retry-after"]) - 1 <= told_s <= int(reply.headers["retry-after"])
    return told_s


async def test_what_cannot_be_answered_in_time_is_refused_at_once_with_the_true_wait(overloaded):
    async with overloaded as house:
        reply = await house.chat(headers={"x_tickmind_timeout_ms": "30000", "x_tickmind_agent": "ada"})
        assert (reply.status, reply.json["error"]["code"]) == (503, "OVERLOADED")
        assert "a reply takes about 20 s" in reply.json["error"]["message"]
        assert reply.json["cooldown"]["turn"]["needMs"] >= 1000 * SERVICE_S
        assert 0.4 * SERVICE_S < wait_s(reply) < 1.2 * SERVICE_S
        patient = asyncio.create_task(house.chat(headers={"x_tickmind_timeout_ms": "90000"}))
        await house.until(lambda: house.gateway.dispatcher.statistics().queued == 1)
        overloaded.clock.skip(SERVICE_S)
        overloaded.go.set()
        (await overloaded.model.asked.get()).set()
        assert (await patient).status == 200


async def test_those_who_are_refused_hear_turns_one_after_the_other(overloaded):
    async with overloaded as house:
        waits_s = []
        for name in ("ada", "ben"):
            reply = await house.chat(headers={"x_tickmind_timeout_ms": "30000", "x_tickmind_agent": name})
            waits_s.append(wait_s(reply))
    assert waits_s[1] - waits_s[0] >= 0.9 * SERVICE_S


async def test_official_clients_say_how_long_they_wait_in_a_header_of_their_own(overloaded):
    async with overloaded as house:
        hasty = await house.chat(headers={"x_stainless_read_timeout": "25"})
        assert hasty.json["error"]["code"] == "OVERLOADED"
        ours_counts = asyncio.create_task(
            house.chat(headers={"x_stainless_read_timeout": "25", "x_tickmind_timeout_ms": "90000"})
        )
        await house.until(lambda: house.gateway.dispatcher.statistics().queued == 1)
        overloaded.go.set()
        (await overloaded.model.asked.get()).set()
        assert (await ours_counts).status == 200


async def test_a_reply_that_is_cut_off_says_when_to_come_back(raw_housing, with_provider, loop_clock):
    model = SlowModel()
    async with raw_housing(model, change=with_provider("raw", limits=Limits(concurrency=1))) as house:
        asking = asyncio.create_task(house.chat(headers={"x_tickmind_timeout_ms": "5000"}))
        await model.asked.get()
        loop_clock.skip(5.1)
        reply = await asking
        assert (reply.status, reply.json["error"]["code"]) == (504, "DEADLINE")
        assert int(reply.headers["retry-after"]) >= 1
        lane = house.gateway.dispatcher.lanes()[0]
        assert (lane.failed, lane.circuit.failures) == (0, 0)  # slow is no failure


async def test_an_idle_slot_takes_every_request_however_slow_the_model_was(overloaded):
    async with overloaded as house:
        overloaded.go.set()
        await overloaded.under_way
        probe = asyncio.create_task(house.chat(headers={"x_tickmind_timeout_ms": "3000"}))
        (await overloaded.model.asked.get()).set()
        assert (await probe).status == 200


async def test_figures_tell_how_many_wait_and_for_how_long(overloaded):
    async with overloaded as house:
        for name in ("ada", "ben"):
            await house.chat(headers={"x_tickmind_timeout_ms": "30000", "x_tickmind_agent": name})
        patient = asyncio.create_task(house.chat(headers={"x_tickmind_timeout_ms": "200000"}))
        await house.until(lambda: house.gateway.dispatcher.statistics().queued == 1)
        stats = (await house.get("/api/llm/stats")).json["raw"]
        assert stats["length"] == 1
        assert stats["serviceMs"] == pytest.approx(1000 * SERVICE_S, rel=0.1)
        assert stats["waitMs"] > 2.5 * 1000 * SERVICE_S  # one that waits, two that come back, one under way
        shown = (await house.get("/api/llm/overview")).json
        assert (shown["queued"], shown["expected"]) == (1, 2)
        assert shown["waitMs"] > 2.5 * 1000 * SERVICE_S
        overloaded.go.set()
        (await overloaded.model.asked.get()).set()
        assert (await patient).status == 200


async def test_our_client_asks_again_when_it_is_its_turn_and_not_before(overloaded):
    async with (
        overloaded as house,
        GatewayClient(ModelConfig(base_url=house.server.url, model="m"), on_cooldown="raise") as client,
    ):
        with pytest.raises(LLMCooldownError) as caught:
            await client.complete("A dragon!", CallConfig(timeout_s=30.0))
        assert caught.value.code == "OVERLOADED"
        asked = house.gateway.dispatcher.statistics().submitted
        with pytest.raises(LLMCooldownError):
            await client.complete("A dragon!", CallConfig(timeout_s=30.0))
        assert house.gateway.dispatcher.statistics().submitted == asked  # it knew without asking
        assert client.ready_in_s() == pytest.approx(caught.value.retry_after_s or 0.0, abs=1.5)

"""Ways in which such gateways went wrong before, tried over the wire where nothing else tries them."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from tickmind.gateway.settings.config import Limits, QueueConfig
from tickmind.llm.testing import Hang, Refuse

pytestmark = pytest.mark.asyncio


async def test_an_endpoint_that_a_caller_names_has_a_lane_of_its_own_and_gets_only_the_callers_key(
    raw_housing: Any, housing: Any
) -> None:
    async def answer(connection: Any) -> None:
        body = b'{"choices":[{"message":{"content":"From elsewhere."}}]}'
        await connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))

    async with raw_housing(answer) as elsewhere:
        url = elsewhere.raw.base_url
        async with housing(one=(), settings={"private_base_urls": (url,)}) as house:
            custom = {"baseUrl": url, "apiKey": "tm-own-key", "model": "theirs"}
            reply = await house.generate(customConfig=custom)
            assert (reply.status, reply.json["text"]) == (200, "From elsewhere.")
            (head,) = elsewhere.raw.heads
            assert b"Authorization: Bearer tm-own-key\r\n" in head
            assert b"sk-canary" not in head
            (lane,) = [lane for lane in house.gateway.dispatcher.lanes() if lane.sent]
            assert lane.key.provider.name.startswith("custom:")
            assert not house.providers["one"].seen


async def test_an_endpoint_of_a_callers_own_takes_the_requests_model_and_headers_and_needs_no_key(
    raw_housing: Any, housing: Any
) -> None:
    asked = []

    async def answer(connection: Any) -> None:
        asked.append(json.loads(connection.body)["model"])
        body = b'{"choices":[{"message":{"content":"You said their-secret-1."}}]}'
        await connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))

    async with raw_housing(answer) as elsewhere:
        url = elsewhere.raw.base_url
        async with housing(one=(), settings={"private_base_urls": (url,)}) as house:
            custom = {"baseUrl": url, "customHeaders": {"X-Team": "their-secret-1"}}
            reply = await house.generate(customConfig=custom, model="theirs")
            assert (reply.status, reply.json["text"]) == (200, "You said ***.")
            (head,) = elsewhere.raw.heads
            assert b"\r\nX-Team: their-secret-1\r\n" in head
            assert b"authorization" not in head.lower()
            assert asked == ["theirs"]
            assert (await house.generate(customConfig={"baseUrl": url})).json["error"] == "UNKNOWN_MODEL"
            assert (
                await house.generate(customConfig={**custom, "customHeaders": {"host": "x"}}, model="x")
            ).status == 400
            assert not house.providers["one"].seen


async def test_a_request_whose_provider_becomes_limited_while_it_waits_is_served_by_the_next(housing: Any) -> None:
    limits = {"one": Limits(burst=10, concurrency=1), "two": Limits(burst=10, concurrency=1)}
    async with housing(one=[Hang()], two=[Hang()], default="Served.", limits=limits) as house:
        blocking = [asyncio.create_task(house.chat()) for _ in range(2)]
        await house.providers["one"].wait_seen(1)
        await house.providers["two"].wait_seen(1)
        waiting = asyncio.create_task(house.chat(headers={"x_tickmind_timeout_ms": "30000"}))
        await house.until(lambda: house.gateway.dispatcher.statistics().queued == 1)
        house.providers["one"].enqueue(Refuse(429, retry_after=3000))
        blocking[0].cancel()  # whichever comes free, the request ends up where it can be served
        blocking[1].cancel()
        reply = await waiting
        assert reply.status == 200
        await house.settle()


async def test_requests_that_time_out_in_the_queue_leave_no_entry_behind(housing: Any) -> None:
    limits = {"one": Limits(burst=10, concurrency=1)}
    async with housing(one=[Hang()], limits=limits, settings={"queue": QueueConfig(max_wait_s=0.3)}) as house:
        blocking = asyncio.create_task(house.chat(headers={"x_tickmind_timeout_ms": "60000"}))
        await house.providers["one"].wait_seen(1)
        replies = await asyncio.gather(
            *(
                house.chat(headers={"x_tickmind_priority": priority, "x_tickmind_session": f"s{number % 5}"})
                for number in range(20)
                for priority in ("high", "normal", "low")
            )
        )
        assert {(reply.status, reply.json["error"]["code"]) for reply in replies} == {(503, "QUEUE_TIMEOUT")}
        statistics = house.gateway.dispatcher.statistics()
        assert (statistics.queued, [chain.depth for chain in statistics.chains]) == (0, [0])
        assert all(not chain.waiting for chain in statistics.chains)
        blocking.cancel()
        await asyncio.gather(blocking, return_exceptions=True)
        await house.settle()


async def test_a_models_own_limit_does_not_hold_other_models_of_the_key(housing: Any, with_provider: Any) -> None:
    slow = {"slow": Limits(requests_per_minute=1, burst=1, concurrency=5)}
    async with housing(one=(), change=with_provider("one", model_limits=slow)) as house:
        assert (await house.chat(model="one/slow")).status == 200
        refused = await house.chat(model="one/slow", headers={"x_tickmind_timeout_ms": "20000"})
        assert refused.status in {429, 504}
        for _ in range(5):
            assert (await house.chat(model="one/quick")).status == 200


async def test_the_same_key_of_two_providers_is_limited_apart(housing: Any) -> None:
    def same_key(config: Any) -> Any:
        two = replace(config.providers["two"], keys=config.providers["one"].keys)
        return replace(config, providers={**config.providers, "two": two})

    async with housing(one=[Refuse(429, retry_after=3000)], two=(), change=same_key) as house:
        assert (await house.chat(model="one/x", headers={"x_tickmind_timeout_ms": "20000"})).status == 429
        assert (await house.chat(model="two/x")).status == 200

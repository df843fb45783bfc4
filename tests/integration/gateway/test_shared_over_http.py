"""Two whole gateways on one Redis, as callers and operators see them."""

import pytest
import redis

from tickmind.base import Secret
from tickmind.gateway.settings.config import Budget, Limits, SharingConfig

pytestmark = [pytest.mark.slow, pytest.mark.asyncio]


async def test_two_gateways_tell_one_cooldown_and_say_when_they_lose_each_other(housing, redis_server):
    settings = {"redis_url": Secret(redis_server.url)}
    limits = {"one": Limits(requests_per_minute=600, burst=5)}
    async with (
        housing(settings=settings, limits=limits) as first,
        housing(settings=settings, limits=limits) as second,
    ):
        for house, session in ((first, "a"), (second, "b")):
            reply = await house.chat(headers={"x_tickmind_session": session})
            assert reply.status == 200, reply.body
        group = "one/one-key"
        for house in (first, second):
            await house.until(lambda house=house: house.gateway.sessions.active(group).sessions == 2)
        reply = await second.generate(sessionId="b")
        assert reply.json["cooldown"]["activeGames"] == 2
        await first.until(lambda: first.gateway.shared_state()["gateways"] == 2)
        redis_server.kill()
        await first.until(lambda: bool(first.gateway.shared_state()["problem"]))
        health = await first.get("/healthz")
        assert "divided by 2" in health.body.decode()
        assert redis_server.url not in health.body.decode()
        assert (await first.chat(headers={"x_tickmind_session": "a"})).status == 200
        redis_server.start()
        await first.until(lambda: not first.gateway.shared_state()["problem"])
        assert "divided" not in (await first.get("/healthz")).body.decode()
        assert (await first.chat(headers={"x_tickmind_session": "a"})).status == 200


async def test_two_gateways_keep_one_budget_and_it_outlives_them(housing, redis_server):
    settings = {"redis_url": Secret(redis_server.url), "sharing": SharingConfig(budget=Budget(requests=6))}
    game = {"x_tickmind_session": "game"}

    def used(house):
        return sum(one.requests for one in house.gateway.budgets.listing())

    async with housing(settings=settings) as first:
        async with housing(settings=settings) as second:
            for turn in range(6):
                house, other = (first, second) if turn % 2 else (second, first)
                assert (await house.chat(headers=game)).status == 200
                if turn:
                    await other.until(lambda other=other, turn=turn: used(other) == turn + 1)
            for house in (first, second):
                await house.until(lambda house=house: used(house) == 6)
                assert (await house.chat(headers=game)).status == 402
        redis_server.kill()
        await first.until(lambda: bool(first.gateway.shared_state()["problem"]))
        assert (await first.chat(headers=game)).status == 402


async def test_a_server_that_lost_its_data_renews_no_budget_and_counts_nothing_twice(housing, redis_server):
    settings = {"redis_url": Secret(redis_server.url), "sharing": SharingConfig(budget=Budget(requests=4))}
    game = {"x_tickmind_session": "game"}

    def used(house):
        return [one.requests for one in house.gateway.budgets.listing()]

    async with housing(settings=settings) as first, housing(settings=settings) as second:
        for house in (first, second, first):
            assert (await house.chat(headers=game)).status == 200
        for house in (first, second):
            await house.until(lambda house=house: used(house) == [3])
        with redis.Redis.from_url(redis_server.url) as server:
            server.delete(*server.keys("*:spent:*"))

            def told():
                return [server.hget(key, "requests game") for key in server.keys("*:spent:*")]

            await first.until(lambda: told() == [b"3"])
            assert (await second.chat(headers=game)).status == 200
            await first.until(lambda: used(first) == [4])
            assert (await first.chat(headers=game)).status == 402
            assert told() == [b"4"]


async def test_a_gateway_that_starts_later_learns_what_was_used(housing, redis_server):
    settings = {"redis_url": Secret(redis_server.url), "sharing": SharingConfig(budget=Budget(requests=3))}
    game = {"x_tickmind_session": "game"}
    async with housing(settings=settings) as first:
        for _ in range(3):
            assert (await first.chat(headers=game)).status == 200
        with redis.Redis.from_url(redis_server.url) as server:

            def told():
                return [server.hget(key, "requests game") for key in server.keys("*:spent:*")]

            await first.until(lambda: told() == [b"3"])
    async with housing(settings=settings) as later:
        await later.chat(headers=game)  # the first makes the owner known here
        await later.until(lambda: later.gateway.budgets.listing()[0].requests >= 3)
        assert (await later.chat(headers=game)).status == 402

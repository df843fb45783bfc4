"""Two whole gateways on one Redis, as callers and operators see them."""

import pytest

from tickmind.base import Secret
from tickmind.gateway.settings.config import Limits

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

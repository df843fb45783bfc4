"""Tokens, and that nothing secret is told."""

import logging

import pytest

from tickmind.base import Secret
from tickmind.server import ServerConfig
from tickmind.wire import NotAllowedError

TOKEN = Secret("a-token-of-this-world")

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(180)]


async def test_a_token_is_asked_for_and_health_is_not(serve, talk):
    config = ServerConfig("127.0.0.1:0", tokens=(Secret("another-token-here"), TOKEN))
    async with serve(config=config) as server:
        async with talk(server, token=TOKEN) as client:
            assert len(await client.entities()) == 4
            async with client.control("entity:1", "me") as session:
                assert (await anext(aiter(session))).me.entity_id == "entity:1"
        for wrong in (None, Secret("a-token-of-no-world")):
            async with talk(server, token=wrong) as client:
                assert await client.is_serving()
                with pytest.raises(NotAllowedError):
                    await client.entities()
                with pytest.raises(NotAllowedError):
                    async with client.control("entity:2", "me"):
                        pytest.fail("it was let in")
                with pytest.raises(NotAllowedError):
                    await anext(aiter(client.ticks(retry=None)))


async def test_no_secret_reaches_the_log(serve, talk, caplog):
    caplog.set_level(logging.DEBUG)
    config = ServerConfig("127.0.0.1:0", tokens=(TOKEN,))
    async with serve(config=config) as server, talk(server, token=TOKEN) as client:
        lease = await client.acquire("entity:1", "me")
        async with client.control("entity:2", "me") as session:
            other = session.lease
            await anext(aiter(session))
    for secret in (TOKEN, lease.lease_id, other.lease_id):
        assert secret.reveal() not in caplog.text

"""The client through a gateway that shares; only the `gateway` fixture knows which one."""

import asyncio
import time
from dataclasses import dataclass

import pytest

from tickmind.llm import (
    GatewayClient,
    LLMCooldownError,
    ModelClient,
    ModelConfig,
    SyncGatewayClient,
    gateway_call,
    load_gateway_config,
)


@dataclass
class Plan:
    goal: str


def config(url, **settings):
    return load_gateway_config(url=url, model="qwen", env={}, **settings)


@pytest.mark.asyncio
async def test_a_reply_says_who_answered_and_how_long_the_session_has_to_wait(gateway):
    async with GatewayClient(config(gateway().url)) as client:
        result = await client.complete("Hi")
    assert result.content == "Hello."
    assert result.served is not None
    assert result.served.provider
    assert result.attempts == len(result.served.attempts) == 1
    assert result.served.waited_s is not None
    assert result.served.cooldown is not None
    assert result.served.cooldown.wait_s == 0.0
    assert result.served.cooldown.active_games == 1


@pytest.mark.asyncio
async def test_a_stream_says_it_too(gateway):
    async with GatewayClient(config(gateway().url)) as client:
        async with client.stream("Hi") as stream:
            text = "".join([chunk.content async for chunk in stream])
        result = await stream.result
    assert text == result.content == "Hello."
    assert result.served is not None
    assert result.served.provider
    assert result.served.cooldown is not None


@pytest.mark.asyncio
async def test_objects_are_asked_for_whole_and_streamed(gateway):
    async with GatewayClient(config(gateway(reply='{"goal": "hunt"}').url)) as client:
        whole = await client.complete_structured("What now?", Plan)
        async with client.stream_structured("What now?", Plan) as stream:
            streamed = await stream.result
    assert whole.value == streamed.value == Plan("hunt")
    assert whole.served is not None
    assert streamed.served is not None


@pytest.mark.asyncio
async def test_a_plain_client_at_the_gateway_hears_it_as_well(gateway):
    plain = ModelConfig(base_url=f"{gateway().url}/v1", model="qwen", headers={"x-tickmind-session": "plain"})
    async with ModelClient(plain) as client:
        result = await client.complete("Hi", gateway_call(agent="ash"))
    assert result.served is not None
    assert result.served.provider


@pytest.mark.asyncio
async def test_calls_wait_for_the_sessions_turn_and_none_is_refused(gateway):
    fake = gateway(strict=True, rpm=150)  # one each 400 ms
    async with GatewayClient(config(fake.url)) as client:
        began = time.monotonic()
        await client.complete("first")
        await asyncio.gather(*(client.complete(f"call {n}") for n in range(2)))
        assert time.monotonic() - began >= 0.75  # two turns; a busy machine only makes it longer
        assert client.waiting == 0


@pytest.mark.asyncio
async def test_calls_raise_in_a_cooldown_if_they_are_told_to(gateway):
    async with GatewayClient(config(gateway(strict=True, rpm=1).url), on_cooldown="raise") as client:
        await client.complete("first")
        with pytest.raises(LLMCooldownError, match="nothing was sent") as caught:
            await client.complete("second")
    assert caught.value.code == "RATE_LIMIT_COOLDOWN"
    assert 30 < (caught.value.retry_after_s or 0) <= 60
    assert caught.value.cooldown is not None
    assert caught.value.cooldown.effective_rpm == 1


@pytest.mark.asyncio
async def test_a_wait_that_would_pass_the_deadline_is_not_begun(gateway):
    async with GatewayClient(config(gateway(strict=True, rpm=1).url, timeout_s=20.0)) as client:
        await client.complete("first")
        began = time.monotonic()
        with pytest.raises(LLMCooldownError):
            await client.complete("second")
        with pytest.raises(LLMCooldownError):
            async with client.stream("third"):
                pass
        assert time.monotonic() - began < 15


@pytest.mark.asyncio
async def test_a_refusal_is_raised_and_teaches_the_client_to_wait(gateway):
    fake = gateway(strict=True, rpm=1)
    async with (
        GatewayClient(config(fake.url), session="game") as one,
        GatewayClient(config(fake.url), session="game", on_cooldown="raise") as other,
    ):
        await one.complete("first")
        assert other.ready_in_s() == 0.0  # it has heard nothing yet
        with pytest.raises(LLMCooldownError, match="holds the request back"):
            await other.complete("second")
        assert other.ready_in_s() > 30
        with pytest.raises(LLMCooldownError, match="nothing was sent"):
            await other.complete("third")


@pytest.mark.asyncio
async def test_a_deferred_agents_request_waits_at_the_gateway_and_others_go_on(gateway):
    async with GatewayClient(config(gateway().url)) as client:
        await client.defer("elm", 50_000)
        held = asyncio.create_task(client.complete("Hi", gateway_call(agent="elm")))
        await client.complete("Hi", gateway_call(agent="birch"))
        assert not held.done()
        held.cancel()
        began = time.monotonic()
        await client.defer("ash", 300)
        await client.complete("Hi", gateway_call(agent="ash"))
        assert time.monotonic() - began >= 0.3


@pytest.mark.asyncio
async def test_a_deferral_beyond_the_deadline_is_told_and_holds_up_nobody_else(gateway):
    async with GatewayClient(config(gateway().url, timeout_s=10.0)) as client:
        await client.defer("ash", 60_000)
        with pytest.raises(LLMCooldownError) as caught:
            await client.complete("Hi", gateway_call(agent="ash"))
        assert caught.value.code == "DEFERRED"
        assert (await client.complete("Hi", gateway_call(agent="birch"))).content == "Hello."


@pytest.mark.asyncio
async def test_the_plainest_call_gives_a_text_and_the_cooldown(gateway):
    async with GatewayClient(config(gateway(strict=True, rpm=1).url), on_cooldown="raise") as client:
        found = await client.generate("Hi", agent="ash", max_tokens=50)
        assert (found.text, found.model) == ("Hello.", "qwen")
        assert found.served.provider
        assert client.ready_in_s() > 30
        with pytest.raises(LLMCooldownError):
            await client.generate("Hi", agent="ash")
        with pytest.raises(LLMCooldownError):
            await client.complete("Hi")  # of the same model, and so of the same share


@pytest.mark.asyncio
async def test_the_gateway_tells_about_itself(gateway):
    async with GatewayClient(config(gateway().url), session="game-7") as client:
        await client.complete("Hi")
        assert await client.heartbeat() == client.active_games == 1
        assert await client.stats()
        assert "game-7" in str(await client.sessions())
        assert "game-7" in str(await client.costs())


def test_threads_have_the_same_calls(gateway):
    fake = gateway(reply='{"goal": "hunt"}')
    with SyncGatewayClient(config(fake.url), session="threads") as client:
        assert client.complete("Hi").served is not None
        with client.stream("Hi") as stream:
            assert "".join(chunk.content for chunk in stream) == '{"goal": "hunt"}'
        assert client.complete_structured("What now?", Plan).value == Plan("hunt")
        assert client.generate("Hi", agent="ash").text == '{"goal": "hunt"}'
        client.defer("ash", 1)
        assert client.heartbeat() == client.active_games == 1
        assert (client.session, client.waiting, client.ready_in_s()) == ("threads", 0, 0.0)
        assert client.cooldown() is not None
        assert client.stats()
        assert client.sessions()
        assert client.costs()


@pytest.mark.asyncio
async def test_calls_that_are_sent_all_the_same_leave_the_decision_to_the_gateway(gateway):
    async with GatewayClient(config(gateway(strict=True, rpm=1).url), on_cooldown="send") as client:
        await client.complete("first")
        assert client.ready_in_s() > 30
        with pytest.raises(LLMCooldownError, match="holds the request back"):
            await client.complete("second")

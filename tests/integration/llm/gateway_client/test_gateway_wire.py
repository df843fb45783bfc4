"""What the client says to a gateway, and how it reads what comes back; the fake notes it."""

import asyncio
import logging
import threading

import pytest

from tickmind.base import Secret
from tickmind.llm import (
    CallConfig,
    CustomModel,
    GatewayClient,
    LLMCancelledError,
    LLMConfigError,
    LLMConnectionError,
    LLMCooldownError,
    LLMDroppedError,
    LLMResponseError,
    LLMUnavailableError,
    SyncGatewayClient,
    gateway_call,
    load_gateway_config,
)
from tickmind.llm.transport import Capabilities
from tickmind.tools import ToolAgent


def config(url, **settings):
    return load_gateway_config(url=url, model="qwen", env={}, **settings)


@pytest.mark.asyncio
async def test_a_request_says_who_asks_how_urgently_and_until_when(double):
    fake = double()
    call = gateway_call(CallConfig(max_tokens=7), agent="ash", priority="high", replace_older=True, drop_after_s=2.5)
    async with GatewayClient(config(fake.url, timeout_s=30.0, api_key="caller-key"), session="game-7") as client:
        await client.complete("Hi", call)
    [seen] = fake.of("/v1/chat/completions")
    told = {name: value for name, value in seen.headers.items() if name.startswith("x-tickmind-")}
    timeout_ms = int(told.pop("x-tickmind-timeout-ms"))
    assert 25_000 < timeout_ms < 30_000  # a little short of ours
    assert told == {
        "x-tickmind-session": "game-7",
        "x-tickmind-agent": "ash",
        "x-tickmind-priority": "high",
        "x-tickmind-replace": "1",
        "x-tickmind-drop-after-ms": "2500",
    }
    assert seen.headers["authorization"] == "Bearer caller-key"
    assert seen.body["max_tokens"] == 7


@pytest.mark.asyncio
async def test_no_key_goes_to_another_machine_in_the_clear():
    remote = "http://gateway.example:8766"
    with pytest.raises(LLMConfigError, match=r"https://gateway\.example:8766"):
        GatewayClient(config(remote, api_key="caller-key"))
    own = CustomModel("https://models.example/v1", Secret("own-key"))
    async with GatewayClient(config(remote)) as client:
        with pytest.raises(LLMConfigError, match="in the clear"):
            await client.generate("Hi", agent="ash", custom=own)
    GatewayClient(config("https://gateway.example:8766", api_key="caller-key"))
    GatewayClient(config("http://[::1]:8766", api_key="caller-key"))


@pytest.mark.asyncio
async def test_the_address_may_end_in_v1_and_sessions_get_names_of_their_own(double):
    fake = double()
    async with GatewayClient(config(f"{fake.url}/v1")) as one, GatewayClient(config(f"{fake.url}/")) as other:
        await one.complete("Hi")
        await other.complete("Hi")
    sessions = [seen.headers["x-tickmind-session"] for seen in fake.of("/v1/chat/completions")]
    assert sessions == [one.session, other.session]
    assert len(set(sessions)) == 2


@pytest.mark.asyncio
async def test_tool_agents_say_who_they_are(double):
    fake = double()
    async with GatewayClient(config(fake.url)) as client:
        agent = ToolAgent(client, [], headers=gateway_call(agent="ash", priority="low").headers)
        assert (await agent.invoke("Hi")).text == "Hello."
    [seen] = fake.of("/v1/chat/completions")
    assert (seen.headers["x-tickmind-agent"], seen.headers["x-tickmind-priority"]) == ("ash", "low")


@pytest.mark.asyncio
async def test_models_without_tools_of_their_own_are_asked_all_the_same(double):
    fake = double()
    async with GatewayClient(config(fake.url, capabilities=Capabilities(tools=False))) as client:
        assert (await client.complete("Hi")).served is not None


@pytest.mark.asyncio
async def test_attempts_of_the_gateway_are_those_of_the_result(double):
    tried = [
        {"provider": "groq", "model": "qwen", "result": "rate_limited", "status": 429},
        {"provider": "cerebras", "model": "llama", "result": "ok", "status": 200},
    ]
    fake = double(provider="cerebras", attempts=tried)
    async with GatewayClient(config(fake.url)) as client:
        result = await client.complete("Hi")
        async with client.stream("Hi") as stream:
            streamed = await stream.result
    assert result.attempts == streamed.attempts == 2
    assert result.served is not None
    assert [(one.provider, one.result, one.status) for one in result.served.attempts] == [
        ("groq", "rate_limited", 429),
        ("cerebras", "ok", 200),
    ]


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("QUEUE_FULL", 503, LLMCooldownError),
        ("QUEUE_TIMEOUT", 503, LLMCooldownError),
        ("ALL_LIMITED", 429, LLMCooldownError),
        ("DEFERRED", 429, LLMCooldownError),
        ("REPLACED", 409, LLMDroppedError),
        ("EXPIRED", 410, LLMDroppedError),
        ("PROVIDER_DOWN", 503, LLMUnavailableError),
        ("BUDGET_SPENT", 402, LLMResponseError),
        ("UNKNOWN_MODEL", 404, LLMResponseError),
    ],
)
@pytest.mark.asyncio
async def test_a_refusal_is_an_error_of_its_kind_and_nothing_is_tried_again(double, code, status, kind):
    fake = double()
    fake.refuse(code, status, retry_after="3")
    fake.refuse(code, status, retry_after="3")
    async with GatewayClient(config(fake.url)) as client:
        with pytest.raises(kind, match=code) as caught:
            await client.complete("Hi")
        assert type(caught.value) is kind
        if isinstance(caught.value, LLMCooldownError):
            assert (caught.value.code, caught.value.retry_after_s) == (code, 3.0)
    assert len(fake.of("/v1/chat/completions")) == 1


@pytest.mark.asyncio
async def test_an_outage_is_waited_for_by_no_call(double):
    fake = double()
    fake.refuse("PROVIDER_DOWN", 503, retry_after="300")
    async with GatewayClient(config(fake.url)) as client:
        with pytest.raises(LLMUnavailableError, match="reaches no provider of the model and tries none for 300 s"):
            await client.complete("Hi", CallConfig(timeout_s=600))
        with pytest.raises(LLMUnavailableError, match="nothing was sent") as caught:
            await client.complete("Hi", CallConfig(timeout_s=600))
    assert caught.value.retry_after_s == pytest.approx(300, abs=100)
    assert len(fake.of("/v1/chat/completions")) == 1


@pytest.mark.asyncio
async def test_a_full_queue_is_remembered_for_all_calls_of_that_model_and_for_no_others(double):
    fake = double()
    fake.refuse("QUEUE_FULL", 503, retry_after="40")
    async with GatewayClient(config(fake.url), on_cooldown="raise") as client:
        with pytest.raises(LLMCooldownError, match="QUEUE_FULL"):
            async with client.stream("Hi"):
                pass
        with pytest.raises(LLMCooldownError, match="nothing was sent"):
            await client.complete("Hi")
        assert (await client.complete("Hi", model="llama")).content == "Hello."
        assert client.ready_in_s() > 30
        assert client.ready_in_s("llama") == 0.0
    assert len(fake.of("/v1/chat/completions")) == 2


@pytest.mark.asyncio
async def test_a_cooldown_in_the_body_counts_where_no_header_says_how_long(double):
    fake = double()
    fake.refuse("RATE_LIMIT_COOLDOWN", 429, wait_ms=4200)
    async with GatewayClient(config(fake.url)) as client:
        with pytest.raises(LLMCooldownError) as caught:
            await client.complete("Hi")
    assert caught.value.retry_after_s == 4.2
    assert caught.value.cooldown is not None
    assert caught.value.cooldown.active_games == 1


@pytest.mark.asyncio
async def test_who_gives_up_waiting_costs_the_others_no_turn(double):
    fake = double(strict=True, rpm=200)
    async with GatewayClient(config(fake.url)) as client:
        await client.complete("first")
        calls = [asyncio.create_task(client.complete(f"call {n}")) for n in range(6)]
        await asyncio.sleep(0)
        for call in calls[:5]:
            call.cancel()
        assert (await calls[5]).content == "Hello."
        assert client.waiting == 0
    assert len(fake.of("/v1/chat/completions")) == 2


@pytest.mark.asyncio
async def test_closing_cancels_those_who_wait_for_their_turn(double):
    fake = double(strict=True, rpm=1)
    async with GatewayClient(config(fake.url)) as client:
        await client.complete("first")
        calls = [asyncio.create_task(client.complete(f"call {n}")) for n in range(3)]
        await asyncio.wait(calls[1:])  # the pace is one a minute: these would have come too late
        assert client.waiting == 1
        await client.aclose()
        results = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(result) for result in results] == [LLMCancelledError, LLMCooldownError, LLMCooldownError]
    assert client.waiting == 0


@pytest.mark.asyncio
async def test_heartbeats_go_on_while_it_is_open_and_end_with_it(double, until):
    fake = double()

    def beats(session):
        return [seen for seen in fake.of("/api/llm/heartbeat") if seen.body == {"sessionId": session}]

    async with GatewayClient(config(fake.url), session="game", heartbeat_s=0.01) as client:
        await asyncio.to_thread(until, lambda: len(beats("game")) >= 3)
        assert client.active_games == 1
    assert not [task for task in asyncio.all_tasks() if task.get_name() == "tickmind-heartbeat"]
    await client.aclose()  # twice is fine
    await asyncio.to_thread(until, lambda: not fake.connections)  # a beat that was under way has arrived by now
    async with GatewayClient(config(fake.url), session="other", heartbeat_s=0.01):
        await asyncio.to_thread(until, lambda: len(beats("other")) >= 1)
        count = len(beats("game"))
        await asyncio.to_thread(until, lambda: len(beats("other")) >= 6)  # while another one beats on
        assert len(beats("game")) == count


def test_heartbeats_of_the_blocking_client_end_with_it(double, until):
    fake = double()
    with SyncGatewayClient(config(fake.url), heartbeat_s=0.01) as client:
        client.complete("Hi")
        until(lambda: len(fake.of("/api/llm/heartbeat")) >= 2)
    assert not [thread for thread in threading.enumerate() if thread.name == "tickmind-llm"]


@pytest.mark.asyncio
async def test_a_gateway_that_is_gone_is_told_once_in_the_log_and_by_each_call(caplog, until):
    caplog.set_level(logging.WARNING)
    tried = 0

    class Counted(GatewayClient):
        async def heartbeat(self):
            nonlocal tried
            tried += 1
            return await super().heartbeat()

    async with Counted(config("http://127.0.0.1:9"), heartbeat_s=0.005) as client:
        with pytest.raises(LLMConnectionError):
            await client.complete("Hi")
        await asyncio.to_thread(until, lambda: tried >= 4)  # so three have failed
    told = [record for record in caplog.records if "heartbeat" in record.message]
    assert len(told) == 1


@pytest.mark.asyncio
async def test_the_plainest_call_says_all_that_it_was_given(double):
    fake = double()
    own = CustomModel("https://models.example/v1", Secret("sk-very-private"), "own-1")
    assert "private" not in repr(own)
    async with GatewayClient(config(fake.url), session="game") as client:
        await client.generate("Hi", agent="ash", max_tokens=50, temperature=0.0, priority="low")
        await client.generate("Hi", agent="ash", custom=own)
        bare = CustomModel("https://models.example/v1", headers={"api-key": Secret("sk-also-private")})
        assert "private" not in repr(bare)
        await client.generate("Hi", agent="ash", custom=bare)
    plain, custom, keyless = (seen.body for seen in fake.of("/api/llm/generate"))
    assert plain == {
        "sessionId": "game",
        "agentId": "ash",
        "prompt": "Hi",
        "model": "qwen",
        "maxTokens": 50,
        "temperature": 0.0,
        "priority": "low",
    }
    assert custom["customConfig"] == {
        "baseUrl": "https://models.example/v1",
        "apiKey": "sk-very-private",
        "model": "own-1",
    }
    assert keyless["model"] == "qwen"
    assert keyless["customConfig"] == {
        "baseUrl": "https://models.example/v1",
        "customHeaders": {"api-key": "sk-also-private"},
    }


@pytest.mark.asyncio
async def test_a_server_that_is_no_gateway_is_said_to_be_none(double):
    async with GatewayClient(config(f"{double().url}/nowhere")) as client:
        with pytest.raises(LLMResponseError, match="404"):
            await client.stats()


@pytest.mark.parametrize("name", ["two\r\nlines", "", " ash", "\u00e4sh", "x" * 129])
def test_names_that_are_no_headers_are_refused(name):
    with pytest.raises(LLMConfigError, match="name"):
        GatewayClient(config("http://127.0.0.1:9"), session=name or " ")
    if name:
        with pytest.raises(LLMConfigError, match="name"):
            gateway_call(agent=name)


@pytest.mark.asyncio
async def test_a_request_made_by_hand_can_not_smuggle_a_header(double):
    fake = double()
    async with GatewayClient(config(fake.url)) as client:
        with pytest.raises(LLMConfigError, match="no valid header"):
            await ToolAgentless(client).ask({"x-a": "1\r\nx-tickmind-session: other"})
    assert fake.seen == []


class ToolAgentless:
    """Somebody who uses the transport directly."""

    def __init__(self, client):
        self.client = client

    async def ask(self, headers):
        from tickmind.llm import Message, ModelRequest

        request = ModelRequest("qwen", (Message.user("Hi"),), headers=headers)
        return await self.client.transport.complete(request, timeout_s=5)


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(LLMConfigError, match="on_cooldown"):
        GatewayClient(config("http://127.0.0.1:9"), on_cooldown="sulk")  # type: ignore[arg-type]  # what is tested
    with pytest.raises(LLMConfigError, match="heartbeat_s"):
        GatewayClient(config("http://127.0.0.1:9"), heartbeat_s=0)
    with pytest.raises(LLMConfigError, match="priority"):
        gateway_call(priority="urgent")  # type: ignore[arg-type]  # what is tested
    with pytest.raises(LLMConfigError, match="drop_after_s"):
        gateway_call(drop_after_s=0)
    with pytest.raises(LLMConfigError, match="unknown setting"):
        config("http://127.0.0.1:9", colour="red")

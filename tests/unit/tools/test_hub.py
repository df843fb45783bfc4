import asyncio
import gc
import json
from typing import TYPE_CHECKING

import pytest

from tickmind.base import Limit, LimitExceededError, Secret
from tickmind.llm.errors import LLMConfigError, LLMRateLimitError
from tickmind.tools import AgentConfig, AgentHub, HubEvent, HubEventKind, ToolRegistry, tool

if TYPE_CHECKING:
    from tests.unit.tools.conftest import ScriptedTransport


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.mark.asyncio
async def test_agents_share_the_options_and_may_change_them(script: "type[ScriptedTransport]") -> None:
    transport = script([script.say("a"), script.say("b")])
    hub = AgentHub(transport, tools=ToolRegistry([add]), model="m", temperature=0.5)
    await hub.create_agent().invoke("?")
    await hub.create_agent([], temperature=0.0, agent_id="cool").invoke("?")
    assert [(request.model, request.temperature, len(request.tools)) for request in transport.requests] == [
        ("m", 0.5, 1),
        ("m", 0.0, 0),
    ]
    assert hub.config == AgentConfig(model="m", temperature=0.5)
    with pytest.raises(LLMConfigError, match="unknown option"):
        hub.create_agent(colour="red")  # type: ignore[call-arg]  # what is tested


@pytest.mark.asyncio
async def test_the_bus_tells_what_agents_do(script: "type[ScriptedTransport]") -> None:
    transport = script([script.say("Hm.", ("add", '{"a":1,"b":2}')), script.say("Three."), LLMRateLimitError("wait")])
    hub = AgentHub(transport, tools=ToolRegistry([add]), model="m")
    heard: list[HubEvent] = []
    deltas: list[str] = []
    hub.subscribe(heard.append)

    def on_delta(event: HubEvent) -> None:
        deltas.append(event.text)

    hub.subscribe(on_delta, ["agent_delta"])
    agent = hub.create_agent(agent_id="bob")
    await agent.invoke("?")
    assert [event.kind.value for event in heard if event.kind is not HubEventKind.DEBUG] == [
        "agent_started",
        "agent_delta",
        "agent_delta",
        "agent_finished",
    ]
    debug = [event.data["event"] for event in heard if event.kind is HubEventKind.DEBUG]
    assert debug == [
        "request_started",
        "request_finished",
        "tool_call",
        "tool_result",
        "request_started",
        "request_finished",
    ]
    assert {event.agent_id for event in heard} == {"bob"}
    assert deltas == ["Hm.", "Three."]
    assert heard[-1].data["text"] == "Three."

    heard.clear()
    assert hub.unsubscribe(on_delta)
    assert not hub.unsubscribe(on_delta)
    await agent.invoke("?")
    assert [event.kind.value for event in heard] == [
        "agent_started",
        "agent_debug",
        "agent_error",
        "agent_finished",
    ]
    assert heard[-2].data["type"] == "rate_limited"
    assert heard[-1].data["stopped"] == "rate_limited"
    await hub.aclose()
    assert len([event async for event in hub.events()]) == len(debug) + 8


@pytest.mark.asyncio
async def test_a_failing_listener_is_logged_and_breaks_nothing(
    script: "type[ScriptedTransport]", caplog: pytest.LogCaptureFixture
) -> None:
    hub = AgentHub(script([script.say("x")]), model="m")
    heard: list[HubEvent] = []

    def fail(event: HubEvent) -> None:
        hub.unsubscribe(fail)
        raise ValueError("listener")

    hub.subscribe(fail)
    hub.subscribe(heard.append)
    assert (await hub.create_agent().invoke("?")).ok
    assert len(heard) == 5
    assert "a listener of the hub failed" in caplog.text


@pytest.mark.asyncio
async def test_listeners_and_kept_events_are_bounded(script: "type[ScriptedTransport]") -> None:
    hub = AgentHub(
        script([script.say("x")] * 9), model="m", max_listeners=Limit("listeners", 1), max_events=Limit("events", 4)
    )
    hub.subscribe(print)
    hub.unsubscribe(print)
    hub.subscribe(lambda event: None)
    with pytest.raises(LimitExceededError):
        hub.subscribe(lambda event: None)
    agent = hub.create_agent()
    for _ in range(9):
        await agent.invoke("?")
    await hub.aclose()
    reader = hub.events()
    assert len([event async for event in reader]) == 4
    assert reader.missed == 41


@pytest.mark.asyncio
async def test_a_key_is_found_in_no_event(script: "type[ScriptedTransport]", caplog: pytest.LogCaptureFixture) -> None:
    key = Secret("canary-key-24680").reveal()

    @tool
    def leak(key: str) -> str:
        return f"your key is {key}"

    transport = script(
        [
            script.say(f"It is {key}.", ("leak", json.dumps({"key": key}))),
            LLMRateLimitError(f"too many for {key}"),
        ]
    )
    hub = AgentHub(transport, model="m")
    heard: list[HubEvent] = []
    hub.subscribe(heard.append)
    with caplog.at_level("DEBUG"):
        await hub.create_agent([leak]).ainvoke(key).result()
    whole = "\n".join(map(repr, heard))
    assert len(heard) > 8
    assert key not in whole
    assert "canary" not in caplog.text


@pytest.mark.asyncio
async def test_what_a_character_says_is_not_taken_for_a_secret(script: "type[ScriptedTransport]") -> None:
    hub = AgentHub(script([script.say("The password: swordfish")]), model="m")
    heard: list[HubEvent] = []
    hub.subscribe(heard.append, [HubEventKind.DELTA])
    await hub.create_agent().invoke("?")
    assert heard[0].text == "The password: swordfish"


@pytest.mark.asyncio
async def test_closing_the_hub_ends_all_runs(script: "type[ScriptedTransport]") -> None:
    hub = AgentHub(script([]), model="m")
    agents = [hub.create_agent() for _ in range(5)]
    runs = [agent.ainvoke("?") for agent in agents]
    await asyncio.sleep(0)
    await hub.aclose()
    assert all(run.done for run in runs)
    assert len(asyncio.all_tasks()) == 1


def test_a_hub_keeps_no_agent_alive(script: "type[ScriptedTransport]") -> None:
    hub = AgentHub(script([]), model="m")
    hub.create_agent()
    gc.collect()
    assert hub.agents == ()

"""What an agent takes from its client, hands to its tools and gives as a typed answer."""

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel

from tickmind.base import Secret
from tickmind.llm import CallConfig, LLMConfigError, LLMResponseError, Message, ModelClient, ModelConfig
from tickmind.llm.testing import ScriptedTransport as Scripted
from tickmind.llm.tokens import estimate_messages_tokens
from tickmind.tools import AgentHub, ToolAgent, ToolContext, tool
from tickmind.tools.config import AgentTimeouts

if TYPE_CHECKING:
    from tests.unit.tools.conftest import ScriptedTransport, Whole

CONFIG = ModelConfig(
    base_url="http://127.0.0.1:9/v1", model="double", default_temperature=0.25, default_max_tokens=77, timeout_s=33.0
)


@tool
def look() -> str:
    """Look around."""
    return "a well"


class Decision(BaseModel):
    action: str
    brave: bool = True


DECIDED = '{"action": "drink"}'


@pytest.mark.asyncio
async def test_an_agent_takes_the_defaults_of_its_client() -> None:
    transport = Scripted("ok")
    await ToolAgent(ModelClient(CONFIG, transport), [look]).invoke("?")
    [call] = transport.calls
    assert (call.request.temperature, call.request.max_tokens, call.timeout_s) == (0.25, 77, 33.0)


@pytest.mark.asyncio
async def test_an_agents_own_options_win_over_the_defaults() -> None:
    transport = Scripted("ok")
    options = {"temperature": 0.0, "max_output_tokens": 5, "timeouts": AgentTimeouts(request_s=2.0)}
    await ToolAgent(ModelClient(CONFIG, transport), **options).invoke("?")  # type: ignore[arg-type]  # one dict
    [call] = transport.calls
    assert (call.request.temperature, call.request.max_tokens, call.timeout_s) == (0.0, 5, 2.0)


@pytest.mark.asyncio
@pytest.mark.parametrize("streaming", [False, True])
async def test_thinking_is_separated_over_a_bare_transport_too(streaming: bool) -> None:
    agent = ToolAgent(Scripted("<think>hm</think>A well."), [look], model="m")
    result = await agent.ainvoke("?", streaming=streaming).result()
    assert (result.text, result.thinking) == ("A well.", "hm")


@pytest.mark.asyncio
async def test_reaching_the_limit_of_steps_is_no_success(script: "type[ScriptedTransport]") -> None:
    result = await ToolAgent(script([script.say("", ("look", "{}"))]), [look], model="m", max_steps=1).invoke("?")
    assert (result.ok, result.stopped) == (False, "max_steps")
    assert result.to_dict()["type"] == "max_steps"
    assert "max_steps" in result.to_dict()["message"]


@pytest.mark.asyncio
async def test_an_answer_at_the_limit_of_steps_is_an_answer(script: "type[ScriptedTransport]") -> None:
    transport = script([script.say("", ("look", "{}")), script.say("A well.")])
    result = await ToolAgent(transport, [look], model="m", max_steps=1, answer_at_limit=True).invoke("?")
    assert (result.ok, result.stopped, result.text) == (True, "max_steps", "A well.")


@pytest.mark.asyncio
@pytest.mark.parametrize("streaming", [False, True])
async def test_an_agents_answer_is_of_the_type_that_was_asked_for(
    script: "type[ScriptedTransport]", well_formed: "Whole", streaming: bool
) -> None:
    transport = script([script.say("", ("look", "{}")), script.say(DECIDED)])
    agent = ToolAgent(transport, [look], model="m", system="You are Ash.", output=Decision)
    result = await agent.ainvoke("?", streaming=streaming).result()
    assert (result.ok, result.value) == (True, Decision(action="drink"))
    first = transport.requests[0]
    assert first.output is not None
    assert first.messages[0].text.startswith("You are Ash.\n")
    assert '"action"' in first.messages[0].text
    assert well_formed(agent.history)


@pytest.mark.asyncio
async def test_an_answer_of_another_form_goes_back_to_the_model(script: "type[ScriptedTransport]") -> None:
    transport = script([script.say("I drink."), script.say(DECIDED)])
    result = await ToolAgent(transport, [look], model="m", output=Decision).invoke("?")
    assert result.value == Decision(action="drink")
    assert "could not be used" in transport.requests[1].messages[-1].text


@pytest.mark.asyncio
async def test_an_agent_without_a_usable_answer_is_not_ok(script: "type[ScriptedTransport]") -> None:
    transport = script([script.say("I drink."), script.say("I said so.")])
    result = await ToolAgent(transport, model="m", output=Decision, output_retries=1).invoke("?")
    assert (result.ok, result.stopped, result.value) == (False, "parse_error", None)


@pytest.mark.asyncio
async def test_an_endpoint_that_refuses_the_form_is_asked_without_it(script: "type[ScriptedTransport]") -> None:
    refusal = LLMResponseError("no response_format beside tools", status=400)
    transport = script([refusal, script.say(DECIDED), script.say(DECIDED)])
    agent = ToolAgent(transport, [look], model="m", output=Decision)
    assert (await agent.invoke("?")).value == Decision(action="drink")
    assert (await agent.invoke("?")).value == Decision(action="drink")
    assert [request.output is not None for request in transport.requests] == [True, False, False]


@dataclass
class Village:
    name: str


@pytest.mark.asyncio
async def test_tools_get_the_deps_of_the_agent_and_models_do_not_see_them(script: "type[ScriptedTransport]") -> None:
    @tool
    def where(ctx: ToolContext[Village]) -> str:
        """Tell where you are."""
        return ctx.deps.name

    call = script.say("", ("where", "{}"))
    transport = script([call, script.say("ok"), call, script.say("ok")])
    agent = ToolAgent(transport, [where], model="m", deps=Village("Mill End"))
    first = await agent.invoke("?")
    second = await agent.invoke("?", deps=Village("Willowbrook"))
    assert [first.tool_trace[0].result, second.tool_trace[0].result] == ["Mill End", "Willowbrook"]
    assert where.schema["properties"] == {}
    assert agent.twin().deps == Village("Mill End")


@pytest.mark.asyncio
async def test_a_hub_sets_defaults_for_the_agents_to_come() -> None:
    transport = Scripted("ok")
    hub = AgentHub(ModelClient(CONFIG, transport))
    hub.set_default_model("other")
    hub.set_default_params(temperature=0.5, max_steps=3)
    agent = hub.create_agent(deps=1, output=Decision)
    assert (agent.config.model, agent.config.temperature, agent.config.max_steps, agent.deps) == ("other", 0.5, 3, 1)
    with pytest.raises(LLMConfigError, match="unknown option"):
        hub.set_default_params(colour="red")  # type: ignore[call-arg]  # what a typo gives


@pytest.mark.asyncio
async def test_a_hubs_new_key_is_used_by_all_its_agents() -> None:
    seen: list[str] = []
    asked = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        seen.extend(line.split()[-1] for line in head.splitlines() if line.lower().startswith("authorization"))
        body = json.dumps({"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]}).encode()
        length = f"content-length: {len(body)}\r\nconnection: close\r\n"
        writer.write(f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n{length}\r\n".encode() + body)
        await writer.drain()
        writer.close()
        asked.set()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        config = ModelConfig(base_url=f"http://127.0.0.1:{port}/v1", model="m", api_key=Secret("old-key"))
        async with ModelClient(config) as client:
            hub = AgentHub(client)
            agent = hub.create_agent()
            assert (await agent.invoke("?")).text == "ok"
            hub.set_api_key("new-key")
            assert (await agent.invoke("?")).text == "ok"
            assert (await hub.create_agent().invoke("?")).text == "ok"
            await hub.aclose()
    assert seen == ["old-key", "new-key", "new-key"]


def test_a_hub_whose_key_it_can_not_know_says_so() -> None:
    with pytest.raises(LLMConfigError, match="transport was passed in"):
        AgentHub(ModelClient(CONFIG, Scripted("ok"))).set_api_key("k")
    with pytest.raises(LLMConfigError, match="transport"):
        AgentHub(Scripted("ok"), model="m").set_api_key("k")


def long_talk(turns: int) -> list[Message]:
    said: list[Message] = [Message.system("You are Ash.")]
    for number in range(turns):
        said += [Message.user(f"{number} " + "word " * 40), Message.assistant("yes " * 40)]
    return [*said, Message.user("And now?")]


@pytest.mark.asyncio
async def test_prompts_are_cut_to_the_context_of_the_model() -> None:
    small = ModelConfig(base_url="http://127.0.0.1:9/v1", model="m", context_limit=1000, default_max_tokens=200)
    transport = Scripted("ok")
    client = ModelClient(small, transport)
    await client.complete(long_talk(40))
    async with client.stream(long_talk(40)) as stream:
        await stream.result
    await ToolAgent(client, history=long_talk(40)[1:], system="You are Ash.").invoke("And now?")
    await client.complete(long_talk(2))
    for request in transport.requests[:3]:
        assert estimate_messages_tokens(request.messages) <= 800
        assert estimate_messages_tokens(request.messages) > 500
        assert [request.messages[0].role, request.messages[1].role] == ["system", "user"]
        assert request.messages[-1].text == "And now?"
    assert len(transport.requests[3].messages) == 6


@pytest.mark.asyncio
async def test_a_tool_call_is_cut_together_with_its_result(
    script: "type[ScriptedTransport]", well_formed: "Whole"
) -> None:
    @tool
    def read() -> str:
        """Read a long book."""
        return "word " * 200

    steps = [script.say("", ("read", "{}")) for _ in range(6)]
    transport = script([*steps, script.say("done")])
    small = ModelConfig(base_url="http://127.0.0.1:9/v1", model="m", context_limit=1000, default_max_tokens=100)
    result = await ToolAgent(ModelClient(small, transport), [read]).invoke("Read all.")
    assert result.ok
    last = transport.requests[-1].messages
    assert last[0].text == "Read all."
    assert 1 < len(last) < len(result.messages) - 1
    assert well_formed(last)


def test_a_known_models_context_is_known() -> None:
    assert ModelConfig(model="gpt-4o-mini").context_limit == 128_000
    assert ModelConfig(model="openai/gpt-4.1-mini").context_limit == 1_047_576
    assert ModelConfig(model="mine").context_limit == 8192
    assert ModelConfig(model="gpt-4o-mini", context_limit=50).context_limit == 50


def test_a_call_has_no_switch_without_effect() -> None:
    assert not hasattr(CallConfig(), "structured")

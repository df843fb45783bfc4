"""Agents that ask through a `ModelClient`."""

import pytest

from tickmind.llm import ModelClient, ModelConfig, ModelReply, ToolAgent, ToolCall, Usage, UsageMeter
from tickmind.llm.errors import LLMConnectionError
from tickmind.llm.messages import ThinkingBlock
from tickmind.llm.prices import Price
from tickmind.llm.testing import Fault, FaultyTransport, ScriptedTransport
from tickmind.llm.transport import Transport
from tickmind.llm.transports.retrying import RetryingTransport

CONFIG = ModelConfig(base_url="http://127.0.0.1:9/v1", model="double")
CALL = ModelReply("", "tool_calls", tool_calls=(ToolCall("a", "look", "{}"),), usage=Usage(10, 2))
ANSWER = ModelReply("<think>hm</think>A well.", "stop", usage=Usage(20, 3))


def look() -> str:
    """Look around."""
    return "a well"


async def no_wait(_seconds: float) -> None:
    return


def agent_on(transport: Transport) -> tuple[ToolAgent, UsageMeter]:
    meter = UsageMeter()
    return ToolAgent(ModelClient(CONFIG, transport, meter=meter, prices={"double": Price(1.0, 1.0)}), [look]), meter


@pytest.mark.asyncio
@pytest.mark.parametrize("streaming", [False, True])
async def test_what_an_agent_uses_is_on_the_clients_meter(streaming: bool) -> None:
    agent, meter = agent_on(ScriptedTransport([CALL, ANSWER]))
    result = await agent.ainvoke("What is here?", streaming=streaming).result()
    assert (result.text, result.usage) == ("A well.", Usage(30, 5))
    total = meter.statistics()
    assert (total.calls, total.prompt_tokens, total.completion_tokens) == (2, 30, 5)
    assert total.cost_usd == pytest.approx(35e-6)


@pytest.mark.asyncio
@pytest.mark.parametrize("streaming", [False, True])
async def test_an_agents_failed_calls_are_on_the_meter_too(streaming: bool) -> None:
    agent, meter = agent_on(ScriptedTransport([LLMConnectionError("gone")]))
    assert not (await agent.ainvoke("?", streaming=streaming).result()).ok
    assert (meter.statistics().calls, meter.statistics().failed_calls) == (1, 1)


@pytest.mark.asyncio
@pytest.mark.parametrize("streaming", [False, True])
async def test_an_agents_retries_are_counted(streaming: bool) -> None:
    faulty = FaultyTransport(ScriptedTransport([ANSWER]), [Fault.REFUSED])
    agent, meter = agent_on(RetryingTransport(faulty, sleep=no_wait))
    assert (await agent.ainvoke("?", streaming=streaming).result()).ok
    assert (meter.statistics().calls, meter.statistics().attempts) == (1, 2)


@pytest.mark.asyncio
@pytest.mark.parametrize("streaming", [False, True])
async def test_thinking_in_tags_and_in_blocks_is_kept_and_not_said(streaming: bool) -> None:
    block = ThinkingBlock("first", "anthropic", "sealed")
    reply = ModelReply("<think>hm</think>A well.", "stop", (block,))
    agent, _ = agent_on(ScriptedTransport([reply]))
    result = await agent.ainvoke("?", streaming=streaming).result()
    assert result.text == "A well."
    assert result.messages[-1].thinking == (block, ThinkingBlock("hm"))

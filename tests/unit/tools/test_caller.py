"""Agents that ask through a `ModelClient`."""

from typing import TYPE_CHECKING

import pytest

from tickmind.llm import ModelClient, ModelConfig, ModelReply, ToolCall, Usage, UsageMeter
from tickmind.llm.errors import LLMConnectionError
from tickmind.llm.messages import ThinkingBlock
from tickmind.llm.prices import Price
from tickmind.llm.testing import Fault, FaultyTransport, ScriptedTransport
from tickmind.llm.transport import StreamPiece, Transport
from tickmind.llm.transports.retrying import RetryingTransport
from tickmind.tools import ToolAgent

if TYPE_CHECKING:
    from tests.unit.tools.conftest import ScriptedTransport as Scripted

CONFIG = ModelConfig(base_url="http://127.0.0.1:9/v1", model="double")
CALL = ModelReply("", "tool_calls", tool_calls=(ToolCall("a", "look", "{}"),), usage=Usage(10, 2))
ANSWER = ModelReply("<think>hm</think>A well.", "stop", usage=Usage(20, 3))
BLOCK = ThinkingBlock("first", "anthropic", "sealed")


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
    reply = ModelReply("<think>hm</think>A well.", "stop", (BLOCK,))
    agent, _ = agent_on(ScriptedTransport([reply]))
    result = await agent.ainvoke("?", streaming=streaming).result()
    assert result.text == "A well."
    assert result.messages[-1].thinking == (BLOCK, ThinkingBlock("hm"))


@pytest.mark.asyncio
@pytest.mark.parametrize("streaming", [False, True])
async def test_thinking_that_the_prompt_had_opened_is_not_the_answer(streaming: bool) -> None:
    agent, _ = agent_on(ScriptedTransport([ModelReply("I look.</think>A well.", "stop")], cut=3))
    result = await agent.ainvoke("?", streaming=streaming).result()
    assert result.text == "A well."
    assert (agent.history[-1].text, agent.history[-1].thinking) == ("A well.", (ThinkingBlock("I look."),))


@pytest.mark.asyncio
async def test_a_stream_that_breaks_behind_opened_thinking_keeps_only_what_was_said() -> None:
    reply = ModelReply("I look.</think>A well and a house.", "stop")
    agent, _ = agent_on(FaultyTransport(ScriptedTransport([reply], cut=4), [Fault.RESET]))
    result = await agent.ainvoke("?").result()
    assert not result.ok
    assert result.text
    assert "A well and a house.".startswith(result.text)


@pytest.mark.asyncio
@pytest.mark.parametrize("streaming", [False, True])
async def test_thinking_in_tags_stays_though_a_block_comes_behind_it(script: "type[Scripted]", streaming: bool) -> None:
    pieces = [StreamPiece("<think>hm</think>A well."), StreamPiece(thinking="first"), StreamPiece(block=BLOCK)]
    whole = ModelReply("<think>hm</think>A well.", "stop", (BLOCK,))
    agent, _ = agent_on(script([pieces if streaming else whole]))
    result = await agent.ainvoke("?", streaming=streaming).result()
    assert (result.text, result.messages[-1].thinking) == ("A well.", (BLOCK, ThinkingBlock("hm")))


@pytest.mark.asyncio
@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    ("content", "said", "thought"),
    [
        ("<think></think>A well.", "A well.", ()),
        ("A </think>well.", "A well.", (BLOCK,)),  # the thinking came by another way, so the tag says nothing
    ],
)
async def test_tags_without_thinking_are_not_said(
    content: str, said: str, thought: tuple[ThinkingBlock, ...], streaming: bool
) -> None:
    agent, _ = agent_on(ScriptedTransport([ModelReply(content, "stop", thought)]))
    result = await agent.ainvoke("?", streaming=streaming).result()
    assert (result.text, result.messages[-1].thinking) == (said, thought)

from typing import TYPE_CHECKING, Any

import pytest
from tests.kits.some_tools import agent_with

from tickmind.llm.errors import (
    ErrorType,
    LLMConfigError,
    LLMConnectionError,
    LLMDeadlineError,
    LLMRateLimitError,
    LLMResponseError,
    StructuredOutputError,
)
from tickmind.llm.messages import ThinkingBlock, ToolCall
from tickmind.llm.transport import ModelReply, ModelRequest, Usage
from tickmind.tools import (
    AgentTimeouts,
    StopReason,
    ToolAgent,
    tool,
)

if TYPE_CHECKING:
    from tests.unit.tools.conftest import ScriptedTransport, Whole


@pytest.mark.asyncio
async def test_tools_are_used_until_the_model_answers(script: "type[ScriptedTransport]") -> None:
    transport = script([script.say("Let me see.", ("add", '{"a":1,"b":2}')), script.say("It is 3.")])
    agent = agent_with(transport, system="Count well.")
    result = await agent.invoke("1 + 2?")
    assert result.ok
    assert result.text == "It is 3."
    assert result.stopped is StopReason.NO_MORE_TOOLS
    assert result.steps == 2
    assert result.usage == Usage(20, 10)
    assert [(entry.step, entry.name, entry.ok, entry.result) for entry in result.tool_trace] == [(1, "add", True, "3")]
    assert result.to_dict()["ok"] is True
    second = transport.requests[1]
    assert [message.role for message in second.messages] == ["system", "user", "assistant", "tool"]
    assert second.messages[-1].text == "3"
    assert [spec.name for spec in second.tools] == ["add"]


@pytest.mark.asyncio
async def test_text_beside_tool_calls_is_kept(script: "type[ScriptedTransport]") -> None:
    transport = script([script.say("Let me see.", ("add", '{"a":1,"b":2}')), script.say("It is 3.")])
    agent = agent_with(transport)
    await agent.invoke("1 + 2?")
    assert [message.text for message in agent.history] == ["1 + 2?", "Let me see.", "3", "It is 3."]
    assert len(agent.history[1].tool_calls) == 1


@pytest.mark.asyncio
async def test_history_grows_with_turns_and_replies(script: "type[ScriptedTransport]") -> None:
    transport = script([script.say("one"), script.say("two")])
    agent = agent_with(transport, history=["before"])
    await agent.invoke("a")
    await agent.invoke("b")
    assert [message.text for message in transport.requests[1].messages] == ["before", "a", "one", "b"]
    assert [message.text for message in agent.history] == ["before", "a", "one", "b", "two"]
    agent.clear_history()
    assert agent.history == ()


@pytest.mark.asyncio
async def test_a_history_that_is_cleared_during_a_run_keeps_only_the_turns_of_that_run(
    script: "type[ScriptedTransport]",
) -> None:
    def clear_and_say(_request: ModelRequest) -> ModelReply:
        agent.clear_history()
        return script.say("two")

    agent = agent_with(script([script.say("one"), clear_and_say]), history=["before"])
    await agent.invoke("a")
    await agent.invoke("b")
    assert [message.text for message in agent.history] == ["b", "two"]


@pytest.mark.asyncio
async def test_a_turn_that_nobody_answered_leaves_no_trace(script: "type[ScriptedTransport]") -> None:
    transport = script([LLMConnectionError("no route"), script.say("yes")])
    agent = agent_with(transport)
    assert not (await agent.invoke("a")).ok
    assert not agent.history
    await agent.invoke("a")
    assert [message.text for message in agent.history] == ["a", "yes"]


@pytest.mark.asyncio
async def test_steps_that_were_done_before_a_failure_stay(script: "type[ScriptedTransport]") -> None:
    transport = script([script.say("hm", ("add", '{"a":1,"b":2}')), LLMResponseError("broken", status=500)])
    agent = agent_with(transport)
    result = await agent.invoke("a")
    assert (result.ok, result.stopped, result.text) == (False, StopReason.HTTP_ERROR, "hm")
    assert [message.role for message in agent.history] == ["user", "assistant", "tool"]


@pytest.mark.asyncio
async def test_thinking_goes_back_with_the_calls(script: "type[ScriptedTransport]") -> None:
    block = ThinkingBlock("add them", "anthropic", "sealed")
    first = ModelReply("", "tool_calls", (block,), (ToolCall("c1", "add", '{"a":1,"b":2}'),))
    for streaming in (False, True):
        transport = script([first, script.say("3")])
        await agent_with(transport).ainvoke("?", streaming=streaming).result()
        assert transport.requests[1].messages[1].thinking == (block,)


@pytest.mark.asyncio
@pytest.mark.parametrize("temperature", [None, 0.0, 0.7])
async def test_temperature_zero_is_a_temperature(script: "type[ScriptedTransport]", temperature: float | None) -> None:
    transport = script([script.say("x")])
    await agent_with(transport, temperature=temperature, max_output_tokens=9).invoke("?")
    assert transport.requests[0].temperature == temperature
    assert transport.requests[0].max_tokens == 9


def test_an_unknown_option_is_refused_and_never_sent(script: "type[ScriptedTransport]") -> None:
    with pytest.raises(LLMConfigError, match="unknown option 'temprature'"):
        agent_with(script([]), temprature=1)
    with pytest.raises(LLMConfigError, match="no model is named"):
        ToolAgent(script([]))
    with pytest.raises(LLMConfigError, match="max_steps must be 1"):
        agent_with(script([]), max_steps=0)
    with pytest.raises(LLMConfigError, match="tool_s must be over 0"):
        AgentTimeouts(tool_s=0)


@pytest.mark.asyncio
async def test_max_steps_is_kept(script: "type[ScriptedTransport]", well_formed: "Whole") -> None:
    transport = script([script.say(f"step {n}", ("add", '{"a":1,"b":2}')) for n in range(20)])
    agent = agent_with(transport, max_steps=3)
    result = await agent.invoke("?")
    assert result.stopped is StopReason.MAX_STEPS
    assert not result.ok
    assert len(transport.requests) == 3
    assert result.text == "step 0\n\nstep 1\n\nstep 2"
    assert well_formed(agent.history)


@pytest.mark.asyncio
async def test_at_the_limit_the_model_may_answer_once_more_without_tools(
    script: "type[ScriptedTransport]", well_formed: "Whole"
) -> None:
    call = ("add", '{"a":1,"b":2}')
    transport = script([script.say("", call), script.say("So it is 3.", call)])
    agent = agent_with(transport, max_steps=1, answer_at_limit=True)
    result = await agent.invoke("?")
    assert result.stopped is StopReason.MAX_STEPS
    assert result.text == "So it is 3."
    assert [request.tool_choice for request in transport.requests] == ["auto", "none"]
    assert well_formed(agent.history)


@pytest.mark.asyncio
@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("bad", ['{"a": 1, "b"', "{'a': 1}", '{"a": NaN, "b": 1}', "[1, 2]", '{"a": "x"}'])
async def test_invalid_arguments_go_back_to_the_model(
    script: "type[ScriptedTransport]", well_formed: "Whole", bad: str, streaming: bool
) -> None:
    transport = script([script.say("", ("add", bad)), script.say("", ("add", '{"a":1,"b":2}')), script.say("3")])
    result = await agent_with(transport).ainvoke("?", streaming=streaming).result()
    assert result.text == "3"
    told = transport.requests[1].messages[-1]
    assert told.role == "tool"
    assert "Call it again" in told.text
    assert [entry.ok for entry in result.tool_trace] == [False, True]
    assert result.tool_trace[0].args == bad
    assert well_formed(transport.requests[1].messages)


@pytest.mark.asyncio
@pytest.mark.parametrize("name", ["fly", "", "we ird/name", "x" * 100])
async def test_an_unknown_tool_goes_back_to_the_model(script: "type[ScriptedTransport]", name: str) -> None:
    transport = script([script.say("", (name, "{}")), script.say("sorry")])
    result = await agent_with(transport).invoke("?")
    assert result.text == "sorry"
    sent = transport.requests[1].messages
    assert "there are: add" in sent[-1].text
    assert all(c.isalnum() or c in "_-" for c in sent[-2].tool_calls[0].name)
    assert 0 < len(sent[-2].tool_calls[0].name) <= 64


@pytest.mark.asyncio
async def test_empty_and_repeated_call_ids_are_made_unique(
    script: "type[ScriptedTransport]", well_formed: "Whole"
) -> None:
    calls = [ToolCall("", "add", '{"a":1,"b":1}'), ToolCall("x", "add", '{"a":2,"b":2}'), ToolCall("x", "add", "{}")]
    transport = script([script.say("", *calls), script.say("", *calls), script.say("done")])
    agent = agent_with(transport)
    await agent.invoke("?")
    assert well_formed(agent.history)
    assert len({call.id for message in agent.history for call in message.tool_calls}) == 6


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("error", "stop", "kind", "details"),
    [
        (
            LLMRateLimitError("wait", retry_after_s=3.0),
            "rate_limited",
            "rate_limited",
            {"status": 429, "retry_after_s": 3.0},
        ),
        (LLMResponseError("broken", status=500), "http_error", "http_error", {"status": 500}),
        (LLMConnectionError("no route"), "http_error", "transport_error", {}),
        (LLMDeadlineError("late"), "deadline", "transport_error", {}),
        (LLMConfigError("no key"), "http_error", "request_error", {}),
        (StructuredOutputError("no object"), "parse_error", "parse_error", {}),
        (RuntimeError("a defect"), "http_error", "transport_error", {}),
    ],
)
async def test_failures_are_envelopes(
    script: "type[ScriptedTransport]", error: Exception, stop: str, kind: str, details: dict[str, Any]
) -> None:
    result = await agent_with(script([error])).invoke("?")
    assert not result.ok
    assert result.stopped == stop
    plain = result.to_dict()
    assert (plain["ok"], plain["type"], plain.get("details", {})) == (False, kind, details)


@pytest.mark.asyncio
async def test_a_failing_tool_goes_back_to_the_model_unless_it_shall_stop_the_run(
    script: "type[ScriptedTransport]",
    well_formed: "Whole",
) -> None:
    @tool
    def broken() -> None:
        raise ValueError("no luck")

    result = await agent_with(script([script.say("", ("broken", "{}")), script.say("alas")]), broken).invoke("?")
    assert (result.ok, result.text) == (True, "alas")
    stopping = agent_with(script([script.say("", ("broken", "{}"))]), broken, stop_on_tool_error=True)
    result = await stopping.invoke("?")
    assert (result.ok, result.stopped) == (False, StopReason.TOOL_ERROR)
    assert result.error is not None
    assert result.error.type is ErrorType.TOOL_ERROR
    assert well_formed(stopping.history)

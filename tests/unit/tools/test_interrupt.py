import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kits.some_tools import add

from tickmind.base import ConfigError
from tickmind.llm.errors import LLMConfigError
from tickmind.llm.message_codec import message_form, read_message
from tickmind.llm.messages import Audio, Image, Message, Text, ThinkingBlock, ToolCall
from tickmind.llm.transport import ModelReply, ModelRequest, Usage
from tickmind.tools import Interrupt, InterruptedRun, StopReason, Tool, ToolAgent, ToolContext, tool

if TYPE_CHECKING:
    from tests.unit.tools.conftest import ScriptedTransport, Whole


@tool
def ask_player(question: str) -> None:
    """Ask the player."""
    raise Interrupt(question, details={"urgent": True})


@tool
def burn(house: str, ctx: ToolContext) -> str:
    """Burn a house, if somebody agrees."""
    if ctx.answer is None:
        raise Interrupt(f"burn {house}?", rerun=True)
    return f"{house} burns" if ctx.answer == "yes" else "nothing happens"


def agent_with(transport: "ScriptedTransport", *tools: Tool, **options: Any) -> ToolAgent:
    return ToolAgent(transport, tools or (ask_player, burn, add), model="m", **options)


@pytest.mark.asyncio
async def test_a_question_stops_the_run_and_the_answer_is_the_tools_result(
    script: "type[ScriptedTransport]", well_formed: "Whole"
) -> None:
    transport = script(
        [script.say("Hm.", ("ask_player", '{"question":"where?"}'), ("add", '{"a":1,"b":2}')), script.say("North!")]
    )
    agent = agent_with(transport)
    stopped = await agent.invoke("go")
    assert stopped.ok
    assert stopped.stopped is StopReason.INTERRUPTED
    assert stopped.text == "Hm."
    assert stopped.state is not None
    assert [(asked.tool, asked.question, asked.details) for asked in stopped.state.questions] == [
        ("ask_player", "where?", {"urgent": True})
    ]
    assert not agent.history

    result = await agent.resume(stopped, "north")
    assert result.text == "North!"
    assert result.run_id == stopped.run_id
    assert result.steps == 2
    assert result.usage == Usage(20, 10)
    assert [message.text for message in agent.history] == ["go", "Hm.", "north", "3", "North!"]
    assert well_formed(agent.history)
    assert [(entry.name, entry.ok) for entry in result.tool_trace] == [("ask_player", True), ("add", True)]


@pytest.mark.asyncio
async def test_a_run_goes_on_in_another_process(script: "type[ScriptedTransport]", well_formed: "Whole") -> None:
    first = agent_with(script([script.say("", ("burn", '{"house":"mill"}'))]), history=["hello"])
    run = first.ainvoke("burn it")
    await run.result()
    assert run.state is not None
    kept = run.state.to_json()
    json.loads(kept)

    transport = script([script.say("Done.")])
    second = agent_with(transport)
    result = await second.resume(InterruptedRun.from_json(kept), "yes")
    assert result.text == "Done."
    assert [message.text for message in second.history] == ["hello", "burn it", "", "mill burns", "Done."]
    assert transport.requests[0].messages == second.history[:-1]
    assert well_formed(second.history)


@pytest.mark.asyncio
async def test_a_history_that_is_cleared_while_a_resumed_run_is_at_work_does_not_come_back(
    script: "type[ScriptedTransport]", well_formed: "Whole"
) -> None:
    def clear_and_say(_request: ModelRequest) -> ModelReply:
        agent.clear_history()
        return script.say("Done.")

    agent = agent_with(script([script.say("", ("burn", '{"house":"mill"}')), clear_and_say]), history=["hello"])
    await agent.resume(await agent.invoke("burn it"), "yes")
    assert [message.text for message in agent.history] == ["burn it", "", "mill burns", "Done."]
    assert well_formed(agent.history)


@pytest.mark.asyncio
async def test_several_questions_take_several_answers(script: "type[ScriptedTransport]") -> None:
    calls = [ToolCall("c1", "ask_player", '{"question":"a"}'), ToolCall("c2", "burn", '{"house":"barn"}')]
    agent = agent_with(script([script.say("", *calls), script.say("ok")]))
    stopped = await agent.invoke("?")
    with pytest.raises(LLMConfigError, match="2 tools asked"):
        await agent.resume(stopped, "x")
    with pytest.raises(LLMConfigError, match="an answer is missing for c2"):
        await agent.resume(stopped, answers={"c1": "x"})
    result = await agent.resume(stopped, answers={"c1": {"to": "north"}, "c2": "no"})
    assert [message.text for message in agent.history[2:4]] == ['{"to":"north"}', "nothing happens"]
    assert result.ok


@pytest.mark.asyncio
async def test_one_at_a_time_the_calls_after_a_question_wait_for_the_answer(script: "type[ScriptedTransport]") -> None:
    calls = [("add", '{"a":1,"b":1}'), ("ask_player", '{"question":"q"}'), ("add", '{"a":2,"b":2}')]
    agent = agent_with(script([script.say("", *calls), script.say("ok")]), parallel_tool_calls=False)
    stopped = await agent.invoke("?")
    assert [entry.result for entry in stopped.tool_trace] == ["2"]
    result = await agent.resume(stopped, "a")
    assert [entry.result for entry in result.tool_trace] == ["2", "a", "4"]


@pytest.mark.asyncio
async def test_the_agent_may_go_on_meanwhile(script: "type[ScriptedTransport]", well_formed: "Whole") -> None:
    transport = script([script.say("", ("ask_player", '{"question":"q"}')), script.say("meanwhile"), script.say("end")])
    agent = agent_with(transport)
    stopped = await agent.invoke("first")
    await agent.invoke("second")
    await agent.aresume(stopped, "a").result()
    assert [message.text for message in agent.history] == ["second", "meanwhile", "first", "", "a", "end"]
    assert well_formed(agent.history)


@pytest.mark.asyncio
async def test_only_a_question_can_be_resumed(script: "type[ScriptedTransport]") -> None:
    agent = agent_with(script([script.say("x")]))
    with pytest.raises(LLMConfigError, match="no tool's question stopped this run"):
        await agent.resume(await agent.invoke("?"), "a")


parts = st.one_of(
    st.builds(Text, st.text()),
    st.builds(Image, st.text(), st.sampled_from(["auto", "low", "high"])),
    st.builds(Audio, st.binary(), st.text()),
)
messages = st.builds(
    Message,
    st.sampled_from(["system", "user", "assistant", "tool"]),
    st.lists(parts, max_size=3).map(tuple),
    st.lists(st.builds(ToolCall, st.text(), st.text(), st.text()), max_size=2).map(tuple),
    st.text(),
    st.text(),
    st.lists(st.builds(ThinkingBlock, st.text(), st.text(), st.text(), st.text()), max_size=2).map(tuple),
)


@given(messages)
def test_messages_come_back_from_json_as_they_were(message: Message) -> None:
    assert read_message(json.loads(json.dumps(message_form(message)))) == message


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"version": 9}', '{"version": 1, "run_id": 1}', "null", '{"version": 1, "history": 3}']
)
def test_what_is_no_state_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="state"):
        InterruptedRun.from_json(text)

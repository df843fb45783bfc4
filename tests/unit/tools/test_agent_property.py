import asyncio
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.long import short_or_long

from tickmind.llm.errors import (
    LLMConnectionError,
    LLMRateLimitError,
    LLMResponseError,
)
from tickmind.llm.messages import ToolCall
from tickmind.llm.transport import ModelReply
from tickmind.tools import (
    AgentResult,
    Interrupt,
    InterruptedRun,
    StopReason,
    Tool,
    ToolAgent,
    tool,
)

if TYPE_CHECKING:
    from tests.unit.tools.conftest import ScriptedTransport, Whole


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def agent_with(transport: "ScriptedTransport", *tools: Tool, **options: Any) -> ToolAgent:
    return ToolAgent(transport, tools or (add,), model="m", **options)


names = st.sampled_from(["add", "hang", "fail", "ask", "nobody", ""])
arguments = st.sampled_from(['{"a":1,"b":2}', "{}", "{", "[]", "", "null", '"{}"', '{"a":"x"}'])
tool_calls = st.builds(ToolCall, st.sampled_from(["", "x", "y", "call00000"]), names, arguments)
replies = st.builds(
    lambda text, calls: ModelReply(text, "tool_calls" if calls else "stop", tool_calls=tuple(calls)),
    st.sampled_from(["", "hm", '{"name": "add", "arguments": {"a": 1, "b": 2}}', "<tool_call>", "```json\n{}\n```"]),
    st.lists(tool_calls, max_size=4),
)
errors = st.sampled_from([LLMConnectionError("gone"), LLMRateLimitError("wait"), LLMResponseError("bad", status=500)])


@settings(max_examples=short_or_long(30, 60))
@given(
    steps=st.lists(st.one_of(replies, errors), max_size=8),
    max_steps=st.integers(1, 5),
    parallel=st.booleans(),
    streaming=st.booleans(),
    at_limit=st.booleans(),
    cancel_after=st.none() | st.integers(0, 30),
)
def test_any_script_ends_and_leaves_a_whole_history(
    *,
    script: "type[ScriptedTransport]",
    well_formed: "Whole",
    steps: list[ModelReply | Exception],
    max_steps: int,
    parallel: bool,
    streaming: bool,
    at_limit: bool,
    cancel_after: int | None,
) -> None:
    @tool(timeout_s=0.005)
    async def hang() -> None:
        await asyncio.Event().wait()

    @tool
    async def fail() -> None:
        raise ValueError("no")

    @tool
    async def ask() -> None:
        raise Interrupt("well?")

    async def scenario() -> tuple[AgentResult, ToolAgent]:
        transport = script([*steps, *[LLMConnectionError("the end")] * 20])
        agent = agent_with(
            transport,
            add,
            hang,
            fail,
            ask,
            max_steps=max_steps,
            parallel_tool_calls=parallel,
            answer_at_limit=at_limit,
        )
        run = agent.ainvoke("go", streaming=streaming)
        if cancel_after is not None:
            for _ in range(cancel_after):
                await asyncio.sleep(0)
            run.cancel()
        result = await run.result()
        for _ in range(3):
            if result.stopped is not StopReason.INTERRUPTED or result.state is None:
                break
            assert not agent.history
            state = InterruptedRun.from_json(result.state.to_json())
            assert state == result.state
            answers = {question.call_id: "yes" for question in state.questions}
            result = await agent.resume(state, answers=answers)
        assert len(asyncio.all_tasks()) == 1
        assert result.steps <= max_steps
        assert len(transport.requests) <= max_steps + at_limit
        return result, agent

    result, agent = asyncio.run(scenario())
    assert result.ok == (result.error is None)
    assert result.error is None or "ValueError" not in result.error.message
    assert well_formed(agent.history)
    assert result.stopped is StopReason.INTERRUPTED or well_formed(result.messages)

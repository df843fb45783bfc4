import asyncio
import json
import threading
import time
from typing import TYPE_CHECKING

import pytest
from tests.kits.some_tools import add, agent_with

from tickmind.base import Limit, LimitExceededError, Secret
from tickmind.llm.errors import (
    LLMResponseError,
)
from tickmind.llm.messages import Message, ToolCall
from tickmind.tools import (
    AgentTimeouts,
    StopReason,
    ToolAgent,
    ToolContext,
    ToolFinished,
    ToolRegistry,
    tool,
)
from tickmind.tools.agent import trimmed

if TYPE_CHECKING:
    from tests.conftest import LoopClock
    from tests.unit.tools.conftest import ScriptedTransport, Whole


@pytest.mark.asyncio
async def test_a_hundred_parallel_calls_finish_in_call_order(script: "type[ScriptedTransport]") -> None:
    at_once = 0
    most = 0
    lock = threading.Lock()
    together = threading.Barrier(2)

    @tool
    def slow(n: int) -> int:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        if n < 2:
            together.wait(60)
        time.sleep(0.001 * (n % 3))
        with lock:
            at_once -= 1
        return n

    calls = [("slow", json.dumps({"n": n})) for n in range(100)]
    transport = script([script.say("", *calls), script.say("done")])
    result = await agent_with(transport, slow, max_parallel=10).invoke("?")
    assert result.text == "done"
    assert [message.text for message in transport.requests[1].messages[2:]] == [str(n) for n in range(100)]
    assert [entry.result for entry in result.tool_trace] == [str(n) for n in range(100)]
    assert 1 < most <= 10


@pytest.mark.asyncio
async def test_calls_run_one_at_a_time_where_parallel_is_off(script: "type[ScriptedTransport]") -> None:
    order: list[str] = []

    @tool
    async def step(n: int) -> None:
        order.append(f"{n} in")
        await asyncio.sleep(0)
        order.append(f"{n} out")

    transport = script([script.say("", *(("step", json.dumps({"n": n})) for n in range(3))), script.say("done")])
    await agent_with(transport, step, parallel_tool_calls=False).invoke("?")
    assert order == ["0 in", "0 out", "1 in", "1 out", "2 in", "2 out"]
    assert transport.requests[0].parallel_tool_calls is False


@pytest.mark.asyncio
async def test_a_flood_of_calls_is_cut_and_stays_well_formed(
    script: "type[ScriptedTransport]", well_formed: "Whole"
) -> None:
    calls = [("add", '{"a":1,"b":2}')] * 50
    agent = agent_with(script([script.say("", *calls), script.say("x")]), max_calls_per_step=Limit("calls", 5))
    result = await agent.invoke("?")
    assert len(result.tool_trace) == 5
    assert well_formed(agent.history)
    assert "45 more calls were not run" in agent.history[-2].text


@pytest.mark.asyncio
async def test_each_call_knows_its_own_agent(script: "type[ScriptedTransport]") -> None:
    @tool
    def who(ctx: ToolContext) -> str:
        time.sleep(0.001)
        return f"{ctx.agent_id} {ctx.step} {ctx.call_id}"

    async def one(name: str) -> list[str]:
        transport = script([script.say("", *[("who", "{}")] * 10), script.say("ok")])
        agent = ToolAgent(transport, [who], model="m", agent_id=name)
        return [entry.result for entry in (await agent.invoke("?")).tool_trace]

    names = [f"agent {n}" for n in range(10)]
    seen = await asyncio.gather(*(one(name) for name in names))
    assert all(result.startswith(f"{name} 1 ") for name, results in zip(names, seen, strict=True) for result in results)


@pytest.mark.asyncio
async def test_the_tools_timeout_is_kept_and_told(script: "type[ScriptedTransport]", loop_clock: "LoopClock") -> None:
    @tool
    async def hang() -> None:
        await asyncio.Event().wait()

    transport = script([script.say("", ("hang", "{}"), ("add", '{"a":1,"b":2}')), script.say("ok")])
    run = agent_with(transport, hang, add, timeouts=AgentTimeouts(tool_s=70)).ainvoke("?")
    async for event in run.events():
        if isinstance(event, ToolFinished) and event.name == "add":
            loop_clock.skip(70)
    result = await run.result()
    assert [entry.ok for entry in result.tool_trace] == [False, True]
    assert "did not finish within 70 s" in transport.requests[1].messages[-2].text
    assert result.abandoned == 0


@pytest.mark.asyncio
async def test_the_runs_deadline_ends_tools_and_requests(
    script: "type[ScriptedTransport]", well_formed: "Whole", loop_clock: "LoopClock"
) -> None:
    @tool
    async def hang() -> None:
        loop_clock.skip(20)
        await asyncio.Event().wait()

    timeouts = AgentTimeouts(run_s=20)
    agent = agent_with(script([script.say("", ("hang", "{}"))]), hang, timeouts=timeouts)
    result = await agent.invoke("?")
    assert (result.ok, result.stopped) == (False, StopReason.DEADLINE)
    assert well_formed(agent.history)
    assert len(agent.history) == 3


@pytest.mark.asyncio
async def test_a_transport_without_a_deadline_of_its_own_is_stopped(script: "type[ScriptedTransport]") -> None:
    transport = script([])
    result = await agent_with(transport, timeouts=AgentTimeouts(request_s=0.01)).invoke("?")
    assert result.stopped is StopReason.DEADLINE
    assert transport.cancelled == 1


@pytest.mark.asyncio
async def test_cancelling_who_waits_on_invoke_cancels_the_run(script: "type[ScriptedTransport]") -> None:
    transport = script([])
    task = asyncio.create_task(agent_with(transport).invoke("?"))
    for _ in range(10):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert transport.cancelled == 1
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.asyncio
async def test_runs_of_one_agent_take_turns(script: "type[ScriptedTransport]") -> None:
    transport = script([script.say(f"reply {n}") for n in range(3)])
    agent = agent_with(transport, max_runs=Limit("runs", 3))
    runs = [agent.ainvoke(f"turn {n}") for n in range(3)]
    with pytest.raises(LimitExceededError):
        agent.ainvoke("one too many")
    for run in runs:
        await run.result()
    assert [m.text for m in agent.history] == ["turn 0", "reply 0", "turn 1", "reply 1", "turn 2", "reply 2"]
    assert agent.statistics().runs == 0


@pytest.mark.asyncio
async def test_a_registry_is_read_anew_for_each_run(script: "type[ScriptedTransport]") -> None:
    registry = ToolRegistry()
    transport = script([script.say("a"), script.say("b")])
    agent = ToolAgent(transport, registry, model="m")
    await agent.invoke("?")
    registry.register(add)
    await agent.invoke("?")
    assert [len(request.tools) for request in transport.requests] == [0, 1]


@pytest.mark.asyncio
async def test_a_caller_that_knows_its_model_need_not_be_told(script: "type[ScriptedTransport]") -> None:
    class Knowing(script):  # type: ignore[valid-type, misc]  # a fixture's class
        default_model = "known"

    transport = Knowing([script.say("x")])
    await ToolAgent(transport).invoke("?")
    assert transport.requests[0].model == "known"


@pytest.mark.asyncio
async def test_a_key_is_found_in_no_result_trace_or_error(script: "type[ScriptedTransport]") -> None:
    key = Secret("canary-key-98765").reveal()

    @tool
    def leak() -> None:
        raise ValueError(f"refused: {key}")

    transport = script([script.say("", ("leak", "{}")), LLMResponseError(f"bad key {key}", status=401)])
    result = await agent_with(transport, leak).invoke("?")
    assert key not in repr(result)
    assert key not in json.dumps(result.to_dict())


def test_history_is_cut_where_somebody_speaks() -> None:
    call = ToolCall("c", "add", "{}")
    turn = [Message.user("?"), Message.assistant(tool_calls=[call]), Message.tool(call, "1"), Message.assistant("1")]
    assert trimmed(turn * 3, Limit("m", 20)) == tuple(turn * 3)
    assert trimmed(turn * 3, Limit("m", 7)) == tuple(turn)
    assert trimmed(turn * 3, Limit("m", 1)) == tuple(turn)

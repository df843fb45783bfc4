import asyncio
import json
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from tickmind.base import Limit
from tickmind.llm.messages import ToolCall
from tickmind.llm.testing import Fault, FaultyTransport
from tickmind.llm.transport import StreamPiece, ToolCallDelta
from tickmind.tools import (
    AgentEvent,
    AgentRun,
    RunFinished,
    RunStarted,
    StopReason,
    TextDelta,
    ThinkingDelta,
    Tool,
    ToolAgent,
    ToolFinished,
    ToolStarted,
    tool,
)
from tickmind.tools.events import EventLog

if TYPE_CHECKING:
    from tests.conftest import LoopClock
    from tests.unit.tools.conftest import ScriptedTransport, Whole


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def agent_with(transport: "ScriptedTransport | FaultyTransport", *tools: Tool, **options: Any) -> ToolAgent:
    return ToolAgent(transport, tools or (add,), model="m", **options)


def kinds(events: list[AgentEvent]) -> list[str]:
    return [event.kind for event in events]


@pytest.mark.asyncio
async def test_streaming_with_tools_goes_on_in_every_step(script: "type[ScriptedTransport]") -> None:
    transport = script(
        [
            script.say("First, ", ("add", '{"a":1,"b":2}')),
            script.say("then ", ("add", '{"a":3,"b":4}')),
            script.say("done."),
        ]
    )
    said: list[str] = []
    used: list[str] = []
    async with agent_with(transport).stream("?") as stream:
        async for event in stream:
            if isinstance(event, TextDelta):
                said.append(event.text)
            elif isinstance(event, ToolFinished):
                used.append(event.result)
        result = await stream.result()
    assert "".join(said) == "First, then done."
    assert len(said) > 5
    assert used == ["3", "7"]
    assert result.text == "done."
    assert transport.streamed == [True, True, True]
    assert all(request.tools for request in transport.requests)
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.asyncio
async def test_a_stream_that_is_not_read_still_has_a_result(script: "type[ScriptedTransport]") -> None:
    text = "x" * 9_000
    async with agent_with(script([script.say(text)])).stream("?") as stream:
        async for _ in stream:
            break
        assert (await stream.result()).text == text


@pytest.mark.asyncio
async def test_a_slow_reader_of_a_stream_misses_nothing(script: "type[ScriptedTransport]") -> None:
    text = "".join(str(n % 10) for n in range(3_000))
    transport = script([script.say(text)], cut=1)
    said: list[str] = []
    async with agent_with(transport, max_events=Limit("events", 16)).stream("?") as stream:
        async for part in stream.text():
            said.append(part)
            for _ in range(3):
                await asyncio.sleep(0)
    assert "".join(said) == text


@pytest.mark.asyncio
async def test_leaving_a_stream_early_cancels_the_run(script: "type[ScriptedTransport]") -> None:
    transport = script([script.say("a" * 1_000)])
    agent = agent_with(transport)
    async with agent.stream("?") as stream:
        async for _ in stream:
            break
    assert (await stream.result()).stopped is StopReason.CANCELLED
    assert len(asyncio.all_tasks()) == 1
    assert not agent.history


@pytest.mark.asyncio
async def test_a_stream_must_be_entered(script: "type[ScriptedTransport]") -> None:
    with pytest.raises(RuntimeError, match="enter the stream first"):
        _ = agent_with(script([])).stream("?").run


@pytest.mark.asyncio
async def test_thinking_and_text_come_apart(script: "type[ScriptedTransport]") -> None:
    pieces = [StreamPiece(thinking="hm"), StreamPiece(content="hi"), StreamPiece(thinking="more", content=" there")]
    run = agent_with(script([pieces])).ainvoke("?")
    events = [event async for event in run.events()]
    assert [event.text for event in events if isinstance(event, ThinkingDelta)] == ["hm", "more"]
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["hi", " there"]
    assert (await run.result()).text == "hi there"


@pytest.mark.asyncio
async def test_calls_whose_pieces_are_mixed_are_put_together(script: "type[ScriptedTransport]") -> None:
    def delta(index: int, **fields: str) -> StreamPiece:
        return StreamPiece(tool_calls=(ToolCallDelta(index, **fields),))

    pieces = [
        delta(1, id="b", name="add"),
        delta(0, id="a", name="add", arguments='{"a":1,'),
        delta(1, arguments='{"a":3,"b":'),
        delta(0, arguments='"b":2}'),
        delta(1, arguments="4}"),
    ]
    transport = script([pieces, script.say("ok")])
    result = await agent_with(transport).ainvoke("?").result()
    assert [(entry.call_id, entry.result) for entry in result.tool_trace] == [("a", "3"), ("b", "7")]


@pytest.mark.asyncio
async def test_a_stream_that_breaks_keeps_what_was_said(script: "type[ScriptedTransport]") -> None:
    transport = FaultyTransport(script([script.say("half a loaf")]), [Fault.RESET])
    result = await agent_with(transport).ainvoke("?").result()
    assert not result.ok
    assert result.text
    assert "half a loaf".startswith(result.text)


@pytest.mark.asyncio
async def test_every_listener_hears_everything_also_late_ones(script: "type[ScriptedTransport]") -> None:
    run = agent_with(script([script.say("Hm.", ("add", '{"a":1,"b":2}')), script.say("3")])).ainvoke("?")

    async def listen() -> list[AgentEvent]:
        return [event async for event in run.events()]

    first, second = await asyncio.gather(listen(), listen())
    late = await listen()
    assert first == second == late
    assert kinds(first) == [
        "started",
        "request_started",
        "delta",
        "request_finished",
        "tool_call",
        "tool_result",
        "request_started",
        "delta",
        "request_finished",
        "finished",
    ]
    assert isinstance(first[0], RunStarted)
    assert isinstance(first[-1], RunFinished)
    assert first[-1].result == await run.result()
    assert json.loads(json.dumps([event.to_dict() for event in first]))[-1]["result"]["ok"] is True


@pytest.mark.asyncio
async def test_kept_events_are_bounded_and_a_listener_knows_what_it_missed() -> None:
    log: EventLog[int] = EventLog(Limit("events", 3))
    reader = log.reader()
    for number in range(10):
        log.add_nowait(number)
    log.close()
    log.add_nowait(99)
    assert [number async for number in reader] == [7, 8, 9]
    assert reader.missed == 7


async def cancelled_with_work_s(
    transport: "ScriptedTransport", gate: threading.Event, loop_clock: "LoopClock", *, blocking: bool
) -> tuple[float, ToolAgent, AgentRun]:
    """Cancel a run in which a hundred tools hang, while nothing can be waited for, and tell how much work that was."""
    all_begun = asyncio.Event()
    loop = asyncio.get_running_loop()
    begun: set[int] = set()

    def begin(n: int) -> None:
        begun.add(n)
        if len(begun) == 100:
            all_begun.set()

    async def hang_async(n: int) -> None:
        begin(n)
        await asyncio.Event().wait()

    def hang_blocking(n: int) -> None:
        loop.call_soon_threadsafe(begin, n)
        gate.wait(300)

    hang = Tool.from_function(hang_blocking if blocking else hang_async, name="hang")
    agent = agent_with(transport, hang, max_parallel=100)
    run = agent.ainvoke("?", streaming=False)
    await asyncio.wait_for(all_begun.wait(), 60)
    with loop_clock.stopped():
        asked_s = time.thread_time()
        assert run.cancel()
        await run.result()
        return time.thread_time() - asked_s, agent, run


@pytest.mark.asyncio
@pytest.mark.timeout(300)
@pytest.mark.parametrize("blocking", [True, False])
async def test_cancel_waits_for_nothing_and_works_a_tenth_of_a_second_with_a_hundred_hanging_tools(
    script: "type[ScriptedTransport]", well_formed: "Whole", loop_clock: "LoopClock", blocking: bool
) -> None:
    gate = threading.Event()
    reply = script.say("Wait.", *(("hang", json.dumps({"n": n})) for n in range(100)))
    least_s = 1.0
    try:
        for _ in range(5):  # a collection of garbage may fall into it
            work_s, agent, run = await cancelled_with_work_s(script([reply]), gate, loop_clock, blocking=blocking)
            result = await run.result()
            assert (result.ok, result.stopped, result.text) == (False, StopReason.CANCELLED, "Wait.")
            assert len(asyncio.all_tasks()) == 1
            assert result.abandoned == (100 if blocking else 0)
            assert agent.statistics().abandoned == (100 if blocking else 0)
            assert well_formed(agent.history)
            assert len(agent.history) == 102
            assert "cancelled" in agent.history[-1].text
            assert not run.cancel()
            least_s = min(least_s, work_s)
            if least_s < 0.1:
                break
    finally:
        gate.set()
    assert least_s < 0.1


@pytest.mark.asyncio
async def test_what_had_ended_before_a_cancellation_stays_in_the_history(script: "type[ScriptedTransport]") -> None:
    @tool
    async def hang() -> None:
        await asyncio.Event().wait()

    agent = agent_with(script([script.say("", ("hang", "{}"), ("add", '{"a":1,"b":2}'))]), hang, add)
    run = agent.ainvoke("?")
    async for event in run.events():
        if isinstance(event, ToolFinished):
            run.cancel()
    await run.result()
    assert [message.text[:12] for message in agent.history[-2:]] == ['{"ok":false,', "3"]


@pytest.mark.asyncio
async def test_cancelling_before_the_start_or_while_waiting_gives_a_result(script: "type[ScriptedTransport]") -> None:
    transport = script([])
    agent = agent_with(transport)
    first, second, third = (agent.ainvoke("?") for _ in range(3))
    third.cancel()
    for _ in range(10):
        await asyncio.sleep(0)
    second.cancel()
    assert (await second.result()).stopped is StopReason.CANCELLED
    assert (await third.result()).stopped is StopReason.CANCELLED
    assert [kind.kind async for kind in second.events()] == ["started", "finished"]
    await agent.aclose()
    assert (await first.result()).stopped is StopReason.CANCELLED
    assert len(transport.requests) == 1
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.asyncio
async def test_a_transport_that_ignores_its_cancellation_holds_up_nobody(script: "type[ScriptedTransport]") -> None:
    release = asyncio.Event()

    class Stubborn(script):  # type: ignore[misc, valid-type]  # a fixture's class
        async def complete(self, request: Any, *, timeout_s: float) -> Any:
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue
            return script.say("late")

    run = agent_with(Stubborn([])).ainvoke("?", streaming=False)
    for _ in range(5):
        await asyncio.sleep(0)
    assert run.cancel()
    await asyncio.sleep(0)
    assert run.cancel()
    async with asyncio.timeout(30):
        result = await run.result()
    assert result.abandoned == 1
    release.set()


@pytest.mark.asyncio
async def test_cancelling_one_who_waits_leaves_the_run_alone(script: "type[ScriptedTransport]") -> None:
    run = agent_with(script([script.say("a" * 100)])).ainvoke("?")
    waiter = asyncio.create_task(run.result())
    await asyncio.sleep(0)
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    assert (await run.result()).ok


@pytest.mark.asyncio
async def test_a_failing_listener_breaks_no_run(
    script: "type[ScriptedTransport]", caplog: pytest.LogCaptureFixture
) -> None:
    def fail(event: AgentEvent) -> None:
        raise ValueError("listener")

    agent = agent_with(script([script.say("x")]), on_event=fail)
    assert (await agent.invoke("?")).ok
    assert "a listener failed" in caplog.text


def test_a_program_ends_though_a_tool_hangs(script: "type[ScriptedTransport]") -> None:
    gate = threading.Event()
    hang = Tool.from_function(lambda: gate.wait(300), name="hang")

    async def main() -> StopReason:
        run = agent_with(script([script.say("", ToolCall("c", "hang", "{}"))]), hang).ainvoke("?")
        async for event in run.events():
            if isinstance(event, ToolStarted):
                break
        run.cancel()
        return (await run.result()).stopped

    begun_s = time.monotonic()
    assert asyncio.run(main()) is StopReason.CANCELLED
    assert time.monotonic() - begun_s < 60
    gate.set()


@pytest.mark.asyncio
async def test_a_stream_is_read_to_its_end_however_few_events_are_kept(script: "type[ScriptedTransport]") -> None:
    agent = agent_with(script([script.say("one two three")]), max_events=Limit("events", 1))
    async with asyncio.timeout(30), agent.stream("?") as stream:
        said = "".join([text async for text in stream.text()])
    assert said == "one two three"

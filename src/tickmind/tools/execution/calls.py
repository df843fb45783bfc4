"""`CallRunner`: runs the tool calls of one reply side by side and answers each exactly once."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tickmind.base import Clock
from tickmind.llm.errors import ErrorType, ToolError
from tickmind.llm.messages import Message, ToolCall
from tickmind.tools.context import Interrupt, ToolContext
from tickmind.tools.definition.callable_tool import Tool
from tickmind.tools.envelope import Failed, ToolResult
from tickmind.tools.execution.deadline import RunDeadline
from tickmind.tools.jsontext import decode_arguments
from tickmind.tools.plain import json_text
from tickmind.tools.threads import GRACE_S, StuckWork

_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_NAMES_TOLD = 20


@dataclass(frozen=True, slots=True)
class ReadyCall:
    """A call as it stands in the history, its tool, and what the model really wrote."""

    call: ToolCall
    tool: Tool | None
    written: str
    problem: Failed | None = None
    recovered: bool = False


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The end of a call: a result or a question."""

    ready: ReadyCall
    result: ToolResult | None
    question: Interrupt | None
    duration_s: float


def used_ids(messages: Iterable[Message]) -> set[str]:
    """Return the ids of all calls in a conversation."""
    return {call.id for message in messages for call in message.tool_calls}


def make_ready(
    calls: Sequence[ToolCall], tools: Mapping[str, Tool], taken: set[str], *, recovered: bool = False
) -> list[ReadyCall]:
    """Give each call an id of its own, and a form that every endpoint accepts in a history.

    Endpoints refuse a history with empty or repeated ids, odd names, or arguments that are not JSON; what the model
    really wrote goes back to it in the error.
    """
    ready = []
    for call in calls:
        call_id = call.id if call.id and call.id not in taken else _fresh_id(taken)
        taken.add(call_id)
        problem: Failed | None = None
        arguments = call.arguments
        tool = tools.get(call.name)
        try:
            decoded = decode_arguments(arguments, call.name)
            if not arguments.lstrip().startswith("{"):  # none, null, or encoded twice
                arguments = json_text(decoded)
        except ToolError as error:
            problem = Failed(ErrorType.PARSE_ERROR, str(error), {"name": call.name})
            arguments = "{}"
        if tool is None:
            known = ", ".join(list(tools)[:_NAMES_TOLD]) or "none"
            words = f"there is no tool {call.name[:64]!r}; there are: {known}"
            problem = Failed(ErrorType.TOOL_ERROR, words, {"name": call.name[:64]})
        name = _NOT_IN_A_NAME.sub("_", call.name)[:64] or "unknown"
        ready.append(ReadyCall(ToolCall(call_id, name, arguments), tool, call.arguments, problem, recovered))
    return ready


def _fresh_id(taken: set[str]) -> str:
    number = len(taken)
    while (made := f"call{number:05d}") in taken:  # nine letters and digits: the strictest endpoint requires that
        number += 1
    return made


class CallRunner:
    """Run the calls of one step, so many at once, and keep what has ended when it is cancelled."""

    def __init__(
        self,
        *,
        max_parallel: int,
        tool_timeout_s: float,
        deadline: RunDeadline,
        ledger: StuckWork,
        clock: Clock,
        started: Callable[[ReadyCall], Awaitable[None]],
        ended: Callable[[CallOutcome], Awaitable[None]],
    ) -> None:
        self._max_parallel = max_parallel
        self._tool_timeout_s = tool_timeout_s
        self._deadline = deadline
        self._ledger = ledger
        self._clock = clock
        self._started = started
        self._ended = ended
        self.outcomes: dict[str, CallOutcome] = {}  # call id -> its outcome

    async def run(self, calls: Sequence[ReadyCall], contexts: Mapping[str, ToolContext]) -> None:
        """Run the calls; finished ones stand in `outcomes`, also after a cancellation.

        One at a time, the calls after a question are left undone: they may depend on the answer.
        """
        if self._max_parallel == 1 or len(calls) < 2:
            for ready in calls:
                await self._one(ready, contexts[ready.call.id])
                if self.outcomes[ready.call.id].question is not None:
                    return
            return
        gate = asyncio.Semaphore(self._max_parallel)

        async def gated(ready: ReadyCall) -> None:
            async with gate:
                await self._one(ready, contexts[ready.call.id])

        tasks = [asyncio.create_task(gated(ready)) for ready in calls]
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=2 * GRACE_S)
            raise
        for task in tasks:
            task.result()

    async def _one(self, ready: ReadyCall, context: ToolContext) -> None:
        await self._started(ready)
        begun_s = self._clock.monotonic()
        result: ToolResult | None = ready.problem
        question: Interrupt | None = None
        if result is None and ready.tool is not None:
            own_s = ready.tool.timeout_s
            timeout_s = self._deadline.allow(self._tool_timeout_s if own_s is None else own_s)
            if timeout_s <= 0:
                result = Failed(ErrorType.TOOL_ERROR, "the time of this run is used up; the tool was not called")
            else:
                try:
                    result = await ready.tool.execute(
                        ready.call.arguments, context, timeout_s=timeout_s, ledger=self._ledger
                    )
                except Interrupt as raised:
                    question = raised
        outcome = CallOutcome(ready, result, question, self._clock.monotonic() - begun_s)
        self.outcomes[ready.call.id] = outcome
        await self._ended(outcome)


def contexts_for(
    calls: Iterable[ReadyCall], *, agent_id: str, run_id: str, step: int, answers: Mapping[str, Any], deps: Any
) -> dict[str, ToolContext]:
    """Return one context for each call."""
    return {
        ready.call.id: ToolContext(
            agent_id, run_id, step, ready.call.id, ready.call.name, answers.get(ready.call.id), deps
        )
        for ready in calls
    }

"""`AgentRun`: a handle on a run that goes on by itself. `AgentStream`: a run as a stream."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Generic

from tickmind.tools.envelope import AgentResult
from tickmind.tools.events import (
    AgentEvent,
    EventLog,
    EventReader,
    QuestionAsked,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolStarted,
)
from tickmind.tools.state import InterruptedRun
from tickmind.tools.typevars import OutputT


class AgentRun(Generic[OutputT]):
    """A handle on one run of an agent: watch it, cancel it, wait for its result."""

    def __init__(self, agent_id: str, run_id: str, log: EventLog[AgentEvent]) -> None:
        self.agent_id = agent_id
        self.run_id = run_id
        self._log = log
        self._task: asyncio.Task[AgentResult[OutputT]] | None = None
        self._cancelled = False
        self._result: asyncio.Future[AgentResult[OutputT]] = asyncio.get_running_loop().create_future()

    def __repr__(self) -> str:
        return f"AgentRun({self.run_id!r}, {'done' if self.done else 'running'})"

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self._result.done()

    @property
    def state(self) -> InterruptedRun | None:
        """The state to resume from, if a tool asked a question."""
        return self._result.result().state if self._result.done() else None

    def events(self) -> EventReader[AgentEvent]:
        """Return a reader of all events, from the oldest that is kept; any number of listeners, at any time."""
        return self._log.reader()

    def cancel(self) -> bool:
        """Stop the run: its result comes within a tenth of a second. Return False if it has ended already."""
        if self._task is None or self._task.done():
            return False
        if not self._cancelled:  # a second cancellation would disturb the first
            self._cancelled = self._task.cancel()
        return True

    async def result(self) -> AgentResult[OutputT]:
        """Wait for the end. Cancelling a waiter does not cancel the run."""
        return await asyncio.shield(self._result)

    def attach(
        self,
        task: "asyncio.Task[AgentResult[OutputT]]",
        end: Callable[["asyncio.Task[AgentResult[OutputT]]"], AgentResult[OutputT]],
    ) -> None:
        """Bind the task that does the work; `end` makes its result, once, when no task is left."""
        self._task = task

        def settle(done: "asyncio.Task[AgentResult[OutputT]]") -> None:
            result = end(done)
            self._log.close()
            self._result.set_result(result)

        task.add_done_callback(settle)


class AgentStream(Generic[OutputT]):
    """A run to read as it goes: `async with agent.stream(...) as stream: async for event in stream: ...`.

    A slow reader slows the run down and misses nothing; after its loop ends, or with `result()`, the run no longer
    waits for a reader. Leaving the block cancels an unfinished run.
    """

    def __init__(self, start: Callable[[], AgentRun[OutputT]]) -> None:
        self._start = start
        self._run: AgentRun[OutputT] | None = None
        self._reader: EventReader[AgentEvent] | None = None

    @property
    def run(self) -> AgentRun[OutputT]:
        """The run behind it, within the block."""
        if self._run is None:
            raise RuntimeError("enter the stream first: async with agent.stream(...) as stream")
        return self._run

    async def __aenter__(self) -> "AgentStream[OutputT]":
        self._run = self._start()
        self._reader = self._run._log.reader(paced=True)  # noqa: SLF001 - both classes are one unit
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._release()
        self.run.cancel()
        await self.run.result()

    def __aiter__(self) -> AsyncIterator[StreamEvent]:
        return self._events()

    async def _events(self) -> AsyncIterator[StreamEvent]:
        run = self.run
        if self._reader is None:
            raise RuntimeError("enter the stream first: async with agent.stream(...) as stream")
        run._log.pace(self._reader)  # noqa: SLF001 - both classes are one unit
        try:
            async for event in self._reader:
                if isinstance(event, (TextDelta, ThinkingDelta, ToolStarted, ToolFinished, QuestionAsked)):
                    yield event
        finally:  # a loop that was left no longer reads, so the run must not wait for it
            self._release()
        await run.result()

    async def text(self) -> AsyncIterator[str]:
        """Yield only the model's text."""
        async for event in self._events():
            if isinstance(event, TextDelta):
                yield event.text

    async def result(self) -> AgentResult[OutputT]:
        """Return the result, whether or not the stream is read to its end."""
        self._release()
        return await self.run.result()

    def _release(self) -> None:
        if self._reader is not None:
            self.run._log.release(self._reader)  # noqa: SLF001 - both classes are one unit

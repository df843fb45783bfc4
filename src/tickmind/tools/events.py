"""The events of a run, and `EventLog`, which delivers them to any number of listeners."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Generic, TypeVar

from tickmind.base import Limit, mask_known, redact_fields
from tickmind.llm.transport import Usage
from tickmind.tools.envelope import AgentResult

MAX_EVENTS_KEPT = Limit("number of events kept", 1024)

_SMALLEST_RING = 2  # the event that a paced reader reads next, and the last one, which does not wait

E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class AgentEvent:
    """An event of a run; `kind` names it in one word for a log or a page."""

    kind: ClassVar[str] = "event"

    agent_id: str
    run_id: str
    step: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain data without secrets."""
        return redact_fields({"kind": self.kind, **{item.name: getattr(self, item.name) for item in fields(self)}})


@dataclass(frozen=True, slots=True)
class RunStarted(AgentEvent):
    """The first event of a run."""

    kind: ClassVar[str] = "started"


@dataclass(frozen=True, slots=True)
class RequestStarted(AgentEvent):
    """A request to the model begins."""

    kind: ClassVar[str] = "request_started"

    message_count: int


@dataclass(frozen=True, slots=True)
class RequestFinished(AgentEvent):
    """The model has replied."""

    kind: ClassVar[str] = "request_finished"

    finish_reason: str
    usage: Usage
    duration_s: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data without secrets."""
        usage = {item.name: getattr(self.usage, item.name) for item in fields(self.usage)}
        return {**AgentEvent.to_dict(self), "usage": usage}


@dataclass(frozen=True, slots=True)
class _ModelText(AgentEvent):
    text: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; only known secrets are masked in what a model wrote."""
        return {**_header(self), "text": mask_known(self.text)}


@dataclass(frozen=True, slots=True)
class TextDelta(_ModelText):
    """A piece of the model's answer."""

    kind: ClassVar[str] = "delta"


@dataclass(frozen=True, slots=True)
class ThinkingDelta(_ModelText):
    """A piece of the model's thinking."""

    kind: ClassVar[str] = "thinking"


@dataclass(frozen=True, slots=True)
class ToolStarted(AgentEvent):
    """A tool is called; the arguments are shortened and without secrets."""

    kind: ClassVar[str] = "tool_call"

    call_id: str
    name: str
    args: str
    recovered: bool = False  # the model had written the call as prose


@dataclass(frozen=True, slots=True)
class ToolFinished(AgentEvent):
    """A tool has answered; the result is shortened and without secrets."""

    kind: ClassVar[str] = "tool_result"

    call_id: str
    name: str
    ok: bool
    result: str
    duration_s: float


@dataclass(frozen=True, slots=True)
class QuestionAsked(AgentEvent):
    """A tool asks for an answer from outside; the run stops and can be resumed."""

    kind: ClassVar[str] = "question"

    call_id: str
    name: str
    question: str


@dataclass(frozen=True, slots=True)
class RunFinished(AgentEvent):
    """The last event of a run, however it ended."""

    kind: ClassVar[str] = "finished"

    result: AgentResult

    def to_dict(self) -> dict[str, Any]:
        """Return plain data without secrets."""
        result = {**self.result.to_dict(), "text": mask_known(self.result.text)}
        return {**_header(self), "result": result}


def _header(event: AgentEvent) -> dict[str, Any]:
    return {"kind": event.kind, "agent_id": event.agent_id, "run_id": event.run_id, "step": event.step}


StreamEvent = TextDelta | ThinkingDelta | ToolStarted | ToolFinished | QuestionAsked
EventHook = Callable[[AgentEvent], None]


class EventLog(Generic[E]):
    """The latest events, in a ring. A slow listener misses the oldest ones, sees how many, and delays no one else.

    A paced reader misses nothing: writers that use `add` wait for it.
    """

    def __init__(self, capacity: Limit = MAX_EVENTS_KEPT) -> None:
        self._size = max(_SMALLEST_RING, int(capacity.maximum))
        self._ring: list[E | None] = [None] * self._size
        self._end = 0  # index of the next event; slot = index % size
        self._closed = False
        self._waiters: set[asyncio.Future[None]] = set()  # readers that wait for an event
        self._writers: set[asyncio.Future[None]] = set()  # writers that wait for room
        self._paced: set[EventReader[E]] = set()

    @property
    def closed(self) -> bool:
        """Whether the last event has come."""
        return self._closed

    def add_nowait(self, event: E) -> None:
        """Write an event, over the oldest if need be."""
        if self._closed:
            return
        self._ring[self._end % self._size] = event
        self._end += 1
        _wake(self._waiters)

    async def add(self, event: E) -> None:
        """Write an event as soon as paced readers have room for it."""
        while self._paced and not self._closed and self._lag() >= self._size // 2:
            await _wait_in(self._writers)
        self.add_nowait(event)

    def close(self) -> None:
        """End the readers after the last event."""
        self._closed = True
        _wake(self._waiters)
        _wake(self._writers)

    def reader(self, *, paced: bool = False) -> "EventReader[E]":
        """Return a listener from the oldest kept event on."""
        made: EventReader[E] = EventReader(self)
        if paced:
            self.pace(made)
        return made

    def pace(self, reader: "EventReader[E]") -> None:
        """Make writers wait for a reader."""
        self._paced.add(reader)

    def release(self, reader: "EventReader[E]") -> None:
        """Make writers no longer wait for a paced reader."""
        self._paced.discard(reader)
        _wake(self._writers)

    def _lag(self) -> int:
        return max(self._end - reader.position for reader in self._paced)

    def _after(self, position: int) -> tuple[int, E | None]:
        """Return the first kept event at or after a position, and its index; the end where there is none yet."""
        position = max(position, self._end - self._size)
        return position, self._ring[position % self._size] if position < self._end else None

    async def _wait(self) -> None:
        await _wait_in(self._waiters)


class EventReader(Generic[E]):
    """One listener: `async for event in reader`. `missed` counts events that were dropped before it came to them."""

    def __init__(self, log: EventLog[E]) -> None:
        self._log = log
        self.position = 0
        self.missed = 0

    def __aiter__(self) -> "EventReader[E]":
        return self

    async def __anext__(self) -> E:
        while True:
            position, event = self._log._after(self.position)  # noqa: SLF001 - both classes are one unit
            self.missed += position - self.position
            self.position = position
            if event is not None:
                self.position += 1
                _wake(self._log._writers)  # noqa: SLF001 - both classes are one unit
                return event
            if self._log.closed:
                raise StopAsyncIteration
            await self._log._wait()  # noqa: SLF001 - both classes are one unit


def _wake(futures: "set[asyncio.Future[None]]") -> None:
    while futures:
        future = futures.pop()
        if not future.done():
            future.set_result(None)


async def _wait_in(futures: "set[asyncio.Future[None]]") -> None:
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    futures.add(future)
    try:
        await future
    finally:
        futures.discard(future)

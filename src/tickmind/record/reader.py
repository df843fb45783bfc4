"""The reader of a run: while it is written, after a crash, and finished."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np

from tickmind.base import Clock, SystemClock
from tickmind.protocol import (
    ActorColumns,
    AgentStatus,
    Insight,
    NeedColumns,
    ObjectDelta,
    RuleEvent,
    ThoughtReport,
    TickRecord,
    WorldInfo,
)
from tickmind.protocol.thought import ServedUsage
from tickmind.record.errors import RecordError
from tickmind.record.events import EventFilter, EventFinder, EventKind, RunEvent, TileArea
from tickmind.record.meta import RunMeta
from tickmind.record.tables.counts import Between, TickCounts
from tickmind.record.tables.inventories import ItemQuantity, changes_of

if TYPE_CHECKING:
    from tickmind.protocol.columns import Int64, UInt8

FIRST = -(2**62)
LAST = 2**62
POLL_S = 0.1


class TickSource(Protocol):
    """The source of a run's ticks: its log, or its finished files."""

    @property
    def first_tick_id(self) -> int | None:
        """The first tick."""
        ...

    @property
    def last_tick_id(self) -> int | None:
        """The last tick."""
        ...

    def refresh(self) -> None:
        """Look for new ticks."""
        ...

    def records(self, first: int, last: int) -> Iterator[TickRecord]:
        """Iterate over the ticks of a range."""
        ...

    def state_at(self, tick_id: int) -> ActorColumns:
        """Return all actors after a tick."""
        ...

    def sim_time_ms(self, tick_id: int) -> int:
        """Return the world's time after a tick."""
        ...

    def counts(self, first: int, last: int, between: Between) -> Iterator[TickCounts]:
        """Iterate over the counts of states and actions."""
        ...

    def actor_states(self, row: int, first: int, last: int) -> ActorColumns:
        """Return one actor after each tick of a range."""
        ...

    def object_deltas(self, first: int, last: int) -> Iterator[tuple[int, tuple[ObjectDelta, ...]]]:
        """Iterate over changes of objects."""
        ...

    def thoughts(self, first: int, last: int, actors: Collection[str] | None) -> Iterator[ThoughtReport]:
        """Iterate over agents' thoughts."""
        ...

    def thoughts_of(self, actor: str, before_tick: int, count: int) -> list[ThoughtReport]:
        """Return the newest thoughts of an actor before a tick, newest first."""
        ...

    def statuses(self, first: int, last: int) -> Iterator[AgentStatus]:
        """Iterate over agents' statuses."""
        ...

    def insights(self, first: int, last: int, actors: Collection[str] | None) -> Iterator[Insight]:
        """Iterate over insights into minds of these ticks."""
        ...

    def needs(self, first: int, last: int) -> Iterator[tuple[int, NeedColumns]]:
        """Iterate over the needs recorded in these ticks."""
        ...

    def rule_events(self, first: int, last: int, /) -> Iterator[tuple[int, tuple[RuleEvent, ...]]]:
        """Iterate over goals reached and what rules of the user's own did."""
        ...

    def inventories(self, first: int, last: int, /) -> Iterator[ItemQuantity] | None:
        """Iterate over the quantities of items that changed in these ticks; None if they follow from the ticks only."""
        ...

    def close(self) -> None:
        """Close all files."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class ActorHistory:
    """One actor over time: `state.x[i]` is where it was after `tick_ids[i]`, -1 while it was away."""

    actor_id: str
    tick_ids: "Int64"
    state: ActorColumns


@dataclass(frozen=True, slots=True)
class LlmCall(ServedUsage):
    """The figures of one model call; the texts are in the thought."""

    actor_id: str
    tick_id: int
    asked_tick: int
    answered_tick: int
    client: str
    latency_s: float
    error_type: str
    late: bool = False
    kind: str = ""

    @classmethod
    def of(cls, report: ThoughtReport) -> "LlmCall":
        """Return the call behind a thought."""
        thought = report.thought
        return cls(
            actor_id=report.entity_id,
            tick_id=report.tick_id,
            asked_tick=thought.asked_tick,
            answered_tick=thought.answered_tick,
            client=thought.client,
            latency_s=thought.latency_s,
            error_type=thought.error_type,
            late=thought.late,
            kind=thought.kind,
            **ServedUsage.values_of(thought),
        )


class RunReader:
    """Reads one run. Use it in a `with` block, or close it; threads must not share it.

    Ranges include their first and last tick; left out, they are those of the run.
    """

    def __init__(
        self,
        meta: RunMeta,
        info: WorldInfo,
        source: TickSource,
        finished: Callable[[], tuple[RunMeta, TickSource] | None] = lambda: None,
    ) -> None:
        self._meta = meta
        self._info = info
        self._source = source
        self._finished = finished  # returns the finished files, once they exist

    @property
    def run_id(self) -> str:
        """The name of the run."""
        return self._meta.run_id

    @property
    def meta(self) -> RunMeta:
        """The content of `meta.json`."""
        return self._meta

    @property
    def info(self) -> WorldInfo:
        """The map, and the names of the numbers in columns."""
        return self._info

    @property
    def map(self) -> "UInt8":
        """The codes of the floors, north first: `map[y, x]`."""
        return np.frombuffer(self._info.floor_codes, dtype=np.uint8).reshape(self._info.height, self._info.width)

    @property
    def first_tick_id(self) -> int | None:
        """The first tick of the run, or None if it has none."""
        return self._source.first_tick_id

    @property
    def last_tick_id(self) -> int | None:
        """The last tick of the run, or None if it has none."""
        return self._source.last_tick_id

    def refresh(self) -> None:
        """Look for ticks that were added since; cheap if there are none."""
        if self._meta.finished:
            return
        finished = self._finished()
        if finished is None:
            self._source.refresh()
        else:
            self._source.close()
            self._meta, self._source = finished

    def records(self, first: int | None = None, last: int | None = None) -> Iterator[TickRecord]:
        """Iterate over the existing ticks from `first` to `last`."""
        return self._source.records(*_bounds(first, last))

    def follow(
        self,
        first: int | None = None,
        *,
        clock: Clock | None = None,
        poll_s: float = POLL_S,
        until: Callable[[], bool] = lambda: False,
    ) -> Iterator[TickRecord]:
        """Iterate over the ticks from `first` on and each new one, until the run is finished or `until()` is true."""
        clock = clock or SystemClock()
        place = FIRST if first is None else first
        while not until():
            finished = self._meta.finished
            for record in self._source.records(place, LAST):
                place = record.tick_id + 1
                yield record
            if finished:
                return
            clock.sleep(poll_s)
            self.refresh()

    def tick(self, tick_id: int) -> TickRecord:
        """Return one tick; raises `RecordError` if the run does not have it."""
        self._check(tick_id)
        return next(self._source.records(tick_id, tick_id))

    def state_at(self, tick_id: int) -> ActorColumns:
        """Return all actors after a tick; raises `RecordError` if the run does not have it."""
        self._check(tick_id)
        return self._source.state_at(tick_id)

    def sim_time_ms(self, tick_id: int) -> int:
        """Return the world's time after a tick. Of a finished run nothing else is read."""
        self._check(tick_id)
        return self._source.sim_time_ms(tick_id)

    def counts(
        self, first: int | None = None, last: int | None = None, *, between: Between = lambda: None
    ) -> Iterator[TickCounts]:
        """Iterate over the counts of states and actions in each tick. Of a finished run only those columns are read.

        `between` is called between two pieces of work, so that a background reader can yield to others.
        """
        return self._source.counts(*_bounds(first, last), between)

    def object_deltas(
        self, first: int | None = None, last: int | None = None
    ) -> Iterator[tuple[int, tuple[ObjectDelta, ...]]]:
        """Iterate over ticks with changes of objects, each with its changes. Nothing else is read."""
        return self._source.object_deltas(*_bounds(first, last))

    def actor_history(self, actor_id: str, first: int | None = None, last: int | None = None) -> ActorHistory:
        """Return where one actor was after each tick; raises `RecordError` for an unknown actor."""
        row = next((row for row, actor in enumerate(self._info.actors) if actor.entity_id == actor_id), None)
        if row is None:
            raise RecordError(f"run {self.run_id} has no actor {actor_id[:100]!r}")
        state = self._source.actor_states(row, *_bounds(first, last))
        start = max(self.first_tick_id or 0, FIRST if first is None else first)
        return ActorHistory(actor_id, np.arange(start, start + len(state.x), dtype=np.int64), state)

    def events(
        self,
        first: int | None = None,
        last: int | None = None,
        *,
        kinds: Collection[EventKind] | None = None,
        actors: Collection[str] | None = None,
        region: TileArea | None = None,
    ) -> Iterator[RunEvent]:
        """Iterate over events, tick by tick; None means all kinds, all actors, everywhere."""
        finder = EventFinder(self._info.objects, EventFilter(kinds, actors, region), self._state_before)
        if first is not None and finder.finds_objects and any(kind.comes_and_goes for kind in self._info.kinds):
            for _, deltas in self.object_deltas(last=first - 1):
                finder.follow(deltas)
        for record in self.records(first, last):
            yield from finder.find(record)

    def _state_before(self, tick_id: int) -> ActorColumns | None:
        first = self.first_tick_id
        return None if first is None or tick_id <= first else self._source.state_at(tick_id - 1)

    def thoughts(
        self, first: int | None = None, last: int | None = None, *, actors: Collection[str] | None = None
    ) -> Iterator[ThoughtReport]:
        """Iterate over the deliberations that agents reported in these ticks."""
        return self._source.thoughts(*_bounds(first, last), actors)

    def thoughts_of(self, actor: str, before_tick: int, count: int) -> list[ThoughtReport]:
        """Return the newest deliberations of an actor before a tick, newest first; nothing older is read."""
        return self._source.thoughts_of(actor, before_tick, count)

    def llm_calls(self, first: int | None = None, last: int | None = None) -> Iterator[LlmCall]:
        """Iterate over the model calls behind these deliberations."""
        return map(LlmCall.of, self.thoughts(first, last))

    def statuses(self, first: int | None = None, last: int | None = None) -> Iterator[AgentStatus]:
        """Iterate over agents' statuses."""
        return self._source.statuses(*_bounds(first, last))

    def insights(
        self, first: int | None = None, last: int | None = None, *, actors: Collection[str] | None = None
    ) -> Iterator[Insight]:
        """Iterate over insights into minds: trees, Blackboards and memories as they were in these ticks."""
        return self._source.insights(*_bounds(first, last), actors)

    def needs(self, first: int | None = None, last: int | None = None) -> Iterator[tuple[int, NeedColumns]]:
        """Iterate over ticks with recorded needs, each with these."""
        return self._source.needs(*_bounds(first, last))

    def rule_events(
        self, first: int | None = None, last: int | None = None
    ) -> Iterator[tuple[int, tuple[RuleEvent, ...]]]:
        """Iterate over ticks in which goals were reached or rules of the user's own did something, each with these."""
        return self._source.rule_events(*_bounds(first, last))

    def inventories(self, first: int | None = None, last: int | None = None) -> Iterator[ItemQuantity]:
        """Iterate over the quantities of items that changed in these ticks, of actors, objects and the ground.

        Those of the tick before the first one are the whole beginning. A run of an earlier version has none.
        """
        begin, end = _bounds(first, last)
        stored = self._source.inventories(begin, end)
        if stored is not None:
            return stored
        needed = max(end, FIRST if self.first_tick_id is None else self.first_tick_id)  # the first tick in any case
        return changes_of(self._info, self._source.records(FIRST, needed), begin, end)

    def inventories_at(self, tick_id: int) -> dict[str, dict[str, int]]:
        """Return holder -> item -> quantity after a tick, without those that have none.

        Raises `RecordError` if the run has neither the tick nor the one after it.
        """
        if self.first_tick_id != tick_id + 1:
            self._check(tick_id)
        held: dict[str, dict[str, int]] = {}
        for change in self.inventories(last=tick_id):
            held.setdefault(change.holder_id, {})[change.item] = change.quantity
        full = {holder: {item: count for item, count in items.items() if count} for holder, items in held.items()}
        return {holder: items for holder, items in full.items() if items}

    def _check(self, tick_id: int) -> None:
        first, last = self.first_tick_id, self.last_tick_id
        if first is None or last is None:
            raise RecordError(f"run {self.run_id} has no ticks yet")
        if not first <= tick_id <= last:
            raise RecordError(f"run {self.run_id} has ticks {first} to {last}, not {tick_id}")

    def close(self) -> None:
        """Close all files."""
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc_info: object) -> None:
        self.close()


def _bounds(first: int | None, last: int | None) -> tuple[int, int]:
    return FIRST if first is None else first, LAST if last is None else last

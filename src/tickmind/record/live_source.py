"""The log of a run as a source of ticks, while it is written and after a crash."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa

from tickmind.protocol import (
    ActorColumns,
    AgentStatus,
    Insight,
    NeedColumns,
    ObjectDelta,
    RuleEvent,
    ThoughtReport,
    TickRecord,
    TickReports,
)
from tickmind.record.disk import Disk
from tickmind.record.errors import DamagedRunError
from tickmind.record.log.frame import LogFrameKind
from tickmind.record.log.report_codec import insights_in, statuses_in, thoughts_in
from tickmind.record.log.segment import SegmentReader, segment_name, segment_number
from tickmind.record.log.tick_codec import LoggedTick, read_all, read_only_state, read_reports, read_tick
from tickmind.record.tables.counts import Between, TickCounts
from tickmind.record.tables.report_reader import NewestThoughts

LATE_TICKS = 64  # how many ticks after its own an insight may arrive
Found = TypeVar("Found")


class LiveLogSource:
    """Reads ticks from the segments in a folder. `refresh` takes in what was added since."""

    def __init__(self, disk: Disk, folder: Path, actor_ids: Sequence[str]) -> None:
        self._disk = disk
        self._folder = folder
        self._actor_ids = actor_ids
        self._segments: list[SegmentReader] = []
        self._numbers: list[int] = []
        try:
            self.refresh()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close all files."""
        for segment in self._segments:
            segment.close()

    def refresh(self) -> None:
        """Look for new ticks; cheap if there are none."""
        if self._segments:
            self._segments[-1].load()
        names = self._disk.list(self._folder)
        known = self._numbers[-1] if self._numbers else 0
        for number in sorted(filter(None, map(segment_number, names))):
            if number <= known:
                continue
            if self._segments and not self._segments[-1].closed:  # it was closed since, or rewritten and closed
                self._segments[-1].reopen()
                self._segments[-1].load()
            segment = SegmentReader(self._disk, self._folder / segment_name(number))
            self._segments.append(segment)
            self._numbers.append(number)
            segment.load()

    @property
    def size_bytes(self) -> int:
        """Return the size on disk."""
        return sum(self._disk.size(self._folder / name) for name in self._disk.list(self._folder))

    @property
    def next_number(self) -> int:
        """Return the number of the next segment."""
        return self._numbers[-1] + 1 if self._numbers else 1

    @property
    def first_tick_id(self) -> int | None:
        """The first tick, or None if there is none."""
        return next((segment.index.ticks[0] for segment in self._segments if segment.index.ticks), None)

    @property
    def last_tick_id(self) -> int | None:
        """The last tick, or None if there is none."""
        return next((segment.index.ticks[-1] for segment in reversed(self._segments) if segment.index.ticks), None)

    def records(self, first: int, last: int) -> Iterator[TickRecord]:
        """Iterate over the ticks from `first` to `last`, as far as they exist."""
        return self._read(first, last, read_tick, lambda record: record)

    def all_of(self, first: int, last: int) -> Iterator[LoggedTick]:
        """Iterate over the ticks from `first` to `last`, with everything in the log."""
        return self._read(first, last, read_all, lambda logged: logged.record)

    def _read(
        self,
        first: int,
        last: int,
        read: Callable[[pa.Buffer, ActorColumns | None, Sequence[str]], Found],
        record_of: Callable[[Found], TickRecord],
    ) -> Iterator[Found]:
        before: ActorColumns | None = None
        for segment, start, stop in self._spans(first, last):
            begin = self._keyframe_before(segment, start)
            for place in range(begin, stop):
                content = self._content(segment, place)
                if place < start:
                    before = read_only_state(content, before, len(self._actor_ids))
                    continue
                tick = read(content, before, self._actor_ids)
                before = record_of(tick).actor_state
                yield tick

    def state_at(self, tick_id: int) -> ActorColumns:
        """Return all actors after an existing tick."""
        state: ActorColumns | None = None
        for segment, start, _ in self._spans(tick_id, tick_id):
            for place in range(self._keyframe_before(segment, start), start + 1):
                state = read_only_state(self._content(segment, place), state, len(self._actor_ids))
        assert state is not None
        return state

    def sim_time_ms(self, tick_id: int) -> int:
        """Return the world's time after an existing tick."""
        return next(self.records(tick_id, tick_id)).sim_time_ms

    def counts(self, first: int, last: int, between: Between) -> Iterator[TickCounts]:
        """Iterate over the counts of states and actions in the ticks from `first` to `last`."""
        for record in self.records(first, last):
            yield TickCounts.of(record)
            between()

    def actor_states(self, row: int, first: int, last: int) -> ActorColumns:
        """Return one actor after each of these ticks."""
        states: list[list[int]] = []
        for record in self.records(first, last):
            state = record.actor_state
            states.append([int(column[row]) for column in (state.x, state.y, state.status_bits, state.facing)])
        columns = np.array(states, dtype=np.int32).reshape(-1, 4)
        return ActorColumns(columns[:, 0], columns[:, 1], columns[:, 2], columns[:, 3].astype(np.int8))

    def object_deltas(self, first: int, last: int) -> Iterator[tuple[int, tuple[ObjectDelta, ...]]]:
        """Iterate over changes of objects in the ticks from `first` to `last`."""
        return ((tick.tick_id, tick.object_deltas) for tick in self.records(first, last) if tick.object_deltas)

    def thoughts(self, first: int, last: int, actors: Collection[str] | None) -> Iterator[ThoughtReport]:
        """Iterate over thoughts in the ticks from `first` to `last` and, if that is the last, after it."""
        for thoughts in self._told(first, last, thoughts_in):
            yield from (report for report in thoughts if actors is None or report.entity_id in actors)

    def thoughts_of(self, actor: str, before_tick: int, count: int) -> list[ThoughtReport]:
        """Return the newest thoughts of an actor before a tick, searching backwards until there are enough."""
        newest = NewestThoughts(actor, before_tick, count)
        last = before_tick - 1 + LATE_TICKS
        for thoughts in reversed(list(self._loose(last, thoughts_in))):
            newest.add(thoughts)
        for segment, start, stop in reversed(list(self._spans(-(2**62), last))):
            for place in reversed(range(start, stop)):
                if newest.has_all_after(segment.index.ticks[place]):
                    return newest.newest
                newest.add(thoughts_in(self._content(segment, place)))
        return newest.newest

    def statuses(self, first: int, last: int) -> Iterator[AgentStatus]:
        """Iterate over agents' statuses in these ticks, as with thoughts."""
        for statuses in self._told(first, last, statuses_in):
            yield from statuses

    def insights(self, first: int, last: int, actors: Collection[str] | None) -> Iterator[Insight]:
        """Iterate over insights of the ticks from `first` to `last`, which may have arrived a little later."""
        for insights in self._told(first, last + LATE_TICKS, insights_in):
            for insight in insights:
                if first <= insight.tick_id <= last and (actors is None or insight.entity_id in actors):
                    yield insight

    def _told(self, first: int, last: int, read: Callable[[pa.Buffer], Found]) -> Iterator[Found]:
        for segment, start, stop in self._spans(first, last):
            for place in range(start, stop):
                yield read(self._content(segment, place))
        yield from self._loose(last, read)

    def _loose(self, last: int, read: Callable[[pa.Buffer], Found]) -> Iterator[Found]:
        """Iterate over reports after the last tick, if that is not after `last`."""
        final = self.last_tick_id
        if final is None or last >= final:
            for segment in self._segments:
                yield from map(read, segment.loose_reports())

    def needs(self, first: int, last: int) -> Iterator[tuple[int, NeedColumns]]:
        """Iterate over the needs recorded in the ticks from `first` to `last`."""
        return ((tick.tick_id, tick.needs) for tick in self.records(first, last) if tick.needs is not None)

    def rule_events(self, first: int, last: int) -> Iterator[tuple[int, tuple[RuleEvent, ...]]]:
        """Iterate over goals reached and what rules of the user's own did in the ticks from `first` to `last`."""
        return ((tick.tick_id, tick.rule_events) for tick in self.records(first, last) if tick.rule_events)

    def inventories(self, _first: int, _last: int) -> None:
        """Return None: the log has the changes in each tick, from which a reader counts."""

    def loose_reports(self) -> Iterator[TickReports]:
        """Iterate over the reports after the last tick."""
        for segment in self._segments:
            yield from map(read_reports, segment.loose_reports())

    def check(self) -> None:
        """Raise `DamagedRunError` unless the ticks are continuous up to the end of the last whole frame."""
        list(self._spans(-(2**62), 2**62))

    def _spans(self, first: int, last: int) -> Iterator[tuple[SegmentReader, int, int]]:
        """Iterate over the segments with ticks in this range, and the places of these ticks in them."""
        expected: int | None = None
        for number, segment in enumerate(self._segments):
            ticks = segment.index.ticks
            if ticks and ticks[0] > last:
                return
            if ticks and expected is not None and ticks[0] != expected:
                raise DamagedRunError(f"ticks {expected} to {ticks[0] - 1} are missing before {segment.name}")
            if ticks:
                expected = ticks[-1] + 1
                start, stop = bisect_left(ticks, first), bisect_right(ticks, last)
                if start < stop:
                    yield segment, start, stop
            if number + 1 < len(self._segments) and not segment.is_complete():
                raise DamagedRunError(
                    f"{segment.name} is damaged after tick {expected - 1 if expected else 0}; "
                    "recover the run to keep the ticks before that"
                )

    @staticmethod
    def _keyframe_before(segment: SegmentReader, place: int) -> int:
        index = segment.index
        at = bisect_right(index.keyframes, index.ticks[place])
        if not at:
            raise DamagedRunError(f"{segment.name} begins without a keyframe")
        return bisect_left(index.ticks, index.keyframes[at - 1])

    @staticmethod
    def _content(segment: SegmentReader, place: int) -> pa.Buffer:
        tick_id, offset = segment.index.ticks[place], segment.index.offsets[place]
        frame = segment.frame_at(offset)
        if frame is None or frame.kind is not LogFrameKind.TICK or frame.tick_id != tick_id:
            raise DamagedRunError(
                f"tick {tick_id} in {segment.name} is damaged; recover the run to keep the ticks before it"
            )
        return segment.content(frame)

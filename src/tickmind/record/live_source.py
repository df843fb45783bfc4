"""The log of a run as a source of ticks, while it is being written and after a crash."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa

from tickmind.protocol import ActorColumns, AgentStatus, Insight, NeedColumns, ObjectDelta, ThoughtReport, TickRecord
from tickmind.record.disk import Disk
from tickmind.record.errors import DamagedRunError
from tickmind.record.log.frame import LogFrameKind
from tickmind.record.log.report_codec import insights_in, statuses_in, thoughts_in
from tickmind.record.log.segment import SegmentReader, segment_name, segment_number
from tickmind.record.log.tick_codec import LoggedTick, TickReports, read_all, read_only_state, read_reports, read_tick
from tickmind.record.tables.counts import Between, TickCounts
from tickmind.record.tables.report_reader import NewestThoughts

LATE_TICKS = 64  # so much later than it was an insight may have come
Found = TypeVar("Found")


class LiveLogSource:
    """Gives ticks out of the segments in a folder. `refresh` takes in what was added since."""

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
        """Let go of all files."""
        for segment in self._segments:
            segment.close()

    def refresh(self) -> None:
        """Look for new ticks; cheap where there are none."""
        if self._segments:
            self._segments[-1].load()
        names = self._disk.list(self._folder)
        known = self._numbers[-1] if self._numbers else 0
        for number in sorted(filter(None, map(segment_number, names))):
            if number <= known:
                continue
            if self._segments and not self._segments[-1].closed:  # it was closed since, or written anew and closed
                self._segments[-1].reopen()
                self._segments[-1].load()
            segment = SegmentReader(self._disk, self._folder / segment_name(number))
            self._segments.append(segment)
            self._numbers.append(number)
            segment.load()

    @property
    def size_bytes(self) -> int:
        """How much there is on disk."""
        return sum(self._disk.size(self._folder / name) for name in self._disk.list(self._folder))

    @property
    def next_number(self) -> int:
        """The number of the segment that comes next."""
        return self._numbers[-1] + 1 if self._numbers else 1

    @property
    def first_tick_id(self) -> int | None:
        """The first tick there is, or None if there is none."""
        return next((segment.index.ticks[0] for segment in self._segments if segment.index.ticks), None)

    @property
    def last_tick_id(self) -> int | None:
        """The last tick there is, or None if there is none."""
        return next((segment.index.ticks[-1] for segment in reversed(self._segments) if segment.index.ticks), None)

    def records(self, first: int, last: int) -> Iterator[TickRecord]:
        """The ticks from `first` to `last`, as many as there are."""
        return self._read(first, last, read_tick, lambda record: record)

    def all_of(self, first: int, last: int) -> Iterator[LoggedTick]:
        """The ticks from `first` to `last`, with all that the log says of them."""
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
                found = read(content, before, self._actor_ids)
                before = record_of(found).actor_state
                yield found

    def state_at(self, tick_id: int) -> ActorColumns:
        """All actors after a tick that there is."""
        state: ActorColumns | None = None
        for segment, start, _ in self._spans(tick_id, tick_id):
            for place in range(self._keyframe_before(segment, start), start + 1):
                state = read_only_state(self._content(segment, place), state, len(self._actor_ids))
        assert state is not None
        return state

    def sim_time_ms(self, tick_id: int) -> int:
        """The time in the world after a tick that there is."""
        return next(self.records(tick_id, tick_id)).sim_time_ms

    def counts(self, first: int, last: int, between: Between) -> Iterator[TickCounts]:
        """How many actors were and did what in the ticks from `first` to `last`."""
        for record in self.records(first, last):
            yield TickCounts.of(record)
            between()

    def actor_states(self, row: int, first: int, last: int) -> ActorColumns:
        """One actor after each of the ticks between these."""
        found: list[list[int]] = []
        for record in self.records(first, last):
            state = record.actor_state
            found.append([int(column[row]) for column in (state.x, state.y, state.status_bits, state.facing)])
        columns = np.array(found, dtype=np.int32).reshape(-1, 4)
        return ActorColumns(columns[:, 0], columns[:, 1], columns[:, 2], columns[:, 3].astype(np.int8))

    def object_deltas(self, first: int, last: int) -> Iterator[tuple[int, tuple[ObjectDelta, ...]]]:
        """What changed about objects in the ticks from `first` to `last`."""
        return ((one.tick_id, one.object_deltas) for one in self.records(first, last) if one.object_deltas)

    def thoughts(self, first: int, last: int, actors: Collection[str] | None) -> Iterator[ThoughtReport]:
        """What agents thought, in the ticks from `first` to `last` and, if that is the last, after it."""
        for thoughts in self._told(first, last, thoughts_in):
            yield from (one for one in thoughts if actors is None or one.entity_id in actors)

    def thoughts_of(self, actor: str, before_tick: int, count: int) -> list[ThoughtReport]:
        """The newest thoughts of an actor before a tick, from the last tick back until there are enough."""
        found = NewestThoughts(actor, before_tick, count)
        last = before_tick - 1 + LATE_TICKS
        for thoughts in reversed(list(self._loose(last, thoughts_in))):
            found.add(thoughts)
        for segment, start, stop in reversed(list(self._spans(-(2**62), last))):
            for place in reversed(range(start, stop)):
                if found.has_all_after(segment.index.ticks[place]):
                    return found.newest
                found.add(thoughts_in(self._content(segment, place)))
        return found.newest

    def statuses(self, first: int, last: int) -> Iterator[AgentStatus]:
        """How agents said that they are doing, as with thoughts."""
        for statuses in self._told(first, last, statuses_in):
            yield from statuses

    def insights(self, first: int, last: int, actors: Collection[str] | None) -> Iterator[Insight]:
        """What agents showed of minds in the ticks from `first` to `last`; it came in these or a little later."""
        for insights in self._told(first, last + LATE_TICKS, insights_in):
            for one in insights:
                if first <= one.tick_id <= last and (actors is None or one.entity_id in actors):
                    yield one

    def _told(self, first: int, last: int, read: Callable[[pa.Buffer], Found]) -> Iterator[Found]:
        for segment, start, stop in self._spans(first, last):
            for place in range(start, stop):
                yield read(self._content(segment, place))
        yield from self._loose(last, read)

    def _loose(self, last: int, read: Callable[[pa.Buffer], Found]) -> Iterator[Found]:
        """What was told after the last tick, if that is one of those up to `last`."""
        final = self.last_tick_id
        if final is None or last >= final:
            for segment in self._segments:
                yield from map(read, segment.loose_reports())

    def needs(self, first: int, last: int) -> Iterator[tuple[int, NeedColumns]]:
        """What was told of needs in the ticks from `first` to `last`."""
        return ((one.tick_id, one.needs) for one in self.records(first, last) if one.needs is not None)

    def loose_reports(self) -> Iterator[TickReports]:
        """What agents told after the last tick."""
        for segment in self._segments:
            yield from map(read_reports, segment.loose_reports())

    def check(self) -> None:
        """Raise `DamagedRunError` unless the ticks follow one another up to the end of the last whole frame."""
        list(self._spans(-(2**62), 2**62))

    def _spans(self, first: int, last: int) -> Iterator[tuple[SegmentReader, int, int]]:
        """The segments with ticks between these, and the places of these ticks in them."""
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
                    "recover the run to keep what comes before that"
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
                f"tick {tick_id} in {segment.name} is damaged; recover the run to keep what is before"
            )
        return segment.content(frame)

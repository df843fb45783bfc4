"""A recorded run as a source of frames, finished or still growing."""

import asyncio
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tickmind.base import Limit
from tickmind.protocol import ACTION_CODES, ActionType, ActorColumns, NeedColumns, TickRecord
from tickmind.protocol.direction import DX, DY
from tickmind.viewer.errors import NoSuchWindowError, NoWholeMindError
from tickmind.viewer.frames import Names, Scene, hello, keyframe, names_of, notes, whole_thought
from tickmind.viewer.frames.tile_art import TileArt, shown_art
from tickmind.viewer.sources.frame_builder import FrameBuilder, scene_at_start
from tickmind.viewer.sources.minds import LOOK_BACK_TICKS, NEED_TICKS, needs_of, shown_insight, shown_mind
from tickmind.viewer.sources.scan import AT_MOST_S, Scan, span_of
from tickmind.viewer.sources.source import LATE_TICKS, Span, window_ticks
from tickmind.viewer.sources.states import RecordedStates
from tickmind.viewer.sources.story import RecordedStory

if TYPE_CHECKING:
    from tickmind.record import RunReader
    from tickmind.viewer.sources.watchers import Watchers

MAX_CACHE_BYTES = Limit("memory for windows of ticks", 128 * 1024 * 1024, "bytes")
SOON_S = 0.3  # after frames were sent, in which more may be requested
CHECKPOINT_TICKS = 512  # between two cached states of all objects
NEED_PART_TICKS, NEED_PARTS = 64, 12  # the cache of needs
AskWholeMind: TypeAlias = Callable[[str, int], Awaitable[dict[str, Any]]]
"""Returns the mind of an actor after a tick, lived again; raises `NoWholeMindError` with the reason if it can't."""
_STATE = -1  # instead of a window's last tick: only the keyframe after its first tick
_MOVE = ACTION_CODES[ActionType.MOVE]


class RunFrames:
    """Makes frames of any ticks of a run. It belongs to one thread, like its reader."""

    def __init__(self, reader: "RunReader", names: Names | None = None) -> None:
        self.reader = reader
        self.names = names or names_of(reader.info)
        none = np.zeros(0, np.int32)
        no_actors = ActorColumns(none, none, none, np.zeros(0, np.int8))
        first = (reader.first_tick_id or 1) - 1
        self._begun: int | None = None  # the time of the first tick, once it was needed
        self._marks: list[int] = [first]  # ticks with cached states of all objects, ascending
        self._needs: OrderedDict[int, list[tuple[int, NeedColumns]]] = OrderedDict()  # part of the run -> its needs
        self._states = RecordedStates(reader, self.names.actor_rows)
        self._scenes: list[Scene] = [scene_at_start(reader.info, first, 0, no_actors, self.names)]

    def frames(self, first: int, last: int) -> Iterator[bytes]:
        """Iterate over the keyframe before `first`, the ticks up to `last`, and the agents' reports of them."""
        reader = self.reader
        records = reader.records(first, last)
        record = next(records, None)
        if record is None:
            there = f"{reader.first_tick_id} to {reader.last_tick_id}"
            raise NoSuchWindowError(f"ticks {first} to {last} are not available; request ticks from {there}")
        stage = FrameBuilder(reader.info, self._scene_before(record), self.names)
        before = stage.scene.tick_id
        yield stage.keyframe()
        yield stage.record(record)
        for record in records:
            yield stage.record(record)
        yield from self._notes(before, stage.scene)

    def _notes(self, before: int, scene: Scene) -> Iterator[bytes]:
        """Iterate over reports of the ticks after `before`, and agents' states at the beginning of each window."""
        reader, last = self.reader, scene.tick_id
        states = self._states.after(before)
        recorded = reader.statuses(before + 1, last + LATE_TICKS)
        statuses = [status for status in recorded if status.tick_id <= last]
        window, done = window_ticks(len(reader.info.actors)), before
        for tick_id in (before, *range((before // window + 1) * window, last, window)):
            states.take(status for status in statuses if done < status.tick_id <= tick_id)
            done = tick_id
            yield states.frame(tick_id, scene.sim_time_ms - (last - tick_id) * reader.info.tick_duration_ms)
        states.take(status for status in statuses if done < status.tick_id)
        self._states.keep(last, states)  # the next window continues from there
        reports = reader.thoughts(before + 1, last + LATE_TICKS)
        thoughts = [report for report in reports if report.tick_id <= last]
        if frame := notes(last, scene.sim_time_ms, thoughts, statuses, self.names.actor_rows):
            yield frame

    def state(self, tick_id: int) -> bytes:
        """Return the keyframe after a tick. Nothing else of the tick is read."""
        reader = self.reader
        if self._begun is None:
            self._begun = reader.sim_time_ms(reader.first_tick_id or 0)
        since_ms = (tick_id - (reader.first_tick_id or 0)) * reader.info.tick_duration_ms
        scene = replace(
            self._objects_at(tick_id),
            tick_id=tick_id,
            sim_time_ms=self._begun + since_ms,
            actors=reader.state_at(tick_id),
        )
        return keyframe(scene)

    def _scene_before(self, record: TickRecord) -> Scene:
        before = record.tick_id - 1
        first = self.reader.first_tick_id
        actors = _before_first(record) if record.tick_id == first else self.reader.state_at(before)
        sim_time_ms = record.sim_time_ms - self.reader.info.tick_duration_ms
        return replace(self._objects_at(before), tick_id=before, sim_time_ms=sim_time_ms, actors=actors)

    def _objects_at(self, tick_id: int) -> Scene:
        """Return a scene with the objects after a tick; states on the way are cached."""
        place = bisect_right(self._marks, tick_id) - 1
        stage = FrameBuilder(self.reader.info, self._scenes[place], self.names)
        at = self._marks[place]
        for delta_tick, deltas in self.reader.object_deltas(at + 1, tick_id):
            while delta_tick > at + CHECKPOINT_TICKS:
                at += CHECKPOINT_TICKS
                self._keep(at, stage.scene)
            stage.apply_objects(deltas)
        return stage.scene

    def _keep(self, tick_id: int, scene: Scene) -> None:
        place = bisect_right(self._marks, tick_id)
        if self._marks[place - 1] != tick_id:
            self._marks.insert(place, tick_id)
            self._scenes.insert(place, scene)

    def thoughts(self, actor: int, last_tick: int, count: int) -> list[dict[str, Any]]:
        """Return the newest whole thoughts of an actor, newest first."""
        reader = self.reader
        actors = reader.info.actors
        if not 0 <= actor < len(actors):
            return []
        reports = reader.thoughts_of(actors[actor].entity_id, last_tick + 1, count)
        return [whole_thought(report, actor) for report in reports]

    def mind(self, actor: int, last_tick: int) -> dict[str, Any]:
        """Return what is known of an actor's mind and needs at a tick."""
        reader = self.reader
        if not 0 <= actor < len(reader.info.actors):
            return shown_mind((), ())
        name = reader.info.actors[actor].entity_id
        insights = reader.insights(last_tick - LOOK_BACK_TICKS, last_tick, actors=[name])
        return shown_mind(
            map(shown_insight, insights), needs_of(actor, self._recorded_needs(last_tick - NEED_TICKS, last_tick))
        )

    def _recorded_needs(self, first: int, last: int) -> Iterator[tuple[int, NeedColumns]]:
        """Iterate over recorded needs; finished parts of the run are cached."""
        over = self.reader.last_tick_id or 0
        for part in range(first // NEED_PART_TICKS, last // NEED_PART_TICKS + 1):
            begin, end = part * NEED_PART_TICKS, (part + 1) * NEED_PART_TICKS - 1
            recorded = self._needs.pop(part, None)
            if recorded is None:
                recorded = list(self.reader.needs(begin, end))
            if end <= over:
                self._needs[part] = recorded
            while len(self._needs) > NEED_PARTS:
                self._needs.popitem(last=False)
            yield from ((tick, needs) for tick, needs in recorded if first <= tick <= last)


class ReplaySource:
    """Serves a recorded run. Use it in `async with`.

    It calls `open_run` for each of its readers: one for windows, one for jumps, which wait for no window, and one for
    the numbers of timeline and charts. `whole_minds` lives minds again; without it they can't be requested.
    """

    def __init__(
        self,
        open_run: "Callable[[], RunReader]",
        *,
        cache: Limit = MAX_CACHE_BYTES,
        whole_minds: AskWholeMind | None = None,
        tile_art: TileArt | None = None,
    ) -> None:
        self._open_run = open_run
        self._whole_minds = whole_minds
        self._story = RecordedStory(open_run)
        self._limit = cache
        self._reader = open_run()
        info = self._reader.info
        self._frames = RunFrames(self._reader)
        window = window_ticks(len(info.actors))
        art = shown_art(tile_art)
        self._hello = hello(info, mode="replay", window_ticks=window, run_id=self._reader.run_id, **art)
        self._jumper = open_run()
        self._states = RunFrames(self._jumper, self._frames.names)
        self._reading = asyncio.Lock()  # one window at a time
        self._using = threading.Lock()  # for one frame: a reader belongs to one thread
        self._jumping = asyncio.Lock()  # one jump at a time
        self._landing = threading.Lock()  # the same for threads, which may outlive a cancelled request
        self._jumps = 0
        self._calm = threading.Event()  # cleared during a jump, so that windows make way
        self._calm.set()
        self._windows: OrderedDict[tuple[int, int], bytes] = OrderedDict()
        self._size = 0
        self._waiting = 0  # for frames, now or a moment ago
        self._quiet = threading.Event()  # cleared while frames are requested, so that the scan makes way
        self._quiet.set()
        self._scan = Scan(open_run, span_of(self._reader), self._quiet)
        self._scanning: asyncio.Task[None] | None = None

    @property
    def watchers(self) -> "Watchers | None":
        """None: there is no live stream; the page polls how far the run has grown."""
        return None

    async def __aenter__(self) -> "ReplaySource":
        self._scanning = asyncio.create_task(asyncio.to_thread(self._scan.run))
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._scan.stop()
        if self._scanning is not None:
            await asyncio.gather(self._scanning, return_exceptions=True)
        async with self._reading, self._jumping:
            with self._using, self._landing:
                self._reader.close()
                self._jumper.close()

    def hello(self) -> bytes:
        """Return the first frame."""
        return self._hello

    def span(self) -> Span:
        """Return which ticks the run has by now."""
        return self._scan.span

    async def window(self, first: int, last: int) -> bytes:
        """Return the frames of these ticks, from the cache if they were requested before."""
        span = self._scan.span
        first, last = max(first, span.first_tick_id), min(last, span.last_tick_id)
        if last < first:
            raise NoSuchWindowError(
                f"these ticks are not available; request ticks from {span.first_tick_id} to {span.last_tick_id}"
            )
        async with self._reading:
            frames = self._kept(first, last)
            return await self._long(first, last) if frames is None else frames

    async def state(self, tick_id: int) -> bytes:
        """Return the keyframe after a tick, before all other requests."""
        span = self._scan.span
        tick_id = min(max(tick_id, span.first_tick_id), span.last_tick_id)
        if tick_id < span.first_tick_id:
            raise NoSuchWindowError("the run has no ticks yet; try again later")
        frame = self._kept(tick_id, _STATE)
        if frame is not None:
            return frame
        self._jumps += 1
        self._calm.clear()
        try:
            with self._busy():
                async with self._jumping:
                    frame = self._kept(tick_id, _STATE)  # another request may have jumped to the same tick
                    return (
                        frame
                        if frame is not None
                        else self._keep(tick_id, _STATE, await asyncio.to_thread(self._read_state, tick_id))
                    )
        finally:
            self._jumps -= 1
            if not self._jumps:
                self._calm.set()

    def _kept(self, first: int, last: int) -> bytes | None:
        frames = self._windows.get((first, last))
        if frames is not None:
            self._windows.move_to_end((first, last))
        return frames

    def _keep(self, first: int, last: int, data: bytes) -> bytes:
        if (first, last) not in self._windows:
            self._size += len(data)
        self._windows[first, last] = data
        while len(self._windows) > 1 and not self._limit.allows(self._size):
            self._size -= len(self._windows.popitem(last=False)[1])
        return data

    async def _long(self, first: int, last: int) -> bytes:
        """Read many ticks. Cancelling the request ends it after the current tick."""
        gone = threading.Event()
        try:
            with self._busy():
                return self._keep(first, last, await asyncio.to_thread(self._read, first, last, gone))
        finally:
            gone.set()

    @contextmanager
    def _busy(self) -> Iterator[None]:
        """Mark that frames are requested, and that more may be soon: the scan makes way."""
        self._waiting += 1
        self._quiet.clear()
        try:
            yield
        finally:
            asyncio.get_running_loop().call_later(SOON_S, self._less_busy)

    def _less_busy(self) -> None:
        self._waiting -= 1
        if not self._waiting:
            self._quiet.set()

    def digest(self) -> dict[str, Any]:
        """Return the numbers of as much of the run as was read by now."""
        return self._scan.digest.shown()

    async def thoughts(self, actor: int, last_tick: int, count: int) -> list[dict[str, Any]]:
        """Return the newest whole thoughts of an actor, newest first."""
        async with self._reading:
            return await asyncio.to_thread(self._read_thoughts, actor, last_tick, count)

    def _read_thoughts(self, actor: int, last_tick: int, count: int) -> list[dict[str, Any]]:
        with self._using:
            return self._frames.thoughts(actor, last_tick, count)

    def _read_state(self, tick_id: int) -> bytes:
        with self._landing:
            if tick_id > (self._jumper.last_tick_id or 0):
                self._jumper.refresh()
            return self._states.state(tick_id)

    def _read(self, first: int, last: int, gone: threading.Event) -> bytes:
        with self._using:
            if last > (self._reader.last_tick_id or 0):
                self._reader.refresh()
            frames = self._frames.frames(first, last)
        parts: list[bytes] = []
        while True:
            self._calm.wait(AT_MOST_S)
            with self._using:
                frame = None if gone.is_set() else next(frames, None)
            if frame is None:
                return b"".join(parts)
            parts.append(frame)

    async def mind(self, actor: int, last_tick: int) -> dict[str, Any]:
        """Return what is known of an actor's mind and needs at a tick."""
        async with self._reading:
            return await asyncio.to_thread(self._read_mind, actor, min(last_tick, self._scan.span.last_tick_id))

    async def whole_mind(self, actor: int, tick_id: int) -> dict[str, Any]:
        """Return an actor's mind after a tick, lived again."""
        actors, last = self._reader.info.actors, self._scan.span.last_tick_id
        if self._whole_minds is None:
            raise NoWholeMindError("this viewer lives no minds again; use `tickmind mind`")
        if not 0 <= actor < len(actors) or not 1 <= tick_id <= last:
            raise NoWholeMindError(f"request actors from 0 to {len(actors) - 1} and ticks from 1 to {last}")
        return await self._whole_minds(actors[actor].entity_id, tick_id)

    async def story(self) -> dict[str, Any]:
        """Return the run as a chronicle, as far as it is recorded."""
        return await self._story.up_to(self._scan.span.last_tick_id, len(self._reader.info.actors))

    def _read_mind(self, actor: int, last_tick: int) -> dict[str, Any]:
        with self._using:
            return self._frames.mind(actor, last_tick)


def _before_first(record: TickRecord) -> ActorColumns:
    """Return where actors were before the first recorded tick, by their first moves."""
    now, count = record.actor_state, len(record.actor_state.x)
    way = np.full(count, -1, dtype=np.int64)
    way[record.intents.actor] = record.intents.direction
    went = np.zeros(count, dtype=np.bool_)
    results = record.results
    went[results.actor[(results.action == _MOVE) & (results.reason == 0)]] = True
    went &= (way >= 0) & (way < len(DX)) & now.present
    step = np.where(went, way, 0)
    dx, dy = np.array(DX, dtype=np.int32)[step], np.array(DY, dtype=np.int32)[step]
    return ActorColumns(
        np.where(went, now.x - dx, now.x), np.where(went, now.y - dy, now.y), now.status_bits, now.facing
    )

"""A live world as a source of frames: one subscription for all watchers."""

import asyncio
import random
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from tickmind.base import Clock, Limit, SystemClock, get_logger
from tickmind.protocol import WorldInfo
from tickmind.viewer.errors import NoStoryError, NoSuchWindowError, NoWholeMindError
from tickmind.viewer.frames import hello, notes, whole_thought
from tickmind.viewer.frames.tile_art import TileArt, shown_art
from tickmind.viewer.sources.digest import Digest
from tickmind.viewer.sources.frame_builder import FrameBuilder, scene_of_snapshot
from tickmind.viewer.sources.history import MAX_HISTORY_BYTES, FrameHistory
from tickmind.viewer.sources.minds import Minds, NeedsNow
from tickmind.viewer.sources.shelf import LiveReportHistory
from tickmind.viewer.sources.source import Span, window_ticks
from tickmind.viewer.sources.states import AgentStates
from tickmind.viewer.sources.watchers import Watchers
from tickmind.wire import Backoff, NotAllowedError, OverloadedError, UnreachableError, WireError, why_unusable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tickmind.wire import ViewerEvent, WorldClient

MAX_THOUGHT_BYTES = Limit("memory for thoughts of a live world", 8 * 1024 * 1024, "bytes")
RETRY = Backoff()
_log = get_logger(__name__)


class LiveSource:
    """Follows a world. It reconnects by itself when the world was away; until then the last state stays.

    Use it in `async with`: it is ready when the world has sent its map, or at once if no world answers yet.
    `tile_art_of` returns the picture of the map of a run; it is called in a thread whenever another run begins.
    """

    def __init__(
        self,
        client: "WorldClient",
        *,
        clock: Clock | None = None,
        retry: Backoff = RETRY,
        history: Limit = MAX_HISTORY_BYTES,
        rng: random.Random | None = None,
        tile_art_of: Callable[[str], TileArt | None] = lambda _run_id: None,
    ) -> None:
        self._client = client
        self._tile_art_of = tile_art_of
        self._clock = clock or SystemClock()
        self._retry = retry
        self._limit = history
        self._rng = rng or random.SystemRandom()
        self._world: WorldInfo | None = None
        self._world_run_id = ""  # as the world sends it
        self._run_id = ""  # as sent to pages; never empty once there is a map
        self._hello = b""
        self._stage: FrameBuilder | None = None
        self._history = FrameHistory(1)
        self._digest = Digest(0)
        self._thoughts = LiveReportHistory(MAX_THOUGHT_BYTES)
        self._minds = Minds({})
        self._needs = NeedsNow(0)
        self._states = AgentStates({})
        self.refused = ""
        """Why the world that answers can't be shown; empty if it can, or if none answers."""
        self._connected = False
        self._seen_s = 0.0  # when the last tick came
        self._keyframe: tuple[int, bytes] = (-1, b"")  # tick, frame
        self._task: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()  # set whenever there is a map
        self._watchers = Watchers(self._newest_keyframe)

    @property
    def watchers(self) -> Watchers:
        """The watchers of new ticks."""
        return self._watchers

    async def __aenter__(self) -> "LiveSource":
        self._task = asyncio.create_task(self._follow())
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def ready(self, timeout_s: float) -> bool:
        """Wait until the world has answered; return False if it has not in that time."""
        try:
            await asyncio.wait_for(self._ready.wait(), timeout_s)
        except TimeoutError:
            return False
        return True

    def hello(self) -> bytes:
        """Return the first frame."""
        if not self._hello:
            raise NoSuchWindowError("the world has not answered yet; wait until it runs")
        return self._hello

    def span(self) -> Span:
        """Return which ticks can be shown."""
        first, last = self._history.first_tick_id, self._history.last_tick_id
        return Span(first, last, growing=True, connected=self._connected, run_id=self._run_id)

    async def window(self, first: int, last: int) -> bytes:
        """Return frames of the past, as far as they are kept."""
        return self._history.window(first, last)

    async def state(self, tick_id: int) -> bytes:
        """Return the frames up to a tick, from the last keyframe before it."""
        return self._history.window(tick_id, tick_id)

    def digest(self) -> dict[str, Any]:
        """Return the numbers since this viewer began to watch."""
        return self._digest.shown()

    async def thoughts(self, actor: int, last_tick: int, count: int) -> list[dict[str, Any]]:
        """Return the newest whole thoughts of an actor, newest first."""
        return list(islice(self._thoughts.newest(actor, 0, last_tick), count))

    async def mind(self, actor: int, last_tick: int) -> dict[str, Any]:
        """Return what is known of an actor's mind and needs at a tick, as far as it is kept."""
        return self._minds.of(actor, min(last_tick, self._history.last_tick_id))

    async def whole_mind(self, actor: int, tick_id: int) -> dict[str, Any]:  # noqa: ARG002 - the same for all
        """Raise `NoWholeMindError`: a mind is lived again from a record."""
        raise NoWholeMindError("a mind is lived again from a record; open the run with `tickmind replay`")

    async def story(self) -> dict[str, Any]:
        """Raise `NoStoryError`: a story is made from a record."""
        raise NoStoryError("a story is made from a record; open the run with `tickmind replay`")

    def _newest_keyframe(self) -> bytes:
        if self._stage is None:
            return b""
        tick_id = self._stage.scene.tick_id
        if self._keyframe[0] != tick_id:
            self._keyframe = (tick_id, self._stage.keyframe() + self._holding())
        return self._keyframe[1]

    def _holding(self) -> bytes:
        """Return the frame of agents' present states, as far as they are known."""
        assert self._stage is not None, "states are requested after the first snapshot"
        return self._states.frame(self._stage.scene.tick_id, self._stage.scene.sim_time_ms)

    async def _follow(self) -> None:
        failures = 0
        while True:
            try:
                async for event in self._events():
                    failures = 0
                    self._take(event)
            except (UnreachableError, OverloadedError, NotAllowedError) as error:
                self.refused = why_unusable(error)
                _log.info("the world can't be reached", error=str(error))
            except WireError as error:
                self.refused = why_unusable(error)
                _log.exception("watching the world failed")
            self._connected = False
            await asyncio.sleep(self._retry.wait_s(min(failures, 30), self._rng))
            failures += 1

    async def _events(self) -> "AsyncIterator[ViewerEvent]":
        """Iterate over events without gaps: after a gap, a new snapshot is taken.

        The stream is opened before the first snapshot, so that no tick falls between the two.
        """
        world = await self._client.world()
        opened = asyncio.Event()
        stream = self._client.viewer_events(world, retry=None, on_open=opened.set)
        coming = asyncio.ensure_future(anext(stream, None))
        coming.add_done_callback(lambda _: opened.set())  # a stream that failed never opens
        try:
            await opened.wait()
            await self._restart(world)
            while (event := await coming) is not None:
                coming = asyncio.ensure_future(anext(stream, None))
                assert self._stage is not None, "there is a stage after the first snapshot"
                at = self._stage.scene.tick_id
                if event.tick_id > at + 1:
                    await self._restart(world)
                    at = self._stage.scene.tick_id
                if event.tick_id == at + 1:
                    yield event
        finally:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)

    async def _restart(self, world: WorldInfo) -> None:
        """Take a snapshot, and start over if the world is in another run: no tick of a run is ever taken back."""
        snapshot = await self._client.snapshot(world)
        scene = scene_of_snapshot(snapshot)
        named = snapshot.run_id != self._world_run_id
        if named or world != self._world or self._stage is None or scene.tick_id < self._stage.scene.tick_id:
            art = shown_art(await asyncio.to_thread(self._tile_art_of, snapshot.run_id))
            window = window_ticks(len(world.actors))
            self._world = world
            self._world_run_id = snapshot.run_id
            self._run_id = snapshot.run_id if named and snapshot.run_id else f"{self._rng.getrandbits(64):016x}"
            self._hello = hello(world, mode="live", window_ticks=window, run_id=self._run_id, **art)
            self._history = FrameHistory(window, limit=self._limit)
            self._digest = Digest(scene.tick_id + 1)
            self._thoughts = LiveReportHistory(MAX_THOUGHT_BYTES)
            rows = {actor.entity_id: row for row, actor in enumerate(world.actors)}
            self._minds = Minds(rows, len(world.own_needs))
            self._needs = NeedsNow(len(world.actors))
            self._states = AgentStates({actor.entity_id: row for row, actor in enumerate(world.actors)})
        self._minds.add_needs(scene.tick_id, snapshot.needs)
        self._needs.take(snapshot.needs)
        self._stage = FrameBuilder(world, scene)
        self._keyframe = (-1, b"")
        self._history.begin(scene.tick_id, self._newest_keyframe())
        self._seen_s = 0.0
        self._connected = True
        self.refused = ""
        self._ready.set()
        self._watchers.restart()

    def _take(self, event: "ViewerEvent") -> None:
        stage = self._stage
        assert stage is not None, "events come after the first snapshot"
        now_s = self._clock.monotonic()
        gap_ms = (now_s - self._seen_s) * 1000 if self._seen_s else 0.0
        self._seen_s = now_s
        if self._history.wants_keyframe():
            self._history.begin(stage.scene.tick_id, self._newest_keyframe())
            self._watchers.send(self._holding())
        frame = stage.event(event)
        self._history.add(event.tick_id, frame)
        self._watchers.send(frame)
        said = notes(event.tick_id, event.sim_time_ms, event.thoughts, event.statuses, stage.names.actor_rows)
        if said:
            self._history.add_reports(event.tick_id, said)
            self._watchers.send(said)
            self._states.take(event.statuses)
        self._digest.add_tick(event.tick_id, stage.scene.actors, event.results, len(event.utterances), gap_ms)
        self._digest.add_thoughts(event.thoughts)
        away = np.flatnonzero(~stage.scene.actors.present).astype(np.int32)
        self._digest.add_needs(event.tick_id, self._needs.take(event.needs, away))
        self._minds.add_needs(event.tick_id, event.needs)
        self._minds.add(event.insights)
        for report in event.thoughts:
            row = stage.names.actor_rows.get(report.entity_id)
            if row is not None:
                self._thoughts.add(row, report.tick_id, whole_thought(report, row))

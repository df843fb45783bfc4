"""The tick loop: runs a world's ticks on time."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from tickmind.base import Clock, get_logger
from tickmind.base.garbage import GarbageKeeper
from tickmind.protocol import Sink, TickRecord
from tickmind.server.authority import Authority
from tickmind.server.checkpoint import EVERY_TICKS, Checkpoint, CheckpointStore, save_checkpoint
from tickmind.server.pace import TickSchedule

REPORT_EVERY_S = 10.0  # shortest time between two log lines about overruns; statistics count them all
LOOK_AGAIN_S = 0.25  # how often a world in lockstep checks for expired leases
KEPT_PART = 2 / 3  # of the time before the next tick is reserved for preparing it
KEPT_TIMES = 1.5  # the same, as a multiple of the last preparation's time
_log = get_logger(__name__)


class TickWaiter(Protocol):
    """Waits for the loop; a simulation brings its own."""

    async def until(self, at_s: float, poke: asyncio.Event) -> None:
        """Return at that monotonic time, or as soon as the event is set."""
        ...


class RealPacer:
    """Waits on the event loop, by a clock of real time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def until(self, at_s: float, poke: asyncio.Event) -> None:
        """Return at that monotonic time, or as soon as the event is set."""
        left_s = at_s - self._clock.monotonic()
        if left_s <= 0:
            await asyncio.sleep(0)  # other tasks get a turn even if there is no wait
            return
        try:
            async with asyncio.timeout(left_s):
                await poke.wait()
        except TimeoutError:
            pass  # the time has come


class DiscardSink:
    """Keeps no record, for worlds that need none."""

    def publish(self, record: TickRecord) -> None:
        """Drop the tick."""


class TickLoop:
    """The loop of one world: begin, wait for intents, resolve, keep, publish, prepare, and the next on time.

    A record goes to `sink` in a thread of its own, so that a slow disk delays the next tick but not the answers to
    agents; nothing of a tick is shown before the sink has it. `on_tick` is called after each published tick.
    """

    def __init__(
        self,
        authority: Authority,
        *,
        sink: Sink | None = None,
        checkpoints: CheckpointStore | None = None,
        checkpoint_every_ticks: int = EVERY_TICKS,
        pacer: TickWaiter | None = None,
        garbage: GarbageKeeper | None = None,
        on_tick: Callable[[TickRecord], None] = lambda _record: None,
    ) -> None:
        self._authority = authority
        self._clock = authority.clock
        self._sink = sink or DiscardSink()
        self._in_thread = sink is not None
        self._checkpoints = checkpoints
        self._checkpoint_every_ticks = checkpoint_every_ticks
        self._pacer = pacer or RealPacer(authority.clock)
        self._garbage = garbage
        self._on_tick = on_tick
        self._report_again_s = self._clock.monotonic()
        self._quiet_work_s = 0.0  # last time of preparing and collecting garbage, without other tasks
        self._poke = asyncio.Event()
        self._stopping = asyncio.Event()

    def save(self) -> None:
        """Save a checkpoint. Do so before the first lease: then no later start grants the same epochs."""
        if self._checkpoints is not None:
            save_checkpoint(self._checkpoints, self._checkpoint())

    def stop(self) -> None:
        """Let `run` return. A tick that still waits for intents is not resolved."""
        self._stopping.set()
        self._poke.set()

    async def run(self, ticks: int | None = None) -> int:
        """Run so many ticks, or until a rule ends the run, or until stopped; return the number of ticks.

        The last state is saved as a checkpoint.
        """
        self._authority.on_progress = self._poke.set if self._authority.pace.lockstep else lambda: None
        schedule = TickSchedule(self._authority.pace.tick_s, self._clock.monotonic())
        done = 0
        while not self._stopping.is_set() and (ticks is None or done < ticks):
            record = await self._tick(schedule)
            if record is None:
                break
            done += 1
            if self._checkpoints is not None and record.tick_id % self._checkpoint_every_ticks == 0:
                await asyncio.to_thread(save_checkpoint, self._checkpoints, self._checkpoint())
            if record.ends:
                break
            await self._prepare(schedule.next_s)
            overrun = schedule.finish(self._clock.monotonic())
            if overrun and not self._authority.pace.lockstep:
                self._report(record.tick_id, overrun.late_s)
        self.save()
        return done

    async def _tick(self, schedule: TickSchedule) -> TickRecord | None:
        authority, pace, tally = self._authority, self._authority.pace, self._authority.tally
        if not pace.lockstep:
            await self._until(schedule.start_s)
        if self._stopping.is_set():
            return None
        now_s = self._clock.monotonic()
        if not pace.lockstep:
            tally.jitter.add(now_s - schedule.start_s)
        authority.begin()
        if pace.lockstep:
            await self._until_ready()
        else:
            await self._until(now_s + pace.deadline_s)
        if self._stopping.is_set():
            return None
        record = authority.resolve()
        now_s = self._clock.monotonic()
        if self._in_thread:
            await asyncio.to_thread(self._sink.publish, record)
        else:
            self._sink.publish(record)
        tally.keeps.add(self._clock.monotonic() - now_s)
        authority.publish(record)
        self._on_tick(record)
        return record

    async def _until(self, at_s: float) -> None:
        while not self._stopping.is_set():
            await self._pacer.until(at_s, self._poke)
            if self._clock.monotonic() >= at_s:
                return
            if not self._stopping.is_set():
                self._poke.clear()

    async def _until_ready(self) -> None:
        await asyncio.sleep(0)
        while not self._stopping.is_set():
            self._poke.clear()
            if self._authority.ready():
                return
            await self._pacer.until(self._clock.monotonic() + LOOK_AGAIN_S, self._poke)

    async def _prepare(self, next_s: float) -> None:
        """Prepare the next tick. Other tasks get turns, unless that would make the tick late."""
        clock = self._clock
        started_s = turn_s = clock.monotonic()
        kept_s = max((next_s - started_s) * KEPT_PART, self._quiet_work_s * KEPT_TIMES)
        worked_s = 0.0
        for _ in self._authority.prepare():
            now_s = clock.monotonic()
            if self._authority.pace.lockstep or now_s + kept_s < next_s:
                worked_s += now_s - turn_s
                await asyncio.sleep(0)
                turn_s = clock.monotonic()
        self._authority.tally.prepares.add(clock.monotonic() - started_s)
        if self._garbage is not None:
            self._garbage.collect()
        self._quiet_work_s = worked_s + clock.monotonic() - turn_s

    def _report(self, tick_id: int, late_s: float) -> None:
        tally, now_s = self._authority.tally, self._clock.monotonic()
        tally.overruns += 1
        tally.late_s += late_s
        tally.late_most_s = max(tally.late_most_s, late_s)
        if now_s >= self._report_again_s:
            self._report_again_s = now_s + REPORT_EVERY_S
            late_ms = round(late_s * 1000, 1)
            _log.warning("a tick took too long; later ticks are delayed", tick_id=tick_id, late_ms=late_ms)

    def _checkpoint(self) -> Checkpoint:
        world = self._authority.world
        return Checkpoint(self._authority.leases.incarnation, world.tick_id, world.snapshot())

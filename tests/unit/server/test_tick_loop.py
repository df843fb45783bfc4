"""The loop of a world, with a clock that the test moves."""

import asyncio
import threading

import pytest

from tickmind.base import ManualClock, Secret
from tickmind.base.garbage import GarbageKeeper
from tickmind.protocol import Reason, TickRecord, Wait
from tickmind.server import Authority, Checkpoint, TickLoop, TickPace, tick_loop
from tickmind.server.testing import meadow
from tickmind.server.tick_loop import RealPacer
from tickmind.wire.messages.requests import AcquireRequest, SubmitRequest
from tickmind.world import TileWorld, parse_scenario

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(120)]


class Stepper:
    """Waits by moving the clock to where it should be, or a bit beyond."""

    def __init__(self, clock, beyond_s=0.0):
        self.clock = clock
        self.beyond_s = beyond_s
        self.waits = []

    async def until(self, at_s, poke):
        self.waits.append(at_s)
        await asyncio.sleep(0)
        self.clock.advance(max(0.0, at_s - self.clock.monotonic()) + self.beyond_s)


class Keeper:
    """A sink that may take its time."""

    def __init__(self, clock=None, takes_s=0.0):
        self.clock = clock
        self.takes_s = takes_s
        self.ticks = []

    def publish(self, record):
        self.ticks.append(record.tick_id)
        if self.clock is not None:
            self.clock.advance(self.takes_s)


class Memory:
    """A place for checkpoints."""

    def __init__(self):
        self.saved = []

    def save(self, data, *, after_tick, incarnation):
        checkpoint = Checkpoint.decode(data)
        assert (checkpoint.tick_id - 1, checkpoint.incarnation) == (after_tick, incarnation)
        self.saved.append(checkpoint)

    def stored(self):
        return ()


def authority(clock, **given):
    return Authority(TileWorld.from_scenario(meadow(3, radius=4)), clock=clock, **given)


async def test_ticks_begin_on_the_grid_and_close_at_the_deadline():
    clock = ManualClock()
    core = authority(clock)
    stepper = Stepper(clock)
    assert await TickLoop(core, pacer=stepper).run(3) == 3
    assert stepper.waits == pytest.approx([0.0, 0.5, 1.0, 1.5, 2.0, 2.5])
    assert core.tally.overruns == 0
    assert core.world.tick_id == 4


async def test_waking_up_late_is_jitter_and_does_not_add_up():
    clock = ManualClock()
    core = authority(clock)
    stepper = Stepper(clock, beyond_s=0.004)
    await TickLoop(core, pacer=stepper).run(50)
    assert stepper.waits[-2] == pytest.approx(49.0)
    assert core.tally.jitter.quantile(0.99) == pytest.approx(0.004, abs=0.0005)


async def test_a_slow_disk_is_an_overrun_that_is_counted():
    clock = ManualClock()
    core = authority(clock)
    sink = Keeper(clock, takes_s=0.7)
    await TickLoop(core, sink=sink, pacer=Stepper(clock)).run(3)
    assert sink.ticks == [1, 2, 3]
    assert core.tally.overruns == 3
    assert core.tally.late_s == pytest.approx(0.6)
    assert core.tally.late_most_s == pytest.approx(0.2)


async def test_others_who_keep_the_loop_busy_get_turns_but_make_no_tick_late(monkeypatch):
    clock = ManualClock()
    core = authority(clock)
    preparing, turns = False, 0

    def prepare():
        nonlocal preparing
        preparing = True
        for _ in range(20):
            clock.advance(0.01)
            yield
        preparing = False

    async def others():
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            if preparing:
                clock.advance(0.05)
                turns += 1

    monkeypatch.setattr(core, "prepare", prepare)
    busy = asyncio.create_task(others())
    await TickLoop(core, pacer=Stepper(clock)).run(10)
    busy.cancel()
    assert core.tally.overruns == 0
    assert turns >= 20


async def test_a_tick_is_published_only_after_the_sink_has_it():
    clock = ManualClock()
    core = authority(clock)
    order = []

    class Sink:
        def publish(self, record):
            order.append(("kept", record.tick_id))

    loop = TickLoop(core, sink=Sink(), pacer=Stepper(clock), on_tick=lambda one: order.append(("shown", one.tick_id)))
    await loop.run(2)
    assert order == [("kept", 1), ("shown", 1), ("kept", 2), ("shown", 2)]


async def test_a_sink_that_fails_stops_the_world_before_anybody_sees_the_tick():
    clock = ManualClock()
    core = authority(clock)
    shown: list[TickRecord] = []

    class Sink:
        def publish(self, record):
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        await TickLoop(core, sink=Sink(), pacer=Stepper(clock), on_tick=shown.append).run(2)
    assert shown == []


async def test_stopping_leaves_a_tick_that_waits_for_intents_unresolved():
    core = authority(ManualClock())
    began = asyncio.Event()

    class Patient:
        async def until(self, at_s, poke):
            if core.inbox.is_open:
                began.set()
                await poke.wait()

    loop = TickLoop(core, pacer=Patient())
    running = asyncio.create_task(loop.run())
    async with asyncio.timeout(30):
        await began.wait()
        loop.stop()
        assert await running == 0
    assert core.world.tick_id == 1


async def test_in_lockstep_the_clock_does_not_matter_but_the_answers_do():
    clock = ManualClock()
    core = authority(clock, pace=TickPace(1.0, 0.5, lockstep=True))
    lease = core.acquire(AcquireRequest("entity:1", "me"))
    loop = TickLoop(core)

    async def answer():
        for tick_id in range(1, 6):
            while core.inbox.tick_id != tick_id or not core.inbox.is_open:  # noqa: ASYNC110 - the inbox has no event
                await asyncio.sleep(0)
            assert core.submit(SubmitRequest(lease.lease_id, "entity:1", tick_id, Wait())).accepted

    async with asyncio.timeout(60):
        done, _ = await asyncio.gather(loop.run(5), answer())
    assert done == 5
    assert clock.monotonic() == 0


async def test_checkpoints_are_kept_at_the_start_now_and_then_and_at_the_end():
    clock = ManualClock()
    core = authority(clock, incarnation=4)
    memory = Memory()
    loop = TickLoop(core, checkpoints=memory, checkpoint_every_ticks=2, pacer=Stepper(clock))
    loop.save()
    await loop.run(5)
    assert [(one.incarnation, one.tick_id) for one in memory.saved] == [(4, 1), (4, 3), (4, 5), (4, 6)]


async def test_a_lease_of_before_a_crash_is_invalid_after_it_and_epochs_grow():
    clock = ManualClock()
    memory = Memory()
    epochs, old = [], Secret("o" * 32)
    for incarnation in (1, 2, 3):
        core = authority(clock, incarnation=incarnation)
        await TickLoop(core, checkpoints=memory, pacer=Stepper(clock)).run(1)
        assert core.leases.check(old, 0) is Reason.INVALID_LEASE
        lease = core.acquire(AcquireRequest("entity:1", "me"))
        epochs.append(lease.epoch)
        old = lease.lease_id
    assert epochs == sorted(set(epochs))


async def test_wall_clock_jumps_do_not_move_ticks():
    clock = ManualClock()
    core = authority(clock)
    stepper = Stepper(clock)
    loop = TickLoop(core, pacer=stepper, on_tick=lambda record: clock.jump_wall(86_400 * (-1) ** record.tick_id))
    await loop.run(4)
    assert stepper.waits == pytest.approx([0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5])


GOALS = """
world: short
floors: {grass: {}}
map: {width: 3, height: 3, floor: grass}
actors: [{id: ada, at: [0, 0]}]
goals:
  halfway: {tick: 2, score: 1}
  over: {tick: 4, ends: true}
"""


@pytest.mark.parametrize(("ticks", "done"), [(None, 4), (9, 4), (3, 3)])
async def test_a_goal_ends_the_run_after_its_tick_is_kept_shown_and_saved(ticks, done):
    clock, sink, store = ManualClock(), Keeper(), Memory()
    shown: list[TickRecord] = []
    core = Authority(TileWorld.from_scenario(parse_scenario(GOALS)), clock=clock)
    loop = TickLoop(core, sink=sink, checkpoints=store, pacer=Stepper(clock), on_tick=shown.append)
    assert await loop.run(ticks) == done
    assert sink.ticks == [record.tick_id for record in shown] == list(range(1, done + 1))
    assert store.saved[-1].tick_id == done + 1
    assert shown[-1].ends == (done == 4)


async def turns_of_the_loop(count=100):
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.mark.parametrize("late_s", [0.0, 5.0])
async def test_the_real_pacer_gives_others_a_turn_when_the_time_has_come(late_s):
    clock = ManualClock()
    clock.advance(100.0)
    waiting = asyncio.create_task(RealPacer(clock).until(100.0 - late_s, asyncio.Event()))
    await asyncio.sleep(0)
    assert not waiting.done()
    if late_s:
        await turns_of_the_loop()
        assert waiting.done()
    await waiting


async def test_the_real_pacer_waits_until_the_time_or_the_event():
    clock = ManualClock()
    clock.advance(100.0)
    poke = asyncio.Event()
    waiting = asyncio.create_task(RealPacer(clock).until(100.9, poke))
    await turns_of_the_loop()
    assert not waiting.done()
    poke.set()
    await waiting


async def test_the_sink_has_a_thread_of_its_own_and_its_time_is_counted():
    clock = ManualClock()
    core = authority(clock)
    threads = []

    class Sink:
        def publish(self, record):
            threads.append(threading.get_ident())
            clock.advance(0.25)

    await TickLoop(core, sink=Sink(), pacer=Stepper(clock)).run(2)
    assert len(threads) == 2
    assert threading.get_ident() not in threads
    assert core.tally.keeps.total_s == pytest.approx(0.5)


async def test_every_tick_is_shown_to_viewers(monkeypatch):
    core = authority(clock := ManualClock())
    shown = []
    monkeypatch.setattr(core, "publish", lambda record: shown.append(record.tick_id))
    await TickLoop(core, pacer=Stepper(clock)).run(3)
    assert shown == [1, 2, 3]


async def test_an_answer_does_not_end_the_wait_for_the_deadline():
    core = authority(clock := ManualClock())
    asked = []

    class Poked(Stepper):
        async def until(self, at_s, poke):
            assert not poke.is_set()
            asked.append(at_s)
            if asked == [0.0, 0.5]:
                poke.set()
                return
            await super().until(at_s, poke)

    await TickLoop(core, pacer=Poked(clock)).run(1)
    assert asked == [0.0, 0.5, 0.5]


async def test_lockstep_looks_again_after_a_quarter_of_a_second_or_an_answer():
    core = authority(clock := ManualClock(), pace=TickPace(1.0, 0.5, lockstep=True))
    asked = []

    class Poked:
        async def until(self, at_s, poke):
            assert not poke.is_set()
            asked.append(at_s - clock.monotonic())
            if len(asked) == 2:
                loop.stop()
            core.on_progress()

    clock.advance(7.0)
    loop = TickLoop(core, pacer=Poked())
    assert await loop.run(1) == 0
    assert asked == [0.25, 0.25]
    assert core.world.tick_id == 1


async def test_lockstep_passes_no_time_where_all_have_answered(monkeypatch):
    core = authority(ManualClock(), pace=TickPace(1.0, 0.5, lockstep=True))
    monkeypatch.setattr(core, "ready", lambda: True)
    monkeypatch.setattr(core, "prepare", lambda: iter([None] * 3))
    running = asyncio.create_task(TickLoop(core).run(5))
    await turns_of_the_loop()
    assert running.done()
    assert await running == 5


class Preparing:
    """Steps of preparation of 10 ms each, between which another task takes a while if it gets a turn."""

    def __init__(self, core, monkeypatch, steps, other_s):
        self.steps = steps
        self.turns: list[int] = []  # other tasks' turns in each tick
        self._clock = core.clock
        self._busy = False
        monkeypatch.setattr(core, "prepare", self._prepare)
        self._other_s = other_s

    def _prepare(self):
        self.turns.append(0)
        self._busy = True
        for _ in range(self.steps):
            self._clock.advance(0.01)
            yield
        self._busy = False

    async def others(self):
        while True:
            await asyncio.sleep(0)
            if self._busy:
                self.turns[-1] += 1
                self._clock.advance(self._other_s)


class Garbage(GarbageKeeper):
    """Takes a while to collect."""

    def __init__(self, clock, takes_s=0.0):
        self.clock = clock
        self.takes_s = takes_s
        self.count = 0

    def collect(self):
        self.count += 1
        self.clock.advance(self.takes_s)


@pytest.mark.parametrize(("garbage_s", "second"), [(0.0, 1), (0.2, 1), (0.3, 0)])
async def test_others_get_turns_while_no_more_time_is_left_than_preparing_took_before(monkeypatch, garbage_s, second):
    clock = ManualClock()
    clock.advance(50.0)
    core = authority(clock)
    preparing = Preparing(core, monkeypatch, 3, 0.16)
    garbage = Garbage(clock, garbage_s)
    busy = asyncio.create_task(preparing.others())
    await TickLoop(core, pacer=Stepper(clock), garbage=garbage).run(2)
    busy.cancel()
    # Of half a second two thirds are kept: after one turn and 20 ms of its own 0.32 s are left, which is less.
    # In the second tick one and a half times what all of the first took by itself are kept, if that is more.
    assert preparing.turns == [1, second]
    assert garbage.count == 2
    assert core.tally.prepares.total_s == pytest.approx(2 * 0.03 + (1 + second) * 0.16)


async def test_late_ticks_are_counted_and_logged_every_ten_seconds(monkeypatch):
    clock, logged = ManualClock(), []

    class Log:
        def warning(self, text, *, tick_id, late_ms):
            logged.append((tick_id, late_ms))

    monkeypatch.setattr(tick_loop, "_log", Log())
    core = authority(clock)
    await TickLoop(core, sink=Keeper(clock, takes_s=2.0), pacer=Stepper(clock)).run(6)
    assert (core.tally.overruns, core.tally.late_s, core.tally.late_most_s) == (6, 9.0, 1.5)
    assert logged == [(1, 1500.0), (5, 1500.0)]

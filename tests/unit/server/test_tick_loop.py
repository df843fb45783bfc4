"""The loop of a world, with a clock that the test moves."""

import asyncio

import pytest

from tickmind.base import ManualClock, Secret
from tickmind.protocol import Reason, TickRecord, Wait
from tickmind.server import Authority, Checkpoint, TickLoop, TickPace
from tickmind.server.testing import meadow
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

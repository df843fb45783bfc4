"""One short history, crashed at each of its disk operations, many times over: it always goes on where it was."""

import random
from contextlib import suppress
from dataclasses import dataclass

import pytest
from tests.long import short_or_long
from tests.sim.machine import ROOT, quick_worlds
from tests.sim.simulation import SCENARIO

from tickmind.base import ManualClock
from tickmind.cli.world.run import WorldRun, WorldRuns
from tickmind.protocol import Direction, Move, Say
from tickmind.record import LogOptions, SyncPolicy
from tickmind.record.testing import CrashedError, MemoryDisk
from tickmind.server import Authority, Checkpoint, load_checkpoint, resume, save_checkpoint
from tickmind.wire.messages.requests import AcquireRequest, SubmitRequest
from tickmind.world import TileWorld

TICKS = 7
CHECKPOINT_TICKS = 3
TIMES = short_or_long(3, 12)  # that each moment is crashed


@dataclass(frozen=True)
class Moment:
    """The disk before one operation, and what the world had told until then."""

    disk: MemoryDisk
    run_id: str  # empty if the run has not begun
    shown: tuple[bytes, ...]  # hashes of the worlds after the ticks that were shown
    epoch: int  # the last that was given


class WatchedDisk(MemoryDisk):
    """Remembers itself before each operation."""

    def __init__(self, seed):
        super().__init__(seed)
        self.moments = []
        self.run_id = ""
        self.shown: tuple[bytes, ...] = ()
        self.epoch = 0

    def _operate(self, **given):
        self.moments.append(self.moment())
        super()._operate(**given)

    def moment(self):
        return Moment(self.copy(), self.run_id, self.shown, self.epoch)


def open_world(run: WorldRun):
    world = TileWorld.from_scenario(run.scenario)
    incarnation = resume(world, load_checkpoint(run.checkpoints, run.history.last_tick_id or 0), run.history)
    save_checkpoint(run.checkpoints, Checkpoint(incarnation, world.tick_id, world.snapshot()))
    return Authority(world, clock=ManualClock(), incarnation=incarnation)


def history(seed, options):
    """Play some ticks; gives all moments at which a crash could come."""
    rng = random.Random(seed)
    disk = WatchedDisk(seed)
    run = WorldRuns(ROOT, disk, clock=ManualClock(), options=options).begin(SCENARIO, "sim.yaml", "run")
    disk.run_id = run.run_id
    authority = open_world(run)
    lease = authority.acquire(AcquireRequest("entity:1", "me"))
    disk.epoch = lease.epoch
    for tick_id in range(1, TICKS + 1):
        authority.begin()
        intent = Say("hello") if rng.random() < 0.3 else Move(Direction(rng.randrange(8)))
        assert authority.submit(SubmitRequest(lease.lease_id, "entity:1", tick_id, intent)).accepted
        record = authority.resolve()
        run.log.publish(record)
        authority.publish(record)
        disk.shown = (*disk.shown, record.state_hash)
        if tick_id % CHECKPOINT_TICKS == 0:
            world = authority.world
            save_checkpoint(run.checkpoints, Checkpoint(authority.leases.incarnation, world.tick_id, world.snapshot()))
    run.finish()
    return [*disk.moments, disk.moment()]


def check(moment, seed, options, *, lost_power):
    """Crash there, perhaps once more while it is being mended, and go on."""
    rng = random.Random(seed)
    disk = moment.disk.copy(seed)
    disk.restart(lost_power=lost_power)
    runs = WorldRuns(ROOT, disk, clock=ManualClock(), options=options)
    if rng.random() < 0.3:
        disk.crash_at(rng.randint(1, 8))
        with suppress(CrashedError):
            open_world(runs.resume(moment.run_id))
        disk.restart()
    run = runs.resume(moment.run_id)
    authority = open_world(run)
    kept = [record.state_hash for record in run.history.records()]
    assert kept[: len(moment.shown)] == list(moment.shown)
    assert len(kept) <= len(moment.shown) + 1
    assert authority.world.tick_id == len(kept) + 1
    if kept:
        assert authority.world.state_hash() == kept[-1]
    assert authority.acquire(AcquireRequest("entity:1", "me")).epoch > moment.epoch
    record = authority.resolve()
    run.log.publish(record)


@pytest.fixture(autouse=True)
def _quick_worlds():
    with quick_worlds():
        yield


def crash_everywhere(seed, times, options):
    """Crash each moment so often; of the many moments in which the finished files are written, some are enough."""
    cases = 0
    for place, moment in enumerate(history(seed, options)):
        finishing = len(moment.shown) == TICKS
        for number in range(times if not finishing else place % 5 == 0):
            if moment.run_id:
                check(moment, seed * 1_000_003 + cases, options, lost_power=number % 3 > 0)
                cases += 1
    return cases


def test_a_world_goes_on_after_a_crash_at_any_operation():
    assert crash_everywhere(1, 1, LogOptions(keep_log=True)) > 40


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(2, 4))
def test_a_world_goes_on_after_many_crashes_at_every_operation(seed):
    options = LogOptions(keep_log=True, segment_ticks=(4096, 3)[seed % 2])
    assert crash_everywhere(seed, TIMES, options) > 75


@pytest.mark.parametrize("sync", [SyncPolicy.NEVER, SyncPolicy(500)], ids=["never", "500 ms"])
def test_without_sync_a_killed_process_loses_nothing(sync):
    options = LogOptions(sync=sync, keep_log=True)
    for moment in history(7, options)[::2]:
        if moment.run_id and len(moment.shown) < TICKS:
            check(moment, 0, options, lost_power=False)

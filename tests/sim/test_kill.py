"""kill -9 of real worlds: at every write, sync and rename, and at any other moment."""

import random

import pytest
import pytest_asyncio
from tests.long import LONG
from tests.sim.kills import FAILED, KILLED, KillSite, Launcher

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(600)]
OPERATIONS_OF_BEGINNING = 26
OPERATIONS = 30  # of mending, of the first checkpoint, of some ticks and of another checkpoint
MOMENTS = 40 if LONG else 10
# How often each operation is the last one. Half of what is no write is nothing of it, and so is like "before".
STEPS = (("half", 1), ("after", 1 if LONG else 2), ("before", 1 if LONG else 6))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def launcher(tmp_path_factory):
    """One for all tests, as it takes seconds to load everything."""
    async with Launcher(tmp_path_factory.mktemp("k") / "log") as launcher:
        yield launcher


@pytest.fixture
def make_site(launcher, tmp_path_factory):
    def make(seed=0):
        return KillSite(tmp_path_factory.mktemp("k"), launcher, random.Random(seed))

    return make


async def test_a_world_that_is_killed_while_it_begins_begins_again(make_site):
    site = make_site()
    for number in range(1, OPERATIONS_OF_BEGINNING + 1):
        if site.run_id:
            break
        assert await site.live(kill_at=number, how=("before", "half", "after")[number % 3]) == KILLED
    assert await site.live(ticks=3) == 0
    assert site.kills >= 15
    assert site.check() >= 3


async def test_no_tick_is_lost_by_a_kill_at_any_operation_of_the_disk(make_site):
    site = make_site()
    assert await site.live(ticks=2) == 0
    for how, step in STEPS:
        for number in range(1, OPERATIONS + 1, step):
            assert await site.live(kill_at=number, how=how) == KILLED
    await site.be_seen()
    assert site.kills >= sum(OPERATIONS // step for _, step in STEPS)
    assert site.check() > OPERATIONS


async def test_no_tick_is_lost_by_a_kill_at_any_moment(make_site):
    site = make_site(seed=7)
    assert await site.live(ticks=2) == 0
    for _ in range(MOMENTS):
        assert await site.live(kill_after_s=site.rng.uniform(0.001, 0.15)) == KILLED
    for _ in range(MOMENTS // 4):  # while the finished files are written, too
        assert await site.live(ticks=2, kill_at=site.rng.randint(25, 120)) == KILLED
    await site.be_seen()
    assert site.check() > MOMENTS


async def test_a_full_disk_stops_the_world_before_anybody_sees_what_could_not_be_kept(make_site):
    site = make_site(seed=9)
    assert await site.live(ticks=2) == 0
    for number in range(12, 42, 5):
        before = len(site.launcher.log.read_text())
        assert await site.live(kill_at=number, how="full") == FAILED
        said = site.launcher.log.read_text()[before:]
        assert "the disk is full; make room, then resume the run" in said
        assert f"tickmind world --resume {site.run_id}" in said
    assert await site.live(ticks=2) == 0
    assert site.check() > 12

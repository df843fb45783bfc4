"""From where on two runs differ, and how far apart they are."""

from types import SimpleNamespace

import numpy as np
from tests.unit.record.test_comparison import Run

from tickmind.record.report.divergence import MOST_POINTS, diverge

TICKS = 1000
ACTORS = 4


class PlacedRun(Run):
    """A run in which the first actor stands one tile further east in some ticks."""

    def __init__(self, run_id, aside=()):
        super().__init__(run_id, (), ())
        self._aside = aside

    def records(self, first=None, last=None):
        for tick_id in range(1, TICKS + 1):
            is_aside = tick_id in self._aside
            x = np.arange(ACTORS) + (np.arange(ACTORS) == 0) * is_aside
            state = SimpleNamespace(x=x, y=np.zeros(ACTORS))
            yield SimpleNamespace(tick_id=tick_id, state_hash=tick_id + 5000 * is_aside, actor_state=state)


def test_the_first_difference_is_named_and_a_short_one_is_on_the_curve():
    found = diverge(PlacedRun("one"), PlacedRun("other", aside={500, 777}))
    assert (found.first_tick_id, found.state) == (500, "the worlds differ after tick 500")
    assert len(found.ticks) == len(found.elsewhere) <= MOST_POINTS
    assert (found.ticks[0], found.ticks[-1]) == (3, TICKS)
    apart = [tick for tick, share in zip(found.ticks, found.elsewhere, strict=True) if share]
    assert apart == [501, 777]
    assert set(found.elsewhere) == {0.0, 0.25}


def test_equal_runs_have_no_difference():
    found = diverge(PlacedRun("one"), PlacedRun("other"))
    assert (found.first_tick_id, found.state, found.ticks) == (None, "", ())

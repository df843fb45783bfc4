"""From where on two runs differ, and how far apart they are."""

from types import SimpleNamespace

import numpy as np
import pytest
from tests.unit.record.test_comparison import Run

from tickmind.record import RunParent
from tickmind.record.report import divergence
from tickmind.record.report.divergence import MOST_POINTS, diverge

TICKS = 1000
ACTORS = 4


class PlacedRun(Run):
    """A run in which the first actor stands one tile further east in some ticks."""

    first_tick_id, last_tick_id = 1, TICKS

    def __init__(self, run_id, aside=(), parent=None):
        super().__init__(run_id, (), ())
        self._aside = aside
        self.parent = parent
        self.read: set[int] = set()

    @property
    def meta(self):
        return SimpleNamespace(parent=self.parent)

    def records(self, first=None, last=None):
        for tick_id in range(first or 1, min(last or TICKS, TICKS) + 1):
            self.read.add(tick_id)
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
    assert found.until_tick_id is None


def test_equal_runs_have_no_difference():
    found = diverge(PlacedRun("one"), PlacedRun("other"))
    assert (found.first_tick_id, found.state, found.ticks) == (None, "", ())


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [
        (RunParent("other", 600), None, 600),
        (None, RunParent("one", 600), 600),
        (RunParent("third", 900), RunParent("third", 600), 600),
        (RunParent("third", 900), RunParent("fourth", 600), 0),
    ],
)
def test_of_the_past_that_a_branch_shares_nothing_is_read_again(first, second, shared):
    one, other = PlacedRun("one", parent=first), PlacedRun("other", aside={700}, parent=second)
    found = diverge(one, other)
    assert found.first_tick_id == 700
    assert (found.ticks[0], found.ticks[-1]) == (3, TICKS)
    assert min(one.read) == min(other.read) == shared + 1


def test_of_runs_that_are_too_long_as_much_is_compared_as_the_limit_allows(monkeypatch):
    monkeypatch.setattr(divergence, "MAX_TICKS", divergence.MAX_TICKS.at(200))
    one, other = PlacedRun("one", parent=RunParent("other", 300)), PlacedRun("other", aside={400, 777})
    found = diverge(one, other)
    assert (found.first_tick_id, found.until_tick_id, found.ticks[-1]) == (400, 500, 500)
    assert max(one.read) == max(other.read) == 500
    equal = diverge(PlacedRun("one"), PlacedRun("other", aside={777}))
    assert (equal.first_tick_id, equal.until_tick_id) == (None, 200)

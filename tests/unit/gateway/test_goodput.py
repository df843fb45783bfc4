"""How much of a slow model's time becomes answers in time: simulated callers in front of the real dispatcher."""

import pytest
from tests.kits.goodput_simulation import CASES, Case, Figures, Simulation
from tests.long import short_or_long

pytestmark = pytest.mark.slow  # hours of simulated time
GOODPUT = 0.93  # of the attainable
WASTED = 0.03  # of the starts
REQUESTS_PER_ANSWER = 3.0  # of callers that come back when they are told to
REQUESTS_OF_THE_HASTY = 15.0  # that ask again after a second, whatever they are told
HASTY_PAUSE_S = 1.0
NAMES = [case.name for case in CASES]


def simulated(case, seconds, seeds, **options):
    """The sums of several runs."""
    total = Figures(case)
    for seed in seeds:
        one = Simulation(case, seed=seed, **options).run(seconds)
        total.seconds += one.seconds
        total.requests += one.requests
        total.starts += one.starts
        total.wasted += one.wasted
        total.hopeless += one.hopeless
        total.busy_s += one.busy_s
        total.answers_s += one.answers_s
        total.by_session += one.by_session
        assert not one.circuits_opened
    return total


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_callers_that_heed_waits_get_nearly_all_that_the_model_can_give(case):
    tight = case.attainable < 1  # so close to the bound that one run says little
    figures = simulated(case, 5000.0 if tight else 600.0, short_or_long((1, 2, 3) if tight else (1,), (1, 2, 3)))
    assert figures.goodput >= GOODPUT, str(figures)
    assert figures.wasted_part <= WASTED, str(figures)
    assert figures.requests_per_answer <= REQUESTS_PER_ANSWER, str(figures)


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_callers_that_ignore_waits_cost_few_requests_and_waste_nothing(case):
    """Where no answer can wait for a slot they come too seldom at the right time, so a little less is attained."""
    seeds = short_or_long((1,), (1, 2))
    figures = simulated(case, 1500.0 if case.attainable < 1 else 300.0, seeds, pause_s=HASTY_PAUSE_S)
    assert figures.requests_per_answer <= REQUESTS_OF_THE_HASTY, str(figures)
    assert figures.wasted_part <= WASTED, str(figures)
    assert figures.goodput >= (GOODPUT if case.attainable == 1 else 0.85), str(figures)


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_without_learning_the_same_callers_get_next_to_nothing(case):
    """The old policy, with which others are compared: every request waits until its deadline, the oldest goes first."""
    figures = simulated(case, 60.0, seeds=(1,), learn=False, pause_s=0.25)
    assert figures.goodput < 0.3 or case.drop_after_s is not None, str(figures)


def test_dropping_after_half_the_patience_does_not_help_a_model_that_takes_longer_without_learning():
    demo = Case("the demo's", (2.0, 3.5), 3.0, drop_after_s=1.5)
    old = simulated(demo, 200.0, seeds=(1,), learn=False, pause_s=0.25)
    new = simulated(demo, 1000.0, seeds=(1,))
    assert old.goodput < 0.1, str(old)
    assert new.goodput > 0.85, str(new)


@pytest.mark.parametrize(
    "case",
    [
        Case("2 slots", (0.3, 0.5), 6.0, slots=2, sessions=12),
        Case("1 slot", (0.4, 0.4), 6.0, sessions=12),
        Case("1 slot, long waits in the queue", (0.4, 0.6), 8.0, sessions=12),
        Case("4 slots", (0.2, 0.4), 4.0, slots=4, sessions=12),
    ],
    ids=lambda case: case.name,
)
def test_goodput_follows_a_model_that_becomes_ten_times_slower_for_five_minutes(case):
    slow_s, well_s = 120.0, 420.0
    simulation = Simulation(case, seed=1, slowness=lambda now: 10.0 if slow_s <= now < well_s else 1.0)
    figures = simulation.run(well_s + 120.0)

    def part(from_s, until_s, slowness=1.0):
        return figures.answered(from_s, until_s) * slowness / ((until_s - from_s) * case.per_second)

    assert part(30.0, slow_s) >= GOODPUT
    assert part(slow_s + 30.0, well_s, 10.0) >= 0.89  # of some 100 answers
    assert part(well_s + 30.0, well_s + 120.0) >= GOODPUT
    assert not figures.circuits_opened
    assert not simulation.has_open_circuit
    assert figures.unfairness <= 0.2, sorted(figures.by_session.values())  # those that were sent away come back, too
    assert figures.wasted_part <= WASTED


@pytest.mark.parametrize("hasty", [1, 6])
def test_who_ignores_waits_gets_little_more_than_who_heeds_them(hasty):
    figures = simulated(CASES[2], 1500.0, short_or_long((1,), (1, 2)), pause_s=0.5, ignoring=hasty)
    most, mean = max(figures.by_session.values()), sum(figures.by_session.values()) / 12
    assert most <= 1.35 * mean, sorted(figures.by_session.values())
    assert figures.goodput >= 0.85, str(figures)

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.server.metrics import BOUNDS_S, metrics_of
from tickmind.server.statistics import DurationHistogram, TickTally


@given(st.lists(st.floats(0, 1.5), min_size=1, max_size=200), st.floats(0.01, 1))
def test_quantiles_are_right_within_one_step(values, part):
    durations = DurationHistogram(0.001, 2.0)
    for value in values:
        durations.add(value)
    place = max(0, -(-int(part * len(values) * 1_000_000) // 1_000_000) - 1)
    exact = sorted(values)[min(place, len(values) - 1)]
    assert durations.quantile(part) >= min(exact, durations.most_s) - 0.0011
    assert durations.most_s == max(values)


def test_no_durations_have_no_quantile():
    assert DurationHistogram().quantile(0.99) == 0.0


def test_durations_beyond_the_longest_count_as_the_most():
    durations = DurationHistogram(0.001, 0.01)
    durations.add(5.0)
    assert durations.quantile(0.5) == 5.0


def test_buckets_count_everything_once():
    durations = DurationHistogram(0.001, 2.0)
    for value in (0.0005, 0.0015, 0.2, 3.0):
        durations.add(value)
    assert durations.buckets((0.001, 0.1, 1.0)) == [1, 1, 1, 1]
    assert durations.total_s == pytest.approx(3.202)


@pytest.mark.parametrize("name", ["jitter", "answers", "steps", "keeps", "prepares"])
def test_what_took_longer_than_all_bounds_is_in_none_of_them(name):
    durations = getattr(TickTally(), name)
    durations.add(0.7)
    durations.add(3.0)
    assert durations.buckets(BOUNDS_S)[-2:] == [1, 1]


def test_metrics_are_prometheus_text(game):
    game.tick()
    text = metrics_of(game.authority)
    assert "tickmind_world_ticks_total 1\n" in text
    assert 'tickmind_world_step_seconds_bucket{le="+Inf"} 1\n' in text
    assert text.count("# TYPE") == text.count("# HELP")

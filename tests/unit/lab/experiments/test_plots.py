"""The pictures of an experiment's page."""

from tickmind.lab.experiments.results.analysis import CurveBand
from tickmind.lab.experiments.results.plots import bands


def test_conditions_with_equal_curves_are_both_seen():
    values = (0.0, 0.1, 0.2)
    drawn = bands([CurveBand(name, (1, 2, 3), values, values, values) for name in ("open", "closed")], label="knows")
    first, second = drawn.split("<polyline ")[1:]
    assert "stroke-dasharray" not in first
    assert "stroke-dasharray" in second  # the first one shows between its dashes
    assert drawn.rindex("<polygon ") < drawn.index("<polyline ")  # no band covers a line

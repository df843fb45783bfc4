"""`tickmind experiment`: what it runs, writes and refuses."""

import json
from pathlib import Path

import pytest
from tests.kits.experiments import TINY, InlineExecutor

from tickmind.lab.experiments import executors

EXAMPLE = Path(__file__).parents[3] / "examples" / "market_and_news.yaml"


class HereExecutor(InlineExecutor):
    """Does the trials in the process of the test."""

    def __init__(self, workers):
        self.wanted = workers


@pytest.fixture
def here(monkeypatch):
    monkeypatch.setattr(executors, "ProcessExecutor", HereExecutor)


@pytest.mark.slow
def test_the_example_gives_a_page_two_tables_and_all_figures(tickmind, tmp_path, here):
    options = ("--out", str(tmp_path), "--seeds", "2", "--ticks", "2", "--power", "lines said=5")
    result = tickmind("experiment", str(EXAMPLE), *options)
    assert result.exit_code == 0, result.output
    assert "4 trials of 2 ticks" in result.stderr
    assert "market=closed" in result.stdout
    assert "lines said, market=closed: a difference of 5 is found with 80%" in result.stdout
    assert {path.name for path in tmp_path.iterdir()} >= {
        *("experiment.html", "experiment.json", "experiment.yaml", "trials.parquet", "curves.parquet", "trials"),
    }
    figures = json.loads((tmp_path / "experiment.json").read_text())
    assert figures["seeds"] == [1, 2]
    assert [measure["name"] for measure in figures["measures"]] == ["knows", "knows over time", "density", "lines said"]
    again = tickmind("experiment", str(EXAMPLE), *options, "--json", "--keep", "none")
    assert "4 are done, 0 are missing" in again.stderr
    assert json.loads(again.stdout) == figures
    assert list((tmp_path / "trials").iterdir()) == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--power", "knows"), "--power takes a measure and a difference"),
        (("--power", "=0.1"), "--power takes a measure and a difference"),
        (("--keep", "all"), "--keep takes none, measures, runs"),
    ],
)
def test_options_that_mean_nothing_are_refused(tickmind, tmp_path, options, says):
    file = tmp_path / "tiny.yaml"
    file.write_text(TINY)
    result = tickmind("experiment", str(file), *options)
    assert result.exit_code == 1
    assert says in result.stderr
    assert not Path("experiments").exists()


def test_a_check_describes_an_experiment_or_says_what_is_wrong_with_it(tickmind, tmp_path):
    file = tmp_path / "tiny.yaml"
    file.write_text(TINY)
    assert "the experiment tiny, 2 conditions, 4 trials" in tickmind("check", str(file)).stdout
    file.write_text(TINY.replace("ticks: 6", "ticks: none"))
    result = tickmind("check", str(file))
    assert result.exit_code == 1
    assert "tiny.yaml:4:8: ticks: expected a whole number" in result.stderr

"""How an experiment goes through its trials, with executors that answer at once."""

from concurrent.futures import BrokenExecutor, Future
from dataclasses import replace
from typing import Any

import pytest
from tests.kits.experiments import QuietProgress, quiet_run

from tickmind.base import ConfigError
from tickmind.lab.experiments import experiment_run
from tickmind.lab.experiments.experiment import ModelEndpoint, TrialBudget
from tickmind.lab.experiments.experiment_run import check_result
from tickmind.lab.experiments.ledger import SpendingLedger
from tickmind.lab.experiments.results.analysis import analyse
from tickmind.lab.experiments.results.methods import analysis_json, methods, needed_seeds, power_line
from tickmind.lab.experiments.results.page import experiment_page
from tickmind.lab.experiments.trial import TrialOutcome, TrialReport
from tickmind.lab.experiments.trial_run import run_trial


class PlayedExecutor:
    """Answers orders by a function; an exception is raised by the future."""

    def __init__(self, answer, workers=2):
        self.workers, self._answer, self.orders = workers, answer, []

    def submit(self, _work, order):
        self.orders.append(order)
        future: Future[TrialReport] = Future()
        try:
            future.set_result(self._answer(order))
        except BrokenExecutor as error:
            future.set_exception(error)
        return future

    def close(self):
        pass


def outcome(order, values, curves=None, **more):
    return TrialOutcome(
        order.digest, order.condition, order.levels, order.seed, order.repeat, 6, values, curves or {}, **more
    )


def planted(order):
    """A seed of its own for each, and an effect of 2 where sight is near."""
    far = (order.seed * 7 % 5) / 2
    value = far + (2 + order.seed % 3 / 4 if order.condition == "sight=near" else 0)
    curve = ((1, 0.0), (4, value), (6, 2 * value))
    return TrialReport(outcome(order, {"moves": value, "place": 2 * value}, {"place": curve}, took_s=3.0, tokens=10))


@pytest.fixture
def larger(finished):
    experiment = finished[0]
    measures = tuple(one for one in experiment.measures if one.name in ("moves", "place"))
    return replace(experiment, seeds=tuple(range(1, 11)), measures=measures)


def test_the_first_trial_foretells_the_rest(larger, tmp_path):
    progress = QuietProgress()
    quiet_run(larger, tmp_path, progress, PlayedExecutor(planted))
    ((first, left),) = progress.forecasts
    assert first.took_s == 3.0
    assert (left.done, left.of, left.seconds, left.tokens) == (1, 20, 30.0, 190)
    assert progress.trials[-1][2].done == 20


def test_a_trial_whose_worker_was_killed_is_tried_again_once(larger, tmp_path):
    killed = set()

    def kill_some(order):
        if order.seed == 2 and order.condition == "sight=far" and order.digest not in killed:
            killed.add(order.digest)
            raise BrokenExecutor
        if order.seed == 3:
            raise BrokenExecutor
        return planted(order)

    result = quiet_run(larger, tmp_path, None, PlayedExecutor(kill_some))
    assert result.problems.keys() == {"sight=far, seed 3", "sight=near, seed 3"}
    assert "killed twice" in result.problems["sight=far, seed 3"]
    assert len(result.outcomes) == 18


def test_a_trial_beside_one_that_kills_its_worker_is_not_lost(larger, tmp_path, monkeypatch):
    running: dict[str, Any] = {}  # digest of a trial -> its order and its result

    class Pool(PlayedExecutor):
        def submit(self, _work, order):
            running[order.digest] = order, Future()
            return running[order.digest][1]

    def end_together(futures, return_when):  # as one process pool does: where one is killed, all are lost
        is_broken = any(order.seed == 3 and order.condition == "sight=far" for order, _ in running.values())
        for order, future in running.values():
            future.set_exception(BrokenExecutor()) if is_broken else future.set_result(planted(order))
        running.clear()
        return set(futures), set()

    monkeypatch.setattr(experiment_run, "wait", end_together)
    result = quiet_run(larger, tmp_path, None, Pool(planted, workers=4))
    assert result.problems.keys() == {"sight=far, seed 3"}
    assert len(result.outcomes) == 19


def test_an_experiment_with_one_worker_is_foretold_once(larger, tmp_path):
    progress = QuietProgress()
    quiet_run(larger, tmp_path, progress, PlayedExecutor(planted, workers=1))
    assert len(progress.forecasts) == 1


def test_no_trial_begins_after_the_budget_is_used_up(larger, tmp_path):
    def spend(order):
        return planted(order) if order.seed < 3 else TrialReport(problem="used up", is_over_budget=True)

    executor = PlayedExecutor(spend)
    result = quiet_run(larger, tmp_path, None, executor)
    assert result.is_over_budget
    assert len(result.outcomes) == 4
    assert len(executor.orders) <= 4 + executor.workers


def test_a_trial_ends_in_the_tick_in_which_the_budget_is_used_up(larger, tmp_path):
    executor = PlayedExecutor(planted)
    model = ModelEndpoint(gateway_url="http://127.0.0.1:1")
    quiet_run(replace(larger, model=model, budget=TrialBudget(tokens=100)), tmp_path, None, executor)
    SpendingLedger(tmp_path / "spent.log").add(100, 0.0)  # by another worker
    report = run_trial(executor.orders[0])
    assert report.is_over_budget
    assert report.outcome is None
    assert list((tmp_path / "work").iterdir()) == []


def test_a_planted_difference_is_found_and_described(larger, tmp_path):
    analysis = analyse(quiet_run(larger, tmp_path, None, PlayedExecutor(planted)))
    moves = analysis.measures[0]
    (contrast,) = moves.contrasts
    assert contrast.pairs == 10
    assert contrast.difference == pytest.approx(2.25, abs=0.05)
    assert contrast.p == 2 / 2**10
    assert contrast.p_holm == 4 / 2**10
    assert contrast.cliffs_delta is not None
    assert contrast.cliffs_delta > 0.8
    assert contrast.interval is not None
    assert contrast.interval.low < 2.25 < contrast.interval.high
    assert analysis.tests == 2
    band = analysis.measures[1].bands[1]
    assert band.ticks == (1, 2, 3, 4, 5, 6)
    assert band.mean[-1] == pytest.approx(2 * band.mean[3])
    assert band.mean[2] == band.mean[0] == 0.0, "a curve keeps its value until the next point"
    assert "10 seeds" in methods(analysis)
    assert "Holm" in methods(analysis)


def test_power_is_foretold_from_the_pilot(larger, tmp_path):
    analysis = analyse(quiet_run(larger, tmp_path, None, PlayedExecutor(planted)))
    ((name, condition, effect, seeds),) = needed_seeds(analysis, {"moves": 0.25})
    assert 7 <= seeds <= 30
    assert f"by {seeds} seeds" in power_line(name, condition, effect, seeds, analysis.tests)
    with pytest.raises(ConfigError, match="did you mean 'moves'"):
        needed_seeds(analysis, {"movs": 1.0})


def test_the_same_trials_give_the_same_figures(larger, tmp_path):
    texts = {
        analysis_json(analyse(quiet_run(larger, tmp_path / str(workers), None, PlayedExecutor(planted, workers))))
        for workers in (1, 2, 4)
    }
    assert len(texts) == 1


def test_a_page_shows_all_measures_what_failed_and_how_to_repeat_it(finished):
    experiment, _, result = finished
    page = experiment_page(analyse(result))
    for name in ("moves", "place", "east", "well", "wrong"):
        assert f"<h2>{name}</h2>" in page
    assert page.count("<svg") >= 6
    assert "ZeroDivisionError" in page
    assert "sight=near: {" not in page
    assert "near: {rules.sight_radius: 1}" in page
    assert f"--seeds {len(experiment.seeds)} --ticks {experiment.ticks}</code>" in page
    assert "http" not in page.replace(str(experiment.scenario), "").replace("http-equiv", "")
    assert "<script" not in page


def test_names_of_an_experiment_are_text_on_its_page(larger, tmp_path):
    odd = replace(larger, conditions=tuple(replace(one, name=f"<b>{one.name}") for one in larger.conditions))
    page = experiment_page(analyse(quiet_run(odd, tmp_path, None, PlayedExecutor(planted))))
    assert "<b>sight" not in page
    assert "&lt;b&gt;sight" in page


def test_an_experiment_without_any_trial_says_why(larger, tmp_path):
    result = quiet_run(larger, tmp_path, None, PlayedExecutor(lambda _order: TrialReport(problem="no such program")))
    with pytest.raises(ConfigError, match="no such program"):
        check_result(result)


def test_repeats_of_a_seed_are_one_unit_and_their_variance_is_apart(larger, tmp_path):
    def noisy(order):
        return TrialReport(outcome(order, {"moves": order.seed + order.repeat / 10, "place": None}))

    analysis = analyse(quiet_run(replace(larger, repeats=3), tmp_path, None, PlayedExecutor(noisy)))
    summary = analysis.measures[0].summaries[0]
    assert len(summary.by_seed) == 10
    assert summary.variance is not None
    assert summary.variance.replies == pytest.approx(0.01)
    assert summary.variance.seeds == pytest.approx(9.17, abs=0.02)
    assert "between replies" in experiment_page(analysis)

"""Trials: what one run gives, what is kept of it, and what is done again."""

import json
import shutil
import sys
from dataclasses import replace

import pytest
from tests.kits.experiments import CLEARING, QuietProgress, quiet_run
from tests.kits.lived_runs import AGENTS

from tickmind.agent import CharacterHost
from tickmind.base import ConfigError
from tickmind.lab.experiments.experiment import Keep, MeasureKind, MeasureSpec, ModelEndpoint, TrialBudget
from tickmind.lab.experiments.experiment_file import read_experiment
from tickmind.lab.experiments.ledger import SpendingLedger
from tickmind.lab.experiments.results.tables import write_tables
from tickmind.lab.experiments.trial import TrialOrder, TrialOutcome
from tickmind.lab.experiments.trial_measures import MAX_POINTS
from tickmind.lab.experiments.trial_store import TrialStore
from tickmind.lab.experiments.trial_world import trial_environment
from tickmind.record import RunStore


def tables_of(result, folder):
    folder.mkdir()
    return [path.read_bytes() for path in write_tables(result, folder)]


@pytest.fixture
def copied(finished, tmp_path):
    """The finished experiment in a folder of its own."""
    experiment, folder, result = finished
    shutil.copytree(folder, tmp_path / "out")
    return experiment, tmp_path / "out", result


def test_every_condition_has_the_same_seeds(finished):
    _, _, result = finished
    assert [(one.condition, one.seed) for one in result.outcomes] == [
        *(("sight=far", 1), ("sight=near", 1), ("sight=far", 2), ("sight=near", 2)),
    ]
    assert all(one.last_tick == 6 and one.failed_acts == 0 for one in result.outcomes)


def test_measures_are_queries_functions_and_built_in_ones(finished):
    _, _, result = finished
    first = result.outcomes[0]
    assert first.values["moves"] is not None
    assert first.values["moves"] > 0
    assert first.values["east"] is not None
    assert [tick_id for tick_id, _ in first.curves["place"]] == [1, 2, 3, 4, 5, 6]
    assert first.values["place"] == first.curves["place"][-1][1]


def test_a_measure_that_fails_names_its_line_and_loses_nothing_of_the_others(finished):
    experiment, _, result = finished
    assert result.is_whole
    for outcome in result.outcomes:
        assert outcome.values["wrong"] is None
        assert outcome.errors["wrong"].startswith(f"{experiment.file}:15: measures.wrong: ZeroDivisionError")
        assert "own_measures.py:7" in outcome.errors["wrong"]
        assert f"{experiment.file}:16: measures.unknown: the query fails" in outcome.errors["unknown"]
        assert outcome.errors.keys() == {"wrong", "unknown"}


def test_finished_trials_are_not_done_again(copied):
    experiment, folder, result = copied
    progress = QuietProgress()
    again = quiet_run(experiment, folder, progress)
    assert (progress.found, progress.missing, progress.trials) == (4, 0, [])
    assert again.outcomes == result.outcomes


def test_a_missing_and_a_damaged_trial_are_done_again_and_the_tables_are_the_same(copied, tmp_path):
    experiment, folder, result = copied
    missing, damaged = result.outcomes[1].digest, result.outcomes[2].digest
    (folder / "trials" / f"{missing}.json").unlink()
    path = folder / "trials" / f"{damaged}.json"
    path.write_text(path.read_text()[:-40])
    progress = QuietProgress()
    again = quiet_run(experiment, folder, progress)
    assert [name for name, _, _ in progress.trials] == ["sight=near, seed 1", "sight=far, seed 2"]
    assert len(progress.forecasts) == 1
    assert tables_of(again, tmp_path / "again") == tables_of(result, tmp_path / "first")


def test_a_query_that_gives_more_than_is_wanted_fails_instead_of_being_cut(finished, tmp_path, monkeypatch):
    experiment, _, _ = finished
    monkeypatch.setattr("tickmind.lab.experiments.trial_measures.MAX_POINTS", MAX_POINTS.at(5))
    measures = tuple(
        MeasureSpec(name, MeasureKind.SQL, "SELECT tick_id, 1 FROM ticks", is_curve=name == "curve")
        for name in ("curve", "single")
    )
    one = replace(experiment, conditions=experiment.conditions[:1], seeds=(1,), measures=measures)
    (outcome,) = quiet_run(one, tmp_path).outcomes
    assert "more than 5 points" in outcome.errors["curve"]
    assert "more than one row" in outcome.errors["single"]
    assert set(outcome.values.values()) == {None}


def test_a_kept_run_is_an_ordinary_one_and_is_not_lived_again_for_another_measure(finished, tmp_path):
    experiment, _, result = finished
    kept = replace(experiment, keep=Keep.RUNS, conditions=experiment.conditions[:1], seeds=(2,))
    first = quiet_run(kept, tmp_path / "out").outcomes[0]
    assert first.values == result.outcomes[2].values
    store = RunStore(tmp_path / "out" / "runs")
    with store.open(first.run_id) as run:
        assert run.last_tick_id == 6
        assert run.meta.pace is not None
        assert run.meta.pace.lockstep
    assert (store.folder(first.run_id) / "scenario.yaml").read_text() == experiment.conditions[0].scenario_text
    lived = tmp_path / "out" / "runs" / first.run_id / "trial.json"
    lived.write_text(json.dumps({**json.loads(lived.read_text()), "calls": 77}))
    fewer = quiet_run(replace(kept, measures=kept.measures[:1]), tmp_path / "out").outcomes[0]
    assert (fewer.values, fewer.calls) == ({"moves": first.values["moves"]}, 77)


def test_no_two_experiments_write_into_one_folder(finished, tmp_path):
    experiment, _, _ = finished
    with TrialStore(tmp_path).held(), pytest.raises(ConfigError, match="in use by another experiment"):
        quiet_run(experiment, tmp_path)


def test_an_experiment_whose_budget_is_used_up_stops_and_goes_on_with_a_larger_one(finished, tmp_path):
    model = ModelEndpoint(gateway_url="http://127.0.0.1:1")
    limited = replace(finished[0], seeds=(1,), ticks=1, model=model, budget=TrialBudget(tokens=100))
    ledger = SpendingLedger(tmp_path / "spent.log")
    ledger.add(99, 0.5)
    stopped = quiet_run(limited, tmp_path)
    assert (len(stopped.outcomes), stopped.is_over_budget) == (2, False), "without a thought nothing is spent"
    (tmp_path / "trials" / f"{stopped.outcomes[1].digest}.json").unlink()
    ledger.add(1, 0.0)
    resumed = quiet_run(limited, tmp_path)
    assert (len(resumed.outcomes), resumed.is_over_budget) == (1, True)
    assert quiet_run(replace(limited, budget=TrialBudget(usd=0.6)), tmp_path).is_whole


def test_questions_that_a_trial_leaves_without_an_answer_count_as_spent(finished, tmp_path, monkeypatch):
    monkeypatch.setattr(CharacterHost, "deliberating", lambda _host, _name: True)
    model = ModelEndpoint(gateway_url="http://127.0.0.1:1")
    conditions = (replace(finished[0].conditions[0], agents_text=AGENTS),)
    asking = replace(finished[0], conditions=conditions, seeds=(1,), ticks=1, model=model, measures=())
    (outcome,) = quiet_run(asking, tmp_path).outcomes
    each = outcome.tokens // outcome.calls if outcome.calls else 1000
    assert SpendingLedger(tmp_path / "spent.log").spent() == (outcome.tokens + 3 * each, 0.0)


def test_the_ledger_counts_what_all_have_spent_and_skips_what_a_kill_has_cut(tmp_path):
    one, other = SpendingLedger(tmp_path / "l"), SpendingLedger(tmp_path / "l")
    one.add(10, 0.25)
    other.add(5, 0.5)
    assert one.spent() == other.spent() == (15, 0.75)
    with (tmp_path / "l").open("ab") as file:
        file.write(b"garbage here too\n1 nan\n-9 0.1\n7")
    assert SpendingLedger(tmp_path / "l").spent() == (15, 0.75)


def test_an_outcome_reads_as_it_was_written(finished):
    outcome = finished[2].outcomes[0]
    assert TrialOutcome.from_json(outcome.to_json()) == outcome


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", "null", '{"tickmind_trial": 2}', '{"tickmind_trial": 1, "levels": 5}'),
        '{"tickmind_trial": 1, "levels": [], "values": {"a": NaN}, "curves": {}, "errors": {}}',
        '{"tickmind_trial": 1, "levels": [], "values": {}, "curves": {}, "errors": 5}',
        '{"tickmind_trial": 1, "levels": [], "values": {}, "curves": {"a": [[1e999, 0]]}, "errors": {}}',
        f'{{"tickmind_trial": 1, "levels": [], "values": {{"a": {10**400}}}, "curves": {{}}, "errors": {{}}}}',
    ],
)
def test_what_is_no_outcome_is_refused(text):
    with pytest.raises(ValueError, match=r".*"):
        TrialOutcome.from_json(text)


def test_minds_of_a_trial_see_no_model_but_that_of_the_experiment():
    env = {"LLM_BASE_URL": "http://mine", "LLM_API_KEY": "key", "LLM_MODEL": "m", "PATH": "/bin"}
    order = TrialOrder("e", "c", (), 1, 1, 1, "", "", "", "", (), "", "", "", "")
    own = {"LLM_BASE_URL": "http://of-the-mapping", "LLM_MODEL": "small", "MOOD": "calm"}
    assert trial_environment(env, own, order) == {"PATH": "/bin", "MOOD": "calm"}
    asked = replace(order, model=ModelEndpoint("http://127.0.0.1:8080/v1"))
    wanted = {"LLM_BASE_URL": "http://127.0.0.1:8080/v1", "LLM_API_KEY": "key", "PATH": "/bin"}
    assert trial_environment(env, {}, asked) == wanted
    assert trial_environment(env, own, asked) == {**wanted, "LLM_MODEL": "small", "MOOD": "calm"}


def test_a_program_that_is_not_python_is_refused_and_costs_no_other_trial(finished, tmp_path):
    experiment, _, _ = finished
    first, second = experiment.conditions
    odd = replace(second, agents_text="agents: {a: {cmd: [sleep, '9']}}\nassignments: [{match: {}, use: a}]\n")
    result = quiet_run(replace(experiment, conditions=(first, odd), seeds=(1,)), tmp_path / "out")
    assert [one.condition for one in result.outcomes] == ["sight=far"]
    assert "is no Python program" in result.problems["sight=near, seed 1"]


WALKER = """
from tickmind.agent import agent
from tickmind.protocol import Direction, Move
import steps

steps.programs += 1


@agent
def act(observation):
    return Move(Direction.E)


act.run()
"""
COUNTS = """
import steps


def programs(run):
    return steps.programs
"""


def test_no_trial_sees_what_another_left_in_modules_of_the_users(tmp_path):
    (tmp_path / "steps.py").write_text("programs = 0\n")
    (tmp_path / "walker.py").write_text(WALKER)
    (tmp_path / "counts.py").write_text(COUNTS)
    (tmp_path / "agents.yaml").write_text(
        "agents: {walker: {cmd: [python, walker.py], per_process: 8}}\nassignments: [{match: {}, use: walker}]\n"
    )
    file = tmp_path / "walk.yaml"
    file.write_text(
        f"experiment: walk\nscenario: {CLEARING}\nagents: agents.yaml\nticks: 2\nseeds: 3\n"
        "measures: {programs: {python: 'counts:programs'}}\n"
    )
    result = quiet_run(read_experiment(file), tmp_path / "out")
    assert [one.values["programs"] for one in result.outcomes] == [1, 1, 1], result.problems
    assert "steps" not in sys.modules

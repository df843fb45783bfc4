"""`tickmind branch`: the past of another run exactly, then what comes of a change."""

import shutil

import pytest
from tests.kits.lived_runs import AGENTS, TICKS, record_villagers
from tests.unit.agent.test_lockstep_minds import SlowModel
from typer.testing import CliRunner

from tickmind.agent.character.character import Character
from tickmind.cli.app import app
from tickmind.record import RunStore
from tickmind.record.report.comparison import compare_runs


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    record_villagers(folder, "parent", AGENTS)
    return folder


@pytest.fixture
def asks_model(monkeypatch):
    """The model of the parent is there, and is asked after the tick of a branch."""
    monkeypatch.setattr(Character, "client", classmethod(lambda _cls, _stage: SlowModel()))


def branch(runs, *words):
    return CliRunner().invoke(app, ["branch", *words, "--runs", str(runs)], prog_name="tickmind")


def branched(runs, *words):
    """The id of a branch, which must be made."""
    done = branch(runs, *words)
    assert done.exit_code == 0, done.output
    return done.stdout.split()[1]


def compared(runs, first, second):
    store = RunStore(runs)
    with store.open(first) as one, store.open(second) as other:
        return compare_runs(one, other)


def hashes(runs, run_id):
    with RunStore(runs).open(run_id) as run:
        return [record.state_hash for record in run.records()]


@pytest.mark.parametrize("tick", [0, 1, 7, 13, TICKS - 1])
def test_a_null_branch_equals_its_parent_to_the_end(runs, tick):
    made = branched(runs, "parent", "--tick", str(tick), "--replies", "keep")
    outcome = compared(runs, "parent", made)
    assert outcome.equal, outcome
    assert outcome.ticks == TICKS
    assert outcome.thoughts >= 3

"""A trial in one process is the run that `tickmind up --lockstep` gives with all its processes."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.kits.experiments import quiet_run
from tests.long import LONG

from tickmind.lab.experiments.experiment_file import read_experiment
from tickmind.record import RunStore
from tickmind.record.report.comparison import compare_runs

WILLOWBROOK = Path(__file__).parents[3] / "scenarios" / "willowbrook.yaml"
FILE = f"""
experiment: same
scenario: {WILLOWBROOK}
ticks: 12
seeds: [3]
keep: runs
measures: {{said: {{sql: SELECT count(*) FROM utterances}}}}
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(not LONG, reason="it starts a village of processes; the soak does")
def test_a_trial_is_the_run_that_up_gives_in_lockstep(tmp_path):
    options = ["--lockstep", "--seed", "3", "--ticks", "12", "--no-viewer", "--no-gateway", "--port", "0"]
    folders = ["--runs", str(tmp_path / "runs"), "--state", str(tmp_path / "state")]
    command = [sys.executable, "-m", "tickmind.cli", "up", str(WILLOWBROOK), *options, *folders]
    subprocess.run(command, check=True, capture_output=True, timeout=240)
    (tmp_path / "same.yaml").write_text(FILE)
    (outcome,) = quiet_run(read_experiment(tmp_path / "same.yaml"), tmp_path / "out").outcomes
    served, store = RunStore(tmp_path / "runs"), RunStore(tmp_path / "out" / "runs")
    with served.open(served.runs()[0].run_id) as theirs, store.open(outcome.run_id) as ours:
        found = compare_runs(ours, theirs)
    assert found.equal, found
    assert found.ticks == 12

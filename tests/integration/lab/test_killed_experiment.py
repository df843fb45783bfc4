"""An experiment in processes: killed at some moment, resumed, and the same in the end."""

import random
import re
import select
import subprocess
import sys

import psutil
import pytest
from tests.kits.experiments import TINY, quiet_run
from tests.long import LONG, short_or_long

from tickmind.lab.experiments.executors import ProcessExecutor
from tickmind.lab.experiments.experiment_file import read_experiment
from tickmind.lab.experiments.results.tables import write_tables

MEASURES = (
    "def furthest_east(run):\n    return int(run.state_at(run.last_tick_id).x.max())\n\n\ndef fails(run):\n    1 / 0\n"
)
KILLS = short_or_long(1, 50)
SEEDS = short_or_long(3, 12)
ENDED_S = 60
A_TRIAL_S = 1.0  # about
MOMENTS = random.Random(50)


def tables_of(result, folder):
    folder.mkdir()
    return [path.read_bytes() for path in write_tables(result, folder)]


def kill_after(file, out, lines):
    """Start the experiment, kill it with SIGKILL soon after so many finished trials; wait for its workers to end."""
    command = [sys.executable, "-m", "tickmind.cli", "experiment", str(file), "--out", str(out), "--workers", "2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None
        workers: list[psutil.Process] = []
        for line in process.stderr:
            if re.match(r"\d+ of \d+:", line):
                lines -= 1
                workers = workers or psutil.Process(process.pid).children(recursive=True)
                if not lines:
                    select.select([process.stderr], [], [], MOMENTS.uniform(0, A_TRIAL_S))  # at any moment of the next
                    break
        workers += psutil.Process(process.pid).children(recursive=True)
        process.kill()
    _, alive = psutil.wait_procs(workers, timeout=ENDED_S)
    assert workers
    assert alive == []


@pytest.mark.slow
@pytest.mark.timeout(short_or_long(300, 3600))
def test_a_killed_experiment_comes_to_the_same_bytes_with_any_number_of_workers(tmp_path):
    file = tmp_path / "tiny.yaml"
    file.write_text(TINY.replace("seeds: 2", f"seeds: {SEEDS}"))
    (tmp_path / "own_measures.py").write_text(MEASURES)
    for place in range(KILLS):
        kill_after(file, tmp_path / "killed", 2 + place % 3)  # the first trial runs alone
        finished = sorted((tmp_path / "killed" / "trials").glob("*.json"))
        if LONG and len(finished) > SEEDS:  # of twice as many
            for path in finished[::2]:
                path.unlink()  # so that there is something to do until the last kill
    experiment = read_experiment(file)
    if LONG:
        with ProcessExecutor(4) as executor:
            resumed = quiet_run(experiment, tmp_path / "killed", None, executor)
    else:
        resumed = quiet_run(experiment, tmp_path / "killed")
    assert resumed.is_whole
    assert list((tmp_path / "killed").glob("work/*")) == []
    undisturbed = quiet_run(experiment, tmp_path / "undisturbed")  # one worker: this process
    assert tables_of(resumed, tmp_path / "a") == tables_of(undisturbed, tmp_path / "b")

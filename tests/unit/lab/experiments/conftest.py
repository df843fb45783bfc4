"""A small experiment that was run once, for all tests of what comes of it."""

import pytest
from tests.kits.experiments import TINY, quiet_run

from tickmind.lab.experiments.experiment_file import read_experiment


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """The experiment, its folder and its result; tests copy the folder before they change it."""
    folder = tmp_path_factory.mktemp("experiment")
    file = folder / "tiny.yaml"
    file.write_text(TINY)
    (folder / "own_measures.py").write_text(OWN_MEASURES)
    experiment = read_experiment(file)
    return experiment, folder / "out", quiet_run(experiment, folder / "out")


OWN_MEASURES = """
def furthest_east(run):
    return int(run.state_at(run.last_tick_id).x.max())


def fails(run):
    return 1 / 0
"""

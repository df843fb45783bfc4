"""A tiny experiment, and how tests run it in one process."""

from concurrent.futures import Future
from pathlib import Path
from typing import Any

from tickmind.lab.experiments.experiment_run import ExperimentRun

CLEARING = Path(__file__).parents[2] / "scenarios" / "clearing.yaml"
TINY = f"""
experiment: tiny
scenario: {CLEARING}
ticks: 6
seeds: 2
factors:
  sight:
    far: {{}}
    near: {{rules.sight_radius: 1}}
measures:
  moves: {{sql: "SELECT count(*) FROM action_results WHERE action_type = 'Move' AND ok"}}
  place: {{sql: "SELECT tick_id, avg(x) FROM actor_state GROUP BY 1", curve: true}}
  east: {{python: "own_measures:furthest_east"}}
  well: {{built_in: needs}}
  wrong: {{python: "own_measures:fails"}}
  unknown: {{sql: SELECT nothing FROM nowhere}}
"""


class InlineExecutor:
    """Does work at once, in this process."""

    workers = 1

    def submit(self, work, order):
        future: Future[Any] = Future()
        try:
            future.set_result(work(order))
        except Exception as error:  # noqa: BLE001  it is raised by the future
            future.set_exception(error)
        return future

    def close(self):
        pass


class QuietProgress:
    """Counts what an experiment reports."""

    def __init__(self):
        self.found = self.missing = 0
        self.forecasts = []
        self.trials = []

    def begin(self, found, missing):
        self.found, self.missing = found, missing

    def forecast(self, first, left):
        self.forecasts.append((first, left))

    def trial(self, name, report, left):
        self.trials.append((name, report, left))


def quiet_run(experiment, folder, progress=None, executor=None):
    """Run an experiment here, and return its result."""
    return ExperimentRun(experiment, folder, executor or InlineExecutor(), progress or QuietProgress()).run()

"""Experiments: trials per hour beside one start of `tickmind up --lockstep` for each, and beside Mesa's `batch_run`.

`up` gets what it needs for a trial: a world, processes of agents and a record. Mesa gets a model without any mind: as
many walkers as the clearing has actors, on as many tiles, which go to a free tile beside them. Our characters see,
decide by a program and are recorded. `LONG=1` takes more trials.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import mesa
from mesa.space import MultiGrid

from benchmarks.harness import Result, paired
from tickmind.lab.experiments.executors import ProcessExecutor
from tickmind.lab.experiments.experiment_file import read_experiment
from tickmind.lab.experiments.experiment_run import ExperimentRun, TrialForecast
from tickmind.lab.experiments.trial import TrialOutcome, TrialReport

ROUNDS = 5 if os.environ.get("LONG") else 3
TRIALS = 20 if os.environ.get("LONG") else 6  # in a round
UP_TRIALS = 2  # in a round
MESA_TRIALS = 1000  # in a round, so that the start of its workers hardly counts, as it does not for ours
TICKS = 120
WORKERS = 2
TIMEOUT_S = 600
SCENARIO = Path(__file__).parents[1] / "scenarios" / "clearing.yaml"
WIDTH, HEIGHT, ACTORS = 24, 15, 3


class Unseen:
    """Shows nothing."""

    def begin(self, found: int, missing: int) -> None:
        """Ignore it."""

    def forecast(self, first: TrialOutcome, left: TrialForecast) -> None:
        """Ignore it."""

    def trial(self, name: str, report: TrialReport, left: TrialForecast) -> None:
        """Fail at once if a trial does."""
        del left
        if report.outcome is None:
            raise RuntimeError(f"{name}: {report.problem}")


class Wanderer(mesa.Agent):  # type: ignore[misc]  # Mesa has no types here
    """Goes to a free tile beside it."""

    def step(self) -> None:
        """Choose one of the free tiles."""
        around = self.model.grid.get_neighborhood(self.pos, moore=True)
        free = [tile for tile in around if self.model.grid.is_cell_empty(tile)]
        if free:
            self.model.grid.move_agent(self, self.random.choice(free))


class Meadow(mesa.Model):  # type: ignore[misc]  # as above
    """As many walkers as the clearing has, without walls."""

    def __init__(self, start: int = 1) -> None:
        super().__init__(seed=start)
        self.grid = MultiGrid(WIDTH, HEIGHT, torus=False)
        chance = random.Random(start)
        for _ in range(ACTORS):
            self.grid.place_agent(Wanderer(self), (chance.randrange(WIDTH), chance.randrange(HEIGHT)))
        self.datacollector = mesa.DataCollector(model_reporters={"tiles": lambda model: len(model.grid.empties)})
        self.datacollector.collect(self)

    def step(self) -> None:
        """Let all walk, and count, as `batch_run` needs it for each step."""
        self.agents.shuffle_do("step")
        self.datacollector.collect(self)


def _experiment_s(folder: Path, place: int, workers: ProcessExecutor) -> float:
    """Return the seconds of a trial of ours."""
    file = folder / "clearing-walk.yaml"
    first = place * TRIALS + 1
    file.write_text(
        f"experiment: walk\nscenario: {SCENARIO}\nticks: {TICKS}\nseeds: {list(range(first, first + TRIALS))}\n"
        "measures: {moves: {sql: \"SELECT count(*) FROM action_results WHERE action_type = 'Move'\"}}\n"
    )
    began_s = time.perf_counter()
    result = ExperimentRun(read_experiment(file), folder / f"out-{place}", workers, Unseen()).run()
    assert result.is_whole
    return (time.perf_counter() - began_s) / TRIALS


def _up_s(folder: Path, place: int) -> float:
    """Return the seconds of a trial that is a start of its own."""
    began_s = time.perf_counter()
    for number in range(UP_TRIALS):
        words = [
            "up",
            str(SCENARIO),
            "--lockstep",
            "--seed",
            str(place * UP_TRIALS + number + 1),
            "--ticks",
            str(TICKS),
        ]
        words += ["--no-viewer", "--no-gateway", "--port", "0", "--runs", str(folder / "runs")]
        words += ["--state", str(folder / f"state-{place}-{number}")]
        subprocess.run(
            [sys.executable, "-m", "tickmind.cli", *words], check=True, capture_output=True, timeout=TIMEOUT_S
        )
    return (time.perf_counter() - began_s) / UP_TRIALS


def _mesa_s(place: int) -> float:
    """Return the seconds of a trial of Mesa's."""
    began_s = time.perf_counter()
    seeds = list(range(place * MESA_TRIALS + 1, (place + 1) * MESA_TRIALS + 1))
    mesa.batch_run(
        Meadow,
        {"start": seeds},
        number_processes=WORKERS,
        iterations=1,
        max_steps=TICKS,
        display_progress=False,
    )
    return (time.perf_counter() - began_s) / MESA_TRIALS


def trials_per_hour() -> list[Result]:
    """Trials per hour with two workers, by turns in one run; ours are started once, as in one experiment."""
    ours: list[float] = []
    up: list[float] = []
    peer: list[float] = []
    with tempfile.TemporaryDirectory(prefix="tickmind-experiments-") as name, ProcessExecutor(WORKERS) as workers:
        folder = Path(name)
        _experiment_s(folder, ROUNDS, workers)  # starts the workers
        for place in range(ROUNDS):
            ours.append(3600 / _experiment_s(folder, place, workers))
            up.append(3600 / _up_s(folder, place))
            peer.append(3600 / _mesa_s(place))
    unit, minds = "trials per hour", "Mesa batch_run, no minds, no record"
    return [
        paired(
            "trials of an experiment",
            ours,
            up,
            unit=unit,
            peer_name="`up --lockstep` for each",
            bar=5.0,
            more_is_better=True,
        ),
        paired("trials without a model", ours, peer, unit=unit, peer_name=minds, bar=0.0, more_is_better=True),
    ]


BENCHMARKS = (trials_per_hour,)

if __name__ == "__main__":
    for result in trials_per_hour():
        low, high = result.spread
        print(
            f"{result.name}: {result.ours:,.0f} beside {result.peer:,.0f} ({result.peer_name}), "
            f"{result.ratio:.3g}x ({low:.3g} to {high:.3g})"
        )

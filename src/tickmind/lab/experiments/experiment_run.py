"""`ExperimentRun`: does the missing trials of an experiment, some at once, and says how far it is."""

import os
from collections import deque
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tickmind.base import Clock, ConfigError, SystemClock
from tickmind.lab.experiments.code_digest import code_digest, measures_digest
from tickmind.lab.experiments.executors import Executor
from tickmind.lab.experiments.experiment import Experiment, Keep
from tickmind.lab.experiments.ledger import SpendingLedger
from tickmind.lab.experiments.trial import LoadRules, TrialOrder, TrialOutcome, TrialReport
from tickmind.lab.experiments.trial_run import run_trial
from tickmind.lab.experiments.trial_store import TrialStore

MOST_TRIES = 2  # of a trial whose worker was killed


@dataclass(frozen=True, slots=True)
class TrialForecast:
    """What is left to do, foretold from the trials that are done."""

    done: int
    of: int
    seconds: float  # until the end
    tokens: int  # that the rest will take
    usd: float


class ExperimentProgress(Protocol):
    """Is shown what happens."""

    def begin(self, found: int, missing: int) -> None:
        """So many finished trials were found, and so many are to be done."""
        ...

    def forecast(self, first: TrialOutcome, left: TrialForecast) -> None:
        """The first trial is done, and the rest is foretold from it."""
        ...

    def trial(self, name: str, report: TrialReport, left: TrialForecast) -> None:
        """A trial has ended."""
        ...


@dataclass(slots=True)
class ExperimentResult:
    """All finished trials in the order of the file, and what is missing."""

    experiment: Experiment
    outcomes: list[TrialOutcome] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)  # trial in words -> why it failed
    is_over_budget: bool = False
    code: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether every trial is there."""
        return len(self.outcomes) == self.experiment.trials


def worker_count(wanted: int) -> int:
    """Return how many workers to start: the wanted number, or one for each processor that this process may use."""
    return wanted or max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


class ExperimentRun:
    """The trials of one experiment, from the first one to the tables."""

    def __init__(
        self,
        experiment: Experiment,
        folder: Path,
        executor: Executor,
        progress: ExperimentProgress,
        *,
        load_rules: LoadRules | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._experiment = experiment
        self._executor = executor
        self._progress = progress
        self._load_rules = load_rules
        self._clock = clock or SystemClock()
        self._store = TrialStore(folder)
        self._code, self._measures_code = code_digest(experiment, load_rules), measures_digest(experiment)
        self._orders = [self._order(place, seed, repeat) for place, seed, repeat in self._places()]
        self._tries: dict[str, int] = {}  # digest -> how often its worker was killed

    def _places(self) -> list[tuple[int, int, int]]:
        """Return condition, seed and repeat of each trial: all conditions of a seed before the next seed."""
        experiment = self._experiment
        return [
            (place, seed, repeat)
            for seed in experiment.seeds
            for repeat in range(1, experiment.repeats + 1)
            for place in range(len(experiment.conditions))
        ]

    def _order(self, place: int, seed: int, repeat: int) -> TrialOrder:
        experiment = self._experiment
        condition = experiment.conditions[place]
        return TrialOrder(
            experiment=experiment.name,
            condition=condition.name,
            levels=condition.levels,
            seed=seed,
            repeat=repeat,
            ticks=experiment.ticks,
            scenario_text=condition.scenario_text,
            agents_text=condition.agents_text,
            agents_source=str(experiment.agents.resolve()),
            agents_folder=str(experiment.agents.resolve().parent),
            measures=experiment.measures,
            measures_file=str(experiment.file),
            code=self._code,
            measures_code=self._measures_code,
            folder=str(self._store.folder.resolve()),
            keeps_run=experiment.keep is Keep.RUNS,
            model=experiment.model,
            budget=experiment.budget,
            load_rules=self._load_rules,
        )

    def run(self) -> ExperimentResult:
        """Do what is missing and return all that is there. A trial that fails costs no other one."""
        result = ExperimentResult(self._experiment, code=self._code)
        with self._store.held():
            outcomes = {order.digest: self._store.read(order.digest) for order in self._orders}
            missing = [order for order in self._orders if outcomes[order.digest] is None]
            self._progress.begin(len(self._orders) - len(missing), len(missing))
            if missing and not self._is_used_up(result):
                self._do(missing, outcomes, result)
        result.outcomes = [outcome for order in self._orders if (outcome := outcomes[order.digest]) is not None]
        return result

    def forget_trials(self) -> None:
        """Remove the files of finished trials, of which only the tables are to be kept."""
        for order in self._orders:
            self._store.forget(order.digest)

    def _is_used_up(self, result: ExperimentResult) -> bool:
        budget = self._experiment.budget
        if budget.is_set and self._experiment.model.is_set:
            ledger = SpendingLedger(self._store.ledger)
            try:
                result.is_over_budget = budget.is_used_up(*ledger.spent())
            finally:
                ledger.close()
        return result.is_over_budget

    def _do(self, missing: list[TrialOrder], found: dict[str, TrialOutcome | None], result: ExperimentResult) -> None:
        waiting, running = deque(missing), dict[Future[TrialReport], TrialOrder]()
        done: list[TrialOutcome] = []
        at_once, is_foretold = 1, False  # the first trial runs alone, so that the rest can be foretold
        while running or (waiting and not result.is_over_budget):
            while waiting and not result.is_over_budget and self._has_room(waiting[0], running.values(), at_once):
                order = waiting.popleft()
                running[self._executor.submit(run_trial, order)] = order
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                order = running.pop(future)
                report = self._report(future, order, waiting)
                if report is None:
                    continue
                if report.outcome is not None:
                    self._store.write(report.outcome)
                    found[order.digest] = report.outcome
                    done.append(report.outcome)
                elif report.is_over_budget:
                    result.is_over_budget = True
                else:
                    result.problems[order.name] = report.problem
                left = self._forecast(done, len(waiting) + len(running), len(missing))
                if not is_foretold and report.outcome is not None and waiting:
                    is_foretold = True
                    self._progress.forecast(report.outcome, left)
                self._progress.trial(order.name, report, left)
            at_once = self._executor.workers

    def _has_room(self, order: TrialOrder, running: Iterable[TrialOrder], at_once: int) -> bool:
        """Return whether a trial may begin beside those that run.

        Where one worker is killed, all trials under way are lost. So they are tried again one by one, and one that
        is killed again is at fault itself.
        """
        beside = list(running)
        is_suspect = any(one.digest in self._tries for one in (order, *beside))
        return len(beside) < (1 if is_suspect else at_once)

    def _report(
        self, future: "Future[TrialReport]", order: TrialOrder, waiting: "deque[TrialOrder]"
    ) -> TrialReport | None:
        """Return the report of a trial; None if it is tried again, because its worker was killed."""
        try:
            return future.result()
        except BrokenExecutor:
            self._tries[order.digest] = self._tries.get(order.digest, 0) + 1
            if self._tries[order.digest] < MOST_TRIES:
                waiting.appendleft(order)
                return None
            return TrialReport(problem="its process was killed twice, perhaps for lack of memory; use fewer workers")

    def _forecast(self, done: list[TrialOutcome], left: int, of: int) -> TrialForecast:
        if not done:
            return TrialForecast(0, of, 0.0, 0, 0.0)
        seconds = sum(outcome.took_s for outcome in done) / len(done)
        rounds = -(-left // self._executor.workers)
        tokens, usd = (
            sum(outcome.tokens for outcome in done) / len(done),
            sum(outcome.usd for outcome in done) / len(done),
        )
        return TrialForecast(of - left, of, seconds * rounds, round(tokens * left), usd * left)


def check_result(result: ExperimentResult) -> None:
    """Raise `ConfigError` if there is nothing to analyse."""
    if not result.outcomes:
        why = next(iter(result.problems.values()), "the budget is used up")
        raise ConfigError(f"no trial of {result.experiment.name} could be done: {why}")

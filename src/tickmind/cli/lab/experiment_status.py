"""`ExperimentStatus`: how far an experiment is, when it will end, and what it will cost."""

import sys
from datetime import timedelta
from typing import TextIO

from tickmind.cli.screen import harmless
from tickmind.lab.experiments.experiment import Experiment
from tickmind.lab.experiments.experiment_run import TrialForecast
from tickmind.lab.experiments.trial import TrialOutcome, TrialReport


class ExperimentStatus:
    """Writes a line for each trial that ends."""

    def __init__(self, experiment: Experiment, workers: int, err: TextIO | None = None) -> None:
        self._experiment = experiment
        self._workers = workers
        self._err = err if err is not None else sys.stderr

    def begin(self, found: int, missing: int) -> None:
        """Show how many trials there are, and how many of them are done already."""
        experiment = self._experiment
        sizes = (len(experiment.conditions), "conditions"), (len(experiment.seeds), "seeds")
        counted = " x ".join(f"{count:,} {what}" for count, what in sizes)
        done = f"{found:,} are done, {missing:,} are missing" if found else "none is done yet"
        self.say(f"{experiment.name}: {counted}, {experiment.trials:,} trials of {experiment.ticks:,} ticks; {done}.")
        if missing:
            self.say("The first trial runs alone, to tell how long the others will take.")

    def forecast(self, first: TrialOutcome, left: TrialForecast) -> None:
        """Show what the rest will take, before it begins."""
        self.say(
            f"A trial takes {first.took_s:,.1f} s; the other {left.of - left.done:,} take about {_time(left.seconds)} "
            f"with {self._workers} worker{'s' if self._workers > 1 else ''}{self._cost(left)}."
        )
        budget = self._experiment.budget
        if budget.is_set and budget.is_used_up(first.tokens + left.tokens, first.usd + left.usd):
            self.say("That is more than the budget: the experiment will stop before its end, and can be resumed.")

    def trial(self, name: str, report: TrialReport, left: TrialForecast) -> None:
        """Show a trial that has ended."""
        if report.outcome is None:
            self.say(f"{name}: not done: {report.problem}")
            return
        rest = f"; the rest takes about {_time(left.seconds)}{self._cost(left)}" if left.done < left.of else ""
        self.say(f"{left.done:,} of {left.of:,}: {name}, {report.outcome.took_s:,.1f} s{rest}.")
        for error in report.outcome.errors.values():
            self.say(f"  {name}: {error}")
        if report.outcome.failed_acts:
            self.say(f"  {name}: {report.outcome.failed_acts:,} acts failed, so their characters waited.")

    def say(self, text: str) -> None:
        """Write a line."""
        self._err.write(f"{harmless(text)}\n")
        self._err.flush()

    def _cost(self, left: TrialForecast) -> str:
        if not self._experiment.model.is_set:
            return ""
        dollars = f" and {left.usd:,.2f} dollars" if left.usd else ""
        return f", {left.tokens:,} tokens{dollars}"


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else str(timedelta(seconds=round(seconds)))

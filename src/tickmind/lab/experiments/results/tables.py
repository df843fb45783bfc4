"""The tables of an experiment: a row for each trial and measure, and one for each point of a curve."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from tickmind.lab.experiments.experiment_run import ExperimentResult
from tickmind.lab.experiments.trial import TrialOutcome
from tickmind.record.parquet.trial_tables import write_trial_table

TRIALS_TABLE: Final = "trials.parquet"
CURVES_TABLE: Final = "curves.parquet"


def write_tables(result: ExperimentResult, folder: Path) -> list[Path]:
    """Write the tables and return their paths. The same trials give the same bytes, in whatever order they ended."""
    measures = [spec.name for spec in result.experiment.measures]
    rows = [
        (*_whose(result, outcome), name, outcome.values.get(name), outcome.errors.get(name))
        for outcome in result.outcomes
        for name in measures
    ]
    paths = [folder / TRIALS_TABLE]
    head = ("experiment", "trial", "condition", *result.experiment.factor_names, "seed", "repeat", "measure")
    write_trial_table(paths[0], _columns((*head, "value", "error"), rows))
    points = [
        (*_whose(result, outcome), name, tick_id, value)
        for outcome in result.outcomes
        for name in measures
        for tick_id, value in outcome.curves.get(name, ())
    ]
    if points:
        paths.append(folder / CURVES_TABLE)
        write_trial_table(paths[1], _columns((*head, "tick_id", "value"), points))
    return paths


def _whose(result: ExperimentResult, outcome: TrialOutcome) -> tuple[object, ...]:
    levels = (level for _, level in outcome.levels)
    return (result.experiment.name, outcome.digest, outcome.condition, *levels, outcome.seed, outcome.repeat)


def _columns(names: Sequence[str], rows: Iterable[tuple[object, ...]]) -> dict[str, list[object]]:
    rows = list(rows)
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}

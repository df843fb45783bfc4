"""What a reader of the results needs: the methods in a paragraph, the versions, and all figures as JSON."""

import json
import platform
from dataclasses import asdict
from typing import Any

import numpy as np

from tickmind import __version__
from tickmind.base import ConfigError
from tickmind.base.problems import nearest
from tickmind.lab.experiments.results.analysis import SEED, ExperimentAnalysis
from tickmind.lab.statistics import seeds_needed
from tickmind.lab.statistics.bootstrap import RESAMPLES
from tickmind.lab.statistics.permutation import DRAWN, MOST_EXACT
from tickmind.lab.statistics.power import LEVEL, POWER


def versions() -> dict[str, str]:
    """Return the versions of what the trials and the analysis ran on."""
    return {"tickmind": __version__, "python": platform.python_version(), "numpy": np.__version__}


def methods(analysis: ExperimentAnalysis) -> str:
    """Return a paragraph for a paper's section on methods."""
    experiment = analysis.result.experiment
    conditions, seeds = len(experiment.conditions), len(experiment.seeds)
    varied = " x ".join(f"{factor.name} ({len(factor.levels)} levels)" for factor in experiment.factors)
    repeats = f", {experiment.repeats} times each" if experiment.repeats > 1 else ""
    missing = experiment.trials - len(analysis.result.outcomes)
    model = (
        f"Characters asked the model {experiment.model.name or 'of the endpoint'}."
        if experiment.model.is_set
        else "No language model was asked; characters decided by code."
    )
    pairs = max((contrast.pairs for measure in analysis.measures for contrast in measure.contrasts), default=seeds)
    exact = (
        "over all assignments of signs"
        if pairs <= MOST_EXACT
        else f"over {DRAWN:,} random assignments of signs (seeded)"
    )
    compared = (
        f"Conditions were compared with {experiment.conditions[0].name!r} by the differences of runs with the same "
        f"seed: their mean with a bootstrap interval, Cohen's d, Cliff's delta, and a two-sided sign-flip permutation "
        f"test ({exact}). P-values were corrected for {analysis.tests} tests by Holm's method. "
        if conditions > 1
        else ""
    )
    return (
        f"We ran the scenario {experiment.scenario.stem!r} in tickmind {__version__} for {experiment.ticks:,} ticks in "
        f"{conditions} condition{'s' if conditions > 1 else ''}{f' ({varied})' if varied else ''} with {seeds} seeds"
        f"{repeats}, the same in all conditions (common random numbers); {len(analysis.result.outcomes):,} trials in "
        f"all{f', {missing:,} are missing' if missing else ''}. World and minds advanced in lockstep, so a trial "
        f"repeats with its seed. {model} The unit of analysis is the run"
        f"{'; repeats of a seed were averaged first' if experiment.repeats > 1 else ''}. Means are given with 95 % "
        f"bootstrap intervals (BCa, {RESAMPLES:,} resamples, seed {SEED}). {compared}"
    ).strip()


def needed_seeds(analysis: ExperimentAnalysis, effects: dict[str, float]) -> list[tuple[str, str, float, int]]:
    """Return for each wanted measure and each comparison: measure, condition, effect, and how many seeds find it.

    A test counts as one of all tests of the experiment, the first of Holm's method, so the number is enough whatever
    the others show. Raises `ConfigError` for an unknown measure, and for one with too few trials.
    """
    names = [measure.name for measure in analysis.measures]
    needed = []
    for name, effect in effects.items():
        found = next((measure for measure in analysis.measures if measure.name == name), None)
        if found is None:
            raise ConfigError(f"there is no measure {name!r}{nearest(name, names)}; there are: {', '.join(names)}")
        if not found.contrasts:
            raise ConfigError("the experiment has one condition, so there is no difference to find; add a factor")
        for contrast in found.contrasts:
            if contrast.deviation is None:
                raise ConfigError(f"{name} has {contrast.pairs} pairs of runs; give the pilot at least two seeds")
            seeds = seeds_needed(effect, contrast.deviation, level=LEVEL / max(analysis.tests, 1))
            needed.append((name, contrast.condition, effect, seeds))
    return needed


def power_line(name: str, condition: str, effect: float, seeds: int, tests: int) -> str:
    """Return one line about the number of seeds."""
    level = f"{LEVEL:.0%} / {tests} tests" if tests > 1 else f"{LEVEL:.0%}"
    power = f"a difference of {effect:g} is found with {POWER:.0%} power (level {level}) by {seeds:,} seeds"
    return f"{name}, {condition}: {power}."


def analysis_json(analysis: ExperimentAnalysis) -> str:
    """Return all figures, and all that is needed to repeat them."""
    experiment = analysis.result.experiment
    document: dict[str, Any] = {
        "tickmind_experiment": 1,
        "experiment": experiment.name,
        "versions": versions(),
        "code": analysis.result.code,
        "seeds": list(experiment.seeds),
        "repeats": experiment.repeats,
        "ticks": experiment.ticks,
        "conditions": [
            {"name": condition.name, "levels": dict(condition.levels)} for condition in experiment.conditions
        ],
        "trials": {"done": len(analysis.result.outcomes), "of": experiment.trials},
        "problems": analysis.result.problems,
        "errors": [{"trial": trial, "error": error} for trial, error in analysis.errors],
        "measures": [asdict(measure) for measure in analysis.measures],
        "methods": methods(analysis),
        "file": experiment.text,
    }
    return json.dumps(document, indent=1, allow_nan=False)

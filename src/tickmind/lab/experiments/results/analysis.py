"""`analyse`: what the trials of an experiment say, with runs as the unit of analysis."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from tickmind.lab.experiments.experiment import MeasureSpec
from tickmind.lab.experiments.experiment_run import ExperimentResult
from tickmind.lab.experiments.trial import CurvePoints, TrialOutcome
from tickmind.lab.statistics import (
    BootstrapInterval,
    VarianceParts,
    bootstrap_bands,
    bootstrap_interval,
    cliffs_delta,
    cohens_d,
    holm,
    paired_d,
    paired_permutation_p,
    variance_parts,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEED: Final = 20_260_101  # of all chance of the analysis
POINTS: Final = 200  # of a band


@dataclass(frozen=True, slots=True)
class ConditionSummary:
    """A measure in one condition: a value for each seed, and what they come to."""

    condition: str
    by_seed: Mapping[int, float]  # the mean of a seed's repeats
    mean: float | None
    interval: BootstrapInterval | None
    deviation: float | None  # between seeds
    variance: VarianceParts | None


@dataclass(frozen=True, slots=True)
class Contrast:
    """A condition beside the baseline, by pairs of runs with the same seed."""

    condition: str
    baseline: str
    pairs: int
    difference: float | None
    interval: BootstrapInterval | None
    deviation: float | None  # of the differences
    paired_d: float | None
    cohens_d: float | None
    cliffs_delta: float | None
    p: float | None
    p_holm: float | None = None


@dataclass(frozen=True, slots=True)
class CurveBand:
    """The mean of a condition's curves, with a pointwise band."""

    condition: str
    ticks: tuple[int, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class MeasureAnalysis:
    """All that is said of one measure."""

    name: str
    summaries: tuple[ConditionSummary, ...]
    contrasts: tuple[Contrast, ...]
    bands: tuple[CurveBand, ...] = ()


@dataclass(frozen=True, slots=True)
class ExperimentAnalysis:
    """The analysis of an experiment."""

    result: ExperimentResult
    measures: tuple[MeasureAnalysis, ...]

    @property
    def tests(self) -> int:
        """How many comparisons Holm's correction is for."""
        return sum(contrast.p is not None for measure in self.measures for contrast in measure.contrasts)

    @property
    def errors(self) -> tuple[tuple[str, str], ...]:
        """Every measure that failed: its trial in words, and why, by its line."""
        return tuple(
            (f"{outcome.condition}, seed {outcome.seed}", error)
            for outcome in self.result.outcomes
            for error in outcome.errors.values()
        )


def analyse(result: ExperimentResult) -> ExperimentAnalysis:
    """Analyse the trials that are there. The first condition is the baseline; seeds of one of two are left out."""
    analyses = [_measure(result, spec) for spec in result.experiment.measures]
    tests = [(place, at) for place, one in enumerate(analyses) for at in range(len(one.contrasts))]
    corrected = holm([analyses[place].contrasts[at].p for place, at in tests])
    by_place = dict(zip(tests, corrected, strict=True))
    measures = (
        MeasureAnalysis(
            one.name,
            one.summaries,
            tuple(_corrected(contrast, by_place[place, at]) for at, contrast in enumerate(one.contrasts)),
            one.bands,
        )
        for place, one in enumerate(analyses)
    )
    return ExperimentAnalysis(result, tuple(measures))


def _corrected(contrast: Contrast, p_holm: float | None) -> Contrast:
    return replace(contrast, p_holm=p_holm)


def _measure(result: ExperimentResult, spec: MeasureSpec) -> MeasureAnalysis:
    names = [condition.name for condition in result.experiment.conditions]
    of = {name: [outcome for outcome in result.outcomes if outcome.condition == name] for name in names}
    summaries = tuple(_summary(name, of[name], spec.name) for name in names)
    baseline = summaries[0]
    contrasts = tuple(_contrast(summary, baseline, spec.name) for summary in summaries[1:])
    bands = tuple(band for name in names if (band := _band(name, of[name], spec.name)) is not None)
    return MeasureAnalysis(spec.name, summaries, contrasts, bands)


def _chance(*names: str) -> np.random.Generator:
    """Return random numbers of one comparison, which stay when measures or conditions are added."""
    digest = hashlib.blake2b("\0".join(names).encode(), digest_size=8).digest()
    return np.random.default_rng([SEED, int.from_bytes(digest, "big")])


def _summary(condition: str, outcomes: Sequence[TrialOutcome], measure: str) -> ConditionSummary:
    repeats: dict[int, list[float]] = {}
    for outcome in outcomes:
        value = outcome.values.get(measure)
        if value is not None:
            repeats.setdefault(outcome.seed, []).append(value)
    by_seed = {seed: float(np.mean(values)) for seed, values in repeats.items()}
    values = _array(by_seed.values())
    return ConditionSummary(
        condition,
        by_seed,
        float(values.mean()) if len(values) else None,
        bootstrap_interval(values, _chance(measure, condition)),
        float(values.std(ddof=1)) if len(values) > 1 else None,
        variance_parts(repeats),
    )


def _contrast(summary: ConditionSummary, baseline: ConditionSummary, measure: str) -> Contrast:
    seeds = [seed for seed in baseline.by_seed if seed in summary.by_seed]
    ours, theirs = _array(map(summary.by_seed.get, seeds)), _array(map(baseline.by_seed.get, seeds))
    differences = ours - theirs
    chance = _chance(measure, summary.condition, baseline.condition)
    return Contrast(
        summary.condition,
        baseline.condition,
        len(seeds),
        float(differences.mean()) if seeds else None,
        bootstrap_interval(differences, chance),
        float(differences.std(ddof=1)) if len(seeds) > 1 else None,
        paired_d(differences),
        cohens_d(ours, theirs),
        cliffs_delta(ours, theirs),
        paired_permutation_p(differences, chance) if len(seeds) > 1 else None,
    )


def _array(values: object) -> "NDArray[np.float64]":
    return np.array(list(values), dtype=np.float64)  # type: ignore[call-overload]  # any iterable of numbers


def _band(condition: str, outcomes: Sequence[TrialOutcome], measure: str) -> CurveBand | None:
    by_seed: dict[int, list[CurvePoints]] = {}
    for outcome in outcomes:
        if points := outcome.curves.get(measure):
            by_seed.setdefault(outcome.seed, []).append(points)
    if not by_seed:
        return None
    every = [points for several in by_seed.values() for points in several]
    ticks = _grid(every)
    curves = np.array([np.mean([_at(points, ticks) for points in several], axis=0) for several in by_seed.values()])
    low, high = bootstrap_bands(curves, _chance(measure, condition, "band"))
    mean = curves.mean(axis=0)
    return CurveBand(condition, tuple(ticks.tolist()), *(tuple(one.tolist()) for one in (mean, low, high)))


def _grid(curves: Sequence[CurvePoints]) -> "NDArray[np.int64]":
    """Return ticks at which all of these curves have begun."""
    first, last = max(points[0][0] for points in curves), max(points[-1][0] for points in curves)
    return np.unique(np.linspace(first, last, POINTS + 1).astype(np.int64))


def _at(points: CurvePoints, ticks: "NDArray[np.int64]") -> "NDArray[np.float64]":
    """Return a curve at some ticks; between two points it has the value of the first."""
    known = np.array([tick_id for tick_id, _ in points])
    values = np.array([value for _, value in points])
    found: NDArray[np.float64] = values[np.searchsorted(known, ticks, side="right") - 1]
    return found

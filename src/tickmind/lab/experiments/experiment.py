"""`Experiment`: what a file of an experiment says, checked, and the trials that follow from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from tickmind.base import Limit

MAX_CONDITIONS: Final = Limit("number of conditions of an experiment, levels times levels", 500)
MAX_TRIALS: Final = Limit("number of trials of an experiment", 50_000)
PatchPath = tuple[str | int, ...]


class MeasureKind(StrEnum):
    """Where the value of a measure comes from."""

    BUILT_IN = "built_in"
    SQL = "sql"
    PYTHON = "python"


class Keep(StrEnum):
    """What is left of a trial when the experiment is over."""

    NONE = "none"  # only the tables
    MEASURES = "measures"  # and a file for each trial, so that an experiment can be extended
    RUNS = "runs"  # and its whole run


@dataclass(frozen=True, slots=True)
class MeasureSpec:
    """A measure as the file names it: a built-in one, a query, or a function."""

    name: str
    kind: MeasureKind
    source: str  # the name of the built-in one, the query, or `module:function`
    fact: str = ""  # of a built-in measure of a planted fact
    is_curve: bool = False  # pairs of tick and value instead of one value
    line: int = 0  # in the file


@dataclass(frozen=True, slots=True)
class Patch:
    """A value at a path of the scenario or of its mapping; None takes the value out."""

    path: PatchPath
    value: Any
    line: int = 0  # in the file


@dataclass(frozen=True, slots=True)
class Level:
    """One setting of a factor: what it changes."""

    name: str
    patches: tuple[Patch, ...] = ()


@dataclass(frozen=True, slots=True)
class Factor:
    """What is varied on purpose."""

    name: str
    levels: tuple[Level, ...]


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """The one door to models for all trials; without a base URL or a gateway code decides."""

    base_url: str = ""
    gateway_url: str = ""
    name: str = ""

    @property
    def is_set(self) -> bool:
        """Whether there is a model to ask."""
        return bool(self.base_url or self.gateway_url)


@dataclass(frozen=True, slots=True)
class TrialBudget:
    """What the models of all trials together may take; None is no limit."""

    tokens: int | None = None
    usd: float | None = None

    @property
    def is_set(self) -> bool:
        """Whether there is a limit."""
        return self.tokens is not None or self.usd is not None

    def is_used_up(self, tokens: int, usd: float) -> bool:
        """Return whether nothing of it is left."""
        return (self.tokens is not None and tokens >= self.tokens) or (self.usd is not None and usd >= self.usd)


NO_MODEL: Final = ModelEndpoint()
NO_BUDGET: Final = TrialBudget()


@dataclass(frozen=True, slots=True)
class TrialCondition:
    """A combination of levels, with the scenario and the mapping that it makes. Both texts need no other file."""

    name: str
    levels: tuple[tuple[str, str], ...]  # factor and level, in the order of the file
    scenario_text: str
    agents_text: str


@dataclass(frozen=True, slots=True)
class Experiment:
    """A checked experiment; the first condition is the one that the others are compared with."""

    name: str
    file: Path
    scenario: Path
    agents: Path  # the file of the mapping, which may be the scenario's
    ticks: int
    seeds: tuple[int, ...]
    repeats: int
    factors: tuple[Factor, ...]
    measures: tuple[MeasureSpec, ...]
    conditions: tuple[TrialCondition, ...]
    workers: int = 0  # 0: as many as there are processors
    keep: Keep = Keep.MEASURES
    model: ModelEndpoint = NO_MODEL
    budget: TrialBudget = NO_BUDGET
    text: str = field(default="", compare=False)  # of the file, to repeat it

    @property
    def trials(self) -> int:
        """How many trials it has."""
        return len(self.conditions) * len(self.seeds) * self.repeats

    @property
    def factor_names(self) -> tuple[str, ...]:
        """The names of the factors, in the order of the file."""
        return tuple(factor.name for factor in self.factors)


def condition_name(levels: Mapping[str, str]) -> str:
    """Return the name of a combination of levels: `market=closed, weather=rain`."""
    return ", ".join(f"{factor}={level}" for factor, level in levels.items()) or "all"

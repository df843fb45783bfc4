"""`TrialOrder`: one run to do, as it is sent to a worker; `TrialOutcome`: what came of it."""

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, TypeAlias

from tickmind.lab.experiments.experiment import NO_BUDGET, NO_MODEL, MeasureSpec, ModelEndpoint, TrialBudget
from tickmind.world import OwnRule

FORMAT: Final = 1  # of an outcome's file
CurvePoints: TypeAlias = "tuple[tuple[int, float], ...]"
LoadRules: TypeAlias = Callable[[Sequence[str]], Mapping[str, OwnRule]]


@dataclass(frozen=True, slots=True)
class TrialOrder:
    """One run to do. It is complete: a worker needs nothing else but the code, and the folder that it writes to."""

    experiment: str
    condition: str
    levels: tuple[tuple[str, str], ...]
    seed: int
    repeat: int
    ticks: int
    scenario_text: str
    agents_text: str
    agents_source: str  # the file of the mapping, for messages
    agents_folder: str  # where its programs are
    measures: tuple[MeasureSpec, ...]
    measures_file: str  # the experiment's file, for messages; its functions are beside it
    code: str  # digest of tickmind, of the programs and of own rules
    measures_code: str  # digest of the functions that measure
    folder: str  # of the experiment's results
    keeps_run: bool = False
    model: ModelEndpoint = NO_MODEL
    budget: TrialBudget = NO_BUDGET
    load_rules: LoadRules | None = None  # loads rules of the user's own; None: there are none

    @property
    def name(self) -> str:
        """The trial in words, for messages."""
        repeat = f", repeat {self.repeat}" if self.repeat > 1 else ""
        return f"{self.condition}, seed {self.seed}{repeat}"

    @property
    def world_digest(self) -> str:
        """Digest of all that decides how the run goes, but the replies of models."""
        model = asdict(self.model) if self.model.is_set else None
        parts = (self.scenario_text, self.agents_text, self.agents_folder, self.seed, self.repeat, self.ticks, model)
        return _digest([*parts, self.code])

    @property
    def digest(self) -> str:
        """Digest of all that decides what is measured; a finished trial is known by it."""
        measures = [
            [measure.name, measure.kind, measure.source, measure.fact, measure.is_curve] for measure in self.measures
        ]
        return _digest([FORMAT, self.experiment, self.condition, self.world_digest, measures, self.measures_code])

    @property
    def run_id(self) -> str:
        """The name of its run."""
        plain = "".join(sign if sign.isalnum() and sign.isascii() else "-" for sign in self.condition)[:60].strip("-")
        repeat = f"-{self.repeat}" if self.repeat > 1 else ""
        return f"{plain or 'all'}-seed{self.seed}{repeat}-{self.world_digest[:8]}"


def _digest(parts: Any) -> str:
    return hashlib.blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """A finished trial: its measures, and what it took."""

    digest: str
    condition: str
    levels: tuple[tuple[str, str], ...]
    seed: int
    repeat: int
    last_tick: int
    values: Mapping[str, float | None]  # measure -> value; None: it failed, or the run has no case of it
    curves: Mapping[str, CurvePoints] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)  # measure -> why it failed, with its line
    failed_acts: int = 0
    calls: int = 0  # of models
    tokens: int = 0
    usd: float = 0.0
    took_s: float = 0.0
    run_id: str = ""

    def to_json(self) -> str:
        """Return it as its file says it."""
        return json.dumps({"tickmind_trial": FORMAT, **asdict(self)}, indent=1, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "TrialOutcome":
        """Read what `to_json` wrote; raises `ValueError` for anything else."""
        said = json.loads(text)
        try:
            if said.pop("tickmind_trial") != FORMAT:
                raise ValueError("it has another format")
            levels = tuple((str(factor), str(level)) for factor, level in said.pop("levels"))
            values = {str(name): _number(value) for name, value in said.pop("values").items()}
            curves = {
                str(name): tuple((int(tick_id), _finite(value)) for tick_id, value in points)
                for name, points in said.pop("curves").items()
            }
            errors = {str(name): str(error) for name, error in said.pop("errors").items()}
            return cls(levels=levels, values=values, curves=curves, errors=errors, **said)
        except (AttributeError, KeyError, OverflowError, TypeError) as error:
            raise ValueError("it is no outcome of a trial") from error


def _number(value: Any) -> float | None:
    return None if value is None else _finite(value)


def _finite(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError("it has a value that is no number")
    return number


@dataclass(frozen=True, slots=True)
class TrialReport:
    """What a worker returns: an outcome, or why there is none."""

    outcome: TrialOutcome | None = None
    problem: str = ""
    is_over_budget: bool = False

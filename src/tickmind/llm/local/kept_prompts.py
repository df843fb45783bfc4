"""`KeptPrompts`: prompts that a model has evaluated, kept in the cache for later starts with the same weights."""

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tickmind.base import Limit, get_logger
from tickmind.llm.errors import LLMConfigError
from tickmind.llm.local.cache import make_folder

MAX_KEPT = Limit("number of prompts kept in the cache", 8)  # a file has 28 kB for each token of a model of 1.5 billion
_NEW = "new-"
_log = get_logger("tickmind.llm.local")


class KeptPrompts:
    """The files of one folder, which the server writes and reads; the oldest go when there are too many."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make_folder(self) -> bool:
        """Create the folder before a server starts that uses it; return False if nothing can be kept there."""
        try:
            make_folder(self.folder)
        except LLMConfigError as error:
            _log.warning("can't keep evaluated prompts; each start reads them again", error=str(error))
            return False
        return os.access(self.folder, os.W_OK)

    @staticmethod
    def name(weights: Path, runtime: Sequence[str], context: int, messages: Sequence[Any]) -> str:
        """Return the file's name for a prompt; everything that changes the evaluation changes the name."""
        known = weights.stat()
        parts = [str(weights), known.st_size, known.st_mtime_ns, list(runtime), context, list(messages)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32] + ".slot"

    def has(self, name: str) -> bool:
        """Return whether the prompt was kept."""
        return (self.folder / name).is_file()

    def unfinished(self, name: str) -> str:
        """Return the name under which it is written until it is complete."""
        return f"{_NEW}{os.getpid()}-{name}"

    def finish(self, name: str) -> None:
        """Give a completely written file its final name and drop the oldest files over the limit."""
        (self.folder / self.unfinished(name)).replace(self.folder / name)
        kept = sorted(self.folder.glob("*.slot"), key=_written_s)
        for path in kept[: -int(MAX_KEPT.maximum)]:
            path.unlink(missing_ok=True)

    def forget(self, name: str) -> None:
        """Delete a file that could not be read."""
        (self.folder / name).unlink(missing_ok=True)


def _written_s(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # another process has deleted it just now
        return 0.0

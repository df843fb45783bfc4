"""Prompts that a model has read, kept in the cache: a later start with the same weights need not read them again."""

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
        """Before a server is started that is to use it; False if nothing can be kept there."""
        try:
            make_folder(self.folder)
        except LLMConfigError as error:
            _log.warning("no prompts are kept", error=str(error))
            return False
        return os.access(self.folder, os.W_OK)

    @staticmethod
    def name(weights: Path, runtime: Sequence[str], context: int, messages: Sequence[Any]) -> str:
        """The file for what these weights made of a prompt; whatever changes what they make of it changes the name."""
        known = weights.stat()
        parts = [str(weights), known.st_size, known.st_mtime_ns, list(runtime), context, list(messages)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32] + ".slot"

    def has(self, name: str) -> bool:
        """Whether it was kept."""
        return (self.folder / name).is_file()

    def unfinished(self, name: str) -> str:
        """The name under which it is written, until all of it is there."""
        return f"{_NEW}{os.getpid()}-{name}"

    def finish(self, name: str) -> None:
        """It was written."""
        (self.folder / self.unfinished(name)).replace(self.folder / name)
        kept = sorted(self.folder.glob("*.slot"), key=_written_s)
        for path in kept[: -int(MAX_KEPT.maximum)]:
            path.unlink(missing_ok=True)

    def forget(self, name: str) -> None:
        """It could not be read."""
        (self.folder / name).unlink(missing_ok=True)


def _written_s(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # another process has deleted it just now
        return 0.0

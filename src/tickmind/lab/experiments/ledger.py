"""`SpendingLedger`: counts what the models of all trials have taken, across workers, kills and resumptions."""

import math
import os
from pathlib import Path
from typing import Final

from tickmind.base import ConfigError
from tickmind.base.files import open_file

_LONGEST_READ: Final = 1_000_000  # bytes at once


class SpendingLedger:
    """A file to which every worker appends a line for what it has spent, and which all of them read.

    A line is appended at once and is shorter than what the system writes in one piece, so lines never mix. One that
    a kill has cut is skipped.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._descriptor = open_file(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        except OSError as error:
            raise ConfigError(f"{path} can't be opened: {error.strerror}") from error
        self._read_to = 0
        self._tokens = 0
        self._usd = 0.0

    def add(self, tokens: int, usd: float) -> None:
        """Count what was spent; raises `OSError` if it can't be kept."""
        os.write(self._descriptor, f"{tokens} {usd:.9f}\n".encode())

    def spent(self) -> tuple[int, float]:
        """Return the tokens and dollars that were spent so far by all."""
        while data := os.pread(self._descriptor, _LONGEST_READ, self._read_to):
            end = data.rfind(b"\n") + 1
            if not end:
                break
            self._read_to += end
            for line in data[:end].splitlines():
                self._count(line)
        return self._tokens, self._usd

    def _count(self, line: bytes) -> None:
        try:
            tokens, usd = line.split()
            added = int(tokens), float(usd)
        except ValueError:  # cut by a kill
            return
        if added[0] < 0 or not 0 <= added[1] < math.inf:
            return  # edited: nothing is spent by that
        self._tokens += added[0]
        self._usd += added[1]

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

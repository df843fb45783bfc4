"""Processes by more than their number, so that none is taken for one that has gone before it."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tickmind.runner.warden.tree import descendants

_PROC = Path("/proc")


class Known(NamedTuple):
    """One process for good: numbers are given again, but not with the same start."""

    pid: int
    started: int  # in the machine's own units


def below(root: int) -> set[Known]:
    """All that descend from a process now."""
    return {known for pid in descendants(root) if (known := _look(pid)) is not None}


def alive(some: Iterable[Known]) -> list[Known]:
    """Those that are still there."""
    return [known for known in some if _look(known.pid) == known]


def _look(pid: int) -> Known | None:
    with suppress(OSError, ValueError, IndexError):
        after_name = (_PROC / str(pid) / "stat").read_bytes().rpartition(b") ")[2].split()
        if after_name[0] != b"Z":
            return Known(pid, int(after_name[19]))
    return None

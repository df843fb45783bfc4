"""Processes identified by pid and start time, so that a reused pid is not mistaken."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tickmind.runner.warden.tree import descendants

_PROC = Path("/proc")


class Known(NamedTuple):
    """One process: pids are reused, but not with the same start time."""

    pid: int
    started: int  # in clock ticks since boot


def below(root: int) -> set[Known]:
    """Return all present descendants of a process."""
    return {known for pid in descendants(root) if (known := _look(pid)) is not None}


def alive(some: Iterable[Known]) -> list[Known]:
    """Return those that are still running."""
    return [known for known in some if _look(known.pid) == known]


def _look(pid: int) -> Known | None:
    with suppress(OSError, ValueError, IndexError):
        after_name = (_PROC / str(pid) / "stat").read_bytes().rpartition(b") ")[2].split()
        if after_name[0] != b"Z":
            return Known(pid, int(after_name[19]))
    return None

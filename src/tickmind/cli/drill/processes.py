"""Processes identified by pid and start time, so that a reused pid is not mistaken."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tickmind.runner.warden.tree import descendants

_PROC = Path("/proc")


class ProcessIdentity(NamedTuple):
    """One process: pids are reused, but not with the same start time."""

    pid: int
    started: int  # in clock ticks since boot


def below(root: int) -> set[ProcessIdentity]:
    """Return all present descendants of a process."""
    return {known for pid in descendants(root) if (known := _look(pid)) is not None}


def alive(some: Iterable[ProcessIdentity]) -> list[ProcessIdentity]:
    """Return those that are still running."""
    return [known for known in some if _look(known.pid) == known]


def _look(pid: int) -> ProcessIdentity | None:
    with suppress(OSError, ValueError, IndexError):
        after_name = (_PROC / str(pid) / "stat").read_bytes().rpartition(b") ")[2].split()
        if after_name[0] != b"Z":
            return ProcessIdentity(pid, int(after_name[19]))
    return None

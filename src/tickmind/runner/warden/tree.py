"""The processes of one tree: how many, how large, and gone when they must be. Standard library only."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_PAUSE_S = 0.002


@dataclass(frozen=True, slots=True)
class Usage:
    """What a tree uses at one moment."""

    processes: int
    memory_bytes: int  # of its own; what is mapped from files counts for nobody


def processes() -> Iterator[tuple[int, int]]:
    """Pid and parent of each process that `/proc` shows and that is no zombie."""
    for name in os.listdir(_PROC):  # noqa: PTH208 - called often, and names are all it needs
        if name.isdigit():
            with suppress(OSError, ValueError):
                after_name = (_PROC / name / "stat").read_bytes().rpartition(b") ")[2].split()
                if after_name[0] != b"Z":
                    yield int(name), int(after_name[1])


def descendants(root: int) -> list[int]:
    """All that descend from a process, parents before their children."""
    children: dict[int, list[int]] = {}
    for pid, parent in processes():
        children.setdefault(parent, []).append(pid)
    found, place = list(children.get(root, [])), 0
    while place < len(found):
        found += children.get(found[place], [])
        place += 1
    return found


def usage(pids: list[int]) -> Usage:
    """What some processes use; those that end meanwhile use nothing."""
    pages = 0
    for pid in pids:
        with suppress(OSError, ValueError, IndexError):
            _, resident, shared, *_ = (_PROC / str(pid) / "statm").read_bytes().split()
            pages += max(0, int(resident) - int(shared))
    return Usage(len(pids), pages * _PAGE_BYTES)


def make_polite(pids: list[int], nice: int) -> None:
    """Let processes that made a session of their own yield as the others do; groups are scheduled as one."""
    for pid in pids:
        with suppress(OSError):  # no autogroups here, or it has ended
            file = _PROC / str(pid) / "autogroup"
            if not file.read_bytes().rstrip().endswith(f"nice {nice}".encode()):
                file.write_text(str(nice), encoding="ascii")


def end_all_children() -> None:
    """Kill whatever descends from this process, until there is nothing left; it must adopt orphans.

    All are stopped first, and none is buried meanwhile: killed one by one, those that fork quickly would be quicker.
    """
    if not reap():
        return
    me, stopped = os.getpid(), set[int]()
    while fresh := [pid for pid in descendants(me) if pid not in stopped]:
        _send(fresh, signal.SIGSTOP)
        stopped.update(fresh)
    while True:
        _send(descendants(me), signal.SIGKILL)
        if not reap():
            return
        time.sleep(_PAUSE_S)


def _send(pids: list[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def reap() -> bool:
    """Bury the children that have ended; whether there are others."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True

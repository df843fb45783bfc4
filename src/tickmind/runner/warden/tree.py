"""The processes of one tree: their number and memory, and their end. Standard library only."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_PAUSE_S = 0.002


def processes() -> Iterator[tuple[int, int]]:
    """Iterate over pid and parent of each process in `/proc` that is no zombie."""
    for name in os.listdir(_PROC):  # noqa: PTH208 - called often, and names are all it needs
        if name.isdigit():
            with suppress(OSError, ValueError):
                after_name = (_PROC / name / "stat").read_bytes().rpartition(b") ")[2].split()
                if after_name[0] != b"Z":
                    yield int(name), int(after_name[1])


def descendants(root: int) -> list[int]:
    """Return all descendants of a process, parents before their children."""
    children: dict[int, list[int]] = {}
    for pid, parent in processes():
        children.setdefault(parent, []).append(pid)
    pids, place = list(children.get(root, [])), 0
    while place < len(pids):
        pids += children.get(pids[place], [])
        place += 1
    return pids


def memory_used(pids: list[int], most_bytes: int) -> int:
    """Return how much memory some processes use; those that end meanwhile use nothing.

    Mapped files do not count, and shared memory counts once. Measuring that is slow, so it is only done for processes
    that may use more than `most_bytes`: for others, the result is a little too high.
    """
    used = 0
    for look in (_resident_bytes, _own_bytes, _fair_bytes):  # fastest first; each is lower than the one before
        used = sum(map(look, pids))
        if used <= most_bytes:
            break
    return used


def _resident_bytes(pid: int) -> int:
    """Return all resident memory; takes microseconds."""
    with suppress(OSError, ValueError, IndexError):
        return int((_PROC / str(pid) / "statm").read_bytes().split()[1]) * _PAGE_BYTES
    return 0


def _own_bytes(pid: int) -> int:
    """Return the memory without mapped files."""
    return _sum_of(pid, "status", (b"RssAnon:", b"RssShmem:"))


def _fair_bytes(pid: int) -> int:
    """Return the memory without mapped files, and its part of shared memory; takes milliseconds, may be forbidden."""
    return _sum_of(pid, "smaps_rollup", (b"Pss_Anon:", b"Pss_Shmem:")) or _own_bytes(pid)


def _sum_of(pid: int, file: str, names: tuple[bytes, ...]) -> int:
    """Return the sum of some lines of a file with lines such as `RssAnon:  1024 kB`."""
    with suppress(OSError, ValueError, IndexError):
        lines = (_PROC / str(pid) / file).read_bytes().splitlines()
        return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith(names))
    return 0


def make_polite(pids: list[int], nice: int) -> None:
    """Set the niceness of processes that made their own session, which is scheduled as a group."""
    for pid in pids:
        with suppress(OSError):  # no autogroups here, or it has ended
            file = _PROC / str(pid) / "autogroup"
            if not file.read_bytes().rstrip().endswith(f"nice {nice}".encode()):
                file.write_text(str(nice), encoding="ascii")


def end_all_children() -> None:
    """Kill all descendants of this process, until there are none; it must adopt orphans.

    All are stopped first, and none is reaped meanwhile: otherwise processes that fork fast would escape.
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
    """Reap the children that have ended; return whether there are others."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True

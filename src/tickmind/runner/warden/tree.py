"""The processes of one tree: how many, how large, and gone when they must be. Standard library only."""

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


def memory_used(pids: list[int], most_bytes: int) -> int:
    """How much memory some processes use; those that end meanwhile use nothing.

    What is mapped from files counts for nobody, and what several share counts once. To find that out takes long, so
    it is only done for those that may use more than `most_bytes`: of others, a little too much is told.
    """
    used = 0
    for look in (_resident_bytes, _own_bytes, _fair_bytes):  # the quickest first; each tells less than the one before
        used = sum(map(look, pids))
        if used <= most_bytes:
            break
    return used


def _resident_bytes(pid: int) -> int:
    """All that is in memory, in microseconds."""
    with suppress(OSError, ValueError, IndexError):
        return int((_PROC / str(pid) / "statm").read_bytes().split()[1]) * _PAGE_BYTES
    return 0


def _own_bytes(pid: int) -> int:
    """Without mapped files."""
    return _sum_of(pid, "status", (b"RssAnon:", b"RssShmem:"))


def _fair_bytes(pid: int) -> int:
    """Without mapped files, and of what is shared only its part; takes milliseconds, and may be forbidden."""
    return _sum_of(pid, "smaps_rollup", (b"Pss_Anon:", b"Pss_Shmem:")) or _own_bytes(pid)


def _sum_of(pid: int, file: str, names: tuple[bytes, ...]) -> int:
    """The sum of some lines of a file with lines such as `RssAnon:  1024 kB`."""
    with suppress(OSError, ValueError, IndexError):
        lines = (_PROC / str(pid) / file).read_bytes().splitlines()
        return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith(names))
    return 0


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

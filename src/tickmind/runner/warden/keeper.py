"""The keeper: parent of one started process, and the first in its namespace; nothing of the tree outlives it.

Standard library only: the warden forks it.
"""

import fcntl
import os
import resource
import select
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from tickmind.runner.warden.isolation import Isolation, adopt_orphans, cap_tasks, die_with_parent, own_proc
from tickmind.runner.warden.order import Bounds, Ending, Order
from tickmind.runner.warden.tree import descendants, end_all_children, make_polite, memory_used, processes
from tickmind.runner.warden.warm import be_python

_LINE_FD = 0  # to the warden: its end means ours
_LOG_FD = 1
_FIRST_FD = 3  # of what is passed on
_HIGH_FD = 64  # from here on, descriptors wait until they get their numbers
_WATCH_S = 0.2
_WATCH_ALL_S = 1.0  # where every process of the machine must be checked
_MEGABYTE = 1 << 20
_NO_DUMP_BYTES = 1  # unlike 0, it also keeps the kernel from starting a program that takes core dumps
_EXIT_NOT_STARTED = 127
_OOM_SCORE = "500"  # of -1000 to 1000: when memory runs out, these go before the world does


def keep(order: Order, line: int, descriptors: list[int], isolation: Isolation, *, warm: bool) -> NoReturn:
    """Run the process of an order in this freshly forked one, report how it ended, and leave nothing behind.

    `warm`: the order's kit is imported here, so that its process needs no interpreter of its own.
    """
    alone = isolation is not Isolation.SUBREAPER
    die_with_parent(signal.SIGKILL if alone else signal.SIGTERM)
    given = _take_places(line, descriptors)
    if not alone:
        adopt_orphans()
    sees_only_own = alone and own_proc()
    if order.bounds.processes and (sees_only_own or not alone):
        cap_tasks(isolation, order.bounds.processes)
    keeper = _Keeper(order, in_namespace=alone, sees_only_own=sees_only_own, warm=warm)
    with suppress(OSError):  # the warden is gone, and needs no report
        os.write(_LINE_FD, keeper.run(given).encode())
    if not alone:
        end_all_children()
    os._exit(0)  # in a namespace, the kernel kills and reaps all that is left in it


def _take_places(line: int, descriptors: list[int]) -> list[int]:
    """Move the descriptors to their numbers and close all others, those of other trees above all."""
    high = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, _HIGH_FD) for each in (line, *descriptors)]
    os.dup2(high[0], _LINE_FD)
    os.dup2(high[1], _LOG_FD)
    os.dup2(high[1], 2)
    for place, each in enumerate(high[2:]):
        os.dup2(each, _FIRST_FD + place)
    given = list(range(_FIRST_FD, _FIRST_FD + len(high) - 2))
    _close_from(_FIRST_FD + len(given))
    return given


def _close_from(lowest: int) -> None:
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - names are all it needs
        if int(name) >= lowest:
            with suppress(OSError):  # the descriptor of the listing itself
                os.close(int(name))


class _Keeper:
    """Starts the process, reaps what ends, and watches what the tree uses."""

    def __init__(self, order: Order, *, in_namespace: bool, sees_only_own: bool, warm: bool) -> None:
        self._order = order
        self._warm = warm
        self._in_namespace = in_namespace
        self._sees_only_own = sees_only_own
        self._watch_s = _WATCH_S if sees_only_own else _WATCH_ALL_S
        self._pid = 0
        self._kill_at_s: float | None = None
        self._signals: list[int] = []  # received

    def run(self, given: list[int]) -> Ending:
        """Run the process from start to end."""
        woken, wake = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(woken, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda got, _frame: self._signals.append(got))
        try:
            self._pid = _start(self._order, given, warm=self._warm)
        except OSError as error:
            return Ending(trouble=f"{self._order.argv[0]} can't be started: {error.strerror}")
        for each in given:
            os.close(each)
        poll = select.poll()
        poll.register(_LINE_FD, select.POLLIN)
        poll.register(woken, select.POLLIN)
        while True:
            ready = [descriptor for descriptor, _ in poll.poll(self._wait_ms())]
            if woken in ready:
                with suppress(BlockingIOError):
                    os.read(woken, 4096)
            if (ended := self._bury()) is not None:
                return ended
            if self._signals or (_LINE_FD in ready and not self._obey()):
                return Ending(trouble="it was killed")
            if self._kill_at_s is not None and time.monotonic() >= self._kill_at_s:
                return Ending(trouble="it did not stop in time and was killed")
            if (trouble := self._over_bounds()) != "":
                return Ending(trouble=trouble)

    def _wait_ms(self) -> float | None:
        waits = [self._watch_s] if self._order.bounds.memory_mb or self._order.bounds.processes else []
        if self._kill_at_s is not None:
            waits.append(max(0.0, self._kill_at_s - time.monotonic()))
        return min(waits) * 1000 if waits else None

    def _obey(self) -> bool:
        """Follow an order of the warden: `stop` and its grace in milliseconds; return False if the line has ended."""
        said = os.read(_LINE_FD, 256)
        for word in said.split(b"\n"):
            if word.startswith(b"stop ") and self._kill_at_s is None:
                self._kill_at_s = time.monotonic() + int(word[5:]) / 1000
                with suppress(ProcessLookupError):
                    os.kill(self._pid, self._order.stop_signal)
        return bool(said)

    def _bury(self) -> Ending | None:
        """Reap ended processes; return the ending of the main process, if it is among them."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return None
                if pid == self._pid:
                    code = os.waitstatus_to_exitcode(status)
                    left = len(self._pids())
                    return Ending(code=code, left=left) if code >= 0 else Ending(signal=-code, left=left)
        except ChildProcessError:
            return Ending(trouble="it was lost")

    def _over_bounds(self) -> str:
        bounds = self._order.bounds
        if not bounds.memory_mb and not bounds.processes:
            return ""
        pids = self._pids()
        if bounds.processes and len(pids) > bounds.processes:
            return f"it had {len(pids)} processes, more than its limit of {bounds.processes}"
        most_bytes = bounds.memory_mb * _MEGABYTE
        if most_bytes and (used := memory_used(pids, most_bytes)) > most_bytes:
            return f"it used {used // _MEGABYTE} MB of memory, more than its limit of {bounds.memory_mb}"
        if bounds.nice and not self._order.own_session:
            make_polite([pid for pid in pids if pid != self._pid], bounds.nice)
        return ""

    def _pids(self) -> list[int]:
        if self._sees_only_own:
            return [pid for pid, _ in processes() if pid != os.getpid()]
        if not self._in_namespace:
            return descendants(os.getpid())
        own = _namespace_of("self")
        return [pid for pid, _ in processes() if _namespace_of(str(pid)) == own][1:]  # the first is this process


def _namespace_of(pid: str) -> str:
    with suppress(OSError):
        return str(Path("/proc", pid, "ns", "pid").readlink())
    return ""


def _start(order: Order, given: list[int], *, warm: bool) -> int:
    """Fork and exec the command; an `OSError` of the new process is raised here."""
    failed, fail = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid() if order.own_session else os.setpgid(0, 0)
            _prepare(order)
            if warm:
                _close_from(_FIRST_FD + len(given))  # `fail` among them, whose end signals the start
                be_python(order.argv, order.env)
            for each in given:
                os.set_inheritable(each, True)
            os.execvpe(order.argv[0], list(order.argv), order.env)  # noqa: S606 - no shell is the point
        except OSError as error:
            os.write(fail, str(error.errno or 0).encode())
        except ValueError:  # a variable or an argument with a zero byte in it
            os.write(fail, b"22")
        finally:
            os._exit(_EXIT_NOT_STARTED)
    os.close(fail)
    trouble = os.read(failed, 16)
    os.close(failed)
    if trouble:
        os.waitpid(pid, 0)
        number = int(trouble)
        raise OSError(number, os.strerror(number))
    return pid


def _prepare(order: Order) -> None:
    """Set up the new process as ordered, before its program."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    os.chdir(order.cwd)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    _bind(order.bounds)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_OOM_SCORE, encoding="ascii")


def _bind(bounds: Bounds) -> None:
    """Set the limits of one process; those of the whole tree are watched."""
    limits = {
        resource.RLIMIT_CORE: _NO_DUMP_BYTES,
        resource.RLIMIT_CPU: bounds.cpu_s or None,
        resource.RLIMIT_NOFILE: bounds.files or None,
        resource.RLIMIT_DATA: 2 * bounds.memory_mb * _MEGABYTE or None,  # in case it grows between two checks
    }
    for kind, most in limits.items():
        if most is not None:
            hard = resource.getrlimit(kind)[1]
            allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (allowed, allowed))
    if bounds.nice > os.getpriority(os.PRIO_PROCESS, 0):  # a lower niceness than the runner's may be forbidden
        os.setpriority(os.PRIO_PROCESS, 0, bounds.nice)

"""Isolation of process trees, so that nothing of them is left: what Linux offers, and what is allowed here.

Standard library only: the warden's process imports it.
"""

import ctypes
import os
import platform
import re
import resource
import signal
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

_NEW_NS = 0x00020000
_NEW_USER = 0x10000000
_NEW_PID = 0x20000000
_SYS_CLONE = {"x86_64": 56, "aarch64": 220}
_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REC, _MS_SLAVE = 2, 4, 8, 16384, 1 << 19

_PID_MAX = Path("/proc/sys/kernel/pid_max")
_LEAST_PID_MAX = 301  # the kernel takes no less
TASKS_PER_PROCESS = 16  # the kernel counts threads too, so its cap leaves room for them

_libc = ctypes.PyDLL(None, use_errno=True)  # PyDLL keeps the interpreter's lock, which a clone must not let go of


class Isolation(StrEnum):
    """How a process and all that it forks are isolated, best first."""

    NAMESPACE = "pid-namespace"  # the kernel kills all of it when its first process ends
    USER_NAMESPACE = "user-namespace"  # the same, for users other than root
    SUBREAPER = "subreaper"  # a keeper adopts every orphan, and kills them one by one


_FLAGS = {
    Isolation.NAMESPACE: _NEW_PID | _NEW_NS,
    Isolation.USER_NAMESPACE: _NEW_USER | _NEW_PID | _NEW_NS,
    Isolation.SUBREAPER: 0,
}


def fork_isolated(isolation: Isolation) -> int:
    """Fork as `os.fork` does; the child is the first process of its own namespaces. Raises `OSError`.

    Only for a process with a single thread and nothing registered to run at a fork.
    """
    if isolation is Isolation.SUBREAPER:
        return os.fork()
    call = _SYS_CLONE.get(platform.machine())
    if call is None:
        raise OSError(f"no namespaces on {platform.machine()}")
    user, group = os.getuid(), os.getgid()
    arguments = [ctypes.c_long(value) for value in (call, _FLAGS[isolation] | signal.SIGCHLD, 0, 0, 0, 0)]
    pid = int(_libc.syscall(*arguments))
    if pid < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    if pid == 0 and isolation is Isolation.USER_NAMESPACE:
        _keep_identity(user, group)
    return pid


def _keep_identity(user: int, group: int) -> None:
    """Keep the same user inside as outside; no other user exists there."""
    with suppress(OSError):  # older kernels have no such file and need none
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")


def own_proc() -> bool:
    """Mount a `/proc` of the own namespace only; return whether that is allowed here."""
    no_source = ctypes.c_char_p(None)
    if _libc.mount(b"none", b"/", no_source, ctypes.c_ulong(_MS_REC | _MS_SLAVE), no_source) != 0:
        return False
    flags = ctypes.c_ulong(_MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    return bool(_libc.mount(b"proc", b"/proc", b"proc", flags, no_source) == 0)


def can_cap_tasks(isolation: Isolation) -> bool:
    """Whether the kernel itself can limit the number of tasks of such a tree, where a `/proc` can be mounted.

    Root without a namespace, or with a kernel before 6.14, can't be limited: then the keeper watches the count.
    """
    return _has_own_pid_max(isolation) or os.getuid() != 0


def _has_own_pid_max(isolation: Isolation) -> bool:
    return isolation is not Isolation.SUBREAPER and _kernel() >= (6, 14)  # before, one number was for all namespaces


def cap_tasks(isolation: Isolation, processes: int) -> None:
    """Limit the processes and threads of this tree to `TASKS_PER_PROCESS` for each process, where the kernel can."""
    most = TASKS_PER_PROCESS * processes
    if _has_own_pid_max(isolation):
        with suppress(OSError):
            _PID_MAX.write_text(str(max(_LEAST_PID_MAX, most)), encoding="ascii")
            return
    if os.getuid() != 0:
        others = _tasks_of_user() if isolation is Isolation.SUBREAPER else 0
        resource.setrlimit(resource.RLIMIT_NPROC, (others + most, others + most))


def _kernel() -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"[0-9]+", os.uname().release)[:2])


def _tasks_of_user() -> int:
    """Return the processes and threads of this user, which the kernel counts together."""
    count = 0
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            if folder.name.isdigit() and folder.stat().st_uid == os.getuid():
                count += sum(1 for _ in (folder / "task").iterdir())
    return count


def die_with_parent(number: int) -> None:
    """Ask for a signal when the thread that forked this process ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(number), 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent dies."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(1), 0, 0, 0)


def set_name(name: str) -> None:
    """Give this process a name for lists of processes."""
    _libc.prctl(_PR_SET_NAME, ctypes.c_char_p(name.encode()[:15]), 0, 0, 0)


def is_allowed(isolation: Isolation) -> bool:
    """Try whether this isolation works here; forks a process that ends at once."""
    try:
        pid = fork_isolated(isolation)
    except OSError:
        return False
    if pid == 0:
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def best_isolation() -> Isolation:
    """Return the best isolation that is allowed here; only for a process with a single thread."""
    return next(each for each in Isolation if is_allowed(each))

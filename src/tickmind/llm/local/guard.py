"""Run one command and make sure that it does not outlive its parent. Standard library only; run as a script.

    python guard.py PARENT_PID NICENESS COMMAND...

The command dies when standard input closes (the parent let go or died), when the parent is another process than it
was (a forked sibling may still hold the pipe), when this process gets a signal to end, and, on Linux, when it is
killed outright. The last one is safe here and would not be in the parent: the death signal follows the *thread* that
forked, and this process has only one.

NICENESS is added to the command's own. Where Linux groups processes by session, niceness counts only within a group,
so the group of a session that this process leads gets the same.
"""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

_GRACE_S = 2.0
_POLL_S = 0.5
_PR_SET_PDEATHSIG = 1


def _death_signal_setter() -> "ctypes._NamedFuncPointer | None":
    if not sys.platform.startswith("linux"):
        return None
    return ctypes.CDLL(None, use_errno=True).prctl


def _set_group_niceness(niceness: int) -> None:
    # a kernel that groups nothing has no such file, and one that is asked too often refuses
    with contextlib.suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(niceness), "ascii")


def main(arguments: list[str]) -> int:
    """Start the command, wait for it or for the parent's end, and leave nothing behind."""
    parent, niceness, command = int(arguments[0]), int(arguments[1]), arguments[2:]
    me, prctl = os.getpid(), _death_signal_setter()
    leads_session = os.getsid(0) == me  # else others are in its group, such as a person's shell

    def die_with_me() -> None:
        os.nice(niceness)
        if prctl is not None:
            prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != me:
            os._exit(1)

    if niceness and leads_session:
        _set_group_niceness(niceness)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signals: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda got, _frame: signals.append(got))
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)  # wakes the select below

    child = subprocess.Popen(  # noqa: S603 - the command is the caller's own
        command,
        stdin=subprocess.DEVNULL,
        preexec_fn=die_with_me,  # noqa: PLW1509 - this process has a single thread
    )
    try:
        while child.poll() is None and not signals and os.getppid() == parent:
            ready, _, _ = select.select([0, woken], [], [], _POLL_S)
            if woken in ready:
                os.read(woken, 512)
            if 0 in ready and not os.read(0, 512):
                break
    finally:
        if child.poll() is None:
            child.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(_GRACE_S)
            child.kill()
        if leads_session:  # what the command left behind, if it was a script
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.killpg(0, signal.SIGTERM)
    code = child.wait()
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""`GuardedChild`: a child process that ends with its parent."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

LOG_LINES = 60
LOG_LINE_CHARS = 300
_STOP_S = 5.0
_GUARD = Path(__file__).with_name("guard.py")
_LISTENING = re.compile(r"listening on https?://[^\s:]+:(\d+)")


def guarded(command: Sequence[str], *, niceness: int = 0) -> list[str]:
    """Return the command under the guard: it ends when its standard input closes, and with this process."""
    return [sys.executable, "-I", "-S", str(_GUARD), str(os.getpid()), str(niceness), *command]


class GuardedChild:
    """A command run under `guard.py`, with the tail of what it prints and the port that it says it listens on.

    `env` is laid under the environment of this process, whose own values stay.
    """

    def __init__(self, command: Sequence[str], *, niceness: int = 0, env: Mapping[str, str] | None = None) -> None:
        self._tail: deque[str] = deque(maxlen=LOG_LINES)
        self._said = threading.Event()  # set when the port is known, or the output has ended
        self.port: int | None = None
        self._process = subprocess.Popen(  # noqa: S603 - the command is chosen by the user or fixed by us
            guarded(command, niceness=niceness),
            env={**(env or {}), **os.environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for the parent, which then stops this one in order
        )
        self._reader = threading.Thread(target=self._read, name="tickmind-model-log", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """The guard's process id."""
        return self._process.pid

    @property
    def log_tail(self) -> str:
        """The last lines that it printed."""
        return "\n".join(self._tail)

    def exit_code(self) -> int | None:
        """Return the exit code, or None while it runs; 128 + n stands for signal n."""
        code = self._process.poll()
        return code if code is None or code >= 0 else 128 - code

    def wait_for_end(self, timeout_s: float) -> int | None:
        """Wait for its end and return the exit code; None if it has not ended by then."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout_s)
        return self.exit_code()

    def wait_for_port(self, timeout_s: float) -> int | None:
        """Wait until it prints its port and return that; None if it does not in time, or has ended."""
        self._said.wait(timeout_s)
        return self.port

    def stop(self) -> None:
        """Close its standard input and wait until it is gone; calling it again does nothing."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._reader.join(_STOP_S)
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _read(self) -> None:
        stream = self._process.stdout
        if stream is None:
            return
        while line := stream.readline(1 << 16):
            text = line.decode("utf-8", "replace").rstrip()
            self._tail.append(text[:LOG_LINE_CHARS])
            if self.port is None and (match := _LISTENING.search(text)):
                self.port = int(match[1])
                self._said.set()
        self._said.set()

"""Processes that are forks of one Python in which the platform is imported already.

Most of a short command's time goes into its imports. A test whose claim is not about the start of an interpreter asks
the `warm` fixture for its processes: each one runs from its first line to the last of what it registered for its end
as it would by itself, but starts in milliseconds. It does not take its modules apart, which would copy all that it
shares with the first process. In `/proc` it has the command line and the environment of the first process.
"""

import atexit
import fcntl
import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[1]
LONGEST_ORDER = 1 << 20  # bytes
MOST_DESCRIPTORS = 16
STARTING_S = 300.0  # importing everything, and compiling the rules, on a busy machine
IMPORTED = (  # what commands, agents and snippets use; nothing that starts a thread
    *("aiohttp", "grpc.aio", "grpc_health.v1.health", "numba", "pydantic", "rich.console", "rich.table", "structlog"),
    *("typer", "typer._adapters", "uvloop", "tickmind.agent", "tickmind.ai", "tickmind.cli.app"),
    "tickmind.cli.runner.commands",
    *("tickmind.cli.world.commands", "tickmind.cli.world.run", "tickmind.cli.world.serving", "tickmind.gateway"),
    "tickmind.llm.testing",
    *("tickmind.protocol", "tickmind.server", "tickmind.strategy", "tickmind.tick", "tickmind.wire", "tickmind.world"),
)
ASIDE = 200  # descriptors below this number may be the ones that a process wants


class WarmProcess:
    """A process that was forked, with what `subprocess.Popen` has of one."""

    def __init__(self, pid: int, line: socket.socket, stdout: IO[str] | None, stderr: IO[str] | None) -> None:
        self.pid = pid
        self.stdout = stdout
        self.stderr = stderr
        self.returncode: int | None = None
        self._line = line  # says the exit code, when there is one

    def poll(self) -> int | None:
        """Return the exit code if the process has ended."""
        with suppress(BlockingIOError):
            self._read(0.0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit code; raise `subprocess.TimeoutExpired` as `Popen` does."""
        try:
            self._read(timeout)
        except TimeoutError:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0) from None
        assert self.returncode is not None
        return self.returncode

    def _read(self, timeout: float | None) -> None:
        if self.returncode is None:
            self._line.settimeout(timeout)
            said = self._line.recv(64)
            assert said, "the first process has ended"
            self.returncode = int(said)
            self._line.close()

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Read what the process still writes to its pipes, and wait for its end."""
        # Nobody here writes more to the one pipe than it holds while the other is read.
        out, err = "", ""
        if self.stderr is not None:
            with self.stderr:
                err = self.stderr.read()
        if self.stdout is not None:
            with self.stdout:
                out = self.stdout.read()
        self.wait(timeout)
        return out, err

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class WarmPython:
    """The first process, seen from a test."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="warm")
        self._path = f"{self._folder.name}/s"
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(self._path)
        listener.listen(64)  # from now on orders can be given; they are carried out when everything is imported
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("LLM_", "TICKMIND_", "PYTEST_"))
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.warm", str(listener.fileno())],
            cwd=ROOT,
            env={**kept, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "PYTHONIOENCODING": "utf-8"},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=[listener.fileno()],
        )
        listener.close()

    def start(
        self,
        words: Sequence[object],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdout: Any = None,
        stderr: Any = None,
        pass_fds: Sequence[int] = (),
    ) -> WarmProcess:
        """Start a process, as by `python *words`: `-m module`, `-c code` or a script, and its arguments."""
        order = {
            "words": [str(word) for word in words],
            "cwd": str(cwd or Path.cwd()),
            "env": dict(os.environ if env is None else env),
            "fds": [0, 1, 2, *pass_fds],
        }
        ours: list[IO[str] | None] = []
        theirs: list[int] = [os.open(os.devnull, os.O_RDONLY)]
        for wanted, usual in ((stdout, 1), (stderr, 2)):
            if wanted == subprocess.PIPE:
                reader, writer = os.pipe()
                ours.append(os.fdopen(reader, encoding="utf-8"))
                theirs.append(writer)
            else:
                ours.append(None)
                theirs.append(
                    os.dup(usual if wanted is None else wanted if isinstance(wanted, int) else wanted.fileno())
                )
        line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * LONGEST_ORDER)
        line.connect(self._path)
        socket.send_fds(line, [json.dumps(order).encode()], [*theirs, *pass_fds])
        for each in theirs:
            os.close(each)
        line.settimeout(STARTING_S)
        return WarmProcess(int(line.recv(64)), line, *ours)

    def close(self) -> None:
        self._process.communicate()
        self._folder.cleanup()


# The first process itself


def _become(order: dict[str, Any], received: list[int]) -> None:
    """Be the process that was ordered, until its end."""
    aside = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, ASIDE) for each in received]
    for each in received:
        os.close(each)
    for place, wanted in zip(aside, order["fds"], strict=True):
        os.dup2(place, wanted)
        os.close(place)
    os.environ.clear()
    os.environ.update(order["env"])
    os.chdir(order["cwd"])
    # Open as long as the process is there, and as an interpreter opens them.
    sys.stdin = sys.__stdin__ = open(0, encoding="utf-8")  # type: ignore[misc]  # noqa: SIM115
    sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8")  # type: ignore[misc]  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace")  # type: ignore[misc]  # noqa: SIM115
    how, *arguments = order["words"]
    match how:
        case "-m":
            sys.argv, sys.path[0] = [*arguments], order["cwd"]
            runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
        case "-c":
            sys.argv, sys.path[0] = ["-c", *arguments[1:]], ""
            exec(arguments[0], {"__name__": "__main__", "__builtins__": __builtins__})
        case script:
            sys.argv, sys.path[0] = [script, *arguments], str(Path(script).parent)
            runpy.run_path(script, run_name="__main__")


def serve(listener: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Fork for each order until the standard input ends; returns in the forks, with what they are to be."""
    reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    usual = signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writer)
    ready = selectors.DefaultSelector()
    for source in (0, listener, reader):
        ready.register(source, selectors.EVENT_READ)
    lines: dict[int, socket.socket] = {}  # process id -> who started it
    while True:
        found = {key.fileobj for key, _ in ready.select()}
        if reader in found:
            os.read(reader, 4096)
        for pid in list(lines):
            if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                with lines.pop(pid) as line, suppress(OSError):  # who started it may be gone
                    line.send(str(code).encode())
        if 0 in found:
            os._exit(0)
        if listener in found:
            line = listener.accept()[0]
            data, fds, _, _ = socket.recv_fds(line, LONGEST_ORDER, MOST_DESCRIPTORS)
            if (pid := os.fork()) == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, usual)
                ready.close()
                for each in (listener, line, *lines.values()):
                    each.close()
                for number in (reader, writer):
                    os.close(number)
                return json.loads(data), list(fds)
            for number in fds:
                os.close(number)
            lines[pid] = line
            line.send(str(pid).encode())


class _End:
    """The end of a process whose exit code is known; any other ends as an interpreter ends."""

    def __init__(self) -> None:
        self.code: object = self  # anything that is no number
        atexit.register(self)  # before all others, so it is called after them

    def __call__(self) -> None:
        if isinstance(self.code, int):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(self.code & 0xFF)


def main() -> None:
    """Import everything, compile the rules or load them, and fork from then on."""
    end = _End()
    for name in IMPORTED:
        importlib.import_module(name)
    importlib.import_module("tickmind.world.kernels").warm_up()
    gc.freeze()  # else each process would look through all of it, and so copy it, when it looks for garbage
    order = serve(socket.socket(fileno=int(sys.argv[1])))
    sys.modules["__main__"].__dict__.pop("__file__", None)
    try:
        _become(*order)
    except SystemExit as wanted:
        end.code = 0 if wanted.code is None else wanted.code
        raise
    end.code = 0


if __name__ == "__main__":
    main()

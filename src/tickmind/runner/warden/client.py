"""The runner's side of the warden: starts and stops processes, and reports their end."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tickmind.base import get_logger
from tickmind.runner.environment import passed_on
from tickmind.runner.errors import WardenError
from tickmind.runner.warden.isolation import Isolation
from tickmind.runner.warden.order import MAX_MESSAGE_BYTES, UNBOUNDED, Bounds, Ending, Order

_BOOT = Path(__file__).with_name("boot.py")
_GONE = Ending(trouble="the warden was killed, and all its processes with it")
_CLOSE_S = 2.0  # for killed processes, and again for the warden; then the warden is killed with all that is left
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Command:
    """A program to run, without a shell and with exactly this environment."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: Path
    bounds: Bounds = UNBOUNDED
    own_session: bool = False
    stop_signal: int = signal.SIGTERM  # asks it to end
    kit: tuple[str, ...] = ()  # modules; if any, it is a Python program started from a warm process with them


class Child:
    """A started process with all that it forks; `ended` is set once none of it is left."""

    def __init__(self, warden: "Warden", number: int, on_end: Callable[[Ending], None]) -> None:
        self._warden = warden
        self._number = number
        self._on_end = on_end
        self.keeper_pid = 0  # known soon after the start
        self.ending: Ending | None = None
        self.ended = asyncio.Event()

    def stop(self, grace_s: float) -> None:
        """Send its stop signal; what is left after the grace period is killed."""
        self._warden.say({"number": self._number, "stop_ms": round(grace_s * 1000)})

    def kill(self) -> None:
        """Kill all of it."""
        self._warden.say({"number": self._number})

    def end(self, ending: Ending) -> None:
        """Record its end; called by the warden."""
        if self.ending is None:
            self.ending = ending
            self.ended.set()
            self._on_end(ending)


class Warden:
    """Starts processes and keeps them: no process outlives this one, nor a forked child its parent tree.

    It is a small process beside the runner, because a runner has threads and must not fork. If it is killed, all its
    processes end too, each `on_end` is called, and the next `launch` starts another. It gets only that part of the
    `environment` that agents get too, since some of them are forks of it.
    """

    def __init__(self, isolation: Isolation | None = None, environment: Mapping[str, str] | None = None) -> None:
        self._wanted = isolation
        self._environment = passed_on(os.environ if environment is None else environment)
        self._process: subprocess.Popen[bytes] | None = None
        self._talk: socket.socket | None = None
        self._unsent: deque[tuple[bytes, list[int]]] = deque()
        self._children: dict[int, Child] = {}  # number -> child
        self._next = 1
        self._isolation: asyncio.Future[Isolation] | None = None

    async def __aenter__(self) -> "Warden":
        self._start()
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    @property
    def pid(self) -> int:
        """The pid of the warden's process, 0 if there is none."""
        return self._process.pid if self._process is not None else 0

    async def isolation(self) -> Isolation:
        """Return how processes are isolated; raises `WardenError` if the warden can't start."""
        if self._isolation is None:
            self._start()
        assert self._isolation is not None
        return await asyncio.shield(self._isolation)

    def launch(self, command: Command, descriptors: Sequence[int], on_end: Callable[[Ending], None]) -> Child:
        """Start a program; its log goes to the first descriptor, the others become 3, 4, ...; ours stay open.

        Raises `WardenError` if arguments and variables are too large to be passed on.
        """
        if self._talk is None:
            self._start()
        number, self._next = self._next, self._next + 1
        child = Child(self, number, on_end)
        order = Order(
            number,
            tuple(command.argv),
            dict(command.env),
            str(command.cwd),
            command.bounds,
            command.own_session,
            int(command.stop_signal),
            command.kit,
        )
        data = order.encode()
        if len(data) > MAX_MESSAGE_BYTES:
            raise WardenError(
                f"the arguments and variables of {command.argv[0]} are {len(data):,} bytes, more than "
                f"{MAX_MESSAGE_BYTES:,}; put large values into its settings"
            )
        self._children[number] = child
        self._send(data, [os.dup(each) for each in descriptors])
        return child

    def warm(self, modules: Sequence[str]) -> None:
        """Import a kit now, and not when the first agent needs it."""
        if self._talk is None:
            self._start()
        self._send(json.dumps({"warm": list(modules)}).encode(), [])

    def say(self, message: Mapping[str, int]) -> None:
        """Send a short order about a child; ignored if the child has ended."""
        if self._talk is not None and message["number"] in self._children:
            self._send(json.dumps(message).encode(), [])

    async def close(self) -> None:
        """End all processes and the warden."""
        children = list(self._children.values())
        for child in children:
            child.kill()
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                for child in children:
                    await child.ended.wait()
        self._let_go()

    def _start(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        with theirs:
            arguments = [str(_BOOT), str(theirs.fileno()), str(self._wanted or "")]
            try:
                self._process = subprocess.Popen(  # noqa: S603 - our own program
                    [sys.executable, "-S", *arguments],
                    env=self._environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                )
            except OSError as error:
                ours.close()
                raise WardenError(f"can't start the warden: {error.strerror}") from None
        self._talk = ours
        loop = asyncio.get_running_loop()
        self._isolation = loop.create_future()
        loop.add_reader(ours, self._hear)

    def _send(self, data: bytes, descriptors: list[int]) -> None:
        self._unsent.append((data, descriptors))
        if len(self._unsent) == 1:
            self._flush()

    def _flush(self) -> None:
        loop = asyncio.get_running_loop()
        while self._unsent and self._talk is not None:
            data, descriptors = self._unsent[0]
            try:
                socket.send_fds(self._talk, [data], descriptors)
            except BlockingIOError:
                loop.add_writer(self._talk, self._flush)
                return
            except OSError:
                self._lose()
                return
            self._unsent.popleft()
            _close(descriptors)
        if self._talk is not None:
            loop.remove_writer(self._talk)

    def _hear(self) -> None:
        while self._talk is not None:
            try:
                data = self._talk.recv(MAX_MESSAGE_BYTES)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self._lose()
                return
            self._take(json.loads(data))

    def _take(self, said: dict[str, Any]) -> None:
        if "isolation" in said:
            if self._isolation is not None and not self._isolation.done():
                self._isolation.set_result(Isolation(said["isolation"]))
        elif "started" in said:
            if (child := self._children.get(said["started"])) is not None:
                child.keeper_pid = said["pid"]
        elif (child := self._children.pop(said.pop("ended"), None)) is not None:
            child.end(Ending(**said))

    def _lose(self) -> None:
        """Handle the loss of the warden and all its processes."""
        _log.warning("the warden ended unexpectedly", processes=len(self._children))
        self._let_go()
        children, self._children = list(self._children.values()), {}
        for child in children:
            child.end(_GONE)

    def _let_go(self) -> None:
        if self._talk is not None:
            loop = asyncio.get_running_loop()
            loop.remove_reader(self._talk)
            loop.remove_writer(self._talk)
            self._talk.close()
            self._talk = None
        for _, descriptors in self._unsent:
            _close(descriptors)
        self._unsent.clear()
        if self._isolation is not None and not self._isolation.done():
            self._isolation.set_exception(WardenError("the warden could not start; see its output above"))
            self._isolation.exception()  # marks it as retrieved, as no task may be waiting
        if self._process is not None:
            try:
                self._process.wait(_CLOSE_S)
            except subprocess.TimeoutExpired:
                self._process.send_signal(signal.SIGKILL)
                self._process.wait()
            self._process = None


def _close(descriptors: Sequence[int]) -> None:
    for each in descriptors:
        os.close(each)

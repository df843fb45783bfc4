"""The parts of an ensemble, each a command of ours in its own process: world, gateway, viewer."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tickmind.base import Limit, TickmindError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tickmind.runner import Child, Warden

_READY_S = 300.0  # compiling a world's rules for the first time takes a minute, or more on a busy machine
_KILL_S = 1.0  # until a part that is killed is gone
_STOP_S = 120.0  # a world writes its finished files before it ends
MAX_RESUMES = Limit("number of restarts of a part after it was killed", 10)
_AT = re.compile(r"is at (\S+); Ctrl-C stops it")


class PartError(TickmindError):
    """A part did not start, or failed."""


class Part:
    """One command of ours as a process: its address and its output. `descriptors` are its 3, 4, ..."""

    def __init__(
        self,
        name: str,
        arguments: Sequence[str],
        warden: "Warden",
        say: "Callable[[str], None]",
        env: Mapping[str, str] | None = None,
        descriptors: Sequence[int] = (),
    ) -> None:
        from tickmind.runner import Command
        from tickmind.runner.logs import PacedReader

        self._name = name
        self._say = say
        self._rest = b""
        self._at: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._when_gone: Callable[[], None] | None = None
        self._stopping = False
        read, write = os.pipe2(os.O_CLOEXEC)
        self._reader = PacedReader(read, self._take)
        command = Command(
            (sys.executable, "-P", "-m", "tickmind.cli", *arguments),  # -P: files of the user's folder shadow no module
            env or os.environ,
            Path.cwd(),
            own_session=True,
            stop_signal=signal.SIGINT,
        )
        try:
            self._child: Child = warden.launch(command, [write, *descriptors], lambda _ending: self._gone())
        finally:
            os.close(write)

    async def address(self) -> str:
        """Wait until it prints its address; raises `PartError` if it never does."""
        try:
            async with asyncio.timeout(_READY_S):
                return await asyncio.shield(self._at)
        except TimeoutError:
            raise PartError(f"the {self._name} was not ready within {_READY_S:.0f} s") from None

    @property
    def keeper_pid(self) -> int:
        """The pid of its keeper; the part is the keeper's first descendant."""
        return self._child.keeper_pid

    @property
    def was_killed(self) -> bool:
        """Whether it was killed from outside."""
        return self._child.ending is not None and self._child.ending.code is None

    def when_gone(self, call: "Callable[[], None]") -> None:
        """Call back when it ends, or at once if it has."""
        self._when_gone = call
        if self._child.ending is not None:
            call()

    def complain(self) -> None:
        """Raise `PartError` if it failed by itself."""
        ending = self._child.ending
        if ending is not None and ending.code != 0:
            raise PartError(f"the {self._name} failed: {ending}")

    def kill(self) -> None:
        """Kill it."""
        self._stopping = True
        self._child.kill()

    async def stop(self) -> None:
        """Let it end in an orderly way; kill it if it is not up yet, or it would print a traceback of its imports."""
        self._stopping = True
        if self._at.done():
            self._child.stop(_STOP_S)
            await self._child.ended.wait()
            return
        self._child.kill()
        with suppress(TimeoutError):  # the warden is busy; its processes end with it
            async with asyncio.timeout(_KILL_S):
                await self._child.ended.wait()

    def _take(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            text = line.decode("utf-8", "replace")
            self._say(f"{self._name}: {text}")
            if not self._at.done() and (match := _AT.search(text)):
                self._at.set_result(match[1])

    def _gone(self) -> None:
        self._reader.drain()
        if not self._at.done():
            self._at.set_exception(PartError(f"the {self._name} did not start: {self._child.ending}; see above"))
            self._at.exception()  # marks it as retrieved, as no task may be waiting
        if self._when_gone is not None and not self._stopping:
            self._when_gone()


class KeptPart:
    """A part that is restarted after it was killed, with other arguments at the same address.

    Without such arguments, and when it ends by itself, it is not restarted.
    """

    def __init__(
        self,
        start: "Callable[[Sequence[str]], Part]",
        arguments: Sequence[str],
        resume: Sequence[str],
        say: "Callable[[str], None]",
    ) -> None:
        self._start = start
        self._resume = resume
        self._say = say
        self._resumed = 0
        self._address = ""
        self._when_gone: Callable[[], None] = lambda: None
        self._part = start(arguments)

    @property
    def part(self) -> Part:
        """The current or last process."""
        return self._part

    async def address(self) -> str:
        """Wait until it prints its address, which stays the same."""
        self._address = await self._part.address()
        return self._address

    def when_gone(self, call: "Callable[[], None]") -> None:
        """Call back when it has ended for good, or at once if it has."""
        self._when_gone = call
        self._part.when_gone(self._gone)

    def complain(self) -> None:
        """Raise `PartError` if it failed by itself."""
        self._part.complain()

    def _gone(self) -> None:
        if not self._resume or not self._part.was_killed or not MAX_RESUMES.allows(self._resumed + 1):
            self._when_gone()
            return
        self._resumed += 1
        self._say("It was killed; restarting it where it was.")
        port = self._address.rpartition(":")[2]
        self._part = self._start([*self._resume, "--port", port])
        self._part.when_gone(self._gone)

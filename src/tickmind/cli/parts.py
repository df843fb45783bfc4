"""The parts of a running system, each in a process of its own: a world, a gateway and everybody's agents."""

import asyncio
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

from tickmind.base import TickmindError
from tickmind.cli.runner import run_characters
from tickmind.cli.runner_status import RunnerStatus
from tickmind.runner import Child, Command, MappingFile, Runner, Warden, hold_folder
from tickmind.runner.logs import PacedReader

_READY_S = 300.0  # compiling a world's rules for the first time takes a minute, or more on a busy machine
_STOP_S = 10.0
_AT = re.compile(r"is at (\S+); Ctrl-C stops it")


class PartError(TickmindError):
    """One of the parts did not come up, or went down."""


async def run_all(file: MappingFile, world: list[str], gateway: list[str], folder: Path) -> None:
    """Run a world, a gateway if there are arguments for one, and all characters, until one ends or a signal comes."""
    status = RunnerStatus()
    with hold_folder(folder):
        async with Warden() as warden:
            parts: list[Part] = []
            try:
                parts.append(Part("world", world, warden, status.say))
                if gateway:
                    parts.append(Part("gateway", gateway, warden, status.say))
                file.world_addr = await parts[0].address()
                file.gateway_url = await parts[1].address() if gateway else ""
                mapping = file.reload(even_if_same=True, elsewhere=True)
                assert mapping is not None, "it was read a moment ago"
                found = Runner(mapping, folder, warden=warden)
                for part in parts:
                    part.when_gone(found.stop)
                await run_characters(found, file, folder, status)
                for part in parts:
                    part.complain()
            finally:
                for part in parts:
                    await part.stop()


class Part:
    """One command of ours as a process of its own: where it is, and what it says."""

    def __init__(self, name: str, arguments: list[str], warden: Warden, say: Callable[[str], None]) -> None:
        self._name = name
        self._say = say
        self._rest = b""
        self._at: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._when_gone: Callable[[], None] | None = None
        self._stopping = False
        read, write = os.pipe2(os.O_CLOEXEC)
        self._reader = PacedReader(read, self._take)
        command = Command((sys.executable, "-m", "tickmind.cli", *arguments), os.environ, Path.cwd(), own_session=True)
        try:
            self._child: Child = warden.launch(command, [write], lambda _ending: self._gone())
        finally:
            os.close(write)

    async def address(self) -> str:
        """Wait until it says where it is; raises `PartError` if it never does."""
        try:
            async with asyncio.timeout(_READY_S):
                return await asyncio.shield(self._at)
        except TimeoutError:
            raise PartError(f"the {self._name} was not ready within {_READY_S:.0f} s") from None

    def when_gone(self, call: Callable[[], None]) -> None:
        """Call somebody when it ends, or at once if it has."""
        self._when_gone = call
        if self._child.ending is not None:
            call()

    def complain(self) -> None:
        """Raise `PartError` if it ended by itself and not well."""
        ending = self._child.ending
        if ending is not None and ending.code != 0:
            raise PartError(f"the {self._name} went down: {ending}")

    async def stop(self) -> None:
        """Let it end in good order."""
        self._stopping = True
        self._child.stop(_STOP_S)
        await self._child.ended.wait()

    def _take(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            text = line.decode("utf-8", "replace")
            self._say(f"{self._name}: {text}")
            if not self._at.done() and (found := _AT.search(text)):
                self._at.set_result(found[1])

    def _gone(self) -> None:
        self._reader.drain()
        if not self._at.done():
            self._at.set_exception(PartError(f"the {self._name} did not come up: {self._child.ending}; see above"))
            self._at.exception()  # nobody may be waiting for it
        if self._when_gone is not None and not self._stopping:
            self._when_gone()

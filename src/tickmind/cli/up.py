"""`tickmind up`: a world, the models' gateway and everybody's agents together, and nothing left of them afterwards."""

import asyncio
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tickmind.base import TickmindError
from tickmind.cli.runner import StateDir, needs_world, run_characters, state_dir

if TYPE_CHECKING:
    from collections.abc import Callable

    from tickmind.runner import Child, MappingFile, Warden

_READY_S = 300.0  # compiling a world's rules for the first time takes a minute, or more on a busy machine
_STOP_S = 10.0
_AT = re.compile(r"is at (\S+); Ctrl-C stops it")


class UpError(TickmindError):
    """One of the parts did not come up, or went down."""


def up(
    scenario: Annotated[Path, typer.Argument(help="The scenario file, as in scenarios/village.yaml.")],
    agents: Annotated[
        Path | None, typer.Option(help="The mapping; the scenario's own agents and assignments if left out.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The world's port; 0 takes any that is free.")] = 50051,
    gateway: Annotated[
        bool, typer.Option("--gateway/--no-gateway", help="Whether agents get a gateway to ask models through.")
    ] = True,
    gateway_config: Annotated[
        Path | None, typer.Option(help="The gateway's settings; the environment says what there is if left out.")
    ] = None,
    gateway_port: Annotated[int, typer.Option(min=0, max=65535, help="The gateway's port; 0 takes any.")] = 8766,
    tps: Annotated[float | None, typer.Option(help="Ticks per second; the scenario's if left out.")] = None,
    ticks: Annotated[int | None, typer.Option(min=1, help="Stop after so many ticks.")] = None,
    state: StateDir = None,
) -> None:
    """Bring up a world with all its characters and their models. Ctrl-C stops all of it."""
    needs_world()
    from tickmind.cli.check import check_file
    from tickmind.runner import MappingFile

    mapping = agents or scenario
    check_file(scenario)
    if gateway_config is not None:
        check_file(gateway_config)
    file = MappingFile(mapping)
    world = ["world", str(scenario), "--port", str(port)]
    world += ["--tps", str(tps)] if tps is not None else []
    world += ["--ticks", str(ticks)] if ticks is not None else []
    models = ["gateway", "--port", str(gateway_port)] if gateway else []
    models += ["--config", str(gateway_config)] if models and gateway_config is not None else []
    asyncio.run(_up(file, world, models, state_dir(state, mapping)))


async def _up(file: "MappingFile", world: list[str], gateway: list[str], folder: Path) -> None:
    from tickmind.cli.runner_status import RunnerStatus
    from tickmind.runner import Runner, Warden, hold_folder

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

    def __init__(self, name: str, arguments: list[str], warden: "Warden", say: "Callable[[str], None]") -> None:
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
        command = Command((sys.executable, "-m", "tickmind.cli", *arguments), os.environ, Path.cwd(), own_session=True)
        try:
            self._child: Child = warden.launch(command, [write], lambda _ending: self._gone())
        finally:
            os.close(write)

    async def address(self) -> str:
        """Wait until it says where it is; raises `UpError` if it never does."""
        try:
            async with asyncio.timeout(_READY_S):
                return await asyncio.shield(self._at)
        except TimeoutError:
            raise UpError(f"the {self._name} was not ready within {_READY_S:.0f} s") from None

    def when_gone(self, call: "Callable[[], None]") -> None:
        """Call somebody when it ends, or at once if it has."""
        self._when_gone = call
        if self._child.ending is not None:
            call()

    def complain(self) -> None:
        """Raise `UpError` if it ended by itself and not well."""
        ending = self._child.ending
        if ending is not None and ending.code != 0:
            raise UpError(f"the {self._name} went down: {ending}")

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
            self._at.set_exception(UpError(f"the {self._name} did not come up: {self._child.ending}; see above"))
            self._at.exception()  # nobody may be waiting for it
        if self._when_gone is not None and not self._stopping:
            self._when_gone()

"""A world, the models' gateway, the agents and the viewer, started and stopped together."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
    nullcontext,
    suppress,
)
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tickmind.cli.ensemble.model_service import ModelService
from tickmind.cli.ensemble.parts import KeptPart, Part, PartError
from tickmind.cli.interrupts import Interrupts
from tickmind.cli.runner.commands import reload_mapping, run_characters

if TYPE_CHECKING:
    from tickmind.cli.ensemble.run_plan import NextRun, RunPlan
    from tickmind.cli.runner.status import RunnerStatus
    from tickmind.runner import MappingFile, Runner

_HEAD_START_S = 5.0  # longest head start of characters before a model is loaded
_LOOK_S = 0.1


@dataclass(frozen=True, slots=True)
class RunningParts:
    """The running parts, for work beside them."""

    world: KeptPart
    world_addr: str
    runner: "Runner"


@dataclass(frozen=True, slots=True)
class Ensemble:
    """What to start: the arguments of each command of ours; a part without any is left out."""

    world: Sequence[str]
    gateway: Sequence[str] = ()
    gateway_port: int | None = None  # 0 is any; with a port no part waits for the gateway, which answers when it can
    viewer: Sequence[str] = ()
    viewer_port: int | None = None  # 0 is any; with one, agents get the address of the WebSocket beside the page
    resume: Sequence[str] = ()  # to resume a killed world; without, its end is the end of all
    world_addr: str = ""  # where the world will be, if that is known in advance
    models: Callable[[], AbstractAsyncContextManager[Mapping[str, str]]] = lambda: nullcontext(os.environ)
    """Serves a model while it is entered, and returns the environment for the gateway, which may hold keys."""
    on_page: Callable[[str], None] = lambda _url: None  # called with the address of the page
    beside: Callable[[RunningParts], Coroutine[None, None, None]] | None = None  # when it ends, everything ends
    next_run: "NextRun | None" = None  # for a new one the present run ends; gateway and viewer stay
    follow_mapping: bool = True  # whether a changed mapping is used at once


async def bring_up(ensemble: Ensemble, file: "MappingFile", folder: Path, status: "RunnerStatus") -> None:
    """Run everything until a signal, the world's last tick or the end of a part; then nothing of it is left.

    Raises `KeyboardInterrupt` for a signal before the characters run, and for a second one, which kills the rest.
    """
    main = asyncio.current_task()
    assert main is not None, "it runs in a task"
    started: list[Part] = []

    def hurry() -> None:
        for part in started:
            part.kill()
        main.cancel()

    interrupts = Interrupts(main.cancel, hurry)
    with interrupts.caught():
        await _bring_up(ensemble, file, folder, status, started, interrupts)


async def _bring_up(
    ensemble: Ensemble,
    file: "MappingFile",
    folder: Path,
    status: "RunnerStatus",
    started: list[Part],
    interrupts: Interrupts,
) -> None:
    from tickmind.runner import LocalLauncher, Runner, Warden, hold_folder
    from tickmind.runner.launch.launching import KIT

    with hold_folder(folder):
        async with Warden() as warden, AsyncExitStack() as stack:

            def start(
                name: str, arguments: Sequence[str], env: Mapping[str, str] | None = None, *descriptors: int
            ) -> Part:
                part = Part(name, [name, *arguments], warden, status.say, env, descriptors)
                started.append(part)
                stack.push_async_callback(part.stop)
                return part

            def start_world(arguments: Sequence[str], resume: Sequence[str]) -> KeptPart:
                return KeptPart(lambda given: start("world", given), arguments, resume, status.say)

            world = start_world(ensemble.world, ensemble.resume)
            warden.warm(KIT)  # while the world starts
            gateway = None
            if ensemble.gateway:
                service = ModelService(ensemble.gateway, ensemble.gateway_port, ensemble.models, start)
                gateway = await stack.enter_async_context(service)
            parts: list[Part | KeptPart | ModelService] = [world]
            gone = asyncio.Event()  # a part ended before all are up
            socket_url = ""
            if ensemble.viewer and _page_is_built(status.say):
                seen = ensemble.world_addr or await _ready(world, parts, gone)
                viewer = start("viewer", [*ensemble.viewer, "--world", seen])
                stack.enter_context(_running(_announce(viewer, ensemble.on_page)))
                viewer.when_gone(gone.set)
                parts.append(viewer)
                socket_url = await _socket_url(ensemble.viewer_port, lambda: _ready(viewer, parts, gone))
            world_addr, gateway_url = await _ready(world, parts, gone), ""
            if gateway is not None:
                gateway_url = await _ready(gateway, parts, gone)
                parts.append(gateway)
            give_up = interrupts.stop
            while True:
                if gateway_url:
                    status.follow(gateway_url)
                launcher = LocalLauncher(warden)
                runner = Runner(file.settle(world_addr, gateway_url, socket_url), folder, launcher=launcher)
                for part in parts:
                    part.when_gone(runner.stop)
                if gateway is not None:
                    stack.enter_context(_running(_begin_after(runner, gateway)))
                interrupts.stop = runner.stop
                async with _beside(ensemble, RunningParts(world, world_addr, runner)):
                    plan = await _until_next_run(ensemble, runner, file, folder, status)
                for part in parts:
                    part.complain()
                if plan is None or interrupts.count:
                    return
                interrupts.stop = give_up
                world, file = await _exchange(ensemble, world, world_addr, plan, start_world, status)
                parts[0] = world


async def _until_next_run(
    ensemble: Ensemble, runner: "Runner", file: "MappingFile", folder: Path, status: "RunnerStatus"
) -> "RunPlan | None":
    """Run the characters until everything ends, or until another run is to begin; return that one."""
    if ensemble.next_run is None:
        await run_characters(runner, file, folder, status, follow_mapping=ensemble.follow_mapping)
        return None
    coming = asyncio.create_task(_new_run(ensemble.next_run, runner, file, status))
    coming.add_done_callback(lambda _task: runner.stop())
    try:
        await run_characters(runner, file, folder, status, follow_mapping=ensemble.follow_mapping)
    finally:
        coming.cancel()  # does nothing to one that is done
        await asyncio.wait({coming})
    return None if coming.cancelled() else coming.result()


async def _new_run(next_run: "NextRun", runner: "Runner", file: "MappingFile", status: "RunnerStatus") -> "RunPlan":
    """Wait for the plan of a new run. Versions that go on in place change the agents of the runner meanwhile."""
    while (plan := await next_run(running=True)).in_place:
        reload_mapping(runner, file, status.say)
    return plan


async def _exchange(
    ensemble: Ensemble,
    world: KeptPart,
    world_addr: str,
    plan: "RunPlan",
    start_world: Callable[[Sequence[str], Sequence[str]], KeptPart],
    status: "RunnerStatus",
) -> "tuple[KeptPart, MappingFile]":
    """End a world and begin another run at its address; return its world and its mapping.

    A world that does not start, because its file changed once more, is given up for the next run.
    """
    assert ensemble.next_run is not None, "the plan comes from there"
    await world.part.stop()
    while True:
        world = start_world([*plan.world, "--port", world_addr.rpartition(":")[2]], plan.resume)
        try:
            await world.address()
        except PartError as error:
            status.say(f"{error}. Change the scenario and save it to go on, or end all with Ctrl-C.")
            plan = await ensemble.next_run(running=False)
        else:
            return world, plan.file


async def _ready(
    part: Part | KeptPart | ModelService, parts: Sequence[Part | KeptPart | ModelService], gone: asyncio.Event
) -> str:
    """Wait for the address of a part; raises the error of any part that ends meanwhile."""
    address, ending = asyncio.ensure_future(part.address()), asyncio.ensure_future(gone.wait())
    try:
        await asyncio.wait({address, ending}, return_when=asyncio.FIRST_COMPLETED)
        if not address.done():
            for other in parts:
                other.complain()
            raise PartError("a part ended before all parts were up; see above")
        return address.result()
    finally:
        for task in (address, ending):
            task.cancel()


@contextmanager
def _running(work: Coroutine[None, None, None]) -> Iterator[None]:
    """Run a coroutine meanwhile."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()


async def _socket_url(port: int | None, page: Callable[[], Coroutine[None, None, str]]) -> str:
    """Return the WebSocket beside the page, for agents without gRPC; wait for the page only if its port may be any."""
    if port is None:
        return ""
    page_url = f"http://127.0.0.1:{port}/" if port else await page()
    return f"ws{page_url.removeprefix('http')}ws/v1"


async def _announce(viewer: Part, on_page: Callable[[str], None]) -> None:
    """Announce the page as soon as it is served; characters need not wait for it."""
    with suppress(PartError):  # its end is the end of all, and is reported there
        on_page(await viewer.address())


async def _begin_after(runner: "Runner", gateway: ModelService) -> None:
    """Leave the processor to the characters until the first of them is up."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_HEAD_START_S):
            while not any(row.controlled for row in runner.rows()):  # noqa: ASYNC110 - a look now and then will do
                await asyncio.sleep(_LOOK_S)
    gateway.begin()


@asynccontextmanager
async def _beside(ensemble: Ensemble, stage: RunningParts) -> AsyncIterator[None]:
    if ensemble.beside is None:
        yield
        return
    task = asyncio.create_task(ensemble.beside(stage))
    task.add_done_callback(lambda _task: stage.runner.stop())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})
    if not task.cancelled():
        task.result()


def _page_is_built(say: Callable[[str], None]) -> bool:
    from tickmind.viewer.errors import PageMissingError
    from tickmind.viewer.page import page_files

    try:
        page_files()
    except PageMissingError as error:
        say(f"There is no page to watch: {error}")
        return False
    return True

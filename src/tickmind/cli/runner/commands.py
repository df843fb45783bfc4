"""`tickmind runner`: an agent for every character, kept alive, with a live status table."""

from contextlib import asynccontextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tickmind.base import ConfigError
from tickmind.cli.world.endpoint import WorldCa, WorldCertificate, WorldTokenFile, world_tls

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tickmind.adapters.ray import RayCluster
    from tickmind.cli.runner.status import RunnerStatus
    from tickmind.runner import AgentLauncher, MappingFile, Runner

EVERY_S = 0.5
_LOOK_AT_FILE_S = 1.0
_MISS_WORLD_S = 5.0  # a running world answers well before
STATE_DIR = ".tickmind"

StateDir = Annotated[
    Path | None,
    typer.Option(help=f"Where logs and leases of agents are kept; {STATE_DIR} beside the mapping if not set."),
]


def runner(
    mapping: Annotated[
        Path | None, typer.Argument(help="The mapping, or a scenario with agents and assignments in it.")
    ] = None,
    world: Annotated[str, typer.Option(help="The world's address; overrides the file's.")] = "",
    gateway: Annotated[str, typer.Option(help="The gateway for agents; overrides the file's.")] = "",
    world_token_file: WorldTokenFile = None,
    world_ca: WorldCa = None,
    world_certificate: WorldCertificate = None,
    state: StateDir = None,
    on: Annotated[
        str,
        typer.Option(
            help="Where agents run: `ray`, the cluster of this machine or of RAY_ADDRESS, or `ray://HOST:PORT`."
        ),
    ] = "",
    metrics_port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Serve /metrics for Prometheus on this port of this machine.")
    ] = None,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of a mapping, for editors, and exit.")
    ] = False,
) -> None:
    """Run an agent for every character of a world. SIGHUP or a changed file reloads the mapping; Ctrl-C stops it."""
    needs_world()
    import asyncio
    import os

    from tickmind.runner import MappingFile, check_start, mapping_schema_text

    if schema:
        typer.echo(mapping_schema_text(), nl=False)
        return
    if mapping is None:
        raise ConfigError("which mapping? Write: tickmind runner agents.yaml")
    check_start(mapping, os.environ)  # raises before anything starts
    file = MappingFile(
        mapping,
        world_addr=world,
        gateway_url=gateway,
        tls=world_tls(world_ca, world_certificate),
        world_token_file=None if world_token_file is None else world_token_file.absolute(),
    )
    folder = state_dir(state, mapping)
    if not on:
        asyncio.run(_run(file, folder, metrics_port))
        return
    from tickmind.adapters.ray import connect_ray

    typer.echo("Joining the Ray cluster.", err=True)
    cluster = connect_ray(on)
    try:
        with (
            Path(os.devnull).open("w") as nowhere,
            redirect_stdout(nowhere),
        ):  # where Ray prints its nodes' ends, at length
            asyncio.run(_run(file, folder, metrics_port, cluster))
    finally:
        cluster.leave()


def needs_world() -> None:
    """Raise at once if this installation has no worlds, and not when the first part starts."""
    from importlib.util import find_spec

    for name in ("grpc", "numpy"):
        if find_spec(name) is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def state_dir(given: Path | None, mapping: Path) -> Path:
    """Return the folder of a runner's state, created if need be."""
    folder = (given or mapping.resolve().parent / STATE_DIR / mapping.stem).resolve()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{folder} can't be created: {error.strerror}; choose another with --state") from None
    return folder


async def _run(
    file: "MappingFile", folder: Path, metrics_port: int | None, cluster: "RayCluster | None" = None
) -> None:
    import asyncio

    from tickmind.cli.interrupts import Interrupts
    from tickmind.cli.runner.status import RunnerStatus
    from tickmind.runner import Runner, hold_folder
    from tickmind.runner.metrics import open_metrics

    with hold_folder(folder):
        async with _launcher(cluster) as launcher:
            runner = Runner(file.mapping, folder, launcher=launcher)
            page = None if metrics_port is None else await open_metrics(runner, metrics_port)
            if page is not None:
                typer.echo(f"Metrics are at {page.url}.", err=True)
            task = asyncio.current_task()
            assert task is not None, "it runs in a task"
            try:
                with Interrupts(runner.stop, task.cancel).caught():
                    await run_characters(runner, file, folder, RunnerStatus())
            finally:
                if page is not None:
                    await page.close()


@asynccontextmanager
async def _launcher(cluster: "RayCluster | None") -> "AsyncIterator[AgentLauncher]":
    """Return what starts agents: processes of this machine, or actors of a cluster."""
    from tickmind.runner import AgentLauncher, LocalLauncher

    launcher: AgentLauncher
    if cluster is None:
        launcher = LocalLauncher()
    else:
        from tickmind.adapters.ray import RayLauncher

        launcher = RayLauncher(cluster)
    try:
        yield launcher
    finally:
        await launcher.close()


async def run_characters(
    runner: "Runner", file: "MappingFile", folder: Path, status: "RunnerStatus", *, follow_mapping: bool = True
) -> None:
    """Run characters until stopped, reload the mapping when its file changes or on SIGHUP, and show their status."""
    import asyncio
    import signal

    status.say(f"Agents are kept by {await runner.keeper()}; their logs are in {folder}. Ctrl-C stops all.")
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, lambda: reload_mapping(runner, file, status.say, even_if_same=True))
    running = asyncio.create_task(runner.run())
    looked_s = began_s = loop.time()
    missed = False
    try:
        while not running.done():
            await asyncio.wait({running}, timeout=EVERY_S)
            status.show(runner)
            if not (missed or runner.sight.tick_s) and loop.time() - began_s >= _MISS_WORLD_S:
                missed = True
                status.say(_missing_world(runner))
            if follow_mapping and loop.time() - looked_s >= _LOOK_AT_FILE_S:
                looked_s = loop.time()
                reload_mapping(runner, file, status.say)
        await running
    finally:
        loop.remove_signal_handler(signal.SIGHUP)
        status.end(runner)


def _missing_world(runner: "Runner") -> str:
    """Return why no agent has started yet."""
    address, refused = runner.mapping.world_addr, runner.sight.refused
    if refused:
        return f"The world at {address} answers and can't be used: {refused}."
    return f"No world answers at {address} yet; agents start when it does."


def reload_mapping(
    runner: "Runner", file: "MappingFile", say: "Callable[[str], None]", *, even_if_same: bool = False
) -> None:
    """Read a changed mapping and let its agents start, in place of those that it changed; say how many."""
    mapping = file.reload(even_if_same=even_if_same)
    if mapping is None:
        return
    moves = runner.reload(mapping)
    if moves.stop or moves.start:
        say(f"The mapping was reloaded: {len(moves.stop):,} agents stop, {len(moves.start):,} start.")
    else:
        say("The mapping was reloaded: all agents go on as they are.")

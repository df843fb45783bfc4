"""`tickmind world`: a world of tiles behind its API, with a live look at how it is doing."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tickmind.base import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tickmind.server import Pace, ServerConfig, ServerStatistics, WorldServer
    from tickmind.world import Scenario

Address = Annotated[str, typer.Option(help="The address to listen on; others than this machine's need TLS and tokens.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 takes any that is free.")]


def world(
    scenario: Annotated[Path, typer.Argument(help="The scenario file, as in scenarios/clearing.yaml.")],
    host: Address = "127.0.0.1",
    port: Port = 50051,
    socket: Annotated[Path | None, typer.Option(help="Listen on this Unix socket instead of a port.")] = None,
    tps: Annotated[float | None, typer.Option(help="Ticks per second; the scenario's if left out.")] = None,
    speed: Annotated[float, typer.Option(help="How many times faster than real time.")] = 1.0,
    lockstep: Annotated[bool, typer.Option("--lockstep", help="Wait for all controllers, not for the clock.")] = False,
    controllers: Annotated[int, typer.Option(min=1, help="In lockstep: for at least so many.")] = 1,
    ticks: Annotated[int | None, typer.Option(min=1, help="Stop after so many ticks.")] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Keep the state in this file now and then, and continue from it.")
    ] = None,
    metrics_port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Serve /metrics for Prometheus on this port of this machine.")
    ] = None,
    reflection: Annotated[bool, typer.Option("--reflection", help="Let tools ask which calls there are.")] = False,
    tls: Annotated[
        Path | None, typer.Option(help="A folder with the server's certificate chain and key: cert.pem, key.pem.")
    ] = None,
    token_file: Annotated[Path | None, typer.Option(help="The tokens of those who may connect, one a line.")] = None,
) -> None:
    """Serve a world: ticks on time, leases, observations, intents. Ctrl-C stops it."""
    try:
        from tickmind.server import Pace, ServerConfig, ServerTls, load_tokens
        from tickmind.world import load_scenario
    except ModuleNotFoundError as error:
        raise ConfigError(f"a world needs {error.name}, which is not installed; install tickmind[world]") from error
    config = ServerConfig(
        address=f"unix:{socket}" if socket is not None else f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
        tls=ServerTls.load(tls / "cert.pem", tls / "key.pem") if tls is not None else None,
        tokens=load_tokens(token_file) if token_file is not None else (),
        reflection=reflection,
        metrics_port=metrics_port,
        keep_garbage=True,
    )
    found = load_scenario(scenario)
    rules = found.rules
    pace = Pace.of(
        rules.tick_duration_ms,
        rules.intent_deadline_ms,
        tps=tps,
        speed=speed,
        lockstep=lockstep,
        controllers=controllers,
    )
    _serve(found, config, pace, ticks, checkpoint)


def _serve(
    scenario: "Scenario", config: "ServerConfig", pace: "Pace", ticks: int | None, checkpoint: Path | None
) -> None:
    from tickmind.cli.world_status import WorldStatus
    from tickmind.server import FileStore, WorldServer
    from tickmind.server.event_loop import run_on_quick_loop
    from tickmind.world import TileWorld

    async def serve() -> None:
        status = WorldStatus(scenario.name, ticks)
        status.say("Getting ready; the first time this takes a minute.")
        server = WorldServer(
            TileWorld.from_scenario(scenario),
            config,
            pace=pace,
            checkpoints=FileStore(checkpoint) if checkpoint is not None else None,
        )
        async with server:
            status.say(f"The world {scenario.name} is at {server.address}; Ctrl-C stops it.")
            if server.metrics_url:
                status.say(f"Its metrics are at {server.metrics_url}.")
            await _run(server, ticks, status.show)
        status.end(server.statistics())

    run_on_quick_loop(serve())


async def _run(server: "WorldServer", ticks: int | None, show: "Callable[[ServerStatistics], None]") -> None:
    """Run the ticks; a signal lets the loop come back, and the world is closed in good order."""
    import asyncio
    import signal

    from tickmind.cli.world_status import EVERY_S

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, server.stop)
    running = asyncio.create_task(server.run(ticks))
    try:
        while not running.done():
            await asyncio.wait({running}, timeout=EVERY_S)
            show(server.statistics())
        await running
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)

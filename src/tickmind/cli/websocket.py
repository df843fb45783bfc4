"""`tickmind websocket`: a world over WebSocket, for browsers, game engines and languages without gRPC."""

from pathlib import Path
from typing import Annotated

import typer

from tickmind.cli.exposure import ClientCa, Host, Port, Tls, exposure
from tickmind.cli.world.endpoint import WORLD, WorldAddress, WorldCa, WorldCertificate, world_endpoint


def websocket(
    world: WorldAddress = WORLD,
    host: Host = "127.0.0.1",
    port: Port = 8701,
    tls: Tls = None,
    client_ca: ClientCa = None,
    token_file: Annotated[
        Path | None, typer.Option(help="A file with tokens of the world, one per line; no others are admitted.")
    ] = None,
    allow_host: Annotated[list[str] | None, typer.Option("--allow-host", help="Another host name for clients.")] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option("--allow-origin", help="The site of a page that may connect, as http://localhost:3000."),
    ] = None,
    world_ca: WorldCa = None,
    world_certificate: WorldCertificate = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema of the frames and exit.")] = False,
) -> None:
    """Serve a running world over WebSocket, at /ws/v1. Ctrl-C stops it.

    Each client sends its own token of the world, if the world requires one.
    """
    from tickmind.adapters.websocket import WebSocketConfig, WebSocketServer, frame_schema
    from tickmind.cli.interrupts import stop_signal
    from tickmind.server.event_loop import run_on_quick_loop

    if schema:
        import json

        typer.echo(json.dumps(frame_schema(), indent=2))
        return
    tokens, context = exposure(tls, token_file, client_ca)
    config = WebSocketConfig(
        host=host,
        port=port,
        tokens=tokens,
        tls=context,
        more_hosts=tuple(allow_host or ()),
        origins=tuple(allow_origin or ()),
        keep_garbage=True,
    )
    connection = world_endpoint(world, None, world_ca, world_certificate)

    async def serve() -> None:
        stop = stop_signal()
        async with WebSocketServer(connection, config) as server:
            typer.echo(f"The world at {world} is at {server.url}; Ctrl-C stops it.", err=True)
            await stop.wait()

    run_on_quick_loop(serve())

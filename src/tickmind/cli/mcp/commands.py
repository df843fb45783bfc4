"""`tickmind mcp character` and `tickmind mcp run`: serve a character's tools or a recorded run to an MCP client."""

from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from tickmind.base.files import RUNS_FOLDER
from tickmind.cli.exposure import ClientCa, exposure
from tickmind.cli.runs.commands import Folder, RunId
from tickmind.cli.world.endpoint import WorldCa, WorldCertificate, WorldTokenFile, world_tls

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp.server import MCPServer

    from tickmind.adapters.mcp.transports import HttpAddress

mcp_app = typer.Typer(
    name="mcp",
    help="Serve a character or a run to an MCP client.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
DEFAULT_PORT = 8790
Http = Annotated[bool, typer.Option("--http", help="Serve streamable HTTP instead of standard input and output.")]
Host = Annotated[
    str, typer.Option(help="With --http: the address to listen on; other machines' access needs TLS and tokens.")
]
Port = Annotated[int, typer.Option(min=0, max=65535, help="With --http: the port to listen on; 0 takes any free one.")]
TokenFile = Annotated[
    Path | None,
    typer.Option(help="With --http: a file with the tokens of clients, one per line; it may change meanwhile."),
]
Tls = Annotated[
    Path | None, typer.Option(help="With --http: a folder with the certificate chain and key: cert.pem, key.pem.")
]
_Serving: TypeAlias = "AbstractAsyncContextManager[MCPServer]"


@mcp_app.command(short_help="Play a character of a running world through tools.")
def character(
    entity: Annotated[str, typer.Option(metavar="ID", help="The character, as the world's scenario names it.")],
    world: Annotated[str, typer.Option(metavar="ADDR", help="The address of the world.")] = "127.0.0.1:50051",
    world_token_file: WorldTokenFile = None,
    world_ca: WorldCa = None,
    world_certificate: WorldCertificate = None,
    state: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep the character's memory and lease here, for the next time.")
    ] = None,
    http: Http = False,
    host: Host = "127.0.0.1",
    port: Port = DEFAULT_PORT,
    token_file: TokenFile = None,
    tls: Tls = None,
    client_ca: ClientCa = None,
) -> None:
    """Play one character of a running world through tools: look, remember, go_to, say, use, trade, wait_until.

    The character acts in every tick, and keeps its lease while the client thinks. Ctrl-C, or the end of standard input,
    releases it.
    """
    from tickmind.adapters.mcp.playing import playing
    from tickmind.agent import Assignment, Launch

    launch = Launch(
        (Assignment(entity, f"mcp:{entity}"),),
        world_addr=world,
        state_dir=state,
        tls=world_tls(world_ca, world_certificate),
        world_token_file=world_token_file,
    )
    _serve(playing(launch), _http_address(host, port, token_file, tls, client_ca) if http else None)


def _serve(serving: _Serving, address: "HttpAddress | None") -> None:
    """Serve until the client leaves, or until Ctrl-C or SIGTERM; then leave in good order."""
    import asyncio
    import os
    import signal

    from tickmind.adapters.mcp.transports import serve_http, serve_stdio

    if address is not None:
        address.check()

    async def serve() -> None:
        loop, stopped, ended = asyncio.get_running_loop(), asyncio.Event(), True
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stopped.set)
        async with serving as server:
            if address is not None:
                await serve_http(server, address, lambda url: typer.echo(f"serving {url}", err=True), stopped)
            else:
                ended = await serve_stdio(server, stopped)
        if not ended:
            os._exit(0)  # all is released, and the thread that reads standard input can't be ended

    asyncio.run(serve())


def _http_address(
    host: str, port: int, token_file: Path | None, tls: Path | None, client_ca: Path | None
) -> "HttpAddress":
    from tickmind.adapters.mcp.transports import HttpAddress

    tokens, context = exposure(tls, token_file, client_ca)
    return HttpAddress(host, port, tokens, context)


@mcp_app.command(short_help="Read a recorded run.")
def run(
    run: RunId,
    runs: Folder = RUNS_FOLDER,
    http: Http = False,
    host: Host = "127.0.0.1",
    port: Port = DEFAULT_PORT,
    token_file: TokenFile = None,
    tls: Tls = None,
    client_ca: ClientCa = None,
) -> None:
    """Serve a recorded run, read-only: its description, story, measures, events, thoughts, and queries in SQL."""
    from tickmind.adapters.mcp.run_server import RecordedRun, run_server
    from tickmind.record import RunStore

    @asynccontextmanager
    async def serving() -> "AsyncIterator[MCPServer]":
        recorded = RecordedRun(RunStore(runs), run)
        try:
            yield run_server(recorded)
        finally:
            recorded.close()

    _serve(serving(), _http_address(host, port, token_file, tls, client_ca) if http else None)

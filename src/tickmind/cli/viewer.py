"""`tickmind viewer` and `tickmind replay`: a world in the browser, live or recorded."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tickmind.base.garbage import settle
from tickmind.cli.exposure import ClientCa, Host, Port, Tls, exposure
from tickmind.cli.outputs import write_output
from tickmind.cli.screen import harmless
from tickmind.cli.world.endpoint import (
    WORLD,
    WorldAddress,
    WorldCa,
    WorldCertificate,
    WorldTokenFile,
    world_endpoint,
)
from tickmind.cli.world.scenarios import TILE_ART

if TYPE_CHECKING:
    from ssl import SSLContext

    from tickmind.base.access.token_file import Tokens
    from tickmind.record import RunReader
    from tickmind.viewer.frames.tile_art import TileArt
    from tickmind.viewer.run_lab import RunLab
    from tickmind.viewer.server import MountedHandler, ViewerConfig
    from tickmind.wire import WorldEndpoint

WAIT_S = 5.0  # for the world's first answer
TokenPath = Annotated[
    Path | None, typer.Option(help="A file with the tokens of users, one per line; it may change meanwhile.")
]
Hosts = Annotated[list[str] | None, typer.Option("--allow-host", help="Another host name for browsers.")]


def viewer(
    world: WorldAddress = WORLD,
    host: Host = "127.0.0.1",
    port: Port = 8700,
    tls: Tls = None,
    client_ca: ClientCa = None,
    token_file: TokenPath = None,
    allow_host: Hosts = None,
    world_token_file: WorldTokenFile = None,
    world_ca: WorldCa = None,
    world_certificate: WorldCertificate = None,
    tiles: Annotated[
        Path | None, typer.Option(help="The picture of a map from Tiled: the file tiles.json that a run keeps.")
    ] = None,
    runs: Annotated[
        Path | None, typer.Option(help="The folder of the world's runs, to find the picture of each run's own map.")
    ] = None,
    play: Annotated[
        bool | None,
        typer.Option(
            "--play/--no-play",
            help="Whether characters can be taken over a WebSocket at /ws/v1; by default where the viewer is for this "
            "machine only: without --host, --allow-host and --token-file.",
        ),
    ] = None,
    awaits: Annotated[
        str, typer.Option(help="What the page says until the first answer of a model, as that the model is loading.")
    ] = "",
) -> None:
    """Show a running world in the browser. Ctrl-C stops it."""
    import asyncio

    from tickmind.viewer.frames.tile_art import read_tile_art
    from tickmind.viewer.sources.live import LiveSource
    from tickmind.wire import WorldClient

    config = _config(host, port, exposure(tls, token_file, client_ca), allow_host, awaits)
    connection = world_endpoint(world, world_token_file, world_ca, world_certificate)
    may_play = _is_for_this_machine(host, allow_host, token_file) if play is None else play

    def art_of(run_id: str) -> "TileArt | None":
        if tiles is not None:
            return read_tile_art(tiles)
        is_name = run_id not in ("", ".", "..") and "/" not in run_id and run_id.isprintable()
        return read_tile_art(runs / run_id / TILE_ART) if runs is not None and is_name else None

    async def show() -> None:
        async with WorldClient(connection) as client, LiveSource(client, tile_art_of=art_of) as source:

            async def begin() -> None:
                if not await source.ready(WAIT_S):
                    why = (
                        f"The world at {world} answers and can't be shown: {source.refused}."
                        if source.refused
                        else f"No world answers at {world} yet; the page shows it as soon as it does."
                    )
                    typer.echo(harmless(why), err=True)

            await _serve(source, config, begin, _playing(connection, config) if may_play else ())

    asyncio.run(show())


def replay(
    run: Annotated[str, typer.Argument(help="The run: its id, or its folder.")],
    runs: Annotated[Path, typer.Option(help="The folder with the runs.")] = Path("runs"),
    export: Annotated[
        Path | None, typer.Option(help="Write one self-contained page with the ticks to this file instead.")
    ] = None,
    gif: Annotated[
        Path | None,
        typer.Option(help="Write a small animation of the ticks to this file instead; it needs Chromium or Chrome."),
    ] = None,
    first: Annotated[int | None, typer.Option(help="With --export or --gif: the first tick.")] = None,
    last: Annotated[int | None, typer.Option(help="With --export or --gif: the last tick.")] = None,
    follow: Annotated[str, typer.Option(help="With --gif: the character in the middle.")] = "",
    lab: Annotated[
        bool | None,
        typer.Option(
            "--lab/--no-lab",
            help="Whether the page can branch runs, compare them and interview characters, with the model at "
            "LLM_BASE_URL; by default where the viewer is for this machine only: without --host, --allow-host and "
            "--token-file.",
        ),
    ] = None,
    gateway: Annotated[
        str, typer.Option(metavar="URL", help="The gateway that branches ask; the model at LLM_BASE_URL if left out.")
    ] = "",
    host: Host = "127.0.0.1",
    port: Port = 8700,
    tls: Tls = None,
    client_ca: ClientCa = None,
    token_file: TokenPath = None,
    allow_host: Hosts = None,
) -> None:
    """Show a recorded run in the browser, finished or still growing. Ctrl-C stops it."""
    import asyncio

    from tickmind.cli.minds.asking import WholeMinds
    from tickmind.record import RunStore
    from tickmind.viewer.frames.tile_art import read_tile_art
    from tickmind.viewer.sources.replay import ReplaySource

    runs, run_id = _place_of(run, runs)
    store = RunStore(runs)
    open_run = partial(store.open, run_id)
    art = read_tile_art(store.folder(run_id) / TILE_ART)
    if export is not None:
        from tickmind.viewer.export.clip import clip_of

        with open_run() as reader:
            page = clip_of(reader, first, last, art)
        write_output(export, page)
        typer.echo(f"{export}: {len(page):,} bytes; it opens in any browser, without a server.")
    if gif is not None:
        picture = _gif(open_run, first, last, follow, art)
        write_output(gif, picture)
        typer.echo(f"{gif}: {len(picture):,} bytes.")
    if export is not None or gif is not None:
        return
    config = _config(host, port, exposure(tls, token_file, client_ca), allow_host)
    may_work = _is_for_this_machine(host, allow_host, token_file) if lab is None else lab

    async def show() -> None:
        from tickmind.cli.lab.run_lab import FolderLab

        async with ReplaySource(open_run, whole_minds=WholeMinds(runs, run_id), tile_art=art) as source:
            await _serve(source, config, lab=FolderLab(runs, gateway=gateway) if may_work else None)

    asyncio.run(show())


def _gif(
    open_run: "Callable[[], RunReader]", first: int | None, last: int | None, follow: str, art: "TileArt | None"
) -> bytes:
    import asyncio

    from tickmind.viewer.export.browser import find_chromium
    from tickmind.viewer.export.gif import GifLook, gif_of

    program = find_chromium()
    with open_run() as reader:
        typer.echo("Drawing; a tick takes about a second.", err=True)
        return asyncio.run(gif_of(reader, program, first, last, GifLook(follow=follow), art))


def _place_of(run: str, runs: Path) -> tuple[Path, str]:
    """Return the folder of the runs, and the id of one that is named by its id or its own folder."""
    folder = Path(run)
    if folder.is_dir() and (folder / "meta.json").exists():
        return folder.resolve().parent, folder.resolve().name
    return runs, run


def _is_for_this_machine(host: str, allow_host: list[str] | None, token_file: Path | None) -> bool:
    from tickmind.viewer.access import is_loopback

    return is_loopback(host) and not allow_host and token_file is None  # else there may be a proxy


def _playing(world: "WorldEndpoint", config: "ViewerConfig") -> "tuple[MountedHandler, ...]":
    """Return the endpoint for those who play; it has no rights of the viewer, only those of each caller's own token."""
    from tickmind.adapters.websocket import WebSocketEndpoint

    return (WebSocketEndpoint(world, tokens=config.tokens),)


def _config(
    host: str, port: int, exposed: "tuple[Tokens, SSLContext | None]", allow_host: list[str] | None, awaits: str = ""
) -> "ViewerConfig":
    from tickmind.viewer.server import ViewerConfig

    tokens, context = exposed
    more_hosts = tuple(allow_host or ())
    return ViewerConfig(host=host, port=port, tokens=tokens, tls=context, more_hosts=more_hosts, awaits=awaits)


async def _nothing() -> None:
    """Wait for nothing."""


async def _serve(
    source: Any,
    config: "ViewerConfig",
    begin: Callable[[], Awaitable[None]] = _nothing,
    mounted: "Sequence[MountedHandler]" = (),
    lab: "RunLab | None" = None,
) -> None:
    from tickmind.cli.interrupts import stop_signal
    from tickmind.viewer.server import ViewerServer

    stop = stop_signal()
    server: AbstractAsyncContextManager[ViewerServer] = ViewerServer(source, config, mounted, lab)
    try:
        async with server as serving:
            typer.echo(f"The viewer is at {serving.url}; Ctrl-C stops it.", err=True)
            await begin()
            settle()  # a full collection would delay jumps
            await stop.wait()
    finally:
        if lab is not None:
            await lab.close()

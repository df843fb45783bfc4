"""`tickmind gateway`: serves models, checks and explains settings, and makes keys for callers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from tickmind.base import ConfigError
from tickmind.cli.exposure import ClientCa, Tls, exposure

if TYPE_CHECKING:
    from ssl import SSLContext

    from tickmind.gateway.settings.config import GatewayConfig

EXIT_USAGE = 2
COLUMNS_OF_A_PIPE = 160  # a pipe has no width, and nothing in it should be cut


class FilesByOption(TyperGroup):
    """Explains how to pass a settings file, if one is given in place of a command."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command."""
        if args[0].endswith((".yaml", ".yml")):
            ctx.fail(f"No such command {args[0]!r}. Settings are given as: tickmind gateway --config {args[0]}")
        return super().resolve_command(ctx, args)


gateway_app = typer.Typer(
    name="gateway",
    cls=FilesByOption,
    help="One gateway to every model: queues, limits, fallback and keys, for any client.",
    short_help="One gateway to every model, for any client.",
    invoke_without_command=True,
    add_completion=False,
)


@gateway_app.callback()
def gateway(
    context: typer.Context,
    config: Annotated[
        Path | None, typer.Option(help="The settings, a YAML file. Without it, the environment is used.")
    ] = None,
    host: Annotated[str | None, typer.Option(help="The address to listen on; overrides the file's.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="The port to listen on; 0 takes any free port.")
    ] = None,
    fd: Annotated[
        int | None,
        typer.Option("--fd", min=3, help="The descriptor of a listening socket, instead of a port."),
    ] = None,
    tls: Tls = None,
    client_ca: ClientCa = None,
    plaintext: Annotated[
        bool,
        typer.Option(
            "--plaintext",
            help="Listen beyond this machine without TLS, where a TLS proxy or the network protects keys.",
        ),
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Explain the settings, or show their errors, and exit.")
    ] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of the settings, for editors, and exit.")
    ] = False,
    print_default_config: Annotated[
        bool,
        typer.Option("--print-default-config", help="Print all settings at their defaults, commented, and exit."),
    ] = False,
) -> None:
    """Serve models to any client: fair queues, limits, fallback, keys. Ctrl-C stops it."""
    if context.invoked_subcommand is not None:
        return
    from tickmind.gateway.settings.file import default_config_text, load_config
    from tickmind.gateway.settings.form import schema_text

    if schema or print_default_config:
        typer.echo(schema_text() if schema else default_config_text(), nl=False)
        return
    from dataclasses import replace

    from tickmind.gateway.fairness.caller_keys import check_exposure

    if fd is not None:
        host, port = _address_of(fd)
    settings = load_config(config, host=host, port=port)
    if plaintext:
        settings = replace(settings, plaintext=True)
    check_exposure(settings, has_tls=tls is not None)
    if check:
        from tickmind.cli.gateway.report import show_config

        show_config(settings, str(config) if config is not None else "the environment", has_tls=tls is not None)
    else:
        _serve(settings, fd, exposure(tls, None, client_ca)[1])


@gateway_app.command(short_help="Make a key for a caller.")
def key(
    name: Annotated[str, typer.Argument(help="Who the key is for: a game, a team, a person.")],
    admin: Annotated[
        bool, typer.Option("--admin", help="Let the key see the sessions and costs of all callers, and the metrics.")
    ] = False,
) -> None:
    """Make a key for a caller: it is shown once, and only its hash goes into the settings."""
    import re

    from tickmind.gateway.fairness.caller_keys import hash_key, new_key
    from tickmind.gateway.settings.form import config_schema

    rule = config_schema()["properties"]["callers"]["items"]["properties"]["name"]
    if not re.fullmatch(rule["pattern"], name):
        typer.echo(f"The name must be {rule['x-expected']}; it starts with a letter or digit.", err=True)
        raise typer.Exit(EXIT_USAGE)
    made = new_key()
    typer.echo(f"The key of {name}, shown this once; send it as `Authorization: Bearer ...`:", err=True)
    typer.echo(made)
    typer.echo("Put this under `callers` in the settings:", err=True)
    entry = f"  - name: {_quoted(name)}\n    key_hash: {hash_key(made)}"
    typer.echo(f"{entry}\n    admin: true" if admin else entry, err=True)


@gateway_app.command()
def top(
    url: Annotated[str, typer.Option(help="The gateway's address.")] = "http://127.0.0.1:8766",
    ca: Annotated[Path | None, typer.Option(help="The CA certificate of a gateway behind TLS.")] = None,
    once: Annotated[bool, typer.Option("--once", help="Print the figures once and exit, for scripts.")] = False,
) -> None:
    """Watch a running gateway: lanes, sessions, queues, events. q or Ctrl-C quits; TICKMIND_GATEWAY_KEY is the key."""
    import os
    import sys

    from rich.console import Console

    from tickmind.cli.gateway.figures import GatewayFigures
    from tickmind.cli.gateway.picture import picture
    from tickmind.cli.gateway.top import watch

    figures = GatewayFigures(url, ca=ca)
    console = Console()
    if once or not console.is_terminal:
        if not console.is_terminal and "COLUMNS" not in os.environ:
            console = Console(width=COLUMNS_OF_A_PIPE)
        console.print(picture(figures.ask(), figures.address, width=console.width))
    else:
        watch(figures, console, sys.stdin)


def _quoted(name: str) -> str:
    """Return a name quoted for YAML if need be."""
    return name if name[:1].isalpha() and name.lower() not in ("true", "false", "null") else f'"{name}"'


def _address_of(fd: int) -> tuple[str, int]:
    """Return where a passed socket listens, without closing it."""
    import socket

    try:
        listener = socket.socket(fileno=fd)
    except OSError as error:
        raise ConfigError(f"--fd {fd} can't be used ({error.strerror}); it must be a socket that listens") from error
    try:
        listens = listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        if not listens or listener.family not in (socket.AF_INET, socket.AF_INET6):
            raise ConfigError(f"--fd {fd} can't be used; it must be a TCP socket that listens")
        host, port = listener.getsockname()[:2]
        return host, port
    finally:
        listener.detach()


def _serve(settings: "GatewayConfig", fd: int | None, tls: "SSLContext | None") -> None:
    """Serve until stopped; print the address when it can be reached."""
    import socket

    from tickmind.base.telemetry.tracing import load_tracer
    from tickmind.gateway.server import serve

    load_tracer("tickmind-gateway")
    serve(
        settings,
        tls=tls,
        listener=None if fd is None else socket.socket(fileno=fd),
        on_ready=lambda url: typer.echo(f"The gateway is at {url}; Ctrl-C stops it.", err=True),
    )

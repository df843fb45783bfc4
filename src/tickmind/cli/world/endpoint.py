"""The options of commands that connect to a running world."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tickmind.base import ConfigError

if TYPE_CHECKING:
    from tickmind.wire import WorldEndpoint

WORLD = "127.0.0.1:50051"

WorldAddress = Annotated[str, typer.Option("--world", envvar="WORLD_ADDR", help="The address of the world.")]
WorldTokenFile = Annotated[Path | None, typer.Option(help="A file with the world's token, if it requires one.")]
WorldCa = Annotated[Path | None, typer.Option(help="The CA certificate of the world, for worlds behind TLS.")]


def world_endpoint(
    address: str, token_file: Path | None, ca: Path | None, *, timeout_s: float | None = None
) -> "WorldEndpoint":
    """Return the endpoint that the options name; raises `ConfigError` for files that can't be used."""
    from tickmind.server import load_tokens
    from tickmind.wire import Tls, WorldEndpoint

    token = load_tokens(token_file)[0] if token_file is not None else None
    try:
        tls = Tls(root_certificates=ca.read_bytes()) if ca is not None else None
    except OSError as error:
        raise ConfigError(f"{ca} can't be read: {error.strerror}") from error
    if timeout_s is None:
        return WorldEndpoint(address, tls=tls, token=token)
    return WorldEndpoint(address, tls=tls, token=token, timeout_s=timeout_s)

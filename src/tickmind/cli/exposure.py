"""Options of web servers that other machines may reach, and what the servers need for it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tickmind.base import ConfigError

if TYPE_CHECKING:
    from ssl import SSLContext

    from tickmind.base.access.token_file import Tokens

Host = Annotated[str, typer.Option(help="The address to listen on; other machines' access needs TLS and tokens.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 takes any free port.")]
Tls = Annotated[
    Path | None, typer.Option(help="A folder with the server's certificate chain and key: cert.pem, key.pem.")
]
ClientCa = Annotated[
    Path | None, typer.Option("--client-ca", help="With --tls: require of each client a certificate of this CA.")
]


def exposure(
    tls: Path | None, token_file: Path | None, client_ca: Path | None = None
) -> "tuple[Tokens, SSLContext | None]":
    """Return the tokens and the certificates that a web server needs beyond this machine."""
    from tickmind.base.access.tls_files import server_context
    from tickmind.base.access.token_file import TokenFile

    if tls is None and client_ca is not None:
        raise ConfigError("--client-ca is for certificates of clients, which only TLS has; give --tls too")
    tokens = () if token_file is None else TokenFile(token_file)
    return tokens, None if tls is None else server_context(tls, client_ca)

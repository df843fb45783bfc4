"""The options of commands that connect to a running world."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tickmind.base import ConfigError

if TYPE_CHECKING:
    from tickmind.base.access.tls_files import TlsFiles
    from tickmind.wire import WorldEndpoint

WORLD = "127.0.0.1:50051"

WorldAddress = Annotated[str, typer.Option("--world", envvar="WORLD_ADDR", help="The address of the world.")]
WorldTokenFile = Annotated[
    Path | None, typer.Option(help="A file with the world's token, if it requires one; it may change meanwhile.")
]
WorldCa = Annotated[Path | None, typer.Option(help="The CA certificate of the world, for worlds behind TLS.")]
WorldCertificate = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="A folder with your own cert.pem and key.pem, if the world requires them."),
]


def world_tls(ca: Path | None, certificate: Path | None) -> "TlsFiles | None":
    """Return the certificates that the options name, checked; raises `ConfigError` for files that can't be used."""
    from tickmind.base.access.tls_files import CERTIFICATE, KEY, TlsFiles

    if ca is None:
        if certificate is not None:
            raise ConfigError("--world-certificate is for worlds behind TLS; give --world-ca too")
        return None
    own = None if certificate is None else certificate.absolute()
    files = TlsFiles(ca.absolute()) if own is None else TlsFiles(ca.absolute(), own / CERTIFICATE, own / KEY)
    files.check()
    return files


def world_endpoint(
    address: str,
    token_file: Path | None,
    ca: Path | None,
    certificate: Path | None = None,
    *,
    timeout_s: float | None = None,
) -> "WorldEndpoint":
    """Return the endpoint that the options name; raises `ConfigError` for files that can't be used."""
    from tickmind.base.access.token_file import TokenFile
    from tickmind.wire import Tls, WorldEndpoint

    token = TokenFile(token_file) if token_file is not None else None
    files = world_tls(ca, certificate)
    tls = Tls.load(files) if files is not None else None
    if timeout_s is None:
        return WorldEndpoint(address, tls=tls, token=token)
    return WorldEndpoint(address, tls=tls, token=token, timeout_s=timeout_s)

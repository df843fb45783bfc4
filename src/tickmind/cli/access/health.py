"""`tickmind health`: whether a part serves, for probes of containers and service managers."""

from pathlib import Path
from typing import Annotated

import typer

from tickmind.base import ConfigError

MOST_BYTES = 4096


def check_health(
    target: Annotated[
        str, typer.Argument(help="A world as host:port or unix:/path, or a page such as http://127.0.0.1:8766/healthz.")
    ],
    ca: Annotated[Path | None, typer.Option(help="The CA certificate of a part behind TLS.")] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A folder with your own cert.pem and key.pem, if the part requires them."),
    ] = None,
    timeout_s: Annotated[float, typer.Option(min=0.1, max=600, help="How long to wait for the answer.")] = 5.0,
) -> None:
    """Exit with 0 if a world, gateway, viewer or runner serves, else with 1 and the reason. It needs no token."""
    answer = _page if target.startswith(("http://", "https://")) else _world
    answer(target, ca, certificate, timeout_s)
    typer.echo(f"{target} is serving")


def _world(target: str, ca: Path | None, certificate: Path | None, timeout_s: float) -> None:
    from tickmind.cli.world.endpoint import world_endpoint
    from tickmind.wire import SyncWorldClient

    with SyncWorldClient(world_endpoint(target, None, ca, certificate, timeout_s=timeout_s)) as client:
        if not client.is_serving():
            raise ConfigError(f"the world at {target} is not serving; it is starting or stopping")


def _page(target: str, ca: Path | None, certificate: Path | None, timeout_s: float) -> None:
    import http.client
    from urllib.parse import urlsplit

    from tickmind.cli.world.endpoint import world_tls

    files = world_tls(ca, certificate)
    try:
        url = urlsplit(target)
        host, port = url.hostname or "", url.port
    except ValueError:
        host = ""
    if not host:
        raise ConfigError(f"{target} is no address; write one such as http://127.0.0.1:8766/healthz")
    if url.scheme == "https":
        context = None if files is None else files.context()
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(
            host, port, timeout=timeout_s, context=context
        )
    else:
        connection = http.client.HTTPConnection(host, port, timeout=timeout_s)
    try:
        connection.request("GET", url.path or "/")
        reply = connection.getresponse()
        said = reply.read(MOST_BYTES).decode("utf-8", "replace").strip()
    except (OSError, http.client.HTTPException) as error:
        raise ConfigError(f"{target} does not answer: {error}") from None
    finally:
        connection.close()
    if reply.status != 200:
        raise ConfigError(f"{target} answers with status {reply.status}: {said}")

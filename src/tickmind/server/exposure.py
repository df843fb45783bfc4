"""Access to a world from other machines: only over TLS and with a token. `callers` says who may do what."""

import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from tickmind.base.access.tls_files import CERTIFICATE, KEY, read_certificates, read_key, server_context
from tickmind.base.access.token_file import Tokens
from tickmind.server.errors import AddressError, ExposureError
from tickmind.wire.client.connection import is_local

DEFAULT_ADDRESS = "127.0.0.1:50051"


@dataclass(frozen=True, slots=True)
class ServerTls:
    """A server's certificates as PEM text. With `client_roots` clients need a certificate too."""

    certificate_chain: bytes
    private_key: bytes = field(repr=False)
    client_roots: bytes | None = None

    @classmethod
    def load(cls, folder: Path, client_ca: Path | None = None) -> "ServerTls":
        """Read `cert.pem` and `key.pem` of a folder; raises `ConfigError` if they can't be used.

        With `client_ca` each client needs a certificate of that CA.
        """
        server_context(folder, client_ca)  # raises if they do not belong together; gRPC would not report it
        roots = None if client_ca is None else read_certificates(client_ca)
        return cls(read_certificates(folder / CERTIFICATE), read_key(folder / KEY), roots)

    def credentials(self) -> Any:
        """Return gRPC's credentials."""
        return grpc.ssl_server_credentials(
            [(self.private_key, self.certificate_chain)],
            root_certificates=self.client_roots,
            require_client_auth=self.client_roots is not None,
        )


def check_exposure(address: str, tls: ServerTls | None, tokens: Tokens, viewer_tokens: Tokens = ()) -> None:
    """Raise `ExposureError` for an address beyond this machine without TLS and tokens."""
    if viewer_tokens and not tokens:
        raise ExposureError(
            "viewers have tokens and agents have none, so anybody could control characters; give --token-file too"
        )
    any_port = address.removesuffix(":0") + ":1" if address.endswith(":0") else address
    if is_local(any_port):
        return
    missing = [what for what, there in (("TLS", tls is not None), ("tokens", bool(tokens))) if not there]
    if missing:
        raise ExposureError(
            f"{address} can be reached from other machines, so it needs {' and '.join(missing)}; "
            "give --tls and --token-file, or stay on 127.0.0.1 or a Unix socket"
        )


def check_free(address: str) -> None:
    """Raise `AddressError` for an address in use; gRPC's own error would be hard to understand."""
    if address.startswith("unix:"):
        path = address.removeprefix("unix:")
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(path)
            except OSError:
                return
        raise AddressError(f"another server already listens at {address}; stop it, or choose another path")
    host, port = address.rsplit(":", 1)
    host = host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, int(port)))
        except OSError as error:
            raise AddressError(f"{address} can't be used: {error.strerror}; choose another port (--port)") from error

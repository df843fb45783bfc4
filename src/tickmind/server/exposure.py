"""Access to a world: this machine freely, other machines only over TLS and with a token."""

import hashlib
import hmac
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from tickmind.base import ConfigError, Limit, Secret
from tickmind.base.secret_sources import MAX_KEY_FILE_BYTES, SourceError, read_private
from tickmind.server.errors import AddressError, ExposureError
from tickmind.wire.client.connection import is_local

DEFAULT_ADDRESS = "127.0.0.1:50051"
MIN_TOKEN_CHARS = 16
MAX_TOKEN_FILE_BYTES = Limit("size of a token file", 1_000_000, "bytes")
_OPEN_TO_ALL = "/grpc.health.v1.Health/"
_OF_OPERATORS = "/tickmind.v1.OperatorService/"


@dataclass(frozen=True, slots=True)
class ServerTls:
    """A server's certificates as PEM text. With `client_roots` clients need a certificate too."""

    certificate_chain: bytes
    private_key: bytes = field(repr=False)
    client_roots: bytes | None = None

    @classmethod
    def load(cls, certificate: Path, key: Path) -> "ServerTls":
        """Read the two files; raises `ConfigError` for a key that other users may read."""
        try:
            return cls(certificate.read_bytes(), read_private(key, MAX_KEY_FILE_BYTES, "the private key"))
        except OSError as error:
            raise ConfigError(f"{error.filename} can't be read: {error.strerror}") from error
        except SourceError as error:
            raise ConfigError(str(error)) from error

    def credentials(self) -> Any:
        """Return gRPC's credentials."""
        return grpc.ssl_server_credentials(
            [(self.private_key, self.certificate_chain)],
            root_certificates=self.client_roots,
            require_client_auth=self.client_roots is not None,
        )


def load_tokens(path: Path) -> tuple[Secret, ...]:
    """Read a file with one token per line; empty lines and lines that begin with # are skipped.

    Raises `ConfigError` for a file that other users may read, and for tokens that are too short.
    """
    try:
        text = read_private(path, MAX_TOKEN_FILE_BYTES, "the token file").decode("utf-8")
    except SourceError as error:
        raise ConfigError(str(error)) from error
    except UnicodeDecodeError:
        raise ConfigError(f"the token file {path} is no text; write one token in each line of a text file") from None
    lines = [line.strip() for line in text.splitlines()]
    tokens = tuple(Secret(line, lasting=True) for line in lines if line and not line.startswith("#"))
    if not tokens or any(len(token.reveal()) < MIN_TOKEN_CHARS for token in tokens):
        raise ConfigError(f"{path} must hold one token in each line, each of at least {MIN_TOKEN_CHARS} characters")
    return tokens


def check_exposure(address: str, tls: ServerTls | None, tokens: tuple[Secret, ...]) -> None:
    """Raise `ExposureError` for an address beyond this machine without TLS and tokens."""
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


class TokenCheck(grpc.aio.ServerInterceptor):  # type: ignore[misc]  # gRPC has no types
    """Admits calls with one of the tokens, and orders of operators with one of theirs. Health checks need none.

    Without any tokens all calls are admitted. Where only clients have tokens, no orders are taken.
    """

    def __init__(self, tokens: tuple[Secret, ...], operator_tokens: tuple[Secret, ...] = ()) -> None:
        self._clients, self._operators = _digests(tokens), _digests(operator_tokens)

    async def intercept_service(self, continuation: Callable[[Any], Awaitable[Any]], details: Any) -> Any:
        """Pass a call on, or refuse it."""
        if details.method.startswith(_OPEN_TO_ALL):
            return await continuation(details)
        given = _given(details.invocation_metadata)
        is_operator = _is_one_of(given, self._operators)
        if self._clients and not is_operator and not _is_one_of(given, self._clients):
            return grpc.stream_stream_rpc_method_handler(_deny)
        if details.method.startswith(_OF_OPERATORS) and (self._clients or self._operators) and not is_operator:
            return grpc.stream_stream_rpc_method_handler(_deny_orders)
        return await continuation(details)


def _digests(tokens: tuple[Secret, ...]) -> list[bytes]:
    return [hashlib.sha256(token.reveal().encode()).digest() for token in tokens]


def _given(metadata: Any) -> bytes:
    """Return the digest of the token of a call; empty if it has none."""
    for name, value in metadata or ():
        if name == "authorization" and isinstance(value, str) and value.startswith("Bearer "):
            return hashlib.sha256(value.removeprefix("Bearer ").encode()).digest()
    return b""


def _is_one_of(given: bytes, known: list[bytes]) -> bool:
    return any(hmac.compare_digest(given, one) for one in known)


async def _deny(_requests: Any, context: Any) -> None:
    await context.abort(grpc.StatusCode.UNAUTHENTICATED, "missing or wrong token; send `authorization: Bearer TOKEN`")


async def _deny_orders(_requests: Any, context: Any) -> None:
    await context.abort(
        grpc.StatusCode.PERMISSION_DENIED, "only with a token of the operator, from the world's --operator-token-file"
    )

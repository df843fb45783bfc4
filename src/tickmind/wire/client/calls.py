"""gRPC channels, and its errors as ours."""

from typing import Any

import grpc
import grpc.aio

from tickmind.wire.client.connection import WorldEndpoint, client_options
from tickmind.wire.errors import (
    DeadlineError,
    NotAllowedError,
    OverloadedError,
    RefusedMessageError,
    RpcError,
    UnreachableError,
)

MAX_DETAILS_CHARS = 300
_ERRORS: dict[grpc.StatusCode, tuple[type[RpcError], str]] = {
    grpc.StatusCode.UNAVAILABLE: (UnreachableError, "can't be reached; is it running there?"),
    grpc.StatusCode.DEADLINE_EXCEEDED: (DeadlineError, "did not answer in time"),
    grpc.StatusCode.UNAUTHENTICATED: (NotAllowedError, "requires a valid token"),
    grpc.StatusCode.PERMISSION_DENIED: (NotAllowedError, "does not allow that"),
    grpc.StatusCode.INVALID_ARGUMENT: (RefusedMessageError, "rejected the message as malformed"),
    grpc.StatusCode.RESOURCE_EXHAUSTED: (OverloadedError, "is at a limit"),
}


def open_channel(connection: WorldEndpoint) -> grpc.aio.Channel:
    """Open a channel to a world; it connects on first use."""
    options = client_options(connection)
    if connection.tls is None:
        return grpc.aio.insecure_channel(connection.address, options=options)
    tls = connection.tls
    credentials = grpc.ssl_channel_credentials(tls.root_certificates, tls.private_key, tls.certificate_chain)
    return grpc.aio.secure_channel(connection.address, credentials, options=options)


def call_error(error: Any, connection: WorldEndpoint) -> RpcError:
    """Translate a failed call into our error, without secrets."""
    status = error.code()
    kind, words = _ERRORS.get(status, (RpcError, "failed"))
    details = (error.details() or "")[:MAX_DETAILS_CHARS]
    if connection.token:
        details = details.replace(connection.token.reveal(), "***")
    return kind(f"the world at {connection.address} {words} ({status.name}: {details})", status=status.name)

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
    TlsError,
    UnreachableError,
)

MAX_DETAILS_CHARS = 300
_TLS_TROUBLES = (  # what gRPC says when a handshake fails -> what it means, and what to do
    (
        "certificate has expired",
        "shows a certificate that has expired; renew it there (`tickmind certificates renew`), or set this clock right",
    ),
    ("certificate is not yet valid", "shows a certificate that is not valid yet; set the clock of this machine right"),
    (
        "Hostname Verification Check failed",
        "shows a certificate for another host; connect by a name that is in it, or issue one for this name",
    ),
    (
        "CERTIFICATE_VERIFY_FAILED",
        "shows a certificate that the given CA did not sign; use the ca.pem of that world (--world-ca)",
    ),
    ("WRONG_VERSION_NUMBER", "does not speak TLS; start it with --tls, or connect without a CA from its own machine"),
    ("handshake failed", "failed the TLS handshake"),
)
_CLOSED_EARLY = "last error: UNAVAILABLE"  # the connection was made, and closed before it could be used
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
    return status_error(error.code(), error.details() or "", connection)


def status_error(status: grpc.StatusCode, details: str, connection: WorldEndpoint) -> RpcError:
    """Return the error for a status of gRPC with its details, without secrets."""
    kind, words = _ERRORS.get(status, (RpcError, "failed"))
    if status is grpc.StatusCode.UNAVAILABLE and (trouble := _tls_trouble(details, connection)):
        kind, words = TlsError, trouble
    details = details[:MAX_DETAILS_CHARS]
    if token := connection.present_token():
        details = details.replace(token.reveal(), "***")
    return kind(f"the world at {connection.address} {words} ({status.name}: {details})", status=status.name)


def _tls_trouble(details: str, connection: WorldEndpoint) -> str:
    """Return what went wrong with TLS, if that is why a world can't be reached."""
    if connection.address.startswith("unix:") or "failed to connect" not in details:
        return ""
    if connection.tls is not None:
        for sign, meaning in _TLS_TROUBLES:
            if sign in details:
                return meaning
        if _CLOSED_EARLY in details:
            return (
                "closed the connection during the TLS handshake; it is stopping, or requires a client's certificate "
                "(--world-certificate)"
            )
    elif _CLOSED_EARLY in details:
        return "closed the connection at once; it may require TLS, so give its CA (--world-ca)"
    return ""

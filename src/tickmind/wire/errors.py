"""Errors of communication with a world.

    WireError
    ├── WireConfigError         an address, certificate or token is missing or wrong (also a ConfigError)
    ├── MessageError            a message breaks a rule; `field` says where and `reason` how to refuse it
    ├── RpcError                a call failed; `status` is gRPC's status
    │   ├── UnreachableError    no world answers at that address, or it is stopping
    │   │   └── TlsError        one answers, and the two do not agree on TLS: a certificate is wrong, or one has none
    │   ├── DeadlineError       the answer did not come in time
    │   ├── NotAllowedError     the token or the lease does not allow it
    │   ├── RefusedMessageError the world rejected the message as malformed
    │   └── OverloadedError     a size, a number of streams or a reader's backlog is over its limit
    ├── LeaseRefusedError       the world did not grant or renew a lease; `reason` and `retry_after_ms` say more
    └── ControlClosedError      a control stream ended; `reason` says why, if the world said so

No message holds a lease's secret or a token.
"""

from tickmind.base import ConfigError, TickmindError, redact
from tickmind.protocol import Reason


class WireError(TickmindError):
    """Communication with a world failed."""

    def __init__(self, message: str) -> None:
        super().__init__(redact(message))


class WireConfigError(WireError, ConfigError):
    """An address, certificate or token is missing or wrong."""


class MessageError(WireError):
    """A message breaks a rule. `reason` is for the `Ack` if it was an intent."""

    def __init__(self, field: str, expected: str, *, reason: Reason = Reason.ILLEGAL_ACTION) -> None:
        super().__init__(f"{field} must be {expected}")
        self.field = field
        self.reason = reason


class RpcError(WireError):
    """A call failed for a reason that is in no other class."""

    def __init__(self, message: str, *, status: str = "UNKNOWN") -> None:
        super().__init__(message)
        self.status = status


class UnreachableError(RpcError):
    """No world answers at that address, or it is stopping."""


class TlsError(UnreachableError):
    """A server answers, and the two do not agree on TLS: a certificate is wrong or missing, or one side has no TLS."""


class DeadlineError(RpcError):
    """The answer did not come in time."""


class NotAllowedError(RpcError):
    """The token or the lease does not allow it."""


class RefusedMessageError(RpcError):
    """The world rejected the message as malformed."""


class OverloadedError(RpcError):
    """A size, a number of streams or a reader's backlog is over its limit."""


class LeaseRefusedError(WireError):
    """The world did not grant or renew a lease."""

    def __init__(self, message: str, *, reason: Reason, retry_after_ms: int = 0) -> None:
        super().__init__(message)
        self.reason = reason
        self.retry_after_ms = retry_after_ms


class ControlClosedError(WireError):
    """A control stream ended, so its entity may not be controlled any longer."""

    def __init__(self, message: str, *, reason: Reason = Reason.NONE, retry_after_ms: int = 0) -> None:
        super().__init__(message)
        self.reason = reason
        self.retry_after_ms = retry_after_ms


def why_unusable(error: WireError) -> str:
    """Return why a world that answers can't be used; empty if none answers, or if it is only overloaded."""
    if isinstance(error, (TlsError, NotAllowedError)):
        return str(error)
    if isinstance(error, (UnreachableError, OverloadedError)):
        return ""
    return f"{error}; it may be of another version"

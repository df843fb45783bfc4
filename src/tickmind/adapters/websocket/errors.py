"""Errors of the WebSocket endpoint.

WebSocketError
├── BadFrameError          a frame is no message of this form, or not one that may come now
└── WebSocketAddressError  an address that can't be used, or not without more protection
"""

from tickmind.base import TickmindError
from tickmind.wire import (
    ControlClosedError,
    DeadlineError,
    MessageError,
    NotAllowedError,
    OverloadedError,
    RefusedMessageError,
    UnreachableError,
    WireError,
)
from tickmind.wire.v1 import door_pb2 as pb

RETRY_MS = 1000  # for what passes by itself
_CODES: tuple[tuple[type[WireError], pb.SocketErrorCode, int], ...] = (
    (NotAllowedError, pb.SOCKET_ERROR_CODE_NOT_ALLOWED, 0),
    (RefusedMessageError, pb.SOCKET_ERROR_CODE_REFUSED, 0),
    (MessageError, pb.SOCKET_ERROR_CODE_REFUSED, 0),
    (OverloadedError, pb.SOCKET_ERROR_CODE_OVERLOADED, RETRY_MS),
    (UnreachableError, pb.SOCKET_ERROR_CODE_UNREACHABLE, RETRY_MS),
    (DeadlineError, pb.SOCKET_ERROR_CODE_UNREACHABLE, RETRY_MS),
    (ControlClosedError, pb.SOCKET_ERROR_CODE_UNREACHABLE, RETRY_MS),
)


class WebSocketError(TickmindError):
    """A WebSocket endpoint can't do what it is asked for."""


class BadFrameError(WebSocketError):
    """A frame is no message of this form, or not one that may come now."""


class WebSocketAddressError(WebSocketError):
    """An address can't be used, or not without more protection."""


def socket_error(
    code: pb.SocketErrorCode, words: str, *, retry_after_ms: int = 0, ends: bool = False, request_id: int = 0
) -> pb.SocketResponse:
    """Return a frame that says what went wrong."""
    error = pb.SocketError(code=code, message=words, retry_after_ms=retry_after_ms, ends=ends)
    return pb.SocketResponse(error=error, request_id=request_id)


def failed_call(error: WireError, *, ends: bool = False, request_id: int = 0) -> pb.SocketResponse:
    """Return a frame that says why the world did not answer a call."""
    for kind, code, retry_after_ms in _CODES:
        if isinstance(error, kind):
            return socket_error(code, str(error), retry_after_ms=retry_after_ms, ends=ends, request_id=request_id)
    return socket_error(pb.SOCKET_ERROR_CODE_INTERNAL, str(error), ends=ends, request_id=request_id)

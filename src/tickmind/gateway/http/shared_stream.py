"""One caller's reader of a shared stream."""

from collections.abc import Callable
from typing import Protocol

from tickmind.gateway.http.exchange import Responder

TOO_SLOW = b'data: {"error":{"message":"the reply was read too slowly","type":"server_error","code":"DEADLINE"}}\n\n'


class StreamSource(Protocol):
    """The source of the stream: a `Broadcast`."""

    def join(self, reader: "StreamReader", /) -> None:
        """Give the reader everything from the beginning."""
        ...

    def hold(self, reader: "StreamReader", /) -> None:
        """Pause the reader."""
        ...

    def go_on(self, reader: "StreamReader", /) -> None:
        """Resume the reader."""
        ...

    def leave(self, reader: "StreamReader", /) -> None:
        """Remove the reader."""
        ...


class StreamReader:
    """Passes a source's bytes on to a caller; calls `on_over` at the end."""

    __slots__ = ("_on_over", "_responder", "_source")

    def __init__(self, source: StreamSource, responder: Responder, on_over: Callable[[], None] = lambda: None) -> None:
        self._source = source
        self._responder = responder
        self._on_over = on_over

    # called by the call

    def join(self) -> None:
        """Begin to read."""
        self._source.join(self)

    def hold(self) -> None:
        """Pause: the caller does not keep up."""
        self._source.hold(self)

    def go_on(self) -> None:
        """Resume: the caller has caught up."""
        self._source.go_on(self)

    def leave(self) -> None:
        """Stop: the caller disconnected."""
        self._source.leave(self)

    # called by the source

    def take(self, data: bytes) -> None:
        """Send the next bytes."""
        self._responder.piece(data)

    def finish(self) -> None:
        """End the reply."""
        self._on_over()
        self._responder.end()

    def cut_off(self) -> None:
        """End the reply of a caller that is too far behind."""
        self._on_over()
        self._responder.end(TOO_SLOW)

"""A streamed reply on its way to its caller, and to those who asked for the same."""

from tickmind.gateway.fairness.broadcast import Broadcast
from tickmind.gateway.http.exchange import Responder
from tickmind.gateway.http.relay import StreamRelay
from tickmind.gateway.http.shared_stream import StreamReader


class StreamReply:
    """Begins with the headers of `opening` when something came of the stream, passes it on, and ends."""

    __slots__ = ("_opening", "_responder", "relay", "source")

    def __init__(self, responder: Responder, opening: bytes, relay: StreamRelay) -> None:
        self._responder = responder
        self._opening = opening
        self.relay = relay
        self.source: Broadcast | None = None  # that others may read, too

    def begin(self, source: Broadcast | None) -> StreamReader | None:
        """Send the headers; from a source the caller reads as all others do, and this is its reading."""
        self._responder.begin(200, self._opening)
        self.source = source
        if source is None:
            return None
        reader = StreamReader(source, self._responder)
        reader.join()
        return reader

    def passes(self, chunks: bytes) -> bool:
        """Whether chunks can be passed on just as they come; then they are noted and must be."""
        return self.source is None and self._responder.takes_chunks and self.relay.passes(chunks)

    def piece(self, data: bytes) -> None:
        """Pass on what may be."""
        self._send(self.relay.feed(data))

    def end(self, last: bytes) -> None:
        """Pass on the last bytes; where others read, too, the source must be ended then."""
        if self.source is None:
            self._responder.end(last)
        else:
            self.source.add(last)

    def _send(self, data: bytes) -> None:
        if self.source is None:
            self._responder.piece(data)
        else:
            self.source.add(data)

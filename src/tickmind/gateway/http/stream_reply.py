"""A streamed reply to a caller, and to the callers of identical requests."""

from tickmind.gateway.http.exchange import Responder
from tickmind.gateway.http.relay import StreamRelay
from tickmind.gateway.http.shared_stream import StreamReader
from tickmind.gateway.reply_sharing.broadcast import Broadcast


class StreamReply:
    """Sends the headers of `opening` with the first bytes of the stream, passes it on, and ends it."""

    __slots__ = ("_opening", "_responder", "is_direct", "relay", "source")

    def __init__(self, responder: Responder, opening: bytes, relay: StreamRelay) -> None:
        self._responder = responder
        self._opening = opening
        self.relay = relay
        self.source: Broadcast | None = None  # that identical requests read as well
        self.is_direct = False  # whether chunks that the relay passes may be sent as they are, once it has begun

    def begin(self, source: Broadcast | None) -> StreamReader | None:
        """Send the headers; with a source, the caller reads from it like all others, by the returned reader."""
        self._responder.begin(200, self._opening)
        self.source = source
        if source is None:
            self.is_direct = self._responder.takes_chunks
            return None
        reader = StreamReader(source, self._responder)
        reader.join()
        return reader

    def piece(self, data: bytes) -> None:
        """Pass on a piece, as far as the relay allows."""
        self._send(self.relay.feed(data))

    def end(self, last: bytes) -> None:
        """Pass on the last bytes; a shared source must be ended afterwards."""
        if self.source is None:
            self._responder.end(last)
        else:
            self.source.add(last)

    def _send(self, data: bytes) -> None:
        if self.source is None:
            self._responder.piece(data)
        else:
            self.source.add(data)

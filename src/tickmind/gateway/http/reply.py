"""A provider's reply: its head, the listener that receives it, and the exchange that the listener controls."""

from typing import Protocol


class ReplyHead:
    """The status and the headers of a reply (names in lower case), and what follows from them alone."""

    __slots__ = ("coding", "headers", "is_plain", "is_stream", "status", "tells_limits")

    def __init__(self, status: int, headers: dict[str, str]) -> None:
        self.status = status
        self.headers = headers
        self.coding = headers.get("content-encoding", "identity").lower()
        self.is_stream = headers.get("content-type", "").startswith("text/event-stream")
        self.tells_limits = any(name.startswith("x-ratelimit-") for name in headers)
        other = self.coding != "identity" or self.is_stream or self.tells_limits
        self.is_plain = status == 200 and not other  # only the body is left to inspect


class UpstreamExchange(Protocol):
    """A request in flight, as its listener sees it; it must not be used after the exchange."""

    @property
    def is_sent(self) -> bool:
        """Whether the provider may have received it; False while its connection is being opened."""
        ...

    def cancel(self) -> None:
        """Cancel the exchange; the listener is not called again."""
        ...

    def pause(self) -> None:
        """Stop reading, because the caller does not keep up."""
        ...

    def resume(self) -> None:
        """Resume reading."""
        ...


class ReplyListener(Protocol):
    """Receives one exchange: `head` once, `data` per piece, then `done`; or `whole`; or `broken` at any time."""

    def carried_by(self, exchange: UpstreamExchange) -> None:
        """Note that the request goes by another connection than before."""
        ...

    def head(self, head: ReplyHead, length: int) -> None:
        """Take status and headers, and the length of the body, -1 if it is unknown."""
        ...

    def chunks(self, data: bytes) -> bool:
        """Take chunks of the body with their framing, all of them whole lines; False: pass them dechunked to `data`."""
        ...

    def data(self, pieces: list[bytes]) -> None:
        """Take pieces of the body, dechunked."""
        ...

    def done(self) -> None:
        """End: the reply is complete."""
        ...

    def whole(self, head: ReplyHead, body: bytes) -> None:
        """Take a reply that came in one piece, instead of `head`, `data` and `done`."""
        ...

    def broken(self, reason: str) -> None:
        """End: there will be no complete reply."""
        ...

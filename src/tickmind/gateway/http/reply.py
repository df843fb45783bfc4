"""A provider's reply as it is heard: its head, what its listener is told, and what that may ask for."""

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
        self.is_plain = status == 200 and not other  # what is left to look at is the body


class UpstreamExchange(Protocol):
    """A request under way, as its listener sees it; after the exchange it must not be used any more."""

    @property
    def is_sent(self) -> bool:
        """Whether the provider may have it; else its connection is still being opened."""
        ...

    def cancel(self) -> None:
        """Give up; nothing is heard after that."""
        ...

    def pause(self) -> None:
        """Stop reading, because the caller does not keep up."""
        ...

    def resume(self) -> None:
        """Read again."""
        ...


class ReplyListener(Protocol):
    """Hears one exchange: `head` once, `data` as pieces come, then `done`; or `whole`; or `broken` at any time."""

    def carried_by(self, exchange: UpstreamExchange) -> None:
        """The request goes by another connection than it was told before."""
        ...

    def head(self, head: ReplyHead, length: int) -> None:
        """The status and the headers, and the length of the body, -1 if it is not known."""
        ...

    def chunks(self, data: bytes) -> bool:
        """Chunks of the body with their framing, all of them whole lines; False: hear them dechunked as `data`."""
        ...

    def data(self, pieces: list[bytes]) -> None:
        """Pieces of the body, dechunked."""
        ...

    def done(self) -> None:
        """The reply is whole."""
        ...

    def whole(self, head: ReplyHead, body: bytes) -> None:
        """All of the reply came at once: in place of `head`, `data` and `done`."""
        ...

    def broken(self, reason: str) -> None:
        """There will be no whole reply."""
        ...

"""A control stream as the authority sees it."""

from typing import TYPE_CHECKING, Protocol

from tickmind.protocol import Reason

if TYPE_CHECKING:
    from tickmind.protocol.columns import Int32


class Seat(Protocol):
    """A control stream that holds a grant of leases."""

    def lose(self, rows: "Int32", reason: Reason, /) -> None:
        """Take some of its actors out of its control."""
        ...

    def close(self, reason: Reason) -> None:
        """End the stream and say why."""
        ...

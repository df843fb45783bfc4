"""The port of a control stream, as the authority uses it."""

from typing import TYPE_CHECKING, Protocol

from tickmind.protocol import Reason

if TYPE_CHECKING:
    from tickmind.protocol.columns import Int32


class Seat(Protocol):
    """A control stream that holds a grant of leases."""

    def lose(self, rows: "Int32", reason: Reason, /) -> None:
        """Remove some of its actors from its control."""
        ...

    def close(self, reason: Reason) -> None:
        """End the stream with a reason."""
        ...

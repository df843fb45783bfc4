"""The server's clock, estimated from its answers."""


class ServerClock:
    """The difference between the server's clock and the local monotonic clock.

    The server read its clock between question and answer, so every answer bounds the difference from both sides. The
    estimate moves only as far as these bounds require: an answer that was read late, by a gateway that stalled, does
    not shift the permits in it, which would then be used together with the next ones.
    """

    __slots__ = ("_difference_s",)

    def __init__(self) -> None:
        self._difference_s: float | None = None

    def difference_s(self, asked_s: float, heard_s: float, server_s: float) -> float:
        """Update the estimate from an answer; the first answer is taken to have no delay."""
        least, most = asked_s - server_s, heard_s - server_s
        known = most if self._difference_s is None else self._difference_s
        self._difference_s = min(max(known, least), most)
        return self._difference_s

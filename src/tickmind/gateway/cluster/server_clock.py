"""The server's clock, as seen from here."""


class ServerClock:
    """What to add to a time of the server's to have it on the local monotonic clock.

    The server looked at its clock between question and answer, so every answer bounds the difference from both sides.
    What is known already is moved only as far as that: an answer that was read late, by a gateway that stood still,
    does not shift the permits in it, which would then be used together with the next ones.
    """

    __slots__ = ("_difference_s",)

    def __init__(self) -> None:
        self._difference_s: float | None = None

    def difference_s(self, asked_s: float, heard_s: float, server_s: float) -> float:
        """Learn from an answer; at first its way back is taken for no way at all."""
        least, most = asked_s - server_s, heard_s - server_s
        known = most if self._difference_s is None else self._difference_s
        self._difference_s = min(max(known, least), most)
        return self._difference_s

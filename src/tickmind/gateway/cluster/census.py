"""The census: how many gateways share the limits, and whether each keeps to its part of them."""

from collections.abc import Collection

from tickmind.base import Clock


class Census:
    """The number of gateways known to this gateway, also while the shared state is lost.

    After a loss, gateways reconnect one by one, and until then each sends its part besides what the others lease. So
    a gateway that is back still keeps to its part, and counts the gateways that were there before, for `rejoin_s`
    seconds: the time within which every live gateway is back.

    A gateway that alone is cut off sends its part, too. So those that are connected leave it that part, by charging
    it to the limit as it passes, each an equal share of the charge.
    """

    __slots__ = (
        "_clock", "_counted_s", "_divided", "_divided_until_s", "_rejoin_s", "connected", "gateways", "losses"
    )  # fmt: skip

    def __init__(self, clock: Clock, rejoin_s: float) -> None:
        self._clock = clock
        self._rejoin_s = rejoin_s
        self._divided = False  # from a loss until all gateways are back
        self._divided_until_s = 0.0  # once reconnected
        self._counted_s: float | None = None  # the last count since the connection was made
        self.connected = False
        self.gateways = 1  # with this one, as last known
        self.losses = 0

    @property
    def alone(self) -> int:
        """Return 0 while connected, else the number by which the limits are divided."""
        return 0 if self.connected else self.gateways

    @property
    def rejoining(self) -> int:
        """Return the number by which limits are divided while others may still be reconnecting; else 0."""
        return self.gateways if self.connected and self._divided else 0

    def count(self, gateways: int, absent_s: Collection[float] = ()) -> float:
        """Set the number of gateways, with those that are cut off; return what to charge for these.

        `absent_s` is how long each of them has been sending alone. The charge is this gateway's share of it, in
        seconds of the whole limit.
        """
        now_s = self._clock.monotonic()
        if self.connected and now_s >= self._divided_until_s:
            self._divided = False
        self.gateways = max(self.gateways, gateways) if self._divided else gateways
        since_s = 0.0 if self._counted_s is None else now_s - self._counted_s
        self._counted_s = now_s
        connected = max(1, gateways - len(absent_s))
        return sum(min(since_s, each_s) for each_s in absent_s) / max(1, gateways) / connected

    def found(self) -> None:
        """Note that the shared state is connected."""
        self.connected = True
        self._divided_until_s = self._clock.monotonic() + self._rejoin_s

    def lost(self) -> None:
        """Note that the shared state is not connected, or not any more."""
        if self.connected:
            self.losses += 1
            self._divided = True
        self.connected = False
        self._counted_s = None

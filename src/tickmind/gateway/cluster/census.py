"""The census: how many gateways share the limits, and whether each keeps to its part of them."""

from tickmind.base import Clock


class Census:
    """The number of gateways known to this gateway, also while the shared state is lost.

    After a loss, gateways reconnect one by one, and until then each sends its part besides what the others lease. So
    a gateway that is back still keeps to its part, and counts the gateways that were there before, for `rejoin_s`
    seconds: the time within which every live gateway is back.
    """

    __slots__ = ("_clock", "_divided", "_divided_until_s", "_rejoin_s", "connected", "gateways", "losses")

    def __init__(self, clock: Clock, rejoin_s: float) -> None:
        self._clock = clock
        self._rejoin_s = rejoin_s
        self._divided = False  # from a loss until all gateways are back
        self._divided_until_s = 0.0  # once reconnected
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

    def count(self, gateways: int) -> None:
        """Set the number of gateways heard of lately."""
        if self.connected and self._clock.monotonic() >= self._divided_until_s:
            self._divided = False
        self.gateways = max(self.gateways, gateways) if self._divided else gateways

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

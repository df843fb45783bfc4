"""How many gateways there are, and whether each of them keeps to its part of the limits."""

from tickmind.base import Clock


class Census:
    """The number of gateways as this one knows it, through losses of the shared state.

    Gateways find a lost state again one after the other, and until then each sends its part besides what the others
    lease. So whoever is back keeps to its part, too, and counts those who were there before, for `rejoin_s` seconds:
    the time within which everybody who lives is back.
    """

    __slots__ = ("_clock", "_divided", "_divided_until_s", "_rejoin_s", "connected", "gateways", "losses")

    def __init__(self, clock: Clock, rejoin_s: float) -> None:
        self._clock = clock
        self._rejoin_s = rejoin_s
        self._divided = False  # from a loss until everybody is back
        self._divided_until_s = 0.0  # once the state is found
        self.connected = False
        self.gateways = 1  # with this one, as last known
        self.losses = 0

    @property
    def alone(self) -> int:
        """0 while connected, else by how many the limits are divided."""
        return 0 if self.connected else self.gateways

    @property
    def rejoining(self) -> int:
        """By how many the limits are divided though it is connected, as others may not be yet; else 0."""
        return self.gateways if self.connected and self._divided else 0

    def count(self, gateways: int) -> None:
        """So many were heard of lately."""
        if self.connected and self._clock.monotonic() >= self._divided_until_s:
            self._divided = False
        self.gateways = max(self.gateways, gateways) if self._divided else gateways

    def found(self) -> None:
        """The shared state is there."""
        self.connected = True
        self._divided_until_s = self._clock.monotonic() + self._rejoin_s

    def lost(self) -> None:
        """It is not there, or not any more."""
        if self.connected:
            self.losses += 1
            self._divided = True
        self.connected = False

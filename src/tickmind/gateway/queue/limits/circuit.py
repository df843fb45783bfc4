"""A circuit breaker: pauses a provider that keeps failing, and probes with single requests whether it is back."""

from enum import Enum

from tickmind.gateway.settings.config import CircuitConfig


class CircuitState(Enum):
    """Closed is normal; open lets nothing through; probing has one request out that decides."""

    CLOSED = "closed"
    OPEN = "open"
    PROBING = "probing"


class Circuit:
    """Opens after `failures` in a row; then one probe at a time, each failure doubling the pause."""

    __slots__ = ("_config", "_open_s", "_probe_s", "failures", "state", "until_s")

    def __init__(self, config: CircuitConfig) -> None:
        self._config = config
        self._open_s = config.open_s
        self.failures = 0  # one after the other
        self.state = CircuitState.CLOSED
        self.until_s = 0.0  # when a probe may go out, while it is open
        self._probe_s = 0.0  # when the probe was sent; requests sent before it decide nothing

    def sent(self, now: float) -> None:
        """Record a sent request; if the circuit is open, it is the probe."""
        if self.state is CircuitState.OPEN:
            self.state = CircuitState.PROBING
            self._probe_s = now

    def succeeded(self) -> bool:
        """Record an answer; return True if that closed the circuit."""
        self.failures = 0
        if self.state is CircuitState.CLOSED:
            return False
        self.state = CircuitState.CLOSED
        self._open_s = self._config.open_s
        return True

    def failed(self, now: float, sent_s: float) -> bool:
        """Record a failure; return True if that opened the circuit."""
        self.failures += 1
        if self.state is CircuitState.PROBING:
            if sent_s < self._probe_s:
                return False
            self._open_s = min(2 * self._open_s, self._config.max_open_s)
        elif self.state is CircuitState.OPEN or self.failures < self._config.failures:
            return False
        self.state = CircuitState.OPEN
        self.until_s = now + self._open_s
        return True

    def undecided(self, now: float, sent_s: float) -> None:
        """Record a request without a result (its caller disconnected); after a probe the next may go at once."""
        if self.state is CircuitState.PROBING and sent_s >= self._probe_s:
            self.state = CircuitState.OPEN
            self.until_s = now

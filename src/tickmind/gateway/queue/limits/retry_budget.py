"""The retry budget: bounds attempts beyond the first, so that retries do not multiply trouble upstream."""

from tickmind.gateway.settings.config import RetryConfig


class RetryBudget:
    """Each request earns a part of a retry; a retry costs one. It starts full."""

    __slots__ = ("_ratio", "_requests", "_reserve", "_tries", "refused")

    def __init__(self, config: RetryConfig) -> None:
        self._ratio = config.ratio
        self._reserve = config.reserve
        self._tries = config.reserve  # available at the last update
        self._requests = 0  # requests at the last update
        self.refused = 0

    def tries(self, requests: int) -> float:
        """Return how many retries are available after `requests` requests in all."""
        self._tries = min(self._reserve, self._tries + self._ratio * (requests - self._requests))
        self._requests = requests
        return self._tries

    def spend(self, requests: int) -> bool:
        """Take a retry, after `requests` requests in all; return False if none is left."""
        if self.tries(requests) < 1:
            self.refused += 1
            return False
        self._tries -= 1
        return True

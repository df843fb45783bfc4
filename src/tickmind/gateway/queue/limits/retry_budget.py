"""One budget for all tries beyond the first, so that trouble upstream is not multiplied by ourselves."""

from tickmind.gateway.settings.config import RetryConfig


class RetryBudget:
    """Each request earns a part of a try; a try beyond a request's first costs one. It starts full."""

    __slots__ = ("_ratio", "_requests", "_reserve", "_tries", "refused")

    def __init__(self, config: RetryConfig) -> None:
        self._ratio = config.ratio
        self._reserve = config.reserve
        self._tries = config.reserve  # that could be made after the last look
        self._requests = 0  # that had come by then
        self.refused = 0

    def tries(self, requests: int) -> float:
        """How many may be made now that so many requests have come, ever."""
        self._tries = min(self._reserve, self._tries + self._ratio * (requests - self._requests))
        self._requests = requests
        return self._tries

    def spend(self, requests: int) -> bool:
        """Take one try, after so many requests; False if there is none."""
        if self.tries(requests) < 1:
            self.refused += 1
            return False
        self._tries -= 1
        return True

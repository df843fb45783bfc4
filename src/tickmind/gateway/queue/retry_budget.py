"""One budget for all tries beyond the first, so that trouble upstream is not multiplied by ourselves."""

# ruff: noqa: FURB136 - on the hot path a comparison is several times quicker than a call of max()

from tickmind.gateway.settings.config import RetryConfig


class RetryBudget:
    """Each request earns a part of a try; a try beyond a request's first costs one. It starts full."""

    __slots__ = ("_ratio", "_reserve", "refused", "spent", "tries")

    def __init__(self, config: RetryConfig) -> None:
        self._ratio = config.ratio
        self._reserve = config.reserve
        self.tries = config.reserve  # that may be made now
        self.spent = 0
        self.refused = 0

    def earn(self) -> None:
        """A new request came."""
        tries = self.tries + self._ratio
        self.tries = tries if tries < self._reserve else self._reserve

    def spend(self) -> bool:
        """Take one try; False if there is none."""
        if self.tries < 1:
            self.refused += 1
            return False
        self.tries -= 1
        self.spent += 1
        return True

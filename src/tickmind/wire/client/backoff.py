"""Backoff: how long to wait before a broken stream is reopened."""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits that double, each shortened at random, so that the clients of a restarted world do not return together.

    >>> 0 <= Backoff(first_s=0.2, longest_s=5.0).wait_s(2, random.Random(7)) <= 0.8
    True
    """

    first_s: float = 0.2
    longest_s: float = 5.0
    attempts: int = 20  # failures in a row after which the error is raised

    def wait_s(self, failures: int, rng: random.Random) -> float:
        """Return how long to wait after so many failures in a row."""
        return rng.uniform(0, min(self.longest_s, self.first_s * 2 ** min(failures, 30)))

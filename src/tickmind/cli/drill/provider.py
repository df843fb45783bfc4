"""A scripted provider that fails or limits on demand, and counts callers that ignore Retry-After."""

import math
from enum import StrEnum

from tickmind.base import Clock, SystemClock
from tickmind.characters.scripted.village import villager_says
from tickmind.llm.testing import Refuse, Respond
from tickmind.llm.transport import ModelRequest

RETRY_AFTER_S = 2
ON_THE_WAY_S = 0.5  # for so long after a refusal, calls may arrive that were sent before it


class ProviderHealth(StrEnum):
    """The behaviour of a provider."""

    WELL = "well"
    AWAY = "away"  # it answers 503
    LIMITED = "limited"  # it answers 429, with Retry-After


class FailingProvider:
    """The steps of a `FakeProvider` for villagers. `health` may be changed at any time."""

    def __init__(self, *, retry_after_s: int = RETRY_AFTER_S, clock: Clock | None = None) -> None:
        self.health = ProviderHealth.WELL
        self.answered = 0
        self.refused = 0  # calls answered with 503 or 429
        self.too_soon = 0  # calls before Retry-After had passed
        self._retry_after_s = retry_after_s
        self._clock = clock or SystemClock()
        self._refused_s = self._until_s = -math.inf

    def step(self, request: ModelRequest) -> Respond | Refuse:
        """Return the response to one call."""
        now_s = self._clock.monotonic()
        waiting = now_s < self._until_s
        if waiting and now_s - self._refused_s > ON_THE_WAY_S:
            self.too_soon += 1
        if self.health is ProviderHealth.WELL:
            self.answered += 1
            return Respond(villager_says(request))
        self.refused += 1
        if self.health is ProviderHealth.AWAY:
            return Refuse(503, "the provider is away")
        if not waiting:
            self._refused_s, self._until_s = now_s, now_s + self._retry_after_s
        return Refuse(429, "too many requests", retry_after=math.ceil(self._until_s - now_s))

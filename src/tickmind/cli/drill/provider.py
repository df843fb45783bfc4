"""A scripted provider that goes away or refuses on demand, and notices who does not wait as long as it was told to."""

import math
from enum import StrEnum

from tickmind.base import Clock, SystemClock
from tickmind.characters.village_script import villager_says
from tickmind.llm.testing import Refuse, Respond
from tickmind.llm.transport import ModelRequest

RETRY_AFTER_S = 2
ON_THE_WAY_S = 0.5  # so long after a refusal a call may still arrive that was sent before it was known


class Mood(StrEnum):
    """How a provider is."""

    WELL = "well"
    AWAY = "away"  # it answers 503
    LIMITED = "limited"  # it answers 429, with Retry-After


class MoodyProvider:
    """The steps of a `FakeProvider` for villagers. `mood` may be changed at any time."""

    def __init__(self, *, retry_after_s: int = RETRY_AFTER_S, clock: Clock | None = None) -> None:
        self.mood = Mood.WELL
        self.answered = 0
        self.refused = 0  # calls that were told 503 or 429
        self.too_soon = 0  # calls that came although they had been told to wait
        self._retry_after_s = retry_after_s
        self._clock = clock or SystemClock()
        self._told_s = self._until_s = -math.inf

    def step(self, request: ModelRequest) -> Respond | Refuse:
        """What becomes of one call."""
        now_s = self._clock.monotonic()
        waiting = now_s < self._until_s
        if waiting and now_s - self._told_s > ON_THE_WAY_S:
            self.too_soon += 1
        if self.mood is Mood.WELL:
            self.answered += 1
            return Respond(villager_says(request))
        self.refused += 1
        if self.mood is Mood.AWAY:
            return Refuse(503, "the provider is away")
        if not waiting:
            self._told_s, self._until_s = now_s, now_s + self._retry_after_s
        return Refuse(429, "too many requests", retry_after=math.ceil(self._until_s - now_s))

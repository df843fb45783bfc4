"""The minds of one process."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

from tickmind.agent.settings import Settings
from tickmind.protocol import Intent, Observation, Thought


@dataclass(frozen=True, slots=True)
class Start:
    """What one character begins with: who it is, its settings, and chance of its own that repeats with the seed."""

    entity_id: str
    settings: Settings = field(default_factory=Settings)
    random: Random = field(default_factory=lambda: Random(0), compare=False)


class Mind(Protocol):
    """Decides for one entity."""

    def act(self, observation: Observation) -> Intent:
        """What to do in this tick."""
        ...


class Cast(Protocol):
    """All minds of one process. One thread at a time calls `perceive`, then `act` for each entity, then `reflect`."""

    def perceive(self, tick_id: int, observations: Sequence[Observation]) -> None:
        """Take in what the entities perceive at the start of a tick, before any of them acts."""
        ...

    def act(self, observation: Observation) -> Intent:
        """What one of them does in this tick."""
        ...

    def reflect(self, tick_id: int) -> None:
        """Do what has time until the next tick, now that everybody has acted: ask models, and hear their answers."""
        ...

    def take_thoughts(self) -> list[tuple[str, Thought]]:
        """Deliberations that have ended since this was asked last, each with whose it was."""
        ...

    def deliberating(self, entity_id: str) -> bool:
        """Whether an entity waits for an answer of a model."""
        ...

    def close(self) -> None:
        """End what goes on beside the ticks."""
        ...


class PlainCast:
    """Minds that need nothing but observations; each is made when its entity is first seen."""

    def __init__(self, make: Callable[[Start], Mind], start: Callable[[str], Start]) -> None:
        self._make = make
        self._start = start
        self._minds: dict[str, Mind] = {}  # entity id -> its mind

    def perceive(self, tick_id: int, observations: Sequence[Observation]) -> None:
        """Nothing happens before the acts."""

    def act(self, observation: Observation) -> Intent:
        """Ask the entity's mind."""
        entity_id = observation.me.entity_id
        mind = self._minds.get(entity_id)
        if mind is None:
            mind = self._minds[entity_id] = self._make(self._start(entity_id))
        return mind.act(observation)

    def reflect(self, tick_id: int) -> None:
        """Nothing happens after the acts."""

    def take_thoughts(self) -> list[tuple[str, Thought]]:
        """There are none."""
        return []

    def deliberating(self, entity_id: str) -> bool:
        """Nobody ever is."""
        del entity_id
        return False

    def close(self) -> None:
        """Nothing goes on."""

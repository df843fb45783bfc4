"""Chance of minds that repeats: by the run's seed, the entity, the purpose and the tick, and by nothing else."""

from random import Random
from typing import Any


class MindChance(Random):
    """Chance of one purpose of one entity.

    Each tick begins anew from the seed, so a mind that was killed and started again draws what it would have drawn.
    Neither the process that a mind runs in nor the order in which minds start or act changes it.

        >>> chance, again = (MindChance(seed=7, entity_id="entity:1", purpose="mind") for _ in range(2))
        >>> chance.begin(3), again.begin(3)
        (None, None)
        >>> chance.choice(["left", "right"]) == again.choice(["left", "right"])
        True
    """

    def __init__(self, seed: int, entity_id: str, purpose: str) -> None:
        self._key = f"{seed}:{purpose}:{entity_id}"
        self._tick_id = 0
        super().__init__(0)
        self._begun = False  # whether this tick's numbers are being drawn

    def begin(self, tick_id: int) -> None:
        """Begin a tick; the numbers are made when the first one is drawn."""
        if tick_id != self._tick_id:
            self._tick_id = tick_id
            self._begun = False
            self.gauss_next = None  # the second of a pair that `gauss` drew in the tick before

    def random(self) -> float:
        """Draw a number from 0 to 1."""
        if not self._begun:
            self._start()
        return super().random()

    def getrandbits(self, k: int, /) -> int:
        """Draw a whole number of so many bits."""
        if not self._begun:
            self._start()
        return super().getrandbits(k)

    def seed(self, a: Any = None, version: int = 2) -> None:
        """Begin anew from another seed, until the next tick."""
        self._begun = True
        super().seed(a, version)

    def __reduce__(self) -> Any:
        """Copy by key and state; `Random` would make the copy without arguments."""
        seed, purpose, entity_id = self._key.split(":", 2)
        return MindChance, (int(seed), entity_id, purpose), (self._tick_id, self._begun, self.getstate())

    def __setstate__(self, state: Any) -> None:
        """Take over the state of the copied one."""
        self._tick_id, self._begun, numbers = state
        self.setstate(numbers)

    def _start(self) -> None:
        self.seed(f"{self._key}:{self._tick_id}")

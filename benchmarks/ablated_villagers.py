"""Villagers that lack one part of their minds: `python ablated_villagers.py plan` is a program for `tickmind up`."""

import sys
from collections.abc import Iterable

from tickmind.agent import Start
from tickmind.characters.villager import Villager
from tickmind.mind.talk.repeats import SpokenBefore

SHORT_MEMORY = 5  # entries of a villager without a memory


class WithoutReflection(Villager):
    """Has no insights at the end of a day."""

    def look_back(self) -> None:
        """Tidy the memory only."""
        self.memory.tidy(self.tick)


class WithoutPlan(Villager):
    """Has no errands, and makes no appointments."""

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        self._routine = []

    def hear_news(self, text: str) -> None:
        """Do nothing about it."""


class WithoutMemory(Villager):
    """Remembers the last few things only."""

    def remember(self) -> None:
        """Note what happened, and forget what was before."""
        super().remember()
        self.memory._drop([entry.number for entry in list(self.memory)[:-SHORT_MEMORY]])  # noqa: SLF001  lacks a part


class _Unheeding(SpokenBefore):
    def shared(self, text: str, names: Iterable[str] = ()) -> float:  # noqa: ARG002  whatever it is
        """Find that no line was said before."""
        return 0.0


class WithoutChecker(Villager):
    """Does not mind what it has said before."""

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        self.talker.spoken = _Unheeding()


ABLATED: dict[str, type[Villager]] = {
    "checker": WithoutChecker,
    "memory": WithoutMemory,
    "plan": WithoutPlan,
    "reflection": WithoutReflection,
}

if __name__ == "__main__":
    ABLATED[sys.argv[1]].run()

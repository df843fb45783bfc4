"""`NeedyCharacter`: conditions and actions for hunger, energy and the needs that a world declares."""

from tickmind.agent.character.tactics import action, condition
from tickmind.agent.character.times import TimedCharacter
from tickmind.ai import Status
from tickmind.protocol import ActorStatus, Use

LOW = 300  # own need of 1000 below which something is done about it


class NeedyCharacter(TimedCharacter):
    """A character that feels hunger and energy, and looks after own needs of its world with what it carries."""

    @condition
    def hungry(self, above: int = 400) -> bool:
        """Return whether hunger, from 0 to 1000, is at least so high."""
        return self.me.hunger >= above

    @condition
    def tired(self, below: int = 300) -> bool:
        """Return whether energy, from 0 to 1000, is below that."""
        return self.me.energy < below

    @condition
    def rested(self, above: int = 900) -> bool:
        """Return whether energy is at least so high."""
        return self.me.energy >= above

    @condition
    def asleep(self) -> bool:
        """Return whether it sleeps, so that only waking up is possible."""
        return self.me.status.has(ActorStatus.ASLEEP)

    @condition
    def incapacitated(self) -> bool:
        """Return whether it is too weak for all but waking, eating and speaking."""
        return self.me.status.has(ActorStatus.INCAPACITATED)

    @condition
    def low(self, need: str = "", below: int = LOW) -> bool:
        """Return whether an own need of the world is below that: a certain one, or any."""
        return any(value < below for name, value in self.me.needs if need in ("", name))

    @action
    def relieve(self, need: str = "", below: int = LOW) -> Status:
        """Use an item that it carries and that raises an own need below that: a certain one, or the lowest of all.

        Of several items it is the one that raises it most. Fails if it carries none.
        """
        lowest = sorted((value, name) for name, value in self.me.needs if need in ("", name) and value < below)
        for _, name in lowest:
            remedies = [(item.adds_to(name), item.name) for item in self.items if self.carries(item.name)]
            raises, best = max(remedies, default=(0, ""))
            if raises > 0:
                return self.do(Use(best))
        return Status.FAILURE

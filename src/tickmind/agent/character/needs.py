"""`NeedyCharacter`: conditions and actions for the needs that a world declares."""

from tickmind.agent.character.tactics import action, condition
from tickmind.agent.character.times import TimedCharacter
from tickmind.ai import Status
from tickmind.protocol import Use

LOW = 300  # own need of 1000 below which something is done about it


class NeedyCharacter(TimedCharacter):
    """A character that looks after the own needs of its world with the items that it carries."""

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

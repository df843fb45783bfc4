"""Make things by the recipes of the world: fetch what they take, work at the right places, and eat on the way."""

from typing import ClassVar

from tickmind.agent import Character, Start, action, condition
from tickmind.ai import Action, Condition, Inverter, Node, Selector, Sequence, Status

ENOUGH = 4  # items of each kind that it keeps


class Crafter(Character):
    """Settings: `makes` (items, the first that is short goes first), `enough` (how many it keeps), `food`."""

    tree: ClassVar[Node] = Selector(
        Sequence(
            Condition("asleep"), Selector(Sequence(Condition("rested"), Action("wake")), Action("wait")), label="asleep"
        ),
        Sequence(Condition("hungry", {"above": 400}), Action("eat_something")),
        Sequence(
            Condition("tired", {"below": 150}),
            Selector(Sequence(Action("go_to", {"kind": "bed"}), Action("sleep")), Action("sleep")),
        ),
        Sequence(Inverter(Condition("provided")), Action("make_next")),
        Action("explore"),
        Action("wander"),
        memory=False,
    )

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        self.makes = start.settings.texts("makes", ())
        self.enough = start.settings.whole("enough", ENOUGH)
        self.food = start.settings.texts("food", ())

    @condition
    def provided(self) -> bool:
        """Return whether it has enough of everything that it makes."""
        return all(self.carries(item) >= self.enough for item in self.makes)

    @action
    def make_next(self) -> Status:
        """Do the next step towards the first item that is short and can be made."""
        for item in self.makes:
            if self.carries(item) < self.enough:
                status = self.make(item)
                if status is not Status.FAILURE:
                    return status
        return Status.FAILURE

    @action
    def eat_something(self) -> Status:
        """Eat what it likes best of what it has."""
        item = next(filter(self.carries, self.food), None)
        return Status.FAILURE if item is None else self.eat(item)


if __name__ == "__main__":
    Crafter.run()

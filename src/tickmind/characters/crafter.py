"""Make things by the recipes of the world, trade them at stalls, and eat on the way."""

from collections.abc import Callable, Iterable
from typing import ClassVar

from tickmind.agent import Character, Start, action, condition
from tickmind.ai import Action, Condition, Inverter, Node, Selector, Sequence, Status

ENOUGH = 4  # items of each kind that it keeps


class Crafter(Character):
    """Settings: `makes` (items, the first that is short goes first), `enough` (how many it keeps), `food`.

    `stocks` are items that it puts into containers, its own if it has any, `collects` those that it takes out of them,
    and `sells` those that it sells to stalls. Food that it lacks, it buys.
    """

    tree: ClassVar[Node] = Selector(
        Sequence(
            Condition("asleep"), Selector(Sequence(Condition("rested"), Action("wake")), Action("wait")), label="asleep"
        ),
        Sequence(Condition("low"), Action("relieve")),
        Sequence(Condition("hungry", {"above": 400}), Selector(Action("eat_something"), Action("buy_food"))),
        Sequence(
            Condition("tired", {"below": 150}),
            Selector(Sequence(Action("go_to", {"kind": "bed"}), Action("sleep")), Action("sleep")),
        ),
        Sequence(Inverter(Condition("provided")), Action("make_next")),
        Action("stock_up"),
        Action("collect"),
        Action("sell_next"),
        Action("explore"),
        Action("wander"),
        memory=False,
    )

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        self.makes = start.settings.texts("makes", ())
        self.enough = start.settings.whole("enough", ENOUGH)
        self.food = start.settings.texts("food", ())
        self.stocks = start.settings.texts("stocks", ())
        self.collects = start.settings.texts("collects", ())
        self.sells = start.settings.texts("sells", ())

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

    @action
    def buy_food(self) -> Status:
        """Buy what it likes best of what is sold."""
        return self._first(self.buy, self.food)

    @action
    def stock_up(self) -> Status:
        """Put the first thing that it stocks, and has, into a container."""
        return self._first(self.put, self.stocks)

    @action
    def collect(self) -> Status:
        """Take the first thing that it collects out of a container."""
        return self._first(self.take, self.collects)

    @action
    def sell_next(self) -> Status:
        """Sell the first thing that it has and that a stall buys."""
        return self._first(self.sell, self.sells)

    def _first(self, act: Callable[[str], Status], items: Iterable[str]) -> Status:
        """Do something with the first item with which it is possible."""
        return next((status for item in items if (status := act(item)) is not Status.FAILURE), Status.FAILURE)


if __name__ == "__main__":
    Crafter.run()

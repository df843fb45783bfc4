"""`Promises`: what was promised to whom, and whether it was kept, decided by what was seen."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from tickmind.base import Limit

MAX_PROMISES = Limit("number of promises that a character keeps in mind", 60)
AS_PROMISED = " as promised."  # the end of a memory of what came, or did not


class PromiseState(StrEnum):
    """What became of a promise."""

    OPEN = "open"
    KEPT = "kept"
    BROKEN = "broken"


@dataclass(slots=True)
class Promise:
    """Some items that one person will bring another until a tick."""

    by: str
    to: str
    item: str
    amount: int
    made_tick: int
    due_tick: int
    given: int = 0  # of the amount
    state: PromiseState = PromiseState.OPEN


class Promises:
    """The promises that a character made or was made. Over the limit, the oldest that is settled is forgotten."""

    def __init__(self) -> None:
        self._all: list[Promise] = []
        self.changes = 0
        """How often a promise was made, kept or broken, so that readers can detect a change."""

    def __iter__(self) -> Iterator[Promise]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def make(self, by: str, to: str, item: str, amount: int, tick: int, due_tick: int) -> Promise | None:
        """Note a promise; None if the same is open already, or there are too many."""
        if self.between(by, to, item) is not None:
            return None
        if not MAX_PROMISES.allows(len(self._all) + 1):
            settled = next((promise for promise in self._all if promise.state is not PromiseState.OPEN), None)
            if settled is None:
                return None
            self._all.remove(settled)
        made = Promise(by, to, item, amount, tick, due_tick)
        self._all.append(made)
        self.changes += 1
        return made

    def restore(self, promises: Iterable[Promise]) -> None:
        """Take over what was kept. Raises `TypeError` or `ValueError` for malformed values, and takes nothing then."""
        kept = list(promises)
        for one in kept:
            numbers = one.amount, one.made_tick, one.due_tick, one.given
            if not all(type(text) is str for text in (one.by, one.to, one.item)):
                raise TypeError("a promise is of one person to another")
            if not all(type(number) is int and 0 <= number < 2**63 for number in numbers):
                raise ValueError("the numbers of a promise are out of bounds")
        if not MAX_PROMISES.allows(len(kept)):
            raise ValueError("too many promises")
        self._all = kept
        self.changes += 1

    def between(self, by: str, to: str, item: str = "") -> Promise | None:
        """Return an open promise of one to another, of an item or of any."""
        return next(
            (promise for promise in self.open() if (promise.by, promise.to) == (by, to) and item in ("", promise.item)),
            None,
        )

    def open(self) -> Iterator[Promise]:
        """Iterate over the open promises, the oldest first."""
        return (promise for promise in self._all if promise.state is PromiseState.OPEN)

    def give(self, by: str, to: str, item: str, amount: int) -> Promise | None:
        """Note that items were given; return the promise that is kept by it, if one is."""
        promise = self.between(by, to, item)
        if promise is None:
            return None
        promise.given += amount
        if promise.given < promise.amount:
            return None
        promise.state = PromiseState.KEPT
        self.changes += 1
        return promise

    def pass_time(self, tick: int) -> list[Promise]:
        """Return the promises that are broken now, because their time is over."""
        broken = [one for one in self.open() if tick > one.due_tick]
        for promise in broken:
            promise.state = PromiseState.BROKEN
            self.changes += 1
        return broken

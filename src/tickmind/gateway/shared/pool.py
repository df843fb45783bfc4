"""Permits that were leased from the shared state: how many there are, from when, and when to ask for more."""

from collections import deque
from collections.abc import Callable

from tickmind.gateway.shared.script import PoolSpec

MAX_BATCH = 64  # permits, or requests' worth of tokens, that are asked for at once
AHEAD_S = 1.0  # how far ahead permits are reserved, or two permits' distance if that is more
LOOK_AGAIN_S = 0.002  # while an answer is on its way
OWED = 4  # the place of the debt in a question
_MIN_ASK_AGAIN_S = 0.005


class Lot:
    """Units that may be used between two times of the local monotonic clock."""

    __slots__ = ("amount", "until_s", "valid_s")

    def __init__(self, valid_s: float, until_s: float, amount: float) -> None:
        self.valid_s = valid_s
        self.until_s = until_s
        self.amount = amount


class Pool:
    """The stock of one limit's requests or tokens. `poke` is called when it should be refilled.

    It asks for one permit at first, for twice as many each time the stock runs dry, and for half as many when permits
    pass unused: a busy lane gets its batch before it runs dry, and an idle one wastes nothing.
    """

    __slots__ = (
        "_amount", "_asked", "_batch", "_not_before_s", "_poke", "_stock", "_total", "asking", "lost", "name", "owed", "spec",
    )  # fmt: skip

    def __init__(self, name: str, spec: PoolSpec, poke: Callable[["Pool"], None]) -> None:
        self.name = name
        self.spec = spec
        self.asking = False  # an answer is on its way
        self.owed = 0.0  # used beyond what was leased (or given back, if negative); told with the next question
        self.lost = 0.0  # leased and not used in time
        self._poke = poke
        self._stock: deque[Lot] = deque()  # in the order of their times
        self._total = 0.0
        self._batch = 1
        self._amount = 1.0  # what one request takes, as it was asked for last
        self._asked = 1.0  # what one permit of the question that is under way holds
        self._not_before_s = 0.0

    def earliest_s(self, now: float, amount: float) -> float:
        """When so much may be used; it asks for more if that is not known."""
        amount = min(amount, self.spec.most)
        self._expire(now)
        missing = amount
        for lot in self._stock:
            missing -= lot.amount
            if missing <= 1e-9:
                return max(now, lot.valid_s)
        self._amount = amount
        if not self.asking:
            if now < self._not_before_s:
                return self._not_before_s
            self._poke(self)
        return now + LOOK_AGAIN_S

    def take(self, now: float, amount: float) -> None:
        """It is used now."""
        amount = min(amount, self.spec.most)
        self._expire(now)
        while amount > 1e-9 and self._stock and self._stock[0].valid_s <= now:
            lot = self._stock[0]
            part = min(lot.amount, amount)
            lot.amount -= part
            self._total -= part
            amount -= part
            if lot.amount <= 1e-9:
                self._stock.popleft()
        if amount > 1e-9:
            self.owed += amount
        if not self.asking and self._batch > 1 and now >= self._not_before_s:
            if self._total < self._batch * self._amount / 2:
                self._poke(self)

    def correct(self, change: float) -> None:
        """What was used was more by this, or less."""
        self.owed += change

    def question(self) -> list[float]:
        """What to ask the script for; the debt is told with it."""
        spec = self.spec
        ahead_us = max(AHEAD_S * 1e6, 2 * self._amount * spec.unit_us)
        owed, self.owed = self.owed, 0.0
        self.asking = True
        self._asked = self._amount
        return [self._amount, self._batch, spec.unit_us, spec.tolerance_us, owed, ahead_us, *spec.arguments()]

    def granted(self, now: float, valid_s: list[float], again_s: float) -> None:
        """The answer: when each permit is valid, or when to ask again."""
        dry = self._total < self._amount
        self.asking = False
        for at_s in valid_s:
            self._stock.append(Lot(at_s, at_s + self.spec.lease_s, self._asked))
            self._total += self._asked
        if not valid_s:
            self._not_before_s = max(again_s - AHEAD_S / 2, now + _MIN_ASK_AGAIN_S)
        elif len(valid_s) < self._batch:
            self._batch = max(1, len(valid_s))
        elif dry and valid_s[-1] - now < AHEAD_S / 4:
            self._batch = min(MAX_BATCH, self._batch * 2)

    def failed(self, owed: float) -> None:
        """No answer came; the debt stays."""
        self.asking = False
        self.owed += owed

    def clear(self) -> None:
        """Forget the stock: it is not known any more whether it holds."""
        self._stock.clear()
        self._total = 0.0
        self._batch = 1
        self._not_before_s = 0.0

    def _expire(self, now: float) -> None:
        stock = self._stock
        while stock and stock[0].until_s <= now:
            lot = stock.popleft()
            self._total -= lot.amount
            self.lost += lot.amount
            self._batch = max(1, self._batch // 2)

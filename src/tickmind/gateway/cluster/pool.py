"""Pools of permits leased from the shared state: how many there are, from when, and when to lease more."""

from collections import deque
from collections.abc import Callable

from tickmind.gateway.cluster.script import PoolSpec

MAX_BATCH = 64  # permits, or requests' worth of tokens, that are leased at once
BATCH_S = 0.1  # a batch lasts no longer than this at the limit's rate, so that no gateway takes all
AHEAD_S = 1.0  # how far ahead permits are reserved, or two permits' distance if that is more
HAND_BACK_S = 0.25  # permits valid later than this are returned when units are freed, and leased anew
LOOK_AGAIN_S = 0.002  # while a lease is pending
MAX_TAKEN = 4096  # remembered times of use, each with the time of its lease
MAX_REFUNDS = 128  # refunds that are remembered; further ones are lost, which is safe
MAX_ABSENT_S = 3.0  # of the limit that is charged at once for gateways that are cut off
_MIN_ASK_AGAIN_S = 0.005


class Lot:
    """Units that are valid between two times of the local monotonic clock."""

    __slots__ = ("amount", "until_s", "valid_s")

    def __init__(self, valid_s: float, until_s: float, amount: float) -> None:
        self.valid_s = valid_s
        self.until_s = until_s
        self.amount = amount


class Pool:
    """The stock of one limit's requests or tokens. It calls `poke` when it should be refilled.

    It leases one permit at first, twice as many each time the stock runs dry, and half as many when permits expire
    unused: a busy lane gets its batch before it runs dry, and an idle lane wastes nothing.
    """

    __slots__ = (
        "_absent",
        "_amount",
        "_asked",
        "_batch",
        "_freed",
        "_handed_back",
        "_next_s",
        "_not_before_s",
        "_poke",
        "_refunds",
        "_stock",
        "_taken",
        "_total",
        "asking",
        "lost",
        "name",
        "owed",
        "spec",
    )

    def __init__(self, name: str, spec: PoolSpec, poke: Callable[["Pool"], None]) -> None:
        self.name = name
        self.spec = spec
        self.asking = False  # a lease is pending
        self.owed = 0.0  # used beyond what was leased; sent with the next lease
        self.lost = 0.0  # leased and not used in time
        self._absent = 0.0  # what gateways that are cut off may have used lately; sent with the next lease
        self._poke = poke
        self._stock: deque[Lot] = deque()  # in the order of their times
        self._taken: dict[float, float] = {}  # time of use -> time for which the first of it was leased
        # Number of the lease's length since the start -> earliest time of a lease in it, leased and not needed
        self._refunds: dict[int, tuple[float, float]] = {}
        self._freed = False  # units were freed since the last lease
        self._handed_back: list[Lot] = []  # valid later than needed; returned with the next lease
        self._total = 0.0
        self._batch = 1
        self._amount = 1.0  # what one request takes, as of the last call
        self._asked = 1.0  # units per permit of the pending lease
        self._not_before_s = 0.0
        self._next_s = 0.0  # when the next permit after the last one can be valid, if no other gateway takes it

    def earliest_s(self, now: float, amount: float) -> float:
        """Return when so much may be used; asks for a lease if that is unknown."""
        amount = min(amount, self.spec.most)
        at_s = self._stocked_s(now, amount)
        if at_s is not None:
            if at_s <= now + HAND_BACK_S or not self._freed or self.asking:
                return at_s
            self._hand_back(now)
        self._amount = amount
        if not self.asking:
            if now < self._not_before_s:
                return self._not_before_s
            self._poke(self)
        return now + LOOK_AGAIN_S

    def look_s(self, now: float, amount: float) -> float:
        """Return when so much could be used at the earliest; never asks for a lease."""
        at_s = self._stocked_s(now, min(amount, self.spec.most))
        if at_s is not None:
            return at_s
        return now + LOOK_AGAIN_S if self.asking else max(now, self._not_before_s, self._next_s)

    def take(self, now: float, amount: float) -> None:
        """Use an amount now; what exceeds the stock is a debt."""
        self.owed += max(0.0, amount - self.spec.most)
        amount = min(amount, self.spec.most)
        self._expire(now)
        if self.spec.back_us and self._stock and now not in self._taken:
            self._taken[now] = self._stock[0].valid_s
            if len(self._taken) > MAX_TAKEN:
                del self._taken[next(iter(self._taken))]
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
        low = self._batch > 1 and self._total < self._batch * self._amount / 2
        if low and not self.asking and now >= self._not_before_s:
            self._poke(self)

    def correct(self, taken_s: float, change: float) -> None:
        """Correct the amount that was used at a time by `change`."""
        if change > 0:
            self.owed += change
            return
        lease_s = self.spec.lease_s  # a permit is counted at its time and used up to a lease later
        self._refund(self._taken.get(taken_s, (int(taken_s / lease_s) - 1) * lease_s), -change)
        self._freed = True
        self._not_before_s = 0.0

    def charge_absent(self, seconds: float) -> None:
        """Charge what gateways that are cut off may use in so many seconds of the whole limit.

        A pool that leases nothing forgets what is older than some seconds: the limit has room for it by then.
        """
        if self.spec.unit_us:
            most = MAX_ABSENT_S * 1e6 / self.spec.unit_us
            self._absent = min(self._absent + seconds * 1e6 / self.spec.unit_us, most)

    def question(self, now: float) -> list[float]:
        """Return the arguments of the next lease, with debts and refunds."""
        spec = self.spec
        ahead_us = max(AHEAD_S * 1e6, 2 * self._amount * spec.unit_us)
        owed, self.owed, self._absent = self.owed + self._absent, 0.0, 0.0
        refunds, self._refunds = self._refunds, {}
        handed_back, self._handed_back = self._handed_back, []
        self.asking = True
        self._freed = False
        self._asked = self._amount
        question = [self._amount, self._batch, spec.unit_us, spec.tolerance_us, owed, ahead_us]
        question += [spec.back_us, *spec.arguments()]
        for counted_s, amount in refunds.values():
            question += [(now - counted_s) * 1e6, amount]
        for lot in handed_back:
            question += [(now - lot.valid_s) * 1e6, lot.amount]
        return question

    def granted(self, now: float, valid_s: list[float], again_s: float) -> None:
        """Add the leased permits, each with its time, or note when to ask again."""
        dry = self._total < self._amount
        self.asking = False
        for at_s in valid_s:
            self._stock.append(Lot(at_s, at_s + self.spec.lease_s, self._asked))
            self._total += self._asked
            self._next_s = at_s + (self._asked * self.spec.unit_us - self.spec.tolerance_us) / 1e6
        if not valid_s:
            self._not_before_s = max(again_s - AHEAD_S / 2, now + _MIN_ASK_AGAIN_S)
        elif len(valid_s) < self._batch:
            self._batch = len(valid_s)
        elif dry:
            each_us = self._asked * self.spec.unit_us
            most = min(MAX_BATCH, int(BATCH_S * 1e6 / each_us)) if each_us else MAX_BATCH
            self._batch = max(1, min(most, self._batch * 2))

    def failed(self) -> None:
        """Note that no answer came; debts and refunds sent with it are lost along with the state."""
        self.asking = False

    def clear(self) -> None:
        """Drop the stock: its leases may not hold any more."""
        self._stock.clear()
        self._absent = 0.0
        self._refunds.clear()
        self._handed_back.clear()
        self._taken.clear()
        self._freed = False
        self._total = 0.0
        self._batch = 1
        self._not_before_s = self._next_s = 0.0

    def _stocked_s(self, now: float, amount: float) -> float | None:
        """Return from when on the stock suffices; None if it does not."""
        self._expire(now)
        for lot in self._stock:
            amount -= lot.amount
            if amount <= 1e-9:
                return max(now, lot.valid_s)
        return None

    def _expire(self, now: float) -> None:
        stock = self._stock
        while stock and stock[0].until_s <= now:
            lot = stock.popleft()
            self._total -= lot.amount
            self.lost += lot.amount
            self._batch = max(1, self._batch // 2)
            self._refund(lot.valid_s, lot.amount)

    def _refund(self, counted_s: float, amount: float) -> None:
        """Note units that were leased for a time and are to be returned."""
        at = int(counted_s / self.spec.lease_s)
        known_s, more = self._refunds.get(at, (counted_s, 0.0))
        self._refunds[at] = min(known_s, counted_s), more + amount
        if len(self._refunds) > MAX_REFUNDS:
            del self._refunds[min(self._refunds)]

    def _hand_back(self, now: float) -> None:
        """Return permits reserved for later, because earlier ones are available now."""
        while self._stock and self._stock[-1].valid_s > now + HAND_BACK_S:
            lot = self._stock.pop()
            self._total -= lot.amount
            self._handed_back.append(lot)
        self._next_s = 0.0

"""Whose turn it is: accounts of what owners and their sessions have used of a key, and turns by those accounts.

This is start-time fair queueing with credit. Each account has a tag, which moves on by cost over weight with every
request; the smallest tag goes next. A ledger's virtual time is the tag at which it serves. Who comes back from a pause
finds its old tag, but at most one `window_s` behind the virtual time: who used less than its share within the window
goes first, and nobody saves up for longer. Who is new starts at the virtual time, so new names gain nothing.

Owners share a key, and the sessions of an owner share what the owner gets, by the same rule.
"""

# ruff: noqa: PLR1730 - on the hot path a comparison is several times quicker than a call of max()

from heapq import heapify, heappop, heappush, heapreplace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tickmind.gateway.backlog import Backlog
    from tickmind.gateway.sessions import Session

MIN_WEIGHT = 1e-6
_PARTS = 4  # of the window, after each of which the virtual time is noted
_SWEEP = 64  # entries that need not be swept


class Share:
    """The virtual time of those who share something, now and a window ago."""

    __slots__ = ("_marks", "_next_s", "_part_s", "floor", "virtual")

    def __init__(self, window_s: float) -> None:
        self.virtual = 0.0
        self.floor = 0.0  # the virtual time a window ago: nobody's tag counts as less
        self._part_s = max(window_s, 1e-3) / _PARTS
        self._next_s = 0.0
        self._marks = (0.0,) * _PARTS  # oldest first

    def move(self, now: float) -> None:
        """Note the virtual time if it is time to."""
        if now < self._next_s:
            return
        parts = min(_PARTS, 1 + int((now - self._next_s) / self._part_s))
        self._marks = (*self._marks[parts:], *((self.virtual,) * parts))
        self.floor = self._marks[0]
        self._next_s = now + self._part_s


class OwnerAccount(Share):
    """What an owner used of a key, and the share that its sessions have in it."""

    __slots__ = ("name", "places", "sessions", "tag", "used_s")

    def __init__(self, name: str, tag: float, window_s: float) -> None:
        super().__init__(window_s)
        self.name = name
        self.tag = tag
        self.used_s = 0.0  # when it last took something
        self.sessions: dict[str, SessionAccount] = {}  # session id -> account
        self.places: list[Place] = []  # where it waits for its turn


class SessionAccount:
    """What a session used of its owner's share."""

    __slots__ = ("id", "owner", "places", "tag", "used_s")

    def __init__(self, session_id: str, owner: OwnerAccount, tag: float) -> None:
        self.id = session_id
        self.owner = owner
        self.tag = tag
        self.used_s = 0.0
        self.places: list[Place] = []


class Ledger(Share):
    """The accounts of one key. All queues and models that use the key are served by them."""

    __slots__ = ("_owners", "_sweep_at", "_window_s")

    def __init__(self, window_s: float) -> None:
        super().__init__(window_s)
        self._window_s = window_s
        self._owners: dict[str, OwnerAccount] = {}  # name -> account
        self._sweep_at = _SWEEP

    def __len__(self) -> int:
        return sum(len(owner.sessions) for owner in self._owners.values())

    def account(self, session: "Session") -> SessionAccount:
        """The session's account, made if it is new."""
        owner = self._owners.get(session.owner)
        if owner is None:
            owner = self._owners[session.owner] = OwnerAccount(session.owner, self.virtual, self._window_s)
        account = owner.sessions.get(session.id)
        if account is None:
            account = owner.sessions[session.id] = SessionAccount(session.id, owner, owner.virtual)
        return account

    def charge(self, account: SessionAccount, step: float, now: float) -> None:
        """The session's request goes out; `step` is its cost over the weight."""
        if now >= self._next_s:
            self.move(now)
            if len(self._owners) >= self._sweep_at:
                self._sweep(now)
        owner = account.owner
        if now >= owner._next_s:  # noqa: SLF001 - the base class's own field, on the hot path
            owner.move(now)
        tag = owner.tag
        if tag < self.floor:
            tag = self.floor
        if tag > self.virtual:
            self.virtual = tag
        owner.tag = tag + step
        owner.used_s = account.used_s = now
        tag = account.tag
        if tag < owner.floor:
            tag = owner.floor
        if tag > owner.virtual:
            owner.virtual = tag
        account.tag = tag + step

    def correct(self, account: SessionAccount, change: float) -> None:
        """What was charged was too little or, below zero, too much."""
        owner = account.owner
        owner.tag += change
        account.tag += change
        if change < 0:  # a higher tag is noticed when its turn comes; a lower one would be noticed too late
            for place in tuple(owner.places):  # moving one up may drop others
                place.turns.move_up(place)
            for inner in tuple(account.places):
                inner.turns.move_up(inner)

    def _sweep(self, now: float) -> None:
        """Forget accounts that were idle for so long that they have no credit left to lose."""
        before = now - 2 * self._window_s
        for name, owner in list(self._owners.items()):
            for session_id, account in list(owner.sessions.items()):
                if account.used_s < before and not account.places and account.tag <= owner.virtual:
                    del owner.sessions[session_id]
            if not owner.sessions and not owner.places and owner.tag <= self.virtual:
                del self._owners[name]
        self._sweep_at = 2 * len(self._owners) + _SWEEP


Account = OwnerAccount | SessionAccount


class Place:
    """Where an account waits at a lane: an owner with its sessions inside, or a session with its jobs."""

    __slots__ = ("account", "backlogs", "entry", "inner", "turns")

    def __init__(self, account: Account, turns: "Turns", inner: "Turns | None") -> None:
        self.account = account
        self.turns = turns
        self.inner = inner
        self.backlogs: list[Backlog] = []  # of a session: one for each chain
        self.entry: tuple[float, int, Place] = (account.tag, turns.next_number(), self)

    def first(self) -> "Backlog | None":
        """Who is next here, None if nobody waits any more."""
        if self.inner is not None:
            return self.inner.first()
        best = None
        for backlog in self.backlogs:
            if backlog.live and (best is None or backlog.first_key() < best.first_key()):
                best = backlog
        return best


class Turns:
    """A heap of places by their accounts' tags. Tags that grew are put right when they come up."""

    __slots__ = ("_heap", "_number", "_places", "_sweep_at")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Place]] = []
        self._places: dict[Account, Place] = {}
        self._number = 0
        self._sweep_at = _SWEEP

    def __len__(self) -> int:
        return len(self._heap)

    def next_number(self) -> int:
        """Ties go to who came first."""
        self._number += 1
        return self._number

    def place(self, account: Account, *, nested: bool) -> Place:
        """The account's place, made if it has none."""
        if len(self._heap) >= self._sweep_at:
            self._sweep()  # before the place is looked up: nobody waits there yet, so it would be swept away
        place = self._places.get(account)
        if place is None:
            place = Place(account, self, Turns() if nested else None)
            self._places[account] = place
            account.places.append(place)
            heappush(self._heap, place.entry)
        elif place.entry[0] > account.tag:
            place.entry = (account.tag, self.next_number(), place)
            heappush(self._heap, place.entry)
        return place

    def move_up(self, place: Place) -> None:
        """Its account's tag became smaller."""
        place.entry = (place.account.tag, self.next_number(), place)
        heappush(self._heap, place.entry)
        if len(self._heap) >= self._sweep_at:
            self._sweep()

    def first(self) -> "Backlog | None":
        """The jobs whose turn it is, or None if nobody waits."""
        heap = self._heap
        while heap:
            entry = heap[0]
            place = entry[2]
            if place.entry is not entry:
                heappop(heap)
                continue
            if place.account.tag > entry[0]:
                place.entry = (place.account.tag, self.next_number(), place)
                heapreplace(heap, place.entry)
                continue
            backlog = place.first()
            if backlog is not None:
                return backlog
            heappop(heap)
            self._drop(place)
        return None

    def first_tag(self) -> float:
        """The tag of who is first; only right after `first` found somebody."""
        return self._heap[0][0]

    def _drop(self, place: Place) -> None:
        del self._places[place.account]
        place.account.places.remove(place)

    def _sweep(self) -> None:
        """Forget who no longer waits, so that what is left behind stays bounded."""
        for place in list(self._places.values()):
            if place.first() is None:
                self._drop(place)
        self._heap = [place.entry for place in self._places.values()]
        heapify(self._heap)
        self._sweep_at = 2 * len(self._heap) + _SWEEP


class LaneTurns:
    """All that wait for one lane, owners first and their sessions within."""

    __slots__ = ("_ledger", "_owners")

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._owners = Turns()

    def __len__(self) -> int:
        return len(self._owners)

    def add(self, backlog: "Backlog") -> None:
        """These jobs wait here, too."""
        account = self._ledger.account(backlog.session)
        inner = self._owners.place(account.owner, nested=True).inner
        assert inner is not None, "an owner's place has its sessions inside"
        place = inner.place(account, nested=False)
        if backlog not in place.backlogs:
            place.backlogs = [*(other for other in place.backlogs if other.live), backlog]

    def first(self) -> "Backlog | None":
        """The jobs whose turn it is."""
        return self._owners.first()

    def first_tag(self) -> float:
        """The tag of the owner whose turn it is; only right after `first` found somebody."""
        return self._owners.first_tag()

"""Fair queueing: accounts of what owners and their sessions have used of a key, and turns by those accounts.

This is start-time fair queueing with credit. Each account has a tag, which grows by cost over weight with every
request; the smallest tag goes next. A ledger's virtual time is the highest tag that it has served. An account that
returns from a pause keeps its old tag, but is at most one credit behind the virtual time; the credit is the share of
one weight in all that was served within `window_s` or, where the key's rate is known, in all that could be. So an
account that used less than its share within the window goes first, and no account saves up for longer.

An owner that waits without a break for so long that it plainly asks for more than its share is said to press. The
others have some leeway before it: they may be ahead of it by that much and still go first, and only beyond that they
advance the virtual time. So an occasional burst goes before the backlog of a greedy owner, and is paid for later; a new
owner starts at the virtual time, with no credit but with the leeway. An owner that presses beside others that don't
has no part in the burst either (see `limits.rate_limiter`).

Owners share a key, and the sessions of an owner share what the owner gets, by the same rule: many sessions of one
owner get no more than one would.

Without callers' keys every session is its own owner, and a client may invent sessions. So those of one address are a
group, and groups take turns first: together they get what one address gets. Within a group all first requests of new
sessions are charged to one account, so that ever new names bring no more than one share.
"""

# ruff: noqa: FURB136, PLR1730 - on the hot path a comparison is several times quicker than a call of max()

import math
from collections.abc import Iterable
from heapq import heapify, heappop, heappush, heapreplace
from typing import Any

from tickmind.gateway.fairness.sessions import Session
from tickmind.gateway.queue.backlog import Backlog

MIN_WEIGHT = 1e-6
MAX_GROUPS = 256  # addresses with a group of their own at a key
_PARTS = 12  # of the window, after each of which the virtual time is noted
_SWEEP = 64  # entries that need not be swept
_FOUND = 4096  # sessions whose accounts are found without a search
_LEEWAY_PART = 0.05  # of the credit is the leeway, or
_LEEWAY = 2  # requests at least: where the rate is low, a part of the window would be less than one
_PRESSING = 50  # request times: an owner that waits for so long presses
_PRESSING_S = 1.0


class VirtualTime:
    """The virtual time of accounts that share something, and how far from it a tag may be."""

    __slots__ = ("_capacity", "_marks", "_part_s", "credit", "leeway", "modest", "next_s", "top", "total", "virtual")

    def __init__(self, window_s: float, *, capacity: float = 0.0) -> None:
        self.virtual = 0.0
        self.top = 0.0  # the highest tag
        self.total = 0.0  # cost of all that was served, ever
        self.credit = 0.0
        self.leeway = 0.0  # how far ahead of a pressing owner others may be and still go first
        self.modest = 0  # owners that used something within the window, or wait, and don't press
        self.next_s = 0.0  # when to call `move` again
        self._capacity = capacity  # cost of all that can be served within the window, 0 if that is not known
        self._part_s = max(window_s, 1e-3) / _PARTS
        self._marks = (0.0,) * (_PARTS + 1)  # the total at the last ends of parts of the window, oldest first

    def move(self, now: float, accounts: "Iterable[OwnerAccount | SessionAccount]") -> None:
        """Recompute the credit, if it is time to."""
        parts = min(_PARTS + 1, 1 + int((now - self.next_s) / self._part_s))
        self._marks = (*self._marks[parts:], *((self.total,) * parts))
        self.next_s = now + self._part_s
        since_s = now - _PARTS * self._part_s
        active = [account for account in accounts if account.used_s >= since_s or account.places]
        self.modest = sum(not account.pressing for account in active)
        weights = sum(account.weight for account in active)
        self.credit = max(self.total - self._marks[0], self._capacity) / weights if weights else 0.0

    def gives_way(self, account: "OwnerAccount | SessionAccount") -> bool:
        """Whether an account presses, and has no significant credit."""
        return account.pressing and account.tag > self.virtual - self.leeway


class OwnerAccount(VirtualTime):
    """What an owner used of a key, and its sessions' shares; `is_new`: it used nothing yet, and has no key."""

    __slots__ = ("is_new", "ledger", "name", "places", "pressing", "sessions", "since_s", "tag", "used_s", "weight")

    def __init__(self, name: str, tag: float, window_s: float, ledger: "Ledger", *, is_new: bool) -> None:
        super().__init__(window_s)
        self.name = name
        self.ledger = ledger
        self.is_new = is_new
        self.tag = tag
        self.since_s = math.inf  # since when it has been waiting without a break
        self.pressing = False
        self.used_s = 0.0  # when it last took something
        self.weight = 1.0
        self.sessions: dict[str, SessionAccount] = {}  # session id -> account
        self.places: list[QueuePlace] = []  # where it waits for its turn


class SessionAccount:
    """What a session used of its owner's share."""

    __slots__ = ("gone", "id", "owner", "places", "pressing", "tag", "used_s", "weight")

    def __init__(self, session_id: str, owner: OwnerAccount, tag: float) -> None:
        self.id = session_id
        self.gone = False  # removed from its owner's accounts
        self.owner = owner
        self.tag = tag
        self.pressing = False  # there is no leeway among the sessions of an owner
        self.used_s = 0.0
        self.weight = 1.0
        self.places: list[QueuePlace] = []


class Ledger(VirtualTime):
    """The accounts of one key. All queues and models that use the key are served by them.

    It holds the first group, mostly the only one; further groups have ledgers of their own in it.
    """

    __slots__ = (
        "_accounts", "_group_virtual", "_groups", "_new_tag", "_owners", "_sweep_at", "_window_s", "group_tag",
        "is_grouped",
    )  # fmt: skip

    def __init__(self, window_s: float, *, capacity: float = 0.0) -> None:
        super().__init__(window_s, capacity=capacity)
        self._window_s = window_s
        self._owners: dict[str, OwnerAccount] = {}  # name -> account
        self._accounts: dict[Session, SessionAccount] = {}  # those found last, of all groups
        self._sweep_at = _SWEEP
        self._new_tag = 0.0  # of the account of all new sessions without a key
        self._groups: dict[str, Ledger] = {}  # group -> its ledger
        self._group_virtual = 0.0  # the highest tag of a group that was served
        self.group_tag = 0.0  # what the whole group used
        self.is_grouped = False  # there are groups that take turns

    def account(self, session: Session) -> SessionAccount:
        """Return the session's account, made if it is new."""
        account = self._accounts.get(session)
        if account is None or account.gone:
            if len(self._accounts) >= _FOUND:
                self._accounts.clear()
            ledger = self._groups.get(session.group) or self._new_group(session.group)
            owner = ledger._owners.get(session.owner)  # noqa: SLF001 - its own kind
            account = None if owner is None else owner.sessions.get(session.id)
            account = self._accounts[session] = account or ledger._new_account(session)  # noqa: SLF001 - its own kind
        return account

    def _new_group(self, group: str) -> "Ledger":
        if len(self._groups) >= MAX_GROUPS:
            group = next(reversed(self._groups))  # groups beyond the limit share one
            return self._groups[group]
        made = self if not self._groups else Ledger(self._window_s, capacity=self._capacity)
        if len(self._groups) == 1:
            self.group_tag = self._group_virtual  # what it used alone, it took from no other group
        made.group_tag = self._group_virtual
        self._groups[group] = made
        self.is_grouped = len(self._groups) > 1
        return made

    def _new_account(self, session: Session) -> SessionAccount:
        owner = self._owners.get(session.owner)
        if owner is None:
            is_new = bool(session.group)
            tag = max(self.virtual, self._new_tag) if is_new else self.virtual
            owner = self._owners[session.owner] = OwnerAccount(session.owner, tag, self._window_s, self, is_new=is_new)
        account = owner.sessions[session.id] = SessionAccount(session.id, owner, owner.virtual)
        return account

    def charge(self, account: SessionAccount, cost: float, weight: float, now: float) -> None:
        """Charge a request that is sent. The weight is the owner's and, among its sessions, the session's."""
        owner = account.owner
        ledger = owner.ledger
        if self.is_grouped:
            start = max(ledger.group_tag, self._group_virtual)
            ledger.group_tag = start + cost
            self._group_virtual = start
        if ledger is not self:
            ledger.charge(account, cost, weight, now)
            return
        step = cost / weight
        if owner.is_new:
            owner.is_new = False
            self._new_tag = max(self._new_tag, self.virtual) + step
        if now >= self.next_s:
            if len(self._owners) >= self._sweep_at:
                self._sweep(now, account)
            self.move(now, self._owners.values())
            self.leeway = max(self.credit * _LEEWAY_PART, _LEEWAY * step)
        if now >= owner.next_s:
            owner.move(now, owner.sessions.values())
        owner.weight = account.weight = weight
        owner.used_s = account.used_s = now
        self.total += cost
        owner.total += cost
        tag, virtual = owner.tag, self.virtual
        least = virtual - self.credit
        if tag < least:
            tag = least
        start = tag if owner.pressing else tag - self.leeway
        if start > virtual:
            self.virtual = start
        tag += step
        owner.tag = tag
        if tag > self.top:
            self.top = tag
        tag, virtual = account.tag, owner.virtual
        least = virtual - owner.credit
        if tag < least:
            tag = least
        if tag > virtual:
            owner.virtual = tag
        tag += step
        account.tag = tag
        if tag > owner.top:
            owner.top = tag

    def lead(self, owner: str, other: str) -> float:
        """Return by how much more one owner has used than another, each by its weight; a new owner has used nothing."""
        ours, theirs = self._owners.get(owner), self._owners.get(other)
        if ours is None:
            return -math.inf
        return ours.tag - max(theirs.tag if theirs is not None else -math.inf, self.virtual - self.credit)

    def presses(self, owner: OwnerAccount, now: float, request_s: float) -> bool:
        """Whether an owner presses, where a request takes `request_s`."""
        return now - owner.since_s >= max(_PRESSING_S, _PRESSING * request_s)

    def idle(self) -> None:
        """Level all accounts: no job waits and there is room, so no account was kept from its share."""
        self.virtual = self.top
        if self.is_grouped:
            for ledger in self._groups.values():
                ledger.virtual = ledger.top
                ledger.group_tag = self._group_virtual

    def correct(self, account: SessionAccount, cost: float) -> None:
        """Correct a charge that was too low by this or, below zero, too high."""
        owner = account.owner
        change = cost / account.weight
        owner.ledger.group_tag += cost
        owner.tag += change
        account.tag += change
        # A higher tag is noticed when its turn comes; a lower one would be noticed too late.
        if change < 0 and owner.places:
            for place in tuple(owner.places):  # moving one up may drop others
                place.turns.move_up(place)
            for inner in tuple(account.places):
                inner.turns.move_up(inner)

    def _sweep(self, now: float, charged: SessionAccount) -> None:
        """Remove accounts that were idle for so long that they have no credit left to lose.

        The account that is being `charged` stays: its new charge would be lost with it.
        """
        before = now - 2 * self._window_s
        for name, owner in list(self._owners.items()):
            for session_id, account in list(owner.sessions.items()):
                idle = account.used_s < before and not account.places and account is not charged
                if idle and account.tag <= owner.virtual:
                    del owner.sessions[session_id]
                    account.gone = True
            if not owner.sessions and not owner.places and owner.tag <= self.virtual:
                del self._owners[name]
        self._sweep_at = 2 * len(self._owners) + _SWEEP


Account = OwnerAccount | SessionAccount
Entry = tuple[float, int, "QueuePlace"]  # tag, order of arrival, place


class QueuePlace:
    """Where an account waits at a lane: an owner with its sessions inside, or a session with its jobs."""

    __slots__ = ("account", "backlogs", "entry", "entry_tag", "inner", "turns")

    def __init__(self, account: Account, turns: "TurnHeap", inner: "TurnHeap | None") -> None:
        self.account = account
        self.turns = turns
        self.inner = inner
        self.backlogs: list[Backlog[Any]] = []  # of a session: one for each chain
        self.entry_tag = account.tag  # when it was entered
        self.entry = turns.entry(self)

    def first(self) -> Backlog[Any] | None:
        """Return the backlog that is next here, None if no job waits any more."""
        if self.inner is not None:
            return self.inner.first()
        best = None
        for backlog in self.backlogs:
            if backlog.live and (best is None or backlog.first_key() < best.first_key()):
                best = backlog
        return best


class TurnHeap:
    """A heap of places by their accounts' tags. Tags that grew are corrected when they come up.

    All accounts behind the virtual time count as being at it, and take turns: each goes to the end after a request.
    """

    __slots__ = ("_heap", "_number", "_places", "_share", "_sweep_at")

    def __init__(self, share: VirtualTime) -> None:
        self._share = share
        self._heap: list[Entry] = []
        self._places: dict[Account, QueuePlace] = {}
        self._number = 0
        self._sweep_at = _SWEEP

    def __len__(self) -> int:
        return len(self._heap)

    def entry(self, place: QueuePlace) -> "Entry":
        """Return the entry of a place for its current tag."""
        self._number += 1  # ties go to the first arrival
        account, virtual = place.account, self._share.virtual
        tag = place.entry_tag = account.tag
        key = tag if tag > virtual else virtual
        if self._share.gives_way(account):
            key += self._share.leeway
        return (key, self._number, place)

    def place(self, account: Account) -> QueuePlace:
        """Return the account's place, made if it has none."""
        if len(self._heap) >= self._sweep_at:
            self._sweep()  # before the lookup: a new place has no jobs yet, so it would be swept away
        place = self._places.get(account)
        if place is None:
            place = QueuePlace(account, self, TurnHeap(account) if isinstance(account, OwnerAccount) else None)
            self._places[account] = place
            account.places.append(place)
            heappush(self._heap, place.entry)
        return place

    def move_up(self, place: QueuePlace) -> None:
        """Reorder a place whose account's tag became smaller, or counts differently."""
        if len(self._heap) >= self._sweep_at:
            self._sweep()
        if place.account in self._places:
            place.entry = self.entry(place)
            heappush(self._heap, place.entry)

    def first(self) -> Backlog[Any] | None:
        """Return the backlog whose turn it is, or None if no job waits."""
        heap = self._heap
        while heap:
            entry = heap[0]
            place = entry[2]
            if place.entry is not entry:
                heappop(heap)
                continue
            if place.account.tag > place.entry_tag:
                place.entry = self.entry(place)
                heapreplace(heap, place.entry)
                continue
            backlog = place.first()
            if backlog is not None:
                return backlog
            heappop(heap)
            self._drop(place)
        return None

    def first_place(self) -> QueuePlace:
        """Return the first place; only right after `first` returned a backlog."""
        return self._heap[0][2]

    def _drop(self, place: QueuePlace) -> None:
        del self._places[place.account]
        place.account.places.remove(place)

    def _sweep(self) -> None:
        """Remove places without jobs, so that the heap stays bounded."""
        for place in list(self._places.values()):
            if place.first() is None:
                self._drop(place)
        self._heap = [place.entry for place in self._places.values()]
        heapify(self._heap)
        self._sweep_at = 2 * len(self._heap) + _SWEEP


class LaneTurns:
    """All jobs that wait for one lane: groups first, then owners, and their sessions within."""

    __slots__ = ("_groups", "_ledger", "_owners")

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._owners = TurnHeap(ledger)  # of the group whose turn it is
        self._groups: dict[Ledger, TurnHeap] = {ledger: self._owners}

    def __len__(self) -> int:
        return sum(map(len, self._groups.values()))

    def add(self, backlog: Backlog[Any], now: float) -> None:
        """Add a backlog that waits here as well."""
        account = self._ledger.account(backlog.session)
        owner = account.owner
        if all(place.first() is None for place in owner.places):
            owner.since_s = now
            owner.pressing = False
        turns = self._groups.get(owner.ledger)
        if turns is None:
            turns = self._groups[owner.ledger] = TurnHeap(owner.ledger)
        inner = turns.place(owner).inner
        assert inner is not None, "an owner's place has its sessions inside"
        place = inner.place(account)
        if backlog not in place.backlogs:
            place.backlogs = [*(other for other in place.backlogs if other.live), backlog]

    def first(self, now: float, request_s: float) -> Backlog[Any] | None:
        """Return the backlog whose turn it is; `request_s` is the time that the lane takes for a request."""
        if len(self._groups) == 1:
            return self._first_of(self._owners, now, request_s)
        for ledger in sorted(self._groups, key=lambda group: group.group_tag):
            self._owners = self._groups[ledger]
            backlog = self._first_of(self._owners, now, request_s)
            if backlog is not None:
                return backlog
        self._owners = self._groups[self._ledger]
        self._groups = {self._ledger: self._owners}
        return None

    def _first_of(self, turns: TurnHeap, now: float, request_s: float) -> Backlog[Any] | None:
        while (backlog := turns.first()) is not None:
            place = turns.first_place()
            owner = place.account
            assert isinstance(owner, OwnerAccount), "owners come first"
            if owner.pressing or not self._ledger.presses(owner, now, request_s):
                break
            owner.pressing = True
            turns.move_up(place)
        return backlog

    def first_tag(self) -> float:
        """Return the tag of the group or owner whose turn it is; only right after `first` returned a backlog."""
        place = self._owners.first_place()
        if not self._ledger.is_grouped:
            return place.entry[0]
        assert isinstance(place.account, OwnerAccount), "owners come first"
        return place.account.ledger.group_tag

    def is_first_giving_way(self) -> bool:
        """Whether the owner whose turn it is gives way to others that don't press.

        Call it only right after `first` returned a backlog.
        """
        account = self._owners.first_place().account
        assert isinstance(account, OwnerAccount), "owners come first"
        ledger = account.ledger
        return ledger.modest > 0 and ledger.gives_way(account)

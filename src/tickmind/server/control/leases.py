"""Leases: at most one controller per actor, for a short time, proved by a secret. A person may borrow an actor."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tickmind.base import Clock, Secret, secret_token
from tickmind.base.time_heap import TimeHeap
from tickmind.protocol import REASON_CODES, Lease, Reason
from tickmind.server.limits import LEASE_TTL_MS, MAX_EXPIRED_LEASES
from tickmind.wire.messages.frames import Closed

if TYPE_CHECKING:
    from tickmind.protocol.columns import Bool, Int32, Int64, UInt8

NO_GRANT = -1
EPOCH_BITS = 32  # an epoch is the incarnation, and in its low bits the number of the entity's lease since then
HELD = REASON_CODES[Reason.LEASE_HELD]


class Grant:
    """A lease inside the server, of one actor or of all actors of a host; only a hash of the secret is kept."""

    __slots__ = ("controller_id", "ended", "expires_s", "key", "number", "observed_tick", "plays", "rows", "single")

    def __init__(
        self,
        number: int,
        rows: "Int32",
        key: bytes,
        controller_id: str,
        expires_s: float,
        *,
        single: bool,
        plays: bool = False,
    ) -> None:
        self.number = number
        self.rows = rows  # all rows granted; some may be lost since
        self.key = key
        self.controller_id = controller_id
        self.expires_s = expires_s
        self.single = single
        self.plays = plays  # whether it is a person's, who borrows the actor from its agent
        self.ended = Reason.NONE  # why it ended
        self.observed_tick = 0  # the last tick whose observation was requested singly

    def __repr__(self) -> str:
        return f"Grant({self.number}, {self.controller_id!r}, ended={self.ended!r})"


@dataclass(frozen=True, slots=True, eq=False)
class BatchGrant:
    """The result of a host's request for many actors."""

    grant: Grant
    lease_id: Secret
    granted: "Int32"  # rows, ascending
    epoch: "Int64"
    refused: "Int32"  # rows, ascending
    refused_reason: "UInt8"

    def refusing(self, rows: "Int32", reason: Reason) -> "BatchGrant":
        """Return the result with some more refused actors."""
        if not len(rows):
            return self
        refused = np.concatenate((self.refused, rows))
        reasons = np.concatenate((self.refused_reason, np.full(len(rows), REASON_CODES[reason], dtype=np.uint8)))
        order = np.argsort(refused)
        return replace(self, refused=refused[order], refused_reason=reasons[order])


class Leases:
    """All leases of a world. Times are monotonic; `secrets` makes unguessable lease ids.

    `caller_name` says in whose name a lease is asked for or used now; it is worth nothing to callers of another name.

    `incarnation` counts the starts of the server: of two leases of an actor the newer has the greater epoch, also
    when the older was granted before a restart. `on_change` is called with rows whose control began or ended, and
    `on_lost` with the rows that a grant has lost and the reason.

    A person borrows an actor (`borrow`): the agent keeps its lease or gets one, and decides nothing (`suspended`) until
    the person's lease ends. `on_played` is called with rows that a person took or left.

        >>> from tickmind.base import ManualClock
        >>> clock = ManualClock()
        >>> leases = Leases(["actor:0"], clock=clock, ttl_ms=10_000)
        >>> grant, lease = leases.acquire(0, "bob")
        >>> leases.acquire(0, "ada").reason
        <Reason.LEASE_HELD: 'lease_held'>
        >>> clock.advance(10)
        >>> leases.check(lease.lease_id, 0)
        <Reason.EXPIRED_LEASE: 'expired_lease'>
    """

    def __init__(
        self,
        entity_ids: Sequence[str],
        *,
        clock: Clock,
        ttl_ms: int = LEASE_TTL_MS,
        secrets: Callable[[], str] = secret_token,
        caller_name: Callable[[], str] = lambda: "",
        incarnation: int = 1,
        on_change: "Callable[[Int32, bool], None]" = lambda _rows, _controlled: None,
        on_lost: "Callable[[Grant, Int32, Reason], None]" = lambda _grant, _rows, _reason: None,
        on_played: "Callable[[Int32, bool], None]" = lambda _rows, _played: None,
    ) -> None:
        count = len(entity_ids)
        self._entity_ids = entity_ids
        self._clock = clock
        self._ttl_ms = ttl_ms
        self._ttl_s = ttl_ms / 1000
        self._secrets = secrets
        self._caller_name = caller_name
        self._hash_key = secrets().encode()[:64]
        self._incarnation = incarnation
        self._on_change = on_change
        self._on_lost = on_lost
        self._on_played = on_played
        self._holder: Int64 = np.full(count, NO_GRANT, dtype=np.int64)  # actor row -> number of its grant
        self._player: Int64 = np.full(count, NO_GRANT, dtype=np.int64)  # actor row -> number of the person's grant
        self._epoch: Int64 = np.full(count, incarnation << EPOCH_BITS, dtype=np.int64)  # actor row -> its last epoch
        self._controlled: Bool = np.zeros(count, dtype=np.bool_)
        self._grants: dict[int, Grant] = {}  # number -> grant that is not over
        self._by_key: dict[bytes, Grant] = {}  # hash of the secret -> grant that is not over
        self._expired: dict[bytes, None] = {}  # hashes of recently expired secrets, oldest first
        self._due = TimeHeap[int](lambda _, number: number in self._grants)  # numbers of grants, by when to check each
        self._next_number = 0

    def __len__(self) -> int:
        return len(self._grants)

    @property
    def ttl_ms(self) -> int:
        """The lifetime of a lease after it was granted or renewed."""
        return self._ttl_ms

    @property
    def incarnation(self) -> int:
        """The number of this start of the server; a checkpoint keeps it."""
        return self._incarnation

    @property
    def controlled(self) -> "Bool":
        """Actor row -> whether its lease is held, as of the last `expire`. Read-only for callers."""
        return self._controlled

    @property
    def played(self) -> "Bool":
        """Actor row -> whether a person plays it, as of the last `expire`."""
        played: Bool = self._player != NO_GRANT
        return played

    def are_played(self, rows: "Int32") -> "Bool":
        """Return whether a person plays each of some actors, as `played` says of all."""
        played: Bool = self._player[rows] != NO_GRANT
        return played

    def expire(self) -> None:
        """End all leases whose time is over."""
        now_s = self._clock.monotonic()
        for number in self._due.due(now_s):
            grant = self._grants[number]
            if grant.expires_s <= now_s:
                self._end(grant, Reason.EXPIRED_LEASE)
            else:
                self._due.add(grant.expires_s, number)

    def acquire(self, row: int, controller_id: str, previous: Secret | None = None) -> tuple[Grant, Lease] | Closed:
        """Grant an actor without a controller, or grant it again to the client with the secret of the present lease."""
        self.expire()
        holder = self._grants.get(int(self._holder[row]))
        if holder is not None:
            if holder is not self._previous(previous, controller_id):
                return Closed(Reason.LEASE_HELD, self._left_ms(holder))
            self._lose(holder, np.array([row], dtype=np.int32), Reason.INVALID_LEASE)
        rows = np.array([row], dtype=np.int32)
        grant, secret = self._grant(rows, controller_id, single=True)
        self._give(grant, rows, new=holder is None)
        return grant, self._lease(secret, row, controller_id)

    def borrow(self, row: int, controller_id: str, previous: Secret | None = None) -> tuple[Grant, Lease] | Closed:
        """Grant an actor to a person, whether an agent holds it or not; one person has it at a time."""
        self.expire()
        player = self._grants.get(int(self._player[row]))
        rows = np.array([row], dtype=np.int32)
        if player is not None:
            if player is not self._previous(previous, controller_id, plays=True):
                return Closed(Reason.PLAYED, self._left_ms(player))
            self._player[row] = NO_GRANT
            self._forget(player, Reason.INVALID_LEASE)
            self._on_lost(player, rows, Reason.INVALID_LEASE)
        grant, secret = self._grant(rows, controller_id, single=True, plays=True)
        self._player[row] = grant.number
        self._epoch[row] += 1
        self._set_controlled(rows)
        if player is None:
            self._on_played(rows, True)
        return grant, self._lease(secret, row, controller_id)

    def acquire_many(self, rows: "Int32", controller_id: str, previous: Secret | None = None) -> BatchGrant | Closed:
        """Grant all of these actors that are free, under one secret. The previous lease ends as a whole."""
        self.expire()
        before = self._previous(previous, controller_id)
        holders = self._holder[rows]
        had = holders == before.number if before is not None else np.zeros(len(rows), dtype=np.bool_)
        good = (holders == NO_GRANT) | had
        if not good.any():
            longest_ms = max((self._left_ms(self._grants[number]) for number in set(holders.tolist())), default=0)
            return Closed(Reason.LEASE_HELD if len(rows) else Reason.UNKNOWN_ENTITY, longest_ms)
        if before is not None:
            self._retire(before, rows[had])
        grant, secret = self._grant(rows[good], controller_id, single=False)
        self._give(grant, rows[good & ~had], new=True)
        self._give(grant, rows[had], new=False)
        refused = rows[~good]
        return BatchGrant(
            grant, secret, rows[good], self._epoch[rows[good]], refused, np.full(len(refused), HELD, dtype=np.uint8)
        )

    def check(self, lease_id: Secret, row: int) -> Reason:
        """Return whether a secret is that of a lease of an actor now, as a reason."""
        grant = self._find(lease_id)
        if isinstance(grant, Reason):
            return grant
        holder = self._player if grant.plays else self._holder
        return Reason.NONE if holder[row] == grant.number else Reason.INVALID_LEASE

    def may_act(self, lease_id: Secret, row: int) -> Reason:
        """Return whether the holder of a secret decides what an actor does now, as a reason."""
        grant = self._find(lease_id)
        if isinstance(grant, Reason):
            return grant
        return self.check(lease_id, row) or self.suspended(grant, row)

    def suspended(self, grant: Grant, row: int) -> Reason:
        """Return `PLAYED` if a person decides what an agent's actor does now."""
        return Reason.PLAYED if not grant.plays and self._player[row] != NO_GRANT else Reason.NONE

    def renew(self, lease_id: Secret) -> Lease | Closed:
        """Renew the lease of one actor for its whole lifetime; an expired lease can't be renewed."""
        grant = self._find(lease_id)
        if isinstance(grant, Reason):
            return Closed(grant)
        if not grant.single:
            return Closed(Reason.INVALID_LEASE)  # a host's lease is renewed by the frames of its stream
        grant.expires_s = self._clock.monotonic() + self._ttl_s
        return self._lease(lease_id, int(grant.rows[0]), grant.controller_id)

    def renew_grant(self, grant: Grant) -> Reason:
        """Renew the lease of a control stream, which holds the grant itself."""
        now_s = self._clock.monotonic()
        if not grant.ended and grant.expires_s <= now_s:
            self._end(grant, Reason.EXPIRED_LEASE)
        if not grant.ended:
            grant.expires_s = now_s + self._ttl_s
        return grant.ended

    def holds(self, grant: Grant, rows: "Int32") -> "Bool":
        """Return which of these actors a grant controls; call it after `renew_grant`."""
        held: Bool = self._holder[rows] == grant.number
        return held

    def grant_of(self, lease_id: Secret) -> Grant | Reason:
        """Return the grant of a secret, or why there is none."""
        return self._find(lease_id)

    def release(self, lease_id: Secret) -> Reason:
        """Release a lease at once; return why that was not possible, if so."""
        grant = self._find(lease_id)
        if isinstance(grant, Reason):
            return grant
        self._end(grant, Reason.INVALID_LEASE)
        return Reason.NONE

    def release_grant(self, grant: Grant) -> None:
        """Release the lease of a control stream, which holds the grant itself."""
        if not grant.ended:
            self._end(grant, Reason.INVALID_LEASE)

    def take_back(self, rows: "Int32", reason: Reason) -> None:
        """Take actors from those that control them; a grant that has no actor left ends."""
        for number in self._player[rows][self._player[rows] != NO_GRANT].tolist():
            self._end(self._grants[number], reason)
        holders = self._holder[rows]
        for number in np.unique(holders[holders != NO_GRANT]).tolist():
            grant, lost = self._grants[number], rows[holders == number]
            self._holder[lost] = NO_GRANT
            self._set_controlled(lost)
            self._lose(grant, lost, reason)

    def _lease(self, secret: Secret, row: int, controller_id: str) -> Lease:
        return Lease(secret, self._entity_ids[row], controller_id, int(self._epoch[row]), self._ttl_ms)

    def _hash(self, secret: Secret) -> bytes:
        """Return the key of a lease, which is another one for each caller's name: a stolen secret finds no lease."""
        shown = f"{self._caller_name()}\0{secret.reveal()}"
        return hashlib.blake2b(shown.encode(), key=self._hash_key, digest_size=32).digest()

    def _find(self, lease_id: Secret) -> Grant | Reason:
        key = self._hash(lease_id)
        grant = self._by_key.get(key)
        if grant is None:
            return Reason.EXPIRED_LEASE if key in self._expired else Reason.INVALID_LEASE
        if grant.expires_s <= self._clock.monotonic():
            self._end(grant, Reason.EXPIRED_LEASE)
            return Reason.EXPIRED_LEASE
        return grant

    def _previous(self, previous: Secret | None, controller_id: str, *, plays: bool = False) -> Grant | None:
        """Return a controller's running lease, or a person's, if the secret is right."""
        grant = self._find(previous) if previous is not None else Reason.NONE
        if not isinstance(grant, Grant) or grant.controller_id != controller_id or grant.plays != plays:
            return None
        return grant

    def _left_ms(self, grant: Grant) -> int:
        return max(1, round((grant.expires_s - self._clock.monotonic()) * 1000))

    def _grant(self, rows: "Int32", controller_id: str, *, single: bool, plays: bool = False) -> tuple[Grant, Secret]:
        secret = Secret(self._secrets())
        expires_s = self._clock.monotonic() + self._ttl_s
        key = self._hash(secret)
        grant = Grant(self._next_number, rows, key, controller_id, expires_s, single=single, plays=plays)
        self._next_number += 1
        self._grants[grant.number] = self._by_key[grant.key] = grant
        self._due.add(expires_s, grant.number)
        return grant, secret

    def _give(self, grant: Grant, rows: "Int32", *, new: bool) -> None:
        self._holder[rows] = grant.number
        self._epoch[rows] += 1
        if new and len(rows):
            self._set_controlled(rows)

    def _set_controlled(self, rows: "Int32") -> None:
        """Note whose control has begun or ended; that of an actor that is played does not, whatever its agent does."""
        now = (self._holder[rows] != NO_GRANT) | (self._player[rows] != NO_GRANT)
        changed = self._controlled[rows] != now
        self._controlled[rows] = now
        for controlled in (True, False):
            some = rows[changed & (now == controlled)]
            if len(some):
                self._on_change(some, controlled)

    def _held(self, grant: Grant) -> "Int32":
        holder = self._player if grant.plays else self._holder
        held: Int32 = grant.rows[holder[grant.rows] == grant.number]
        return held

    def _lose(self, grant: Grant, rows: "Int32", reason: Reason) -> None:
        """Take rows from a grant."""
        self._holder[rows] = NO_GRANT
        if not len(self._held(grant)):
            self._forget(grant, reason)
        self._on_lost(grant, rows, reason)

    def _retire(self, grant: Grant, kept: "Int32") -> None:
        """End a grant whose rows go over to another one; rows outside `kept` become free."""
        rows = self._held(grant)
        given_up = rows[~np.isin(rows, kept)]
        self._holder[rows] = NO_GRANT
        self._forget(grant, Reason.INVALID_LEASE)
        self._set_controlled(given_up)
        self._on_lost(grant, rows, Reason.INVALID_LEASE)

    def _end(self, grant: Grant, reason: Reason) -> None:
        rows = self._held(grant)
        (self._player if grant.plays else self._holder)[rows] = NO_GRANT
        self._forget(grant, reason)
        self._set_controlled(rows)
        if grant.plays:
            self._on_played(rows, False)
        self._on_lost(grant, rows, reason)

    def _forget(self, grant: Grant, reason: Reason) -> None:
        grant.ended = reason
        del self._grants[grant.number], self._by_key[grant.key]
        if reason is Reason.EXPIRED_LEASE:
            self._expired[grant.key] = None
            if not MAX_EXPIRED_LEASES.allows(len(self._expired)):
                del self._expired[next(iter(self._expired))]

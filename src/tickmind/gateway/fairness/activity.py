"""Activity on one key: the sessions that used it within the session timeout or wait for it."""

from dataclasses import dataclass
from math import inf
from typing import Protocol

from tickmind.base.time_heap import TimeHeap

NEVER = -inf
_MANY_USES = 32  # of one session; from then on ended uses are removed


@dataclass(frozen=True, slots=True)
class Active:
    """How many sessions share a key now, of how many owners, and the sum of the owners' weights."""

    group: str
    sessions: int = 0
    owners: int = 0
    weight: float = 0.0


class Owner:
    """An owner on a key: one weight, which its sessions divide."""

    __slots__ = ("admitted_s", "crowd", "sessions", "weight")

    def __init__(self, weight: float, crowd: "_Crowd | None" = None) -> None:
        self.weight = weight
        self.crowd = crowd  # of its address
        self.sessions = 0
        self.admitted_s = NEVER  # when one of its sessions was last admitted


class _Crowd:
    """The owners of one address."""

    __slots__ = ("address", "owners", "weight")

    def __init__(self, address: str) -> None:
        self.address = address
        self.owners = 0
        self.weight = 0.0  # of all of them

    @property
    def mean(self) -> float:
        """What they weigh together."""
        return self.weight / self.owners if self.owners else 0.0


class KeyUse:
    """One session's use of one key. It ends after the session timeout without use, unless requests wait."""

    __slots__ = (
        "activity", "admitted_s", "asked_s", "gone", "label", "last_s", "owner", "owner_name", "published_s",
        "share_json", "share_json_rates", "share_json_version", "waiting",
    )  # fmt: skip

    def __init__(self, activity: "Activity", label: str, owner_name: str, owner: Owner, now_s: float) -> None:
        self.activity = activity  # that it belongs to
        self.label = label
        self.owner_name = owner_name
        self.owner = owner
        self.asked_s = now_s  # for the first time
        self.last_s = now_s
        self.admitted_s = NEVER
        self.waiting = 0
        self.gone = False
        self.published_s = NEVER  # when it was last published to other gateways
        self.share_json = b""  # the share as replies show it
        self.share_json_rates: object = None  # the rates for which it was made
        self.share_json_version = -1  # the version of the key's shares for which it was made


class ActiveSession(Protocol):
    """What an activity needs of a session."""

    label: str
    owner: str
    weight: float
    group: str
    uses: dict[str, KeyUse]


class Activity:
    """The uses of one key, with their number and weight kept up to date.

    Touching a use is one assignment; the heap is inspected when the oldest use may be over. Owners, not sessions,
    have weights, so that inventing sessions gains nothing where owners are known by their keys. Where they are not,
    all owners of one address together have the weight of one, the mean of theirs.
    """

    def __init__(self, group: str, timeout_s: float, max_uses: int) -> None:
        self.group = group
        self.admitted_s = NEVER  # when any session was last admitted
        self.shares = 0  # version: changes whenever any share does
        self.due_s = inf  # when to call `sweep` again
        self._timeout_s = timeout_s
        self._max_uses = max_uses
        self._uses: dict[str, KeyUse] = {}  # label of a session -> its use
        self._owners: dict[str, Owner] = {}
        self._crowds: dict[str, _Crowd] = {}  # address -> its owners
        self._weight = 0.0
        self._due = TimeHeap[KeyUse]()  # by when each is over

    def use(self, session: ActiveSession, now_s: float) -> KeyUse:
        """Return the use of a session, which is active from now on."""
        use = session.uses.get(self.group)
        if use is None or use.gone:
            if len(session.uses) >= _MANY_USES:
                over_s = now_s - self._timeout_s
                session.uses = {
                    group: known
                    for group, known in session.uses.items()
                    if not known.gone and (known.waiting or known.last_s > over_s)
                }
            use = session.uses[self.group] = self.join(
                session.label, session.owner, session.weight, now_s, session.group
            )
        use.last_s = now_s
        return use

    def join(self, label: str, owner_name: str, weight: float, now_s: float, address: str = "") -> KeyUse:
        """Return the use of that name, made if need be; sessions of other gateways join this way as well."""
        self.sweep(now_s)
        use = self._uses.get(label)
        if use is not None:
            return use
        if len(self._uses) >= self._max_uses:
            self._drop(self._due.pop()[1])
        owner = self._owners.get(owner_name)
        if owner is None:
            crowd = None
            if address:
                crowd = self._crowds.get(address)
                if crowd is None:
                    crowd = self._crowds[address] = _Crowd(address)
            owner = self._owners[owner_name] = Owner(0.0, crowd)
            self._weigh(owner, weight, owners=1)
        elif owner.weight != weight:
            self._weigh(owner, weight)
        owner.sessions += 1
        self.shares += 1
        use = self._uses[label] = KeyUse(self, label, owner_name, owner, now_s)
        self._due.add(now_s + self._timeout_s, use)
        self.due_s = self._due.first_s()
        return use

    def active(self, now_s: float) -> Active:
        """Return how many sessions are active, and their weight."""
        self.sweep(now_s)
        return Active(self.group, len(self._uses), len(self._owners), self._weight)

    def share(self, use: KeyUse) -> float:
        """Return the divisor of the key's rate for this session: 4 if it is one of four with equal weights."""
        return self.owner_share(use.owner) * use.owner.sessions

    def owner_share(self, owner: Owner) -> float:
        """Return the divisor of the key's rate for an owner with all its sessions."""
        share = self._weight / owner.weight
        return share if owner.crowd is None else share * owner.crowd.owners

    def share_with(self, session: ActiveSession) -> float:
        """Return the share that an inactive session would get."""
        owner = self._owners.get(session.owner)
        if owner is not None:
            return self.owner_share(owner) * (owner.sessions + 1)
        crowd = self._crowds.get(session.group)
        if crowd is None:
            return (self._weight + session.weight) / session.weight
        owners = crowd.owners + 1
        weight = self._weight - crowd.mean + (crowd.weight + session.weight) / owners
        return weight / session.weight * owners

    def __len__(self) -> int:
        return len(self._uses)

    def sweep(self, now_s: float) -> None:
        """Remove the uses that ended."""
        for use in self._due.due(now_s):
            over_s = (now_s if use.waiting else use.last_s) + self._timeout_s
            if over_s > now_s:
                self._due.add(over_s, use)
            else:
                self._drop(use)
        self.due_s = self._due.first_s()

    def uses(self) -> tuple[KeyUse, ...]:
        """Return all uses, for publishing."""
        return tuple(self._uses.values())

    def close(self) -> None:
        """Remove all uses; sessions that still hold one see `gone`."""
        for use in self._uses.values():
            use.gone = True
        self._uses.clear()
        self._owners.clear()
        self._crowds.clear()
        self._due.clear()
        self.due_s = inf
        self._weight = 0.0
        self.shares += 1

    def _drop(self, use: KeyUse) -> None:
        self.shares += 1
        use.gone = True
        del self._uses[use.label]
        owner = use.owner
        owner.sessions -= 1
        if not owner.sessions:
            del self._owners[use.owner_name]
            self._weigh(owner, 0.0, owners=-1)
            if not self._owners:
                self._weight = 0.0

    def _weigh(self, owner: Owner, weight: float, *, owners: int = 0) -> None:
        """Change the weight of an owner."""
        change = weight - owner.weight
        owner.weight = weight
        crowd = owner.crowd
        if crowd is None:
            self._weight += change
            return
        before = crowd.mean
        crowd.owners += owners
        crowd.weight += change
        self._weight += crowd.mean - before
        if not crowd.owners:
            del self._crowds[crowd.address]

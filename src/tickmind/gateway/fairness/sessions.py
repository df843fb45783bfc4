"""Sessions, which share the keys: they register by first use and end after a timeout."""

from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address

from tickmind.base import Clock, Limit
from tickmind.base.time_heap import TimeHeap
from tickmind.gateway.fairness.activity import Active, Activity, KeyUse
from tickmind.gateway.refusal import Code, Refusal, RefusedError
from tickmind.gateway.settings.config import SharingConfig
from tickmind.llm.gateway_contract import SESSION_IN_WORDS, is_session

MAX_GROUPS = Limit("keys with sessions of their own", 2048)
DEFAULT_SESSION = "default"  # of a caller that names no session
LOCAL = "this machine"  # the group of all local callers
_MAX_LOOKED_AT = 64  # busy sessions that are skipped when one must be evicted


@dataclass(slots=True, eq=False)
class Session:
    """One game or run. `owner` is the unit of fair sharing: the caller's name if callers have keys, else the session.

    `weight` is the owner's. `label` names the session in statistics: the id, after the caller's name if it has one.
    """

    id: str
    owner: str
    weight: float = 1.0
    connected_s: float = 0.0  # monotonic
    last_seen_s: float = 0.0
    caller: str = ""  # whose key it came with; empty without keys
    label: str = ""
    group: str = ""  # the address that it came from, without keys: all of its sessions get one share
    requests: int = 0  # admitted so far
    waiting: int = 0  # admitted and not finished
    uses: dict[str, KeyUse] = field(default_factory=dict, repr=False)  # group of a key -> how it uses it

    def __post_init__(self) -> None:
        if not self.label:
            self.label = f"{self.caller}/{self.id}" if self.caller else self.id


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session as listed."""

    id: str
    owner: str
    weight: float
    connected_for_s: float
    idle_s: float
    requests: int
    waiting: int
    groups: tuple[str, ...]  # the keys on which it is active
    label: str  # its name in statistics


class Sessions:
    """All live sessions: each is found by one lookup, and expired ones are removed when others arrive.

    The number is bounded: at the limit the session idle for longest is evicted, never one with waiting requests.
    Its use stays with the key's `Activity` until it expires, so leaving and coming back gains nothing.
    """

    def __init__(self, config: SharingConfig, clock: Clock) -> None:
        self._config = config
        self._timeout_s = config.session_timeout_s
        self._clock = clock
        self._sessions: dict[tuple[str, str], Session] = {}  # (caller, id) -> session
        self._due = TimeHeap[Session]()  # by when each is silent for too long
        self._activities: dict[str, Activity] = {}  # group -> activity, in the order of their making

    def __len__(self) -> int:
        self.sweep()
        return len(self._sessions)

    def get(
        self,
        session_id: str,
        caller: str = "",
        weight: float | None = None,
        peer: str = "",
        now_s: float | None = None,
    ) -> Session:
        """Return the session of a request, which is alive from now on; `now_s` if the caller knows the time.

        `caller` and `weight` are those of the caller's key. Without an id it is the caller's default session, or that
        of the `peer` address. Raises `RefusedError` for an invalid id, or if all sessions are busy.
        """
        if not session_id:
            session_id = DEFAULT_SESSION if caller or not peer else f"peer:{peer}".replace("%", "-")
        session = self._sessions.get((caller, session_id))
        if session is None:
            return self._register(session_id, caller, weight, "" if caller else group_of_peer(peer))
        session.last_seen_s = self._clock.monotonic() if now_s is None else now_s
        return session

    def activity(self, group: str) -> Activity:
        """Return who is active on a key, for the cooldown; made when first needed."""
        activity = self._activities.get(group)
        return activity if activity is not None else self._new_activity(group)

    def active(self, group: str) -> Active:
        """Return how many sessions are active on a key, and their weight: they used it lately or wait for it."""
        activity = self._activities.get(group)
        return activity.active(self._clock.monotonic()) if activity is not None else Active(group)

    def activities(self) -> tuple[Activity, ...]:
        """Return the activities of all keys, for sharing with other gateways."""
        return tuple(self._activities.values())

    def sweep(self) -> None:
        """Remove the expired sessions; it costs only what there is to remove."""
        now_s = self._clock.monotonic()
        for session in self._due.due(now_s):
            until_s = (now_s if session.waiting else session.last_seen_s) + self._timeout_s
            if until_s > now_s:
                self._due.add(until_s, session)
            else:
                del self._sessions[session.caller, session.id]

    def alive(self) -> tuple[Session, ...]:
        """Return all live sessions, oldest first; do not change them."""
        self.sweep()
        return tuple(self._sessions.values())

    def listing(self) -> tuple[SessionInfo, ...]:
        """List all live sessions, oldest first, with the keys on which they are active."""
        alive = self.alive()
        now_s = self._clock.monotonic()
        for activity in self._activities.values():
            activity.sweep(now_s)
        return tuple(
            SessionInfo(
                id=session.id,
                owner=session.owner,
                weight=session.weight,
                connected_for_s=now_s - session.connected_s,
                idle_s=0.0 if session.waiting else now_s - session.last_seen_s,
                requests=session.requests,
                waiting=session.waiting,
                groups=tuple(sorted(group for group, use in session.uses.items() if not use.gone)),
                label=session.label,
            )
            for session in alive
        )

    def _register(self, session_id: str, caller: str, weight: float | None, group: str) -> Session:
        check_session_id(session_id)
        self.sweep()
        if len(self._sessions) >= self._config.max_sessions:
            self._give_way()
        now_s = self._clock.monotonic()
        if weight is None:
            weight = self._config.weights.get(session_id, self._config.default_weight)
        session = Session(session_id, caller or session_id, weight, now_s, now_s, caller, group=group)
        self._sessions[caller, session_id] = session
        self._due.add(now_s + self._timeout_s, session)
        return session

    def _give_way(self) -> None:
        now_s = self._clock.monotonic()
        passed_over = 0
        while passed_over < min(_MAX_LOOKED_AT, len(self._due)):
            due_s, session = self._due.pop()
            until_s = session.last_seen_s + self._timeout_s
            if session.waiting:
                self._due.add(now_s + self._timeout_s, session)
                passed_over += 1
            elif until_s > due_s:
                self._due.add(until_s, session)
            else:
                del self._sessions[session.caller, session.id]
                return
        raise RefusedError(
            Refusal(
                Code.QUEUE_FULL,
                f"all {self._config.max_sessions:,} sessions are busy; retry later, or raise sharing.max_sessions",
                retry_after_s=1.0,
            )
        )

    def _new_activity(self, group: str) -> Activity:
        if not MAX_GROUPS.allows(len(self._activities) + 1):
            now_s = self._clock.monotonic()
            quiet = [name for name, known in self._activities.items() if not known.active(now_s).sessions]
            for name in quiet or [next(iter(self._activities))]:
                self._activities.pop(name).close()
        made = self._activities[group] = Activity(group, self._timeout_s, self._config.max_sessions)
        return made


def group_of_peer(peer: str) -> str:
    """Return the group for sessions of an address without keys; empty if the address is unknown.

    All addresses of this machine are one group, and so is an IPv6 /64 network, which one user may own.
    """
    try:
        address = ip_address(peer.partition("%")[0])
    except ValueError:
        return peer
    if address.is_loopback:
        return LOCAL
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return group_of_peer(str(address.ipv4_mapped))
        return str(IPv6Address(int(address) >> 64 << 64))
    return peer


def check_session_id(session_id: str) -> None:
    """Raise `RefusedError` for an invalid session id: too long, or with characters unfit for a log line."""
    if not is_session(session_id):
        raise RefusedError(Refusal(Code.BAD_REQUEST, f"a session id has {SESSION_IN_WORDS}; a UUID is a good one"))

"""Reservations: places for refused callers, each at its own time, so that they don't return together.

A request that can't be answered in time is refused at once, with the time of its turn. Those times are spaced as the
lanes get free. A caller that returns early keeps its time; a caller that is served gives it up. Owners
take turns: the first place of each comes before the second place of any other.
"""

import math
from typing import NamedTuple

from tickmind.gateway.fairness.sessions import Session

MAX_RESERVATIONS = 256  # in one queue; further callers get the time of the last place
MAX_UNNAMED = 32  # of one session whose callers name no agent
HASTY_S = 0.02  # how early a caller may be: clocks and networks are no more exact
LATE_PART = 0.5  # of the spacing: a caller later than this loses its place


class Reservation(NamedTuple):
    """When a caller is expected, monotonic, and which owner it belongs to."""

    at_s: float
    announced_s: float  # the time announced to the caller, at the latest
    owner: str
    weight: float
    since_s: float  # when it was expected first
    hasty: bool  # it came before the announced time

    @property
    def last_s(self) -> float:
        """The time until which its caller is waited for; `at_s` has passed where a caller may come at once."""
        return max(self.at_s, self.announced_s)

    def is_ignored(self, now: float) -> bool:
        """Whether its caller, which has come now, ignores the times that it is told."""
        return self.hasty or self.announced_s > now + HASTY_S


class Reservations:
    """The callers that are expected at one queue."""

    __slots__ = ("_number", "places")

    def __init__(self) -> None:
        # (session, agent, a number for callers without an agent) -> place; read by name, as each request asks for it
        self.places: dict[tuple[Session, str, int], Reservation] = {}
        self._number = 0

    def arrived(self, session: Session, agent: str, now: float, early_s: float) -> Reservation | None:
        """Give up the place of a caller that has come, and return it; None if it had none, or came too early for it.

        Agents of one session may use each other's places, as our client lets them: an agent that comes before its own
        time takes the place of another that is due, which gets its own instead. A caller without an agent's name takes
        the first place of its session.
        """
        if agent:
            return self._arrived_by_name((session, agent, 0), now + early_s)
        own = [(place.at_s, key) for key, place in self.places.items() if key[0] is session and not key[1]]
        if not own:
            return None
        at_s, key = min(own, key=lambda pair: pair[0])
        if at_s > now + early_s and len(own) < MAX_UNNAMED:
            return None
        return self.places.pop(key)

    def _arrived_by_name(self, key: tuple[Session, str, int], due_s: float) -> Reservation | None:
        places = self.places
        own = places.pop(key, None)
        if own is not None and (own.announced_s <= due_s or own.hasty):
            return own
        of_session = ((place.announced_s, other) for other, place in places.items() if other[0] is key[0] and other[1])
        announced_s, other = min(of_session, key=lambda pair: pair[0], default=(math.inf, key))
        if announced_s > due_s:
            return own
        taken = places.pop(other)
        if own is not None:
            places[other] = own
        return taken

    def expire(self, now: float, late_s: float) -> None:
        """Drop the places of callers that did not come."""
        before_s = now - late_s
        if any(place.last_s < before_s for place in self.places.values()):
            self.places = {key: place for key, place in self.places.items() if place.last_s >= before_s}

    def expected(self, now: float) -> int:
        """Return how many callers are still expected."""
        return sum(place.at_s >= now for place in self.places.values())

    def due(self, now: float, but: str, within_s: float) -> str | None:
        """Return an owner other than `but` whose caller is expected by then, None if there is none."""
        until_s = now + within_s
        return next(
            (place.owner for place in self.places.values() if place.at_s <= until_s and place.owner != but), None
        )

    def next_s(self, session: Session, free_s: float, spacing_s: float) -> float:
        """Return when the next caller of a session should come, if requests can start at `free_s` and so far apart."""
        own = sum(reserved.owner == session.owner for reserved in self.places.values())
        passed: dict[str, int] = {}  # owner -> how many of its places were passed
        next_s = free_s
        for at_s, _, owner, weight, *_ in sorted(self.places.values()):
            place = passed[owner] = passed.get(owner, 0) + 1
            if place * session.weight > (own + 1) * weight:
                continue
            if next_s + spacing_s <= at_s:  # there is a gap, e.g. after a caller that did not come
                break
            next_s = max(next_s, at_s) + spacing_s
        return next_s

    def before(self, place: Reservation) -> int:
        """Return how many got their place before a caller that came at its time and was not served."""
        return sum(other.since_s < place.since_s for other in self.places.values())

    def reserve(
        self, session: Session, agent: str, at_s: float, announced_s: float, kept: Reservation | None, *, hasty: bool
    ) -> None:
        """Expect a caller at a time; `kept` is the place that it had before."""
        if len(self.places) >= MAX_RESERVATIONS:
            return
        since_s = at_s if kept is None else min(kept.since_s, at_s)
        if agent:
            key = (session, agent, 0)
        else:
            self._number += 1
            key = (session, "", self._number)
        self.places[key] = Reservation(at_s, announced_s, session.owner, session.weight, since_s, hasty)

    def of(self, session: Session, agent: str) -> float | None:
        """Return the announced time of a caller; without an agent's name, that of the last caller of its session."""
        if agent:
            place = self.places.get((session, agent, 0))
            return None if place is None else place.announced_s
        return max(
            (place.announced_s for key, place in self.places.items() if key[0] is session and not key[1]),
            default=None,
        )

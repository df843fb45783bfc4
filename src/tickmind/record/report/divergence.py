"""`diverge`: from where on two runs of one world differ, and how far apart they are tick by tick."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tickmind.base import Limit
from tickmind.record.report.comparison import compare_runs

if TYPE_CHECKING:
    from tickmind.record.reader import RunReader

MOST_POINTS: Final = 400  # of the curve
MAX_ACTOR_TICKS = Limit("states of actors that are compared in each of two runs", 10_000_000)
MAX_TICKS = Limit("ticks that are compared in each of two runs", 20_000)


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where two runs differ first, in words, and the share of actors that stand elsewhere, over the ticks."""

    first_tick_id: int | None  # after which the states of the worlds differ; None if they never do
    state: str
    thought: str
    ticks: tuple[int, ...]  # of the curve: the last tick of each of its steps
    elsewhere: tuple[float, ...]  # share of the actors, the largest in each step
    until_tick_id: int | None = None  # the last one that was compared, if the runs are too long to compare whole


def diverge(first: "RunReader", second: "RunReader") -> Divergence:
    """Compare two runs, which must have the same actors: one of them branched off the other, or both off a third.

    The past that they share is not read again: a branch has proven it. Of what follows as much is compared as the
    limits allow, and the last compared tick is named.
    """
    shared = shared_ticks(first, second)
    begin, last = first.first_tick_id or 1, min(first.last_tick_id or 0, second.last_tick_id or 0)
    most = min(MAX_TICKS.maximum, MAX_ACTOR_TICKS.maximum // max(1, len(first.info.actors)))
    since, limit = shared + 1, max(begin - 1, shared) + max(1, int(most))
    until = min(last, limit)
    cut = until if until < last else None
    outcome = compare_runs(first, second, since, limit)
    if outcome.equal:
        return Divergence(None, "", "", (), (), cut)
    apart: dict[int, float] = {}  # tick -> share
    if outcome.first_tick_id is not None:
        since = outcome.first_tick_id
        for one, other in zip(first.records(since, until), second.records(since, until), strict=True):
            here, there = one.actor_state, other.actor_state
            elsewhere = (here.x != there.x) | (here.y != there.y)
            apart[one.tick_id] = float(elsewhere.mean()) if len(elsewhere) else 0.0
    ticks = range(begin, until + 1) if first.info.actors == second.info.actors else range(0)
    shares = [apart.get(tick_id, 0.0) for tick_id in ticks]
    first_tick_id, state, thought = outcome.first_tick_id, outcome.state_difference, outcome.thought_difference
    return Divergence(first_tick_id, state, thought, *_curve(ticks, shares), cut)


def shared_ticks(first: "RunReader", second: "RunReader") -> int:
    """Return the last tick of the past that two runs share because one branched off the other, or both off a third."""
    ours, theirs = first.meta.parent, second.meta.parent
    if ours is not None and ours.run_id == second.run_id:
        return ours.tick_id
    if theirs is not None and theirs.run_id == first.run_id:
        return theirs.tick_id
    if ours is not None and theirs is not None and ours.run_id == theirs.run_id:
        return min(ours.tick_id, theirs.tick_id)
    return 0


def _curve(ticks: range, shares: list[float]) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return at most so many points; a short difference is not lost among equal ticks."""
    step = -(-len(ticks) // MOST_POINTS) or 1
    parts = range(0, len(ticks), step)
    highest = tuple(round(float(np.max(shares[at : at + step])), 4) for at in parts)
    return tuple(ticks[min(at + step, len(ticks)) - 1] for at in parts), highest

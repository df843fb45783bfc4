"""`diverge`: from where on two runs of one world differ, and how far apart they are tick by tick."""

from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

import numpy as np

from tickmind.record.report.comparison import compare_runs

if TYPE_CHECKING:
    from tickmind.record.reader import RunReader

MOST_POINTS: Final = 400  # of the curve


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where two runs differ first, in words, and the share of actors that stand elsewhere, over the ticks."""

    first_tick_id: int | None  # after which the states of the worlds differ; None if they never do
    state: str
    thought: str
    ticks: tuple[int, ...]  # of the curve: the last tick of each of its steps
    elsewhere: tuple[float, ...]  # share of the actors, the largest in each step


def diverge(first: "RunReader", second: "RunReader") -> Divergence:
    """Compare two runs, which must have the same actors: one of them branched off the other, or both off a third."""
    outcome = compare_runs(first, second)
    if outcome.equal:
        return Divergence(None, "", "", (), ())
    ticks: list[int] = []
    shares: list[float] = []
    first_tick_id: int | None = None
    if first.info.actors == second.info.actors:
        for one, other in zip_longest(first.records(), second.records()):
            if one is None or other is None:
                break
            if first_tick_id is None and one.state_hash != other.state_hash:
                first_tick_id = one.tick_id
            here, there = one.actor_state, other.actor_state
            apart = (here.x != there.x) | (here.y != there.y)
            ticks.append(one.tick_id)
            shares.append(float(apart.mean()) if len(apart) else 0.0)
    return Divergence(first_tick_id, outcome.state_difference, outcome.thought_difference, *_curve(ticks, shares))


def _curve(ticks: list[int], shares: list[float]) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return at most so many points; a short difference is not lost among equal ticks."""
    step = -(-len(ticks) // MOST_POINTS) or 1
    parts = range(0, len(ticks), step)
    highest = tuple(round(float(np.max(shares[at : at + step])), 4) for at in parts)
    return tuple(ticks[min(at + step, len(ticks)) - 1] for at in parts), highest

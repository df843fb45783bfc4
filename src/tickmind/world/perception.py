"""Who sees what: computed when it is asked for, and only for those who ask."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tickmind.world.kernels import Placed, RowLists, Sight, SightRule, hearers, visible_pairs
from tickmind.world.kernels.sight import SIGHT_CACHE
from tickmind.world.rules import Rules

if TYPE_CHECKING:
    from tickmind.protocol.columns import Bool, Int32, Int64, UInt64

_NO_CACHE = SIGHT_CACHE.at(0)


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """What some observers see: a mask of tiles each, and the rows of other actors in sight."""

    rows: "Int32"  # of the observers, ascending
    mask: "UInt64"  # observers x words
    actors: RowLists

    def take(self, rows: "Int32") -> "Seen":
        """The part of some of the observers, in the order that they are given in."""
        places = np.searchsorted(self.rows, rows)
        return Seen(rows, self.mask[places], take_lists(self.actors, places))


class Eyes:
    """What looking at the present map needs: it remembers masks from tick to tick and is told of each change."""

    def __init__(self, rules: Rules, opaque: "Bool", occupancy: "Int32") -> None:
        self._hearing_radius = rules.hearing_radius
        self._opaque = opaque
        self._sight = Sight(opaque, radius=rules.sight_radius, rule=SightRule(rules.sight_rule))
        self._actors = Placed(occupancy)

    def adapt(self, opaque: "Bool") -> None:
        """Take over a new map of what blocks sight, if it is a new one."""
        if opaque is self._opaque:
            return
        for y, x in np.argwhere(opaque != self._opaque).tolist():
            self._sight.set_opaque(x, y, opaque=bool(opaque[y, x]))
        self._opaque = opaque

    def look(self, rows: "Int32", x: "Int32", y: "Int32") -> Seen:
        """What these observers see, when all actors stand at x, y."""
        self._actors.update(x, y)
        return _look(rows, x, y, self._sight, self._actors)

    def listen(self, speakers: "Int32", x: "Int32", y: "Int32") -> RowLists:
        """Who hears each of these actors, when all stand at x, y."""
        self._actors.update(x, y)
        return hearers(x, y, speakers, self._hearing_radius, self._actors)


class Perception:
    """Sight at one moment. Positions and opacity are those of that moment and must not be written to afterwards."""

    def __init__(self, rules: Rules, x: "Int32", y: "Int32", opaque: "Bool", eyes: Eyes | None = None) -> None:
        self.x = x
        self.y = y
        self.opaque = opaque
        self._rules = rules
        self._eyes = eyes
        self._seen: Seen | None = None  # by those who have asked so far

    def pass_by(self) -> "Perception":
        """Become the past: the eyes look at something else from now on. What was seen stays known."""
        self._eyes = None
        return self

    def seen_by(self, rows: "Int32") -> Seen:
        """What these actors see, or saw, at that moment; rows in any order."""
        seen = self._seen
        if seen is not None and np.array_equal(seen.rows, rows):
            return seen
        if seen is None and bool((rows[1:] > rows[:-1]).all()):
            seen = self._look(rows)
        elif seen is None or not np.isin(rows, seen.rows).all():
            seen = self._look(np.union1d(rows[:0] if seen is None else seen.rows, rows))
        self._seen = seen
        return seen if seen.rows is rows else seen.take(rows)

    def _look(self, rows: "Int32") -> Seen:
        if self._eyes is not None:
            return self._eyes.look(rows, self.x, self.y)
        rules = self._rules
        occupancy = np.full(self.opaque.shape, -1, dtype=np.int32)
        occupancy[self.y, self.x] = np.arange(len(self.x), dtype=np.int32)
        actors = Placed(occupancy)
        actors.update(self.x, self.y)
        rule = SightRule(rules.sight_rule)
        return _look(
            rows, self.x, self.y, Sight(self.opaque, radius=rules.sight_radius, rule=rule, cache=_NO_CACHE), actors
        )


def _look(rows: "Int32", x: "Int32", y: "Int32", sight: Sight, actors: Placed) -> Seen:
    at_x, at_y = x[rows], y[rows]
    mask = sight.look(at_x, at_y).copy()  # the next look overwrites it
    return Seen(rows, mask, visible_pairs(at_x, at_y, mask, sight.radius, actors, own_tile=False))


def take_lists(lists: RowLists, places: "Int32 | Int64") -> RowLists:
    """Some of the lists, in the order that they are given in."""
    counts = np.diff(lists.offsets)[places]
    offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))
    inside = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
    return RowLists(offsets, lists.ids[np.repeat(lists.offsets[places], counts) + inside])

"""`Perception`: which tiles and actors are seen, computed on demand and only for the observers in question."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tickmind.protocol.record import AWAY
from tickmind.world.kernels import Placed, RowLists, Sight, SightRule, hearers, visible_pairs
from tickmind.world.kernels.bitmap import pack_tiles
from tickmind.world.kernels.sight import SIGHT_CACHE, darken, near_mask
from tickmind.world.scenario.settings import Rules

if TYPE_CHECKING:
    from tickmind.protocol.columns import Bool, Int32, Int64, UInt64

_NO_CACHE = SIGHT_CACHE.at(0)


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """What some observers see: a mask of tiles each, and the rows of other actors in sight."""

    rows: "Int32"  # of the observers, ascending
    mask: "UInt64"  # observers x words
    actors: RowLists

    def take(self, rows: "Int32") -> "Seen | None":
        """Return the part of some of the observers, in the given order; None if one of them is missing."""
        if not len(self.rows):
            return None
        places = np.searchsorted(self.rows, rows)
        if not (self.rows.take(places, mode="clip") == rows).all():
            return None
        return Seen(rows, self.mask[places], take_lists(self.actors, places))


class Eyes:
    """Compute sight and hearing on the present map; it caches masks from tick to tick."""

    def __init__(self, rules: Rules, opaque: "Bool", occupancy: "Int32") -> None:
        self._hearing_radius = rules.hearing_radius
        self._opaque = opaque
        self._sight = Sight(opaque, radius=rules.sight_radius, rule=SightRule(rules.sight_rule))
        self._actors = Placed(occupancy)

    def adapt(self, opaque: "Bool") -> None:
        """Update the map of what blocks sight, if it is a new one."""
        if opaque is self._opaque:
            return
        for y, x in np.argwhere(opaque != self._opaque).tolist():
            self._sight.set_opaque(x, y, opaque=bool(opaque[y, x]))
        self._opaque = opaque

    def look(self, rows: "Int32", x: "Int32", y: "Int32", darkness: "Darkness | None" = None) -> Seen:
        """Return what these observers see, when all actors stand at x, y."""
        self._actors.update(x, y)
        return _look(rows, x, y, self._sight, self._actors, darkness)

    def masks(self, rows: "Int32", x: "Int32", y: "Int32", darkness: "Darkness | None" = None) -> "UInt64":
        """Return the tiles that these observers see; the next look overwrites the array."""
        return _masks(x[rows], y[rows], self._sight, darkness)

    def listen(self, speakers: "Int32", x: "Int32", y: "Int32") -> RowLists:
        """Return who hears each of these actors, when all stand at x, y."""
        self._actors.update(x, y)
        return hearers(x, y, speakers, self._hearing_radius, self._actors)


class Perception:
    """Sight at one moment. Positions and opacity are those of that moment; do not write to them afterwards."""

    def __init__(
        self,
        rules: Rules,
        x: "Int32",
        y: "Int32",
        opaque: "Bool",
        eyes: Eyes | None = None,
        lit: "Bool | None" = None,
    ) -> None:
        self.x = x
        self.y = y
        self.opaque = opaque
        self.lit = lit  # tiles that are lit; None: it is not dark
        self._rules = rules
        self._eyes = eyes
        self._seen: Seen | None = None  # by the observers so far
        self._heard: RowLists | None = None  # for each speaker, its hearers

    def pass_by(self) -> "Perception":
        """Freeze this moment: the eyes move on to the next one. What was seen stays known."""
        self._eyes = None
        return self

    def seen_by(self, rows: "Int32") -> Seen:
        """Return what these actors see, or saw, at that moment; rows in any order."""
        seen = self._seen
        if seen is None:
            seen = self._seen = self._look(rows if bool((rows[1:] > rows[:-1]).all()) else np.unique(rows))
        if seen.rows is rows or np.array_equal(seen.rows, rows):
            return seen
        part = seen.take(rows)
        if part is None:
            self._seen = self._look(np.union1d(seen.rows, rows))
            return self.seen_by(rows)
        return part

    def tiles_seen_by(self, rows: "Int32") -> "UInt64":
        """Return masks of the tiles that these actors see, without who else is there. Use them at once."""
        assert self._eyes is not None, "they are for the present moment"
        return self._eyes.masks(rows, self.x, self.y, self._darkness())

    def heard_from(self, speakers: "Int32") -> RowLists:
        """Return who hears each of the last speakers, at this moment; computed once."""
        if self._heard is None:
            assert self._eyes is not None, "what was said is heard in the moment after it"
            self._heard = self._eyes.listen(speakers, self.x, self.y)
        return self._heard

    def _look(self, rows: "Int32") -> Seen:
        if self._eyes is not None:
            return self._eyes.look(rows, self.x, self.y, self._darkness())
        rules = self._rules
        occupancy = np.full(self.opaque.shape, -1, dtype=np.int32)
        there = np.flatnonzero(self.x != AWAY).astype(np.int32)
        occupancy[self.y[there], self.x[there]] = there
        actors = Placed(occupancy)
        actors.update(self.x, self.y)
        rule = SightRule(rules.sight_rule)
        sight = Sight(self.opaque, radius=rules.sight_radius, rule=rule, cache=_NO_CACHE)
        return _look(rows, self.x, self.y, sight, actors, self._darkness())

    def _darkness(self) -> "Darkness | None":
        near = self._rules.night_sight_radius
        if self.lit is None or near is None:
            return None
        return Darkness(pack_tiles(self.lit), near_mask(self._rules.sight_radius, near))


@dataclass(frozen=True, slots=True, eq=False)
class Darkness:
    """What remains to be seen when it is dark: lit tiles, and those near an observer."""

    lit: "UInt64"  # a bitmap
    near: "UInt64"  # a mask


def _look(rows: "Int32", x: "Int32", y: "Int32", sight: Sight, actors: Placed, darkness: Darkness | None) -> Seen:
    at_x, at_y = x[rows], y[rows]
    mask = _masks(at_x, at_y, sight, darkness)
    if darkness is None:
        mask = mask.copy()  # the next look overwrites it
    return Seen(rows, mask, visible_pairs(at_x, at_y, mask, sight.radius, actors, own_tile=False))


def _masks(x: "Int32", y: "Int32", sight: Sight, darkness: Darkness | None) -> "UInt64":
    mask = sight.look(x, y)
    if darkness is None:
        return mask
    mask = mask.copy()  # what is kept for the next look must not be darkened
    darken(x, y, darkness.lit, sight.radius, darkness.near, mask)
    return mask


def take_lists(lists: RowLists, places: "Int32 | Int64") -> RowLists:
    """Return some of the lists, in the given order."""
    starts = lists.offsets[places]
    counts = lists.offsets[places + 1] - starts
    offsets = np.zeros(len(places) + 1, dtype=np.int64)
    counts.cumsum(out=offsets[1:])
    shift = starts - offsets[:-1]  # from a place in the new lists to that in the old ones
    return RowLists(offsets, lists.ids[np.arange(offsets[-1]) + shift.repeat(counts)])

"""`Layout`: where the copies of a map lie on one large map."""

from typing import TYPE_CHECKING

import numpy as np

from tickmind.base import ConfigError
from tickmind.protocol.record import AWAY
from tickmind.world.scenario.limits import MAX_ACTORS, MAX_MAP_SIDE, MAX_OBJECTS
from tickmind.world.scenario.scenario import Scenario

if TYPE_CHECKING:
    from tickmind.protocol.columns import Int32, Int64


class Layout:
    """The places of `count` copies: in lines, with so many tiles between them that none sees or hears another one."""

    def __init__(self, scenario: Scenario, count: int) -> None:
        if count < 1:
            raise ConfigError(f"the number of copies must be at least 1, not {count}")
        rules = scenario.rules
        self.count = count
        self.actors = len(scenario.actors)  # of one copy, as all that follows
        self.objects = len(scenario.objects)
        self.item_kinds = len(scenario.items)
        self.width, self.height = scenario.width, scenario.height
        MAX_ACTORS.check(count * self.actors)
        MAX_OBJECTS.check(count * self.objects)
        gap = max(rules.sight_radius, rules.hearing_radius, 1) + 1 if count > 1 else 0
        across = max(1, min(count, round((count * (self.height + gap) / (self.width + gap)) ** 0.5)))
        down = -(-count // across)
        self.whole_width = across * (self.width + gap) - gap
        self.whole_height = down * (self.height + gap) - gap
        if count > 1 and not MAX_MAP_SIDE.allows(max(self.whole_width, self.whole_height)):
            raise ConfigError(
                f"{count:,} copies of a map of {self.width} x {self.height} tiles need one of {self.whole_width:,} x "
                f"{self.whole_height:,}, more than {MAX_MAP_SIDE.maximum:,} a side; ask for fewer copies"
            )
        numbers = np.arange(count, dtype=np.int32)
        self.west: Int32 = (numbers % across) * np.int32(self.width + gap)  # copy -> its first column
        self.north: Int32 = (numbers // across) * np.int32(self.height + gap)  # copy -> its first line
        self._pitch = (self.width + gap, self.height + gap)
        self._across = across

    def actor_rows(self, copies: "Int64") -> "Int64":
        """Return the rows of the actors of some copies: copies x actors."""
        return copies[:, None] * self.actors + np.arange(self.actors, dtype=np.int64)

    def object_rows(self, copies: "Int64") -> "Int64":
        """Return the rows of the objects of some copies: copies x objects."""
        return copies[:, None] * self.objects + np.arange(self.objects, dtype=np.int64)

    def place(self, x: "Int32", y: "Int32", each: int) -> "tuple[Int32, Int32]":
        """Return tiles of things of which each copy has so many, from the map of one to the whole map."""
        west, north = np.repeat(self.west, each), np.repeat(self.north, each)
        there = x != AWAY
        return np.where(there, x + west, AWAY).astype(np.int32), np.where(there, y + north, AWAY).astype(np.int32)

    def local_keys(self, keys: "Int64") -> "tuple[Int64, Int64]":
        """Return for keys of items on the ground of the whole map their copies, and their keys on the map of one."""
        kinds = max(self.item_kinds, 1)
        tiles, items = np.divmod(keys, kinds)
        y, x = np.divmod(tiles, self.whole_width)
        line, y = np.divmod(y, self._pitch[1])
        place, x = np.divmod(x, self._pitch[0])
        return line * self._across + place, (y * self.width + x) * kinds + items

    def whole_keys(self, copies: "Int64", keys: "Int64") -> "Int64":
        """Return the keys on the whole map of items on the ground of some copies: all keys for each, ascending."""
        kinds = max(self.item_kinds, 1)
        tiles, items = np.divmod(keys, kinds)
        y, x = np.divmod(tiles, self.width)
        tiles = (self.north[copies, None] + y) * self.whole_width + self.west[copies, None] + x
        return np.asarray(tiles * kinds + items, dtype=np.int64)

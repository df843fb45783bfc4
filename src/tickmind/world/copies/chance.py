"""`CopyChance`: the chance of many copies, each with the numbers that a world of its own with its seed would draw."""

from typing import TYPE_CHECKING

import numpy as np

from tickmind.world.chance import Chance, draw_by_seed, mixed_seeds
from tickmind.world.copies.layout import Layout

if TYPE_CHECKING:
    from tickmind.protocol.columns import Int64, UInt64


class CopyChance(Chance):
    """Draw by the seed of the copy in question, and by rows, tiles and ticks as that copy counts them."""

    def __init__(self, layout: Layout) -> None:
        super().__init__(0)
        self._layout = layout
        self.seeds: UInt64 = np.zeros(layout.count, dtype=np.uint64)
        self._mixed: UInt64 = np.zeros(layout.count, dtype=np.uint64)
        self.ticks_before: Int64 = np.zeros(layout.count, dtype=np.int64)  # copy -> ticks of the world before its first

    def begin(self, copies: "Int64", seeds: "UInt64", ticks_before: int) -> None:
        """Give some copies new seeds; their first tick is the next one."""
        self.seeds[copies] = seeds
        self._mixed[copies] = mixed_seeds(seeds)
        self.ticks_before[copies] = ticks_before

    def for_objects(self, purpose: int, tick: int, rows: "Int64", below: "Int64") -> "Int64":
        """Draw a number for each of some objects, by their rows."""
        copies, keys = np.divmod(rows, max(self._layout.objects, 1))
        return self._draw(purpose, tick, copies, keys, below)

    def for_carried(self, purpose: int, tick: int, keys: "Int64", below: "Int64") -> "Int64":
        """Draw a number for each of some items that actors carry; a key is actor row * item kinds + item code."""
        copies, keys = np.divmod(keys, max(self._layout.actors * self._layout.item_kinds, 1))
        return self._draw(purpose, tick, copies, keys, below)

    def for_ground(self, purpose: int, tick: int, keys: "Int64", below: "Int64") -> "Int64":
        """Draw a number for each of some items on the ground; a key is tile * item kinds + item code."""
        copies, keys = self._layout.local_keys(keys)
        return self._draw(purpose, tick, copies, keys, below)

    def _draw(self, purpose: int, tick: int, copies: "Int64", keys: "Int64", below: "Int64") -> "Int64":
        ticks = tick - self.ticks_before[copies]
        return draw_by_seed(self._mixed[copies], purpose, ticks, keys, below)

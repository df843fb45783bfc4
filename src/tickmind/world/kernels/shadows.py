"""`Shadows`: the tiles of a window that each of its tiles hides if it is opaque, worked out once per rule and radius.

A window of radius R is the square of 2R + 1 tiles a side around an observer. Its tiles are numbered line by line from
the north-west corner; in masks, tile number t is bit t % 64 of word t // 64.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tickmind.world.kernels.bitmap import MAX_RADIUS
from tickmind.world.kernels.lines import SightRule, line_of_sight

Words: TypeAlias = NDArray[np.uint64]
BLOCK = 4  # words of a mask that are worked on at once


@dataclass(frozen=True, slots=True, eq=False)
class Shadows:
    """The table for one rule and radius; get it from `shadows_of`."""

    rule: SightRule
    radius: int
    hidden: Words  # (block, tile, word in the block), flat -> the tiles that an opaque tile hides
    casting: Words  # block, word -> the tiles that hide anything in the block


def mask_words(radius: int) -> int:
    """Return how many 64-bit words a mask has."""
    return -(-((2 * radius + 1) ** 2) // 64)


@lru_cache(maxsize=8)
def shadows_of(rule: SightRule, radius: int) -> Shadows:
    """Return the table for a rule and radius; it takes milliseconds for a usual one and is kept."""
    MAX_RADIUS.check(radius)
    side = 2 * radius + 1
    blocks = -(-mask_words(radius) // BLOCK)
    hidden = np.zeros((blocks, mask_words(radius) * 64, BLOCK), dtype=np.uint64)
    for target in range(side * side):
        word, bit = target >> 6, np.uint64(1) << np.uint64(target & 63)
        for x, y in line_of_sight(rule, target % side - radius, target // side - radius):
            hidden[word // BLOCK, (y + radius) * side + x + radius, word % BLOCK] |= bit
    casting = np.packbits(hidden.any(axis=2), axis=1, bitorder="little").view("<u8").astype(np.uint64)
    flat = hidden.reshape(-1)
    flat.flags.writeable = casting.flags.writeable = False
    return Shadows(rule, radius, flat, casting)

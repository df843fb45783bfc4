"""Bitmaps: maps of one bit per tile, from which a whole line of a window is read at once.

A bitmap of a map of height x width has `MARGIN_LINES` empty lines above and below and an empty word (64 columns) to the
left and two to the right, so that no window of a radius up to `MAX_RADIUS` ends outside of it.
"""

from typing import TypeAlias

import numpy as np
from numba import types
from numpy.typing import NDArray

from tickmind.base import Limit
from tickmind.world.kernels.compiled import kernel, reads, writes
from tickmind.world.kernels.errors import KernelError

MAX_RADIUS = Limit("radius of a window", 31, "tiles")  # a line of it fits into a word
MARGIN_LINES = 32

Bitmap: TypeAlias = NDArray[np.uint64]
Column: TypeAlias = NDArray[np.int32]


def empty_bitmap(height: int, width: int) -> Bitmap:
    """Return a bitmap with no tile set."""
    return np.zeros((height + 2 * MARGIN_LINES, -(-width // 64) + 3), dtype=np.uint64)


def pack_tiles(flags: NDArray[np.bool_]) -> Bitmap:
    """Return the bitmap of a map of flags; for maps that change in few places, see `set_tile`."""
    bitmap = empty_bitmap(*flags.shape)
    _pack(flags, bitmap)
    return bitmap


def mark_tiles(bitmap: Bitmap, x: Column, y: Column, height: int, width: int) -> None:
    """Set exactly the given tiles; places with x = -1 are not on the map and left out."""
    if bitmap.shape != (height + 2 * MARGIN_LINES, -(-width // 64) + 3) or len(x) != len(y):
        raise KernelError("the bitmap does not fit this map; make it with empty_bitmap(height, width)")
    if not _mark_tiles(bitmap, x, y, height, width):
        raise KernelError(f"a place lies outside the map of {width} x {height} tiles; only x = -1 means no place")


def set_tile(bitmap: Bitmap, x: int, y: int, *, on: bool) -> None:
    """Set or clear one tile."""
    bit = np.uint64(1) << np.uint64(x & 63)
    if on:
        bitmap[y + MARGIN_LINES, (x >> 6) + 1] |= bit
    else:
        bitmap[y + MARGIN_LINES, (x >> 6) + 1] &= ~bit


@kernel(types.void, reads(types.boolean, 2), writes(types.uint64, 2))
def _pack(flags: NDArray[np.bool_], bitmap: Bitmap) -> None:
    height, width = flags.shape
    for y in range(height):
        for x in range(width):
            bitmap[y + MARGIN_LINES, (x >> 6) + 1] |= np.uint64(flags[y, x]) << np.uint64(x & 63)


@kernel(types.boolean, writes(types.uint64, 2), reads(types.int32, 1), reads(types.int32, 1), types.int64, types.int64)
def _mark_tiles(bitmap: Bitmap, x: Column, y: Column, height: int, width: int) -> bool:
    bitmap[:] = 0
    for row in range(len(x)):
        if x[row] == -1:
            continue
        if not (0 <= x[row] < width and 0 <= y[row] < height):
            return False
        bitmap[y[row] + MARGIN_LINES, (x[row] >> 6) + 1] |= np.uint64(1) << np.uint64(x[row] & 63)
    return True

"""`Sight`: what each observer sees, a bit for each tile of the square window around it.

The hidden tiles are the union of what each opaque tile of the window hides, which is known beforehand. It depends on
the observer's tile alone, so it is kept for each tile until an opaque tile near it changes.
"""

from typing import TypeAlias

import numpy as np
from numba import types
from numpy.typing import NDArray

from tickmind.base import Limit
from tickmind.world.kernels.bitmap import MARGIN_LINES, Bitmap, pack_tiles, set_tile
from tickmind.world.kernels.compiled import fetch_early, helper, kernel, lowest_one, reads, writes
from tickmind.world.kernels.errors import KernelError
from tickmind.world.kernels.lines import SightRule
from tickmind.world.kernels.memory import scattered_zeros
from tickmind.world.kernels.nearby import order_by_area
from tickmind.world.kernels.shadows import BLOCK, Words, mask_words, shadows_of

DEFAULT_RADIUS = 12
SIGHT_CACHE = Limit("memory for masks that are kept", 128 * 2**20, "bytes")
CACHE_PER_OBSERVER = Limit("memory for masks that are kept, for each observer of a crowd", 1024, "bytes")
_AREA = 4  # a change is noted for areas of 2^4 tiles a side
_AHEAD = 8  # observers whose masks are fetched early
_LARGE_CROWD = 200_000  # observers, from which on looking area by area is worth its cost
_U0, _U1, _U8, _U63, _U64 = (np.uint64(number) for number in (0, 1, 8, 63, 64))

Column: TypeAlias = NDArray[np.int32]


class Sight:
    """The sight of all observers on one map; report each change by `set_opaque` and read masks by `look`.

    Radii are those of squares (Chebyshev distance), up to 31 tiles. The observer's own tile and tiles that are opaque
    themselves can be seen. Where the masks of all tiles need more memory than `cache` allows, and than a crowd of
    observers justifies, only those of observers who stand still are reused.
    """

    def __init__(
        self,
        opaque: NDArray[np.bool_],
        *,
        radius: int = DEFAULT_RADIUS,
        rule: SightRule = SightRule.BRESENHAM_1,
        cache: Limit = SIGHT_CACHE,
    ) -> None:
        if radius < 0:
            raise KernelError(f"a radius of {radius} sees nothing; use 0 to see the own tile only")
        self.radius = radius
        self.rule = rule
        self.shape = opaque.shape
        self._shadows = shadows_of(rule, radius)
        self._opaque = pack_tiles(opaque)
        self._looks = 1
        # area -> the number of the look before which something in its sight changed
        self._changed = np.zeros(((self.shape[0] >> _AREA) + 1, (self.shape[1] >> _AREA) + 1), dtype=np.int64)
        words = mask_words(radius)
        self._cache = cache
        self._kept: Words = np.zeros((0, words + 1), dtype=np.uint64)  # tile -> key and mask, or nothing is kept
        self._keys = np.zeros(0, dtype=np.uint64)  # row -> key of its mask: look << 32 | tile + 1
        self._masks = np.zeros((0, words), dtype=np.uint64)
        self._in_turn: Column = np.zeros(0, dtype=np.int32)  # the rows in their own order

    def set_opaque(self, x: int, y: int, *, opaque: bool) -> None:
        """Change a tile, such as that of a door that opens."""
        height, width = self.shape
        if not (0 <= x < width and 0 <= y < height):
            raise KernelError(f"({x}, {y}) lies outside the map of {width} x {height} tiles")
        set_tile(self._opaque, x, y, on=opaque)
        left, top = max(0, x - self.radius) >> _AREA, max(0, y - self.radius) >> _AREA
        right, bottom = (x + self.radius) >> _AREA, (y + self.radius) >> _AREA
        self._changed[top : bottom + 1, left : right + 1] = self._looks

    def look(self, x: Column, y: Column) -> Words:
        """Return a mask for each observer; the next call overwrites the array.

        Tile (x + dx, y + dy) is number t = (dy + R) * (2R + 1) + dx + R: bit t % 64 of word t // 64. Tiles off the map
        are not seen, and observers with x = -1 see nothing.
        """
        if len(x) != len(y):
            raise KernelError("x and y have to be of one length")
        if len(x) != len(self._keys):
            self._keys = np.zeros(len(x), dtype=np.uint64)
            self._masks = np.empty((len(x), self._masks.shape[1]), dtype=np.uint64)
            self._in_turn = np.arange(len(x), dtype=np.int32)
            self._keep_masks()
        height, width = self.shape
        inside = _look(
            order_by_area(x, y, height, width) if len(x) >= _LARGE_CROWD else self._in_turn,
            x,
            y,
            self._opaque,
            height,
            width,
            self.radius,
            self._shadows.hidden,
            self._shadows.casting,
            self._changed,
            self._kept,
            self._keys,
            self._looks,
            self._masks,
        )
        if not inside:
            raise KernelError("an observer stands outside the map; only x = -1 means that it is nowhere")
        self._looks += 1
        return self._masks

    def _keep_masks(self) -> None:
        """Keep the masks of all tiles from now on, if that is not too much for so many observers."""
        tiles, entry = self.shape[0] * self.shape[1], self._kept.shape[1]
        crowd = CACHE_PER_OBSERVER.maximum * len(self._keys) if self._cache.maximum else 0
        if not len(self._kept) and self._cache.at(max(self._cache.maximum, crowd)).allows(tiles * entry * 8):
            self._kept = scattered_zeros((tiles, entry), np.uint64)


@helper
def gather_window(bitmap: Words, stride: int, x: int, y: int, radius: int, window: Words) -> None:
    """Copy the window around a tile out of a flat bitmap, laid out as a mask; `window` has one word more."""
    side, lines = np.uint64(2 * radius + 1), np.uint64(stride)
    whole = (_U1 << side) - _U1
    start = x - radius + 64
    shift, rest = np.uint64(start & 63), np.uint64(63 - (start & 63))
    source = np.uint64((y - radius + MARGIN_LINES) * stride + (start >> 6))
    word, at, place = _U0, _U0, _U0  # the word that is being filled, and how far
    for _ in range(2 * radius + 1):
        bits = (bitmap[source] >> shift | bitmap[source + _U1] << rest << _U1) & whole
        source += lines
        word |= bits << at
        at += side
        if at >= _U64:
            window[place] = word
            place += _U1
            at -= _U64
            word = bits >> (side - at)
    window[place] = word


@helper
def _clear(window: Words, at: int, count: int) -> None:
    """Clear some tiles in a row, at most 64."""
    bits = (_U1 << np.uint64(count)) - _U1
    place, by = at >> 6, np.uint64(at & 63)
    window[place] &= ~(bits << by)
    window[place + 1] &= ~(bits >> (_U63 - by) >> _U1)


@helper
def _trim(window: Words, x: int, y: int, height: int, width: int, radius: int) -> None:
    """Clear the tiles off the map."""
    side = 2 * radius + 1
    left, right = max(0, radius - x), max(0, x + radius + 1 - width)
    for line in range(side):
        if not 0 <= y - radius + line < height:
            _clear(window, line * side, side)
        else:
            _clear(window, line * side, left)
            _clear(window, line * side + side - right, right)


@helper
def _see(window: Words, tiles: int, hidden: Words, casting: Words, seen: Words) -> None:
    """Turn a window of opaque tiles into the mask of visible ones; `seen` is rounded up to whole blocks."""
    blocks, words = casting.shape
    for block in range(blocks):
        one = two = three = four = _U0
        for place in range(words):
            bits = window[place] & casting[block, place]
            base = np.uint64((block * words + place) * 64)
            while bits:
                entry = (base + lowest_one(bits)) * np.uint64(BLOCK)
                bits &= bits - _U1
                one |= hidden[entry]
                two |= hidden[entry + np.uint64(1)]
                three |= hidden[entry + np.uint64(2)]
                four |= hidden[entry + np.uint64(3)]
        seen[block * BLOCK] = ~one
        seen[block * BLOCK + 1] = ~two
        seen[block * BLOCK + 2] = ~three
        seen[block * BLOCK + 3] = ~four
    if tiles & 63:
        seen[words - 1] &= (_U1 << np.uint64(tiles & 63)) - _U1


@helper
def _fits(key: np.uint64, tile: int, oldest: int) -> bool:
    """Return whether a mask is that of a tile and as new as required."""
    return int(key & np.uint64(0xFFFFFFFF)) == tile + 1 and int(key >> np.uint64(32)) >= oldest


@kernel(
    types.boolean,
    reads(types.int32, 1),
    reads(types.int32, 1),
    reads(types.int32, 1),
    reads(types.uint64, 2),
    types.int64,
    types.int64,
    types.int64,
    reads(types.uint64, 1),
    reads(types.uint64, 2),
    reads(types.int64, 2),
    writes(types.uint64, 2),
    writes(types.uint64, 1),
    types.int64,
    writes(types.uint64, 2),
)
def _look(
    order: Column,
    x: Column,
    y: Column,
    opaque: Bitmap,
    height: int,
    width: int,
    radius: int,
    hidden: Words,
    casting: Words,
    changed: NDArray[np.int64],
    kept: Words,
    keys: Words,
    looks: int,
    masks: Words,
) -> bool:
    """Fill in the masks that are not those of the last look; false if an observer stands outside the map."""
    words, stride = masks.shape[1], opaque.shape[1]
    bits = opaque.reshape(opaque.size)
    window = np.empty(words + 1, dtype=np.uint64)
    seen = np.empty(len(casting) * BLOCK + 1, dtype=np.uint64)
    known = kept.reshape(kept.size)
    flat = masks.reshape(masks.size)
    for place in range(len(order)):
        row = np.uint64(order[place])
        if place + 2 * _AHEAD < len(order):
            later = np.uint64(order[place + 2 * _AHEAD])
            fetch_early(x, later)
            fetch_early(y, later)
            fetch_early(keys, later)
            soon = np.uint64(order[place + _AHEAD])
            fetch_early(flat, soon * np.uint64(words))
            fetch_early(flat, soon * np.uint64(words) + _U8)
            if len(kept):
                ahead = np.uint64((int(y[soon]) * width + x[soon]) * (words + 1))
                fetch_early(known, ahead)
                fetch_early(known, ahead + _U8)
        at_x, at_y = int(x[row]), int(y[row])
        if at_x == -1:
            keys[row] = 0
            masks[row] = 0
            continue
        if not (0 <= at_x < width and 0 <= at_y < height):
            return False
        tile = at_y * width + at_x
        oldest = changed[at_y >> _AREA, at_x >> _AREA]
        if _fits(keys[row], tile, oldest):
            continue
        if len(kept) and _fits(kept[tile, 0], tile, oldest):
            keys[row] = kept[tile, 0]
            for word in range(words):
                masks[row, word] = kept[tile, word + 1]
            continue
        gather_window(bits, stride, at_x, at_y, radius, window)
        _see(window, (2 * radius + 1) ** 2, hidden, casting, seen)
        if at_x < radius or at_y < radius or at_x + radius >= width or at_y + radius >= height:
            _trim(seen, at_x, at_y, height, width, radius)
        for word in range(words):
            masks[row, word] = seen[word]
        keys[row] = np.uint64(looks) << np.uint64(32) | np.uint64(tile + 1)
        if len(kept):
            kept[tile, 0] = keys[row]
            for word in range(words):
                kept[tile, word + 1] = seen[word]
    return True


def near_mask(radius: int, near: int) -> Words:
    """Return the mask of the tiles within `near` of an observer, in a window of `radius`."""
    across = np.abs(np.arange(-radius, radius + 1)) <= near
    bits = np.packbits(np.outer(across, across).ravel(), bitorder="little")
    padded = np.zeros(mask_words(radius) * 8, dtype=np.uint8)
    padded[: len(bits)] = bits
    return padded.view("<u8").astype(np.uint64)


@kernel(
    types.void,
    reads(types.int32, 1),
    reads(types.int32, 1),
    reads(types.uint64, 2),
    types.int64,
    reads(types.uint64, 1),
    writes(types.uint64, 2),
)
def darken(x: Column, y: Column, lit: Bitmap, radius: int, near: Words, masks: Words) -> None:
    """Clear the tiles in the masks of observers that are neither lit nor near; those with x = -1 see nothing anyway."""
    words, stride = masks.shape[1], lit.shape[1]
    bits = lit.reshape(lit.size)
    window = np.empty(words + 1, dtype=np.uint64)
    for row in range(len(x)):
        if x[row] == -1:
            continue
        gather_window(bits, stride, int(x[row]), int(y[row]), radius, window)
        for word in range(words):
            masks[row, word] &= window[word] | near[word]

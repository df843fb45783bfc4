"""Windows: what observers see around them as bytes of one shape, for programs that learn."""

from typing import TypeAlias

import numpy as np
from numba import types
from numpy.typing import NDArray

from tickmind.world.kernels.compiled import kernel, reads, writes

Column: TypeAlias = NDArray[np.int32]
Codes: TypeAlias = NDArray[np.uint8]
Words: TypeAlias = NDArray[np.uint64]

CHANNELS = ("floor", "object", "state", "stock", "item", "actor")  # of a tile
_MOST = 255


@kernel(
    types.void,
    reads(types.int32, 1),
    reads(types.int32, 1),
    reads(types.uint64, 2),
    types.int64,
    types.int64,
    reads(types.uint8, 2),
    reads(types.int32, 2),
    reads(types.uint16, 1),
    reads(types.uint8, 1),
    reads(types.int32, 1),
    reads(types.uint8, 2),
    reads(types.int32, 2),
    reads(types.uint8, 1),
    writes(types.uint8, 4),
)
def fill_windows(
    x: Column,
    y: Column,
    masks: Words,
    sight: int,
    radius: int,
    floor: Codes,
    object_at: Column,
    object_kind: NDArray[np.uint16],
    object_state: Codes,
    object_stock: Column,
    item_at: Codes,
    occupancy: Column,
    actor_type: Codes,
    windows: Codes,
) -> None:
    """Fill in the tiles that are seen; the others, and those off the map or with floor 0, are zeros.

    All codes but states and stocks are one more than in columns, 0: nothing is there.
    """
    height, width = floor.shape
    side, across_all = 2 * sight + 1, 2 * radius + 1
    shown = windows.reshape(windows.size)
    shown[:] = 0
    for place in range(len(x)):
        at_x, at_y = int(x[place]), int(y[place])
        if at_x == -1:
            continue
        west, east = max(-radius, -at_x), min(radius, width - 1 - at_x)
        for line in range(max(-radius, -at_y), min(radius, height - 1 - at_y) + 1):
            to_y = at_y + line
            number = (line + sight) * side + sight + west
            byte = np.uint64(((place * across_all + line + radius) * across_all + radius + west) * 6)
            for to_x in range(at_x + west, at_x + east + 1):
                ground = floor[to_y, to_x]
                if masks[place, number >> 6] >> np.uint64(number & 63) & np.uint64(1) and ground:
                    shown[byte] = ground
                    thing = object_at[to_y, to_x]
                    if thing >= 0:
                        shown[byte + np.uint64(1)] = min(object_kind[thing] + 1, _MOST)
                        shown[byte + np.uint64(2)] = object_state[thing]
                        shown[byte + np.uint64(3)] = min(object_stock[thing], _MOST)
                    shown[byte + np.uint64(4)] = item_at[to_y, to_x]
                    row = occupancy[to_y, to_x]
                    if row >= 0:
                        shown[byte + np.uint64(5)] = actor_type[row]
                number += 1
                byte += np.uint64(6)

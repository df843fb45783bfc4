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
    side = 2 * sight + 1
    for place in range(len(x)):
        windows[place] = 0
        at_x, at_y = int(x[place]), int(y[place])
        if at_x == -1:
            continue
        for line in range(max(-radius, -at_y), min(radius, height - 1 - at_y) + 1):
            to_y = at_y + line
            for across in range(max(-radius, -at_x), min(radius, width - 1 - at_x) + 1):
                to_x = at_x + across
                ground = floor[to_y, to_x]
                number = (line + sight) * side + across + sight
                seen = masks[place, number >> 6] >> np.uint64(number & 63) & np.uint64(1)
                if not seen or ground == 0:
                    continue
                tile = windows[place, line + radius, across + radius]
                tile[0] = ground
                thing = object_at[to_y, to_x]
                if thing >= 0:
                    tile[1] = min(object_kind[thing] + 1, _MOST)
                    tile[2] = object_state[thing]
                    tile[3] = min(object_stock[thing], _MOST)
                tile[4] = item_at[to_y, to_x]
                row = occupancy[to_y, to_x]
                if row >= 0:
                    tile[5] = actor_type[row]

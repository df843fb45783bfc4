"""Natural shapes on a map: smoothed random tiles, and their connected parts."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tickmind.protocol.columns import Bool

_ROUNDS = 5


def smoothed(shape: "Bool", *, edge: bool) -> "Bool":
    """Turn each tile into what most tiles around it are, a few times over; `edge` is what lies beyond the map."""
    height, width = shape.shape
    for _ in range(_ROUNDS):
        wide = np.pad(shape, 1, constant_values=edge).astype(np.int8)
        around = sum(wide[dy : dy + height, dx : dx + width] for dy in range(3) for dx in range(3))
        shape = np.asarray(around) >= 5
    return shape


def largest_part(shape: "Bool") -> "Bool":
    """Return the largest part of a shape that is connected by sides."""
    left = shape.copy()
    height, width = shape.shape
    best: list[tuple[int, int]] = []
    for row, column in np.argwhere(shape).tolist():
        start = (row, column)
        if not left[start]:
            continue
        left[start] = False
        part = [start]
        for y, x in part:  # grows while it is read
            for near in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
                if min(near) >= 0 and near[0] < height and near[1] < width and left[near]:
                    left[near] = False
                    part.append(near)
        if len(part) > len(best):
            best = part
    kept = np.zeros_like(shape)
    kept[tuple(np.array(best).T)] = True
    return kept

"""What became visible, went out of sight or moved between two ticks, for each observer."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numba import types
from numpy.typing import NDArray

from tickmind.world.kernels.compiled import kernel, reads, writes
from tickmind.world.kernels.errors import KernelError
from tickmind.world.kernels.lists import RowLists

Column: TypeAlias = NDArray[np.int32]
Offsets: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """For each observer the rows that entered its sight, left it, and stayed in it while they moved."""

    entered: RowLists
    left: RowLists
    moved: RowLists


def changes_between(before: RowLists, after: RowLists, has_moved: NDArray[np.bool_]) -> Changes:
    """Compare what the same observers saw in two ticks; `has_moved` tells for each row whether its tile changed.

    Rows mean the same in both, and a list names each once. Changes keep the order of the lists: entered and moved that
    of `after`, left that of `before`. For the first tick, `before` is `RowLists.empty(observers)`.
    """
    if len(before) != len(after):
        raise KernelError("both lists have to be of the same observers; give newcomers an empty list before")
    for lists in (before, after):
        if len(lists.ids) and not 0 <= lists.ids.min() <= lists.ids.max() < len(has_moved):
            raise KernelError("a row that was seen is not among those of which has_moved tells")
    offsets = np.zeros((3, len(after) + 1), dtype=np.int64)
    entered, left = np.empty(len(after.ids), dtype=np.int32), np.empty(len(before.ids), dtype=np.int32)
    moved = np.empty(min(len(entered), len(left)), dtype=np.int32)
    marks = np.zeros(len(has_moved), dtype=np.int64)
    _compare(before.offsets, before.ids, after.offsets, after.ids, has_moved, marks, offsets, entered, left, moved)
    return Changes(
        RowLists(offsets[0], entered[: offsets[0, -1]]),
        RowLists(offsets[1], left[: offsets[1, -1]]),
        RowLists(offsets[2], moved[: offsets[2, -1]]),
    )


@kernel(
    types.void,
    reads(types.int64, 1),
    reads(types.int32, 1),
    reads(types.int64, 1),
    reads(types.int32, 1),
    reads(types.boolean, 1),
    writes(types.int64, 1),
    writes(types.int64, 2),
    writes(types.int32, 1),
    writes(types.int32, 1),
    writes(types.int32, 1),
)
def _compare(
    before_offsets: Offsets,
    before: Column,
    after_offsets: Offsets,
    after: Column,
    has_moved: NDArray[np.bool_],
    marks: Offsets,
    offsets: Offsets,
    entered: Column,
    left: Column,
    moved: Column,
) -> None:
    """Mark each observer's rows with two numbers of its own: one for what it saw before, one for what it sees now."""
    entries = leaves = moves = 0
    for number in range(len(after_offsets) - 1):
        old, new = 2 * number + 1, 2 * number + 2
        for place in range(before_offsets[number], before_offsets[number + 1]):
            marks[before[place]] = old
        for place in range(after_offsets[number], after_offsets[number + 1]):
            row = after[place]
            if marks[row] == old:
                if has_moved[row]:
                    moved[moves] = row
                    moves += 1
            else:
                entered[entries] = row
                entries += 1
            marks[row] = new
        for place in range(before_offsets[number], before_offsets[number + 1]):
            row = before[place]
            if marks[row] == old:
                left[leaves] = row
                leaves += 1
        offsets[0, number + 1], offsets[1, number + 1], offsets[2, number + 1] = entries, leaves, moves

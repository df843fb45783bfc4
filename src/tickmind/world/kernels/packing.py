"""Observations of many as columns: what each observer gets to know of those it sees.

All that can be known of an actor is first put into one word, its card, because an observer's neighbours lie anywhere in
the columns and each look at them costs.

    x (16 bits) | y (16) | status (7) | moved (1) | facing (8) | action (8) | reason (8), from the lowest bit on
"""

from typing import TypeAlias

import numpy as np
from numba import types
from numpy.typing import NDArray

from tickmind.world.kernels.compiled import kernel, reads, writes

Column: TypeAlias = NDArray[np.int32]
Small: TypeAlias = NDArray[np.int8]
Bits: TypeAlias = NDArray[np.uint8]
Words: TypeAlias = NDArray[np.uint64]
Offsets: TypeAlias = NDArray[np.int64]

ENTERED, MOVED = 1, 2  # as in the protocol
_U16, _U32, _U39, _U40, _U48, _U56 = (np.uint64(bits) for bits in (16, 32, 39, 40, 48, 56))
_BYTE, _PLACE, _STATUS = np.uint64(0xFF), np.uint64(0xFFFF), np.uint64(0x7F)


@kernel(
    types.void,
    reads(types.int32, 1),
    reads(types.int32, 1),
    reads(types.boolean, 1),
    reads(types.int32, 1),
    reads(types.int8, 1),
    reads(types.uint8, 2),
    writes(types.uint64, 1),
)
def write_cards(
    x: Column, y: Column, has_moved: NDArray[np.bool_], status: Column, facing: Small, deeds: Bits, cards: Words
) -> None:
    """Fill in the card of each actor. `deeds` is 2 x actors: code of what it did that is news, and why it failed."""
    for row in range(len(x)):
        cards[row] = (
            np.uint64(x[row])
            | np.uint64(y[row]) << _U16
            | (np.uint64(status[row]) & _STATUS) << _U32
            | np.uint64(has_moved[row]) << _U39
            | np.uint64(facing[row]) << _U40
            | np.uint64(deeds[0, row]) << _U48
            | np.uint64(deeds[1, row]) << _U56
        )


@kernel(
    types.void,
    reads(types.int32, 1),
    reads(types.uint64, 1),
    reads(types.int64, 1),
    reads(types.int32, 1),
    reads(types.int64, 1),
    reads(types.int32, 1),
    writes(types.int8, 2),
    writes(types.uint8, 2),
)
def pack_entities(
    observers: Column,
    cards: Words,
    offsets: Offsets,
    ids: Column,
    entered_offsets: Offsets,
    entered: Column,
    signed: Small,
    unsigned: Bits,
) -> None:
    """Fill in the columns of all pairs of observer and observed, by who is in sight and who of them came into it.

    `signed` is 3 x pairs: dx, dy, facing; `unsigned` 4 x pairs: status, flags, action, reason.
    """
    for place in range(len(observers)):
        mine = cards[observers[place]]
        at_x, at_y = int(mine & _PLACE), int(mine >> _U16 & _PLACE)
        new, end = entered_offsets[place], entered_offsets[place + 1]
        for pair in range(offsets[place], offsets[place + 1]):
            row = ids[pair]
            card = cards[row]
            fresh = new < end and entered[new] == row
            new += fresh
            signed[0, pair] = int(card & _PLACE) - at_x
            signed[1, pair] = int(card >> _U16 & _PLACE) - at_y
            signed[2, pair] = card >> _U40 & _BYTE
            unsigned[0, pair] = card >> _U32 & _STATUS
            unsigned[1, pair] = ENTERED if fresh else MOVED * int(card >> _U39 & np.uint64(1))
            unsigned[2, pair] = card >> _U48 & _BYTE
            unsigned[3, pair] = card >> _U56

"""Pack the observations of many as columns: what each observer sees of others, and which ones left its sight.

Everything that can be known of an actor is first put into two words, its card, because an observer's neighbours lie
anywhere in the columns and each access costs:

    now:    x (16 bits) | y (16) | status (7) | moved (1) | facing (8) | action (8) | reason (8), from the lowest bit on
    before: x (16 bits) | y (16), a tick ago

The mask of the tick before and both positions then show whether an actor was in sight a tick ago.
"""

from typing import TypeAlias

import numpy as np
from numba import types
from numpy.typing import NDArray

from tickmind.world.kernels.compiled import fetch_early, helper, kernel, reads, writes
from tickmind.world.kernels.shadows import Words

Column: TypeAlias = NDArray[np.int32]
Small: TypeAlias = NDArray[np.int8]
Bits: TypeAlias = NDArray[np.uint8]
Offsets: TypeAlias = NDArray[np.int64]

ENTERED, MOVED = 1, 2  # as in the protocol
_AHEAD = 64  # pairs whose cards are fetched early
_U0, _U1, _U6, _U8, _U63 = (np.uint64(number) for number in (0, 1, 6, 8, 63))
_U16, _U32, _U39, _U40, _U48, _U56 = (np.uint64(bits) for bits in (16, 32, 39, 40, 48, 56))
_BYTE, _PLACE, _STATUS = np.uint64(0xFF), np.uint64(0xFFFF), np.uint64(0x7F)
_ENTERED, _MOVED = np.uint64(ENTERED), np.uint64(MOVED)


@kernel(
    types.void,
    reads(types.int32, 1),
    reads(types.int32, 1),
    reads(types.int32, 1),
    reads(types.int32, 1),
    reads(types.int32, 1),
    reads(types.int8, 1),
    reads(types.uint8, 2),
    writes(types.uint64, 2),
)
def write_cards(
    x: Column, y: Column, old_x: Column, old_y: Column, status: Column, facing: Small, deeds: Bits, cards: Words
) -> None:
    """Fill in the card of each actor. `deeds` is 2 x actors: code of an action that is news, and why it failed."""
    for row in range(len(x)):
        moved = x[row] != old_x[row] or y[row] != old_y[row]
        cards[row, 0] = (
            np.uint64(x[row]) & _PLACE
            | (np.uint64(y[row]) & _PLACE) << _U16
            | (np.uint64(status[row]) & _STATUS) << _U32
            | np.uint64(moved) << _U39
            | np.uint64(facing[row]) << _U40
            | np.uint64(deeds[0, row]) << _U48
            | np.uint64(deeds[1, row]) << _U56
        )
        cards[row, 1] = np.uint64(old_x[row]) & _PLACE | (np.uint64(old_y[row]) & _PLACE) << _U16


@helper
def _sees(masks: Words, mask: np.uint64, radius: np.uint64, mine: np.uint64, other: np.uint64) -> np.uint64:
    """Return 1 if the place on the other card is in the mask that begins there, else 0, without branches."""
    across = (other & _PLACE) - (mine & _PLACE) + radius  # left of the window is a very great number
    down = (other >> _U16 & _PLACE) - (mine >> _U16 & _PLACE) + radius
    inside = np.uint64(across <= radius + radius) & np.uint64(down <= radius + radius)
    tile = (down * (radius + radius + _U1) + across) * inside
    found: np.uint64 = masks[mask + (tile >> _U6)] >> (tile & _U63) & inside
    return found


@kernel(
    types.void,
    reads(types.int32, 1),
    reads(types.uint64, 2),
    types.uint64,
    reads(types.uint64, 2),
    reads(types.int64, 1),
    reads(types.int32, 1),
    writes(types.int8, 2),
    writes(types.uint8, 2),
)
def pack_entities(
    observers: Column,
    cards: Words,
    radius: np.uint64,
    old_masks: Words,
    offsets: Offsets,
    ids: Column,
    signed: Small,
    unsigned: Bits,
) -> None:
    """Fill in the columns of all pairs of observer and observed, from the present and the previous sight.

    `signed` is 3 x pairs: dx, dy, facing; `unsigned` 4 x pairs: status, flags, action, reason.
    """
    flat, masks, words = cards.reshape(cards.size), old_masks.reshape(old_masks.size), old_masks.shape[1]
    last = len(ids) - 1
    for place in range(len(observers)):
        mine = np.uint64(2 * observers[place])
        here, before, mask = flat[mine], flat[mine + _U1], np.uint64(place * words)
        for number in range(offsets[place], offsets[place + 1]):
            fetch_early(flat, np.uint64(2 * ids[np.uint64(min(number + _AHEAD, last))]))
            pair = np.uint64(number)
            other = np.uint64(2 * ids[pair])
            card = flat[other]
            known = _sees(masks, mask, radius, before, flat[other + _U1])
            signed[0, pair] = card - here & _BYTE
            signed[1, pair] = (card >> _U16) - (here >> _U16) & _BYTE
            signed[2, pair] = card >> _U40 & _BYTE
            unsigned[0, pair] = card >> _U32 & _STATUS
            unsigned[1, pair] = known * (card >> _U39 & _U1) * _MOVED + (known ^ _U1) * _ENTERED
            unsigned[2, pair] = card >> _U48 & _BYTE
            unsigned[3, pair] = card >> _U56


@kernel(
    types.void,
    reads(types.int32, 1),
    reads(types.uint64, 2),
    types.uint64,
    reads(types.uint64, 2),
    reads(types.int64, 1),
    reads(types.int32, 1),
    writes(types.int64, 1),
    writes(types.int32, 1),
)
def list_left(
    observers: Column,
    cards: Words,
    radius: np.uint64,
    masks: Words,
    old_offsets: Offsets,
    old_ids: Column,
    offsets: Offsets,
    left: Column,
) -> None:
    """List for each observer the actors that were in sight a tick ago and no longer are, in their order then.

    `left` needs room for one more than were in sight.
    """
    flat, seen, words = cards.reshape(cards.size), masks.reshape(masks.size), masks.shape[1]
    last = len(old_ids) - 1
    count = _U0
    for place in range(len(observers)):
        here, mask = flat[np.uint64(2 * observers[place])], np.uint64(place * words)
        for number in range(old_offsets[place], old_offsets[place + 1]):
            fetch_early(flat, np.uint64(2 * old_ids[np.uint64(min(number + _AHEAD, last))]))
            row = old_ids[np.uint64(number)]
            left[count] = row  # overwritten by the next one unless it counts
            count += _sees(seen, mask, radius, here, flat[np.uint64(2 * row)]) ^ _U1
        offsets[place + 1] = count

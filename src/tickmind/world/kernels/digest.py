"""A quick fingerprint of columns: it distinguishes worlds that differ by accident, not by an attacker's design."""

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from tickmind.world.kernels.compiled import helper, kernel, reads, writes


def new_lanes() -> NDArray[np.uint64]:
    """Return the start of a fingerprint."""
    return np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x27D4EB2F165667C5], dtype=np.uint64)


def take_column(lanes: NDArray[np.uint64], column: np.ndarray[Any, Any]) -> None:
    """Add a column to a fingerprint; the border between columns makes a difference."""
    _take(np.ascontiguousarray(column).reshape(-1).view(np.uint8), lanes)


@helper
def _mix(words: NDArray[np.uint64], lanes: NDArray[np.uint64]) -> None:
    """Mix words into the lanes, each into the next one in turn; every step is reversible, so no difference is lost."""
    prime, shift = np.uint64(0x9FB21C651E98DF25), np.uint64(29)
    one, two, three, four = lanes[0], lanes[1], lanes[2], lanes[3]
    whole = len(words) // 4 * 4
    for at in range(0, whole, 4):
        one = (one ^ words[at]) * prime
        two = (two ^ words[at + 1]) * prime
        three = (three ^ words[at + 2]) * prime
        four = (four ^ words[at + 3]) * prime
        one ^= one >> shift
        two ^= two >> shift
        three ^= three >> shift
        four ^= four >> shift
    for at in range(whole, len(words)):
        one = (one ^ words[at]) * prime
        one ^= one >> shift
        one, two, three, four = two, three, four, one
    lanes[0], lanes[1], lanes[2], lanes[3] = one, two, three, four


@kernel(types.void, reads(types.uint8, 1), writes(types.uint64, 1))
def _take(raw: NDArray[np.uint8], lanes: NDArray[np.uint64]) -> None:
    """Mix bytes in: eight at a time, then how many they are, and the rest as one word."""
    whole = len(raw) // 8 * 8
    _mix(raw[:whole].view(np.uint64), lanes)
    tail = np.zeros(16, dtype=np.uint8)
    tail[8 : 8 + len(raw) - whole] = raw[whole:]
    words = tail.view(np.uint64)
    words[0] = len(raw)
    _mix(words, lanes)

"""Reproducible random numbers from a seed and a purpose, without a state that steps would have to share."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tickmind.protocol.columns import Int64, UInt64

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_FIRST = 0xBF58476D1CE4E5B9
_SECOND = 0x94D049BB133111EB


def scatter(seed: int, purpose: int, tick: int, keys: "Int64") -> "UInt64":
    """Return one even 64-bit number for each key; the same arguments give the same numbers on every machine."""
    base = _mix_one(_mix_one(_mix_one(seed & _MASK) ^ purpose) ^ tick)
    return _mix(keys.astype(np.uint64) * np.uint64(_GOLDEN) + np.uint64(base))


def draw(seed: int, purpose: int, tick: int, keys: "Int64", below: "Int64") -> "Int64":
    """Return one number from 0 up to, not including, `below` for each key; 0 where `below` is less than 2."""
    bound = np.maximum(below, 1).astype(np.uint64)
    return (scatter(seed, purpose, tick, keys) % bound).astype(np.int64)


def mixed_seeds(seeds: "UInt64") -> "UInt64":
    """Prepare seeds for `draw_by_seed`."""
    return _mix(seeds + np.uint64(_GOLDEN))


def draw_by_seed(mixed: "UInt64", purpose: int, ticks: "Int64", keys: "Int64", below: "Int64") -> "Int64":
    """Return the same numbers as `draw`, with a seed and a tick for each key."""
    base = _mix((mixed ^ np.uint64(purpose)) + np.uint64(_GOLDEN))
    base = _mix((base ^ ticks.astype(np.uint64)) + np.uint64(_GOLDEN))
    bound = np.maximum(below, 1).astype(np.uint64)
    return (_mix(keys.astype(np.uint64) * np.uint64(_GOLDEN) + base) % bound).astype(np.int64)


def _mix(value: "UInt64") -> "UInt64":
    value = (value ^ (value >> np.uint64(30))) * np.uint64(_FIRST)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(_SECOND)
    return value ^ (value >> np.uint64(31))


def _mix_one(value: int) -> int:
    value = (value + _GOLDEN) & _MASK
    value = ((value ^ (value >> 30)) * _FIRST) & _MASK
    value = ((value ^ (value >> 27)) * _SECOND) & _MASK
    return value ^ (value >> 31)


class Chance:
    """The chance of one world: even numbers by its seed, a purpose, a tick, and what they are drawn for."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def for_objects(self, purpose: int, tick: int, rows: "Int64", below: "Int64") -> "Int64":
        """Draw a number for each of some objects, by their rows."""
        return draw(self._seed, purpose, tick, rows, below)

    def for_carried(self, purpose: int, tick: int, keys: "Int64", below: "Int64") -> "Int64":
        """Draw a number for each of some items that actors carry; a key is actor row * item kinds + item code."""
        return draw(self._seed, purpose, tick, keys, below)

    def for_ground(self, purpose: int, tick: int, keys: "Int64", below: "Int64") -> "Int64":
        """Draw a number for each of some items on the ground; a key is tile * item kinds + item code."""
        return draw(self._seed, purpose, tick, keys, below)


class Dice:
    """A sequence of numbers from a seed, for generators that draw one after another."""

    def __init__(self, seed: int) -> None:
        self._state = _mix_one(seed & _MASK)

    def below(self, bound: int) -> int:
        """Return a number from 0 up to, not including, `bound`."""
        self._state = (self._state + _GOLDEN) & _MASK
        return _mix_one(self._state) % bound

    def between(self, least: int, most: int) -> int:
        """Return a number from `least` to `most`, both included."""
        return least + self.below(most - least + 1)

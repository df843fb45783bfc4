"""Response curves: map an input (0 to 1) to a score (0 to 1). Each call makes a curve."""

import math
from collections.abc import Callable
from typing import TypeAlias

from tickmind.base import ConfigError

Curve: TypeAlias = Callable[[float], float]

_LARGEST_EXPONENT = 700.0  # exp() overflows a little above


def clamp(x: float) -> float:
    """Return the nearest number from 0 to 1."""
    return 0.0 if x <= 0.0 else min(1.0, x)


def linear(slope: float = 1.0, offset: float = 0.0) -> Curve:
    """Make a straight line: `linear(-1, 1)` scores the more the less there is."""
    _check_finite(slope=slope, offset=offset)
    return lambda x: clamp(slope * clamp(x) + offset)


def power(exponent: float = 2.0) -> Curve:
    """Make a curve that is slow at first, then steep (or the other way round below 1)."""
    _check_exponent(exponent)
    return lambda x: clamp(x) ** exponent


def inverse(exponent: float = 1.0) -> Curve:
    """Make a curve that falls: the less the better."""
    _check_exponent(exponent)
    return lambda x: 1.0 - clamp(x) ** exponent


def logistic(steepness: float = 10.0, midpoint: float = 0.5) -> Curve:
    """Make an S curve around a midpoint."""
    _check_finite(steepness=steepness, midpoint=midpoint)
    return lambda x: 1.0 / (1.0 + math.exp(min(_LARGEST_EXPONENT, -steepness * (clamp(x) - midpoint))))


def step(threshold: float = 0.5) -> Curve:
    """Make a step: 0 below the threshold, 1 from there on."""
    _check_finite(threshold=threshold)
    return lambda x: 1.0 if clamp(x) >= threshold else 0.0


def _check_finite(**parameters: float) -> None:
    for name, value in parameters.items():
        if not math.isfinite(value):
            raise ConfigError(f"the {name} of a curve must be a finite number, not {value!r}")


def _check_exponent(exponent: float) -> None:
    if not exponent > 0.0:
        raise ConfigError(f"the exponent of a curve must be more than 0, not {exponent!r}")

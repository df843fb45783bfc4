"""Utility AI: score each action by its considerations, and take the best."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from tickmind.ai.curves import Curve, clamp
from tickmind.ai.errors import ConsiderationError, shown
from tickmind.base import ConfigError

if TYPE_CHECKING:
    from tickmind.tick import World

ConsiderationFn: TypeAlias = Callable[["World", int], float]


@dataclass(frozen=True, slots=True)
class Consideration:
    """A registered consideration for one action, through a response curve."""

    name: str
    curve: Curve | None = None


@dataclass(frozen=True, slots=True)
class UtilityAction:
    """An action and its considerations. Raises `ConfigError` for a weight that is no finite number of 0 or more."""

    name: str
    considerations: tuple[Consideration, ...]
    weight: float = 1.0

    def __post_init__(self) -> None:
        weight: object = self.weight
        if not isinstance(weight, int | float) or not math.isfinite(weight) or weight < 0:
            raise ConfigError(
                f"the weight of utility action {self.name!r} is {shown(weight)}; give a number, 0 or more"
            )


def combined_score(values: list[float], weight: float = 1.0) -> float:
    """Multiply values from 0 to 1, each raised a little to make up for there being many of them.

    Without this an action with five good reasons (0.9 each) would lose against one with a single middling one (0.6).
    """
    missing = 1.0 - 1.0 / len(values)
    score = weight
    for value in values:
        score *= value + (1.0 - value) * missing * value
    return score


def score(action: UtilityAction, fns: tuple[ConsiderationFn, ...], world: "World", entity_id: int) -> float:
    """Evaluate the considerations of an action in order; the first that returns 0 rules it out.

    Raises `ConsiderationError` for one that raises, or returns NaN, text, None or anything else that is no number.
    """
    values = []
    for consideration, fn in zip(action.considerations, fns, strict=True):
        curve = consideration.curve
        try:
            value = fn(world, entity_id)
            if type(value) is not float:
                value = _number(value, consideration, entity_id)
            if curve is not None and value == value:  # noqa: PLR0124  NaN differs from itself
                value = curve(clamp(value))
                if type(value) is not float:
                    value = _number(value, consideration, entity_id)
        except ConsiderationError:
            raise
        except BaseException as error:
            raise ConsiderationError.from_raised(consideration.name, entity_id, error) from error
        if value != value:  # noqa: PLR0124
            raise ConsiderationError(consideration.name, f"returned NaN for entity {entity_id}")
        value = clamp(value)
        if value == 0.0:
            return 0.0
        values.append(value)
    return combined_score(values, action.weight) if values else 0.0


def _number(value: object, consideration: Consideration, entity_id: int) -> float:
    """Return other kinds of numbers as a float, such as those of NumPy; refuse text, which float() would accept."""
    if not isinstance(value, str | bytes | bytearray):
        try:
            return float(value)  # type: ignore[arg-type]  # whatever has __float__ or __index__
        except TypeError:
            pass  # refused below, as text is
    raise ConsiderationError(
        consideration.name, f"returned {shown(value)} for entity {entity_id}; it must return a number from 0 to 1"
    )

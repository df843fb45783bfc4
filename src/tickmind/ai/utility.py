"""Utility AI: each action is scored by what speaks for it, and the best one is taken."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from tickmind.ai.curves import Curve, clamp
from tickmind.ai.errors import AIError

if TYPE_CHECKING:
    from tickmind.tick import World

ConsiderationFn: TypeAlias = Callable[["World", int], float]


@dataclass(frozen=True, slots=True)
class Consideration:
    """A registered consideration as one action looks at it, through a response curve."""

    name: str
    curve: Curve | None = None


@dataclass(frozen=True, slots=True)
class UtilityAction:
    """What speaks for an action."""

    name: str
    considerations: tuple[Consideration, ...]
    weight: float = 1.0


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
    """Ask the considerations of an action in order; the first that says 0 rules it out."""
    values = []
    for consideration, fn in zip(action.considerations, fns, strict=True):
        value = fn(world, entity_id)
        if consideration.curve is not None and value == value:  # noqa: PLR0124  NaN differs from itself
            value = consideration.curve(clamp(value))
        if value != value:  # noqa: PLR0124
            raise AIError(f"consideration {consideration.name!r} gave NaN for entity {entity_id}")
        value = clamp(value)
        if value == 0.0:
            return 0.0
        values.append(value)
    return combined_score(values, action.weight) if values else 0.0

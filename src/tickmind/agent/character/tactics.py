"""`action` and `condition`: make methods of a character nodes of its behaviour tree."""

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any, TypeVar

from tickmind.ai import Status
from tickmind.tick.hooks import checked

A = TypeVar("A", bound=Callable[..., Status])
C = TypeVar("C", bound=Callable[..., bool])
_MARK = "__tactic__"


class Tactic(StrEnum):
    """The role of a method in a tree."""

    ACTION = "action"
    CONDITION = "condition"


def action(method: A) -> A:
    """Make a method an action of the tree, under its name; the tree's attributes are its arguments.

    Raises `ConfigError` for an `async def`, as `condition` does: a tick never awaits.
    """
    checked(method, "an @action")
    setattr(method, _MARK, Tactic.ACTION)
    return method


def condition(method: C) -> C:
    """Make a method a condition of the tree, under its name; the tree's attributes are its arguments."""
    checked(method, "a @condition")
    setattr(method, _MARK, Tactic.CONDITION)
    return method


def tactics_of(kind: type) -> Iterator[tuple[str, Tactic, Callable[..., Any]]]:
    """Yield all actions and conditions of a class."""
    for name in dir(kind):
        method = getattr(kind, name)
        mark = getattr(method, _MARK, None)
        if isinstance(mark, Tactic):
            yield name, mark, method

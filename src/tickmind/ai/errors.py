"""What can go wrong in the tactical layer.

AIError
├── UnknownNameError    a tree, action, condition, consideration or selector that nobody registered (also a KeyError)
├── TreeError           a tree that can't be: no children where they are needed, subtrees that contain each other
│   └── TreeFileError   a tree file that can't be read; says where, with its line
└── BlackboardAccessError   a view of a Blackboard used for a key that it did not declare
"""

import difflib
from collections.abc import Iterable

from tickmind.base import TickmindError


class AIError(TickmindError):
    """Anything that the tactical layer raises."""


class UnknownNameError(AIError, KeyError):
    """A name that nobody registered; the message lists the nearest ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind = kind
        self.name = name
        names = sorted(known)
        near = difflib.get_close_matches(name, names, n=3)
        hint = f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(names) or 'none'}"
        super().__init__(f"there is no {kind} {name!r}; {hint}")

    def __str__(self) -> str:  # KeyError would show the message in quotes
        return str(self.args[0])


class TreeError(AIError, ValueError):
    """A behaviour tree that can't be."""


class TreeFileError(TreeError):
    """A tree file that can't be read."""

    def __init__(self, source: str, line: int, problem: str) -> None:
        self.source = source
        self.line = line
        super().__init__(f"{source}, line {line}: {problem}")


class BlackboardAccessError(AIError):
    """A view of a Blackboard was used for a key that it did not declare."""

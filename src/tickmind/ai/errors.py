"""The errors of the tactical layer.

AIError
├── UnknownNameError    an unregistered tree, action, condition, consideration or selector (also a KeyError)
├── TreeError           an impossible tree: no children where they are needed, subtrees that contain each other
│   └── TreeFileError   a tree file that can't be read; says where, with its line
├── BlackboardAccessError   a view of a Blackboard used for a key that it did not declare
└── CallError           a registered function raised, or returned an invalid value
    ├── ActionError
    ├── ConditionError
    ├── ConsiderationError   also for its response curve
    ├── HaltError            an `on_halt`
    └── CallbackError        an `on_status`, `on_select` or `on_transition`

The systems let none of them out of a tick: they go to `AIManager.on_error`, under a word of `AIErrorType`.
"""

import difflib
from collections.abc import Iterable
from enum import StrEnum
from typing import ClassVar

from tickmind.base import TickmindError, error_text, is_survivable

MAX_SHOWN_CHARS = 80


class AIErrorType(StrEnum):
    """The closed list of `error_type`s that `AIManager.on_error` reports."""

    ACTION = "action_error"  # an action raised, or returned no Status
    CONDITION = "condition_error"  # a condition raised
    CONSIDERATION = "consideration_error"  # a consideration or its curve raised, or returned no number
    HALT = "halt_error"  # an on_halt raised
    CALLBACK = "callback_error"  # an on_status, on_select or on_transition raised
    MISSING_DEFINITION = "missing_definition"  # a name that is not registered
    TREE = "tree_error"  # anything else: an impossible tree, a component with impossible values


class AIError(TickmindError):
    """The base of the tactical layer's errors."""

    error_type: ClassVar[AIErrorType] = AIErrorType.TREE


class UnknownNameError(AIError, KeyError):
    """A name that is not registered; the message lists the nearest ones."""

    error_type = AIErrorType.MISSING_DEFINITION

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
    """An impossible behaviour tree."""


class TreeFileError(TreeError):
    """A tree file that can't be read."""

    def __init__(self, source: str, line: int, problem: str) -> None:
        self.source = source
        self.line = line
        super().__init__(f"{source}, line {line}: {problem}")


class BlackboardAccessError(AIError):
    """A view of a Blackboard was used for a key that it did not declare."""


class CallError(AIError):
    """A registered function raised, or returned an invalid value; `__cause__` is what it raised."""

    called: ClassVar[str] = "function"

    def __init__(self, name: str, problem: str) -> None:
        self.name = name
        super().__init__(f"{self.called} {name!r} {problem}")

    @classmethod
    def from_raised(cls, name: str, entity_id: int, error: BaseException) -> "CallError":
        """Make the error that names the function; raise the original if it must end the tick, as Ctrl-C must."""
        if not is_survivable(error):
            raise error
        return cls(name, f"raised {error_text(error)} (entity {entity_id})")


class ActionError(CallError):
    """An action raised, or returned no `Status`."""

    error_type = AIErrorType.ACTION
    called = "action"


class ConditionError(CallError):
    """A condition raised."""

    error_type = AIErrorType.CONDITION
    called = "condition"


class ConsiderationError(CallError):
    """A consideration or its response curve raised, or returned no number."""

    error_type = AIErrorType.CONSIDERATION
    called = "consideration"


class HaltError(CallError):
    """The `on_halt` of an action raised."""

    error_type = AIErrorType.HALT
    called = "on_halt of action"


class CallbackError(CallError):
    """A callback of a system raised."""

    error_type = AIErrorType.CALLBACK
    called = "callback"


def shown(value: object) -> str:
    """Return a value for an error message, cut to a bounded length; never raise, whatever its `__repr__` does."""
    try:
        return repr(value)[:MAX_SHOWN_CHARS]
    except Exception:  # noqa: BLE001  a value's text is supplied code too
        return f"a {type(value).__name__}"

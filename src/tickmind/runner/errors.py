"""Errors of a runner; what goes wrong in an agent is an `Ending`, and its restart.

    RunnerError
    ├── StateChangeError    an invalid change of a process's state: a bug of the runner
    └── WardenError         no process can be started here, or an order is too large

A mapping that can't be used is a `base.problems.ConfigFileError`.
"""

from tickmind.base import TickmindError, redact


class RunnerError(TickmindError):
    """Base class of a runner's errors."""

    def __init__(self, message: str) -> None:
        super().__init__(redact(message))


class StateChangeError(RunnerError):
    """An invalid change of state."""


class WardenError(RunnerError):
    """The process that starts all others failed."""

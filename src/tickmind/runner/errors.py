"""What can go wrong in a runner; what goes wrong in an agent is an `Ending`, and its restart.

    RunnerError
    ├── StateChangeError    a process's life can't go from that state to this one: a fault of ours
    └── WardenError         no process can be started here, or an order is too large

A mapping that can't be used is a `base.problems.ConfigFileError`.
"""

from tickmind.base import TickmindError, redact


class RunnerError(TickmindError):
    """Anything that a runner raises."""

    def __init__(self, message: str) -> None:
        super().__init__(redact(message))


class StateChangeError(RunnerError):
    """A life can't change so."""


class WardenError(RunnerError):
    """The process that starts all others can't do its work."""

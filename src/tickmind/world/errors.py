"""What can go wrong with a world; what actors do wrong is a `Reason`, never an error.

WorldError
├── ScenarioError           a scenario that can't be; says where, with line and column (also a ConfigError)
├── BadIntentsError         columns of intents that no inbox makes: rows twice, out of order or out of range
└── SnapshotMismatchError   a snapshot of another scenario, rule set or format, or a damaged one
"""

from tickmind.base import ConfigError, TickmindError


class WorldError(TickmindError):
    """Anything that the tile world raises."""


class ScenarioError(WorldError, ConfigError):
    """A scenario that can't be used. `line` and `column` count from 1; they are 0 where there is no text."""

    def __init__(self, source: str, line: int, column: int, problem: str) -> None:
        self.source = source
        self.line = line
        self.column = column
        self.problem = problem
        where = f"{source}, line {line}, column {column}" if line else source
        super().__init__(f"{where}: {problem}")


class BadIntentsError(WorldError, ValueError):
    """Columns of intents that no inbox makes. The world is as it was."""


class SnapshotMismatchError(WorldError, ValueError):
    """A snapshot that does not belong to this world, or is damaged. The world is as it was."""

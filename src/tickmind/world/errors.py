"""The errors of a world; what actors do wrong is a `Reason`, never an error.

WorldError
├── ScenarioError           an impossible scenario; says all that is wrong and where (also a ConfigFileError)
├── OwnRuleError            a call of a user's own rule that is not possible, or such a rule that is not there
├── BadIntentsError         columns of intents that no inbox makes: rows twice, out of order or out of range
└── SnapshotMismatchError   a snapshot of another scenario, rule set or format, or a damaged one
"""

from tickmind.base import TickmindError
from tickmind.base.problems import ConfigFileError


class WorldError(TickmindError):
    """The base of the tile world's errors."""


class ScenarioError(WorldError, ConfigFileError):
    """A scenario that can't be used; `problems` lists all mistakes, in the order of the text."""


class OwnRuleError(WorldError, ValueError):
    """A rule of the user's own asked for something impossible, or a world has to step without its own rules."""


class BadIntentsError(WorldError, ValueError):
    """Columns of intents that no inbox makes. The world is as it was."""


class SnapshotMismatchError(WorldError, ValueError):
    """A snapshot that does not belong to this world, or is damaged. The world is as it was."""

"""The errors of a character's process.

    AgentError
    ├── LaunchError        the environment, the launch file or the secrets can't be used (also a ConfigError)
    └── ControlLostError   another process has taken the entity over, so this one must stop acting

Errors between the process and the world are `wire.WireError`s, which the kit handles by itself.
"""

from tickmind.base import ConfigError, TickmindError, redact


class AgentError(TickmindError):
    """A character's process can't go on."""

    def __init__(self, message: str) -> None:
        super().__init__(redact(message))


class LaunchError(AgentError, ConfigError):
    """The environment, launch file or secrets can't be used; the message says what to set."""


class ControlLostError(AgentError):
    """Another process has taken the entity over with the secret of its lease, so this one must stop acting."""

"""What can go wrong in a character's own process.

    AgentError
    ├── LaunchError        the environment, the launch file or the secrets can't be used (also a ConfigError)
    └── ControlLostError   another process has taken the entity over, so this one must not act any more

What goes wrong between the process and the world is a `wire.WireError`, which the kit handles by itself.
"""

from tickmind.base import ConfigError, TickmindError, redact


class AgentError(TickmindError):
    """A character's process can't go on."""

    def __init__(self, message: str) -> None:
        super().__init__(redact(message))


class LaunchError(AgentError, ConfigError):
    """What the process was started with can't be used; the message says what to set."""


class ControlLostError(AgentError):
    """Another process has taken the entity over with the secret of its lease, so this one must not act any more."""

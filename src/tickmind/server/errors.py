"""Errors of serving a world.

    ServerError
    ├── AddressError        an address is taken or can't be used (also a ConfigError)
    ├── ExposureError       an address beyond this machine without TLS and tokens (also a ConfigError)
    ├── CheckpointError     a checkpoint is damaged, or of another world
    └── ReplayError         a recorded tick can't be repeated

Mistakes of agents are none of these: they are refused with a reason.
"""

from tickmind.base import ConfigError, TickmindError


class ServerError(TickmindError):
    """A world can't be served."""


class AddressError(ServerError, ConfigError):
    """An address is taken or can't be used."""


class ExposureError(ServerError, ConfigError):
    """An address beyond this machine needs TLS and tokens."""


class CheckpointError(ServerError):
    """A checkpoint is damaged, or of another world."""


class ReplayError(ServerError):
    """A recorded tick can't be repeated: it is missing, or gives another state than recorded."""

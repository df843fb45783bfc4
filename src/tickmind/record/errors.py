"""Errors of the record of a run.

RecordError
├── RunIdError           an invalid run id (also a ConfigError)
├── NoSuchRunError       there is no such run (also a ConfigError)
├── RunExistsError       the run exists already (also a ConfigError)
├── RunBusyError         another process writes to it
├── RunFinishedError     it is finished, so nothing can be added
├── RunNotFinishedError  it is not finished, and this needs the finished files
├── RecordOrderError     a tick that is not the next one, or is not of this run's world
├── DiskFaultError       the disk refused: full, broken, read-only
├── DamagedRunError      its files are damaged
└── SchemaVersionError   it was written by a later version
"""

from tickmind.base import ConfigError, TickmindError


class RecordError(TickmindError):
    """Something is wrong with the record of a run."""


class RunIdError(RecordError, ConfigError):
    """The run id is invalid; nothing was looked up."""


class NoSuchRunError(RecordError, ConfigError):
    """There is no run of this name."""


class RunExistsError(RecordError, ConfigError):
    """A run of this name exists already."""


class RunBusyError(RecordError):
    """Another process writes to this run."""


class RunFinishedError(RecordError):
    """The run is finished; nothing can be added to it."""


class RunNotFinishedError(RecordError):
    """The finished files of the run do not exist yet."""


class RecordOrderError(RecordError):
    """A tick is not the next one, or is not of this run's world. Nothing was written."""


class DiskFaultError(RecordError):
    """The disk refused. The current tick is not stored and must not be shown; the log accepts no further ticks."""


class DamagedRunError(RecordError):
    """A file of a run is damaged, or was not written by tickmind."""


class SchemaVersionError(RecordError):
    """The run was written by a later version of tickmind."""

"""What can go wrong with the record of a run.

RecordError
├── RunIdError           a name that can't be a run's (also a ConfigError)
├── NoSuchRunError       there is no such run (also a ConfigError)
├── RunExistsError       there is one already (also a ConfigError)
├── RunBusyError         somebody else writes to it
├── RunFinishedError     it is finished, so nothing can be added
├── RecordOrderError     a tick that is not the next one, or nothing that this run records
├── DiskFaultError       the disk refused: full, broken, read-only
├── DamagedRunError      its files are not what was written
└── SchemaVersionError   it was written by a later version
"""

from tickmind.base import ConfigError, TickmindError


class RecordError(TickmindError):
    """Something is wrong with the record of a run."""


class RunIdError(RecordError, ConfigError):
    """A name that can't be a run's; nothing was looked up."""


class NoSuchRunError(RecordError, ConfigError):
    """There is no run of this name."""


class RunExistsError(RecordError, ConfigError):
    """There is a run of this name already."""


class RunBusyError(RecordError):
    """Another process writes to this run."""


class RunFinishedError(RecordError):
    """The run is finished; nothing can be added to it."""


class RecordOrderError(RecordError):
    """A tick came that is not the next one, or that is not of this run's world. Nothing was written."""


class DiskFaultError(RecordError):
    """The disk refused. The tick at hand is not kept and must not be shown; the log takes no further ones."""


class DamagedRunError(RecordError):
    """A file of a run is damaged, or was never one of ours."""


class SchemaVersionError(RecordError):
    """The run was written by a later version of tickmind."""

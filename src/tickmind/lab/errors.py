"""Errors of the lab.

TickmindError
└── LabError
    ├── BranchError      a run can't be branched, or not exactly
    └── InterviewError   a character can't be asked
"""

from tickmind.base import TickmindError


class LabError(TickmindError):
    """Something can't be done with a recorded run."""


class BranchError(LabError):
    """A run can't be branched there, or its past does not come out as it was recorded."""


class InterviewError(LabError):
    """A character of a run can't be asked."""

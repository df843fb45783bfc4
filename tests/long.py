"""The long form of the tests, `make soak`: the same claims with more seeds, more examples and longer drills.

A test takes its numbers from here where the short ones find the faults that the long ones find, and only a soak
looks for rarer ones.
"""

import os
from typing import Final, TypeVar

Value = TypeVar("Value")

LONG: Final = bool(os.environ.get("LONG"))


def short_or_long(short: Value, long: Value) -> Value:
    """Return `long` where the environment has LONG=1, else `short`."""
    return long if LONG else short

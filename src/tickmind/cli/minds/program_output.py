"""What agents' programs print, kept apart from what a command answers."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TextIO


@contextmanager
def programs_print_to_stderr() -> Iterator[TextIO]:
    """Send what is printed meanwhile to stderr; yields the output, which other programs read."""
    output = sys.stdout
    with redirect_stdout(sys.stderr):
        yield output

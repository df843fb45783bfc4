"""The folder of a runner, which two runners must not share: their agents would compete for characters."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tickmind.base.files import PRIVATE_MODE, open_file
from tickmind.runner.errors import RunnerError


@contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Lock a folder as long as this process lives; raises `RunnerError` if another runner has it."""
    try:
        descriptor = open_file(folder / "lock", os.O_RDWR | os.O_CREAT, mode=PRIVATE_MODE)
    except OSError as error:
        raise RunnerError(f"{folder / 'lock'} can't be opened: {error.strerror}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunnerError(f"another runner uses {folder}; stop it, or choose another folder with --state") from None
        yield
    finally:
        os.close(descriptor)

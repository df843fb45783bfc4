"""The user's cache folder for weights and runtimes, and the lock that keeps two installs apart."""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tickmind.base import Clock, SystemClock
from tickmind.base.files import open_file
from tickmind.llm.errors import LLMConfigError, LLMDeadlineError

CACHE_VARIABLE = "TICKMIND_CACHE"
LOCK_TIMEOUT_S = 3600.0
_LOCK_POLL_S = 0.1

Progress = Callable[[int, int, str], None]
"""Called with bytes done, bytes in all, and what is being done."""


def no_progress(done: int, total: int, what: str) -> None:
    """Show nothing."""


def cache_folder(env: Mapping[str, str] | None = None) -> Path:
    """Return the folder of what can be fetched again: `TICKMIND_CACHE`, else `tickmind` in the user's cache."""
    env = os.environ if env is None else env
    if chosen := env.get(CACHE_VARIABLE):
        return Path(chosen).expanduser().absolute()
    base = env.get("XDG_CACHE_HOME", "")
    # The XDG rule: a relative path there is to be ignored.
    root = Path(base) if base.startswith("/") else Path.home() / ".cache"
    return root / "tickmind"


def make_folder(folder: Path) -> None:
    """Create a folder of the cache; raises `LLMConfigError` with the reason if that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LLMConfigError(
            f"can't create the cache folder {folder} ({error.strerror}); "
            f"set {CACHE_VARIABLE} to a folder you can write to"
        ) from error


def check_space(folder: Path, needed_bytes: int) -> None:
    """Raise `LLMConfigError` if the disk has no room for so many bytes."""
    free = shutil.disk_usage(folder).free
    if free < needed_bytes:
        raise LLMConfigError(
            f"{needed_bytes / 1e6:,.0f} MB are needed in {folder} and {free / 1e6:,.0f} MB are free; "
            f"make room, or set {CACHE_VARIABLE} to a folder on another disk"
        )


@contextmanager
def install_lock(
    path: Path,
    *,
    timeout_s: float = LOCK_TIMEOUT_S,
    on_wait: Callable[[], None] = lambda: None,
    clock: Clock | None = None,
) -> Iterator[None]:
    """Hold the lock of one install; a second one waits. The system frees it when its process dies."""
    clock = clock or SystemClock()
    make_folder(path.parent)
    try:
        descriptor = open_file(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    except OSError as error:
        raise LLMConfigError(f"can't take the lock {path}: {error.strerror}; check the folder's permissions") from error
    with os.fdopen(descriptor, "ab") as handle:
        deadline = clock.monotonic() + timeout_s
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if clock.monotonic() >= deadline:
                    raise LLMDeadlineError(
                        f"another install has held {path} for {timeout_s:.0f} s; wait for it or stop it, then try again"
                    ) from None
                on_wait()
                clock.sleep(_LOCK_POLL_S)
        yield

"""Open files safely: a link is never written through, and a pipe or a device is never read.

Every file that a command writes or locks is opened here. A run, a cache or a state folder may come from another
machine or lie where others write, so the name of a file may be a link to something of the user's.
"""

import errno
import os
import secrets
import shlex
import stat
from contextlib import suppress
from pathlib import Path

RUNS_FOLDER = Path("runs")  # where commands keep recorded runs unless `--runs` says otherwise
_MODE = 0o666  # less what the umask takes away
PRIVATE_MODE = 0o600  # for this user only
_LINK = "it is a link, and links are not followed when a file is written; remove it, or choose another name"
_NO_FILE = "it is no regular file; remove it, or choose another name"


class UnsafeFileError(OSError):
    """A name belongs to a link, a pipe, a device or a folder where a regular file was expected."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(errno.ELOOP, why, str(path))


def runs_option(folder: Path) -> str:
    """Return ` --runs FOLDER` for messages that name a command; nothing for the default folder."""
    return "" if folder == RUNS_FOLDER else f" --runs {shlex.quote(str(folder))}"


def create_file(path: Path, *, mode: int = _MODE) -> int:
    """Make an empty file in place of anything with that name, and return its descriptor, open for writing.

    What the name referred to before, as the target of a link or another name of the same file, is left alone.
    Raises `OSError`; `FileExistsError` if the name is taken again in between.
    """
    with suppress(FileNotFoundError):
        path.unlink()
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)


def open_file(path: Path, flags: int, *, mode: int = _MODE) -> int:
    """Open a regular file with flags of `os.open`, made if `O_CREAT` says so; raises `UnsafeFileError` for a link.

    `path` itself must be a regular file; the folders above it may be links.
    """
    try:
        # A pipe must not hang the caller before it is recognised.
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, mode)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UnsafeFileError(path, _LINK) from None
        if error.errno == errno.ENXIO:  # a pipe without a reader, or a socket
            raise UnsafeFileError(path, _NO_FILE) from None
        raise
    return _regular(descriptor, path)


def open_to_read(path: str | Path, flags: int = 0) -> int:
    """Open a regular file for reading, through links too; raises `UnsafeFileError` for a pipe, a device or a folder.

    It serves as the `opener` of the built-in `open`.
    """
    try:
        descriptor = os.open(path, flags | os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise UnsafeFileError(Path(path), _NO_FILE) from None
        raise
    return _regular(descriptor, Path(path))


def read_at_most(path: Path, size: int) -> bytes:
    """Return the content of a regular file, at most `size` bytes of it; raises as `open_to_read`."""
    with open(path, "rb", opener=open_to_read) as file:  # Path.open has no opener
        # A whole buffer of `size` bytes would be more than a small process may have.
        return file.read(min(size, os.fstat(file.fileno()).st_size + 1))


def file_stamp(path: Path) -> tuple[int, int, int]:
    """Return what distinguishes the versions of a file; a missing file is a version too."""
    try:
        facts = path.stat()
    except OSError:
        return (0, 0, 0)
    return facts.st_ino, facts.st_size, facts.st_mtime_ns


def replace_file(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Put a file with this content in place, whole or not at all; an existing file keeps its permissions.

    Raises `UnsafeFileError` if the name belongs to anything but a regular file. `mode` is for a file that others must
    not read; it holds for an existing one too.
    """
    with suppress(FileNotFoundError):
        bits = path.lstat().st_mode
        if not stat.S_ISREG(bits):
            raise UnsafeFileError(path, _LINK if stat.S_ISLNK(bits) else _NO_FILE)
        mode = stat.S_IMODE(bits) if mode is None else mode
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = create_file(draft, mode=_MODE if mode is None else PRIVATE_MODE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if mode is not None:
                os.fchmod(descriptor, mode)
            file.write(data)
        draft.replace(path)
    except BaseException:
        with suppress(FileNotFoundError):
            draft.unlink()
        raise


def _regular(descriptor: int, path: Path) -> int:
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise UnsafeFileError(path, _NO_FILE)

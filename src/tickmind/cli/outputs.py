"""Output files that the user asked for: a report, a clip, a first agent."""

from pathlib import Path

from tickmind.base import ConfigError
from tickmind.base.files import replace_file


def write_output(path: Path, data: bytes) -> None:
    """Write a whole file, with its parent folders, replacing the one before; raises `ConfigError`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, data)
    except OSError as error:
        raise ConfigError(f"{path} can't be written: {error.strerror}") from error

"""`SecretSources`: a configuration's secrets from variables and files, never from the configuration itself."""

import os
import re
import shlex
import stat
from collections.abc import Callable
from pathlib import Path

from tickmind.base.limits import Limit

MAX_KEY_FILE_BYTES = Limit("size of a key file", 16_384, "bytes")
_OTHERS = 0o077
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class SourceError(ValueError):
    """A secret can't be read; the message says what to do and never shows a value."""


class SecretSources:
    """Look secrets up. `look_up` finds variables; files are relative to `folder`."""

    def __init__(self, look_up: Callable[[str], str | None], folder: Path) -> None:
        self._look_up = look_up
        self._folder = folder

    def variable(self, name: str) -> str | None:
        """Return the value of a variable, None if it is not set; raises `SourceError` if it is no key."""
        value = self._look_up(name)
        return None if value is None else _checked(value, f"the value of {name}")

    def expand(self, text: str) -> str:
        """Return a text with each `${NAME}` replaced; raises `SourceError` for one that is not set."""

        def value_of(match: re.Match[str]) -> str:
            value = self._look_up(match[1])
            if value is None:
                raise SourceError(
                    f"the environment variable {match[1]} is not set; set it, or take ${{{match[1]}}} out"
                )
            return value

        return _REFERENCE.sub(value_of, text)

    def key(self, reference: str) -> str:
        """Return the key that `${NAME}` stands for."""
        return _checked(self.expand(reference), f"the value of {reference}")

    def file(self, name: str) -> str:
        """Return the key in a file; raises `SourceError` if others than its owner may read it."""
        path = self._folder / Path(name).expanduser()
        data = read_private(path, MAX_KEY_FILE_BYTES, "the key file")
        return _checked(data.decode("utf-8", errors="replace"), f"the content of {path}")


def read_private(path: Path, limit: Limit, what: str) -> bytes:
    """Read a file that holds secrets; `what` names it in messages.

    Raises `SourceError` if it can't be read, is no regular file, or may be read by others than its owner (or its group,
    if it is root's and this process is not), and `LimitExceededError` if it is larger than `limit`.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a named pipe must not hang it
    except OSError as error:
        raise SourceError(f"{what} {path} can't be read: {error.strerror}") from None
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise SourceError(f"{what} {path} is no regular file")
        if facts.st_mode & (_OTHERS & ~stat.S_IRGRP if _is_given(facts) else _OTHERS):
            raise SourceError(f"{what} {path} can be read by others; run: chmod 600 {shlex.quote(str(path))}")
        data = os.read(descriptor, int(limit.maximum) + 1)
    finally:
        os.close(descriptor)
    limit.check(len(data))
    return data


def _is_given(facts: os.stat_result) -> bool:
    """Whether root gives a file to this process by its group, as Kubernetes does with mounted secrets."""
    return facts.st_uid == 0 != os.geteuid()


def has_reference(text: str) -> bool:
    """Return whether a text names a variable as `${NAME}`."""
    return _REFERENCE.search(text) is not None


def _checked(value: str, what: str) -> str:
    key = value.strip()
    if not key:
        raise SourceError(f"{what} is empty; set it")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise SourceError(f"{what} is no key: it has blanks, control or non-ASCII characters in it; copy it again")
    return key

"""`TokenFile`: tokens of one role, reread whenever the file has changed, so that they are rotated without a restart."""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from tickmind.base.errors import ConfigError, LimitExceededError
from tickmind.base.files import PRIVATE_MODE, file_stamp, replace_file
from tickmind.base.limits import Limit
from tickmind.base.log import get_logger
from tickmind.base.secret import Secret
from tickmind.base.secret_sources import SourceError, read_private

MIN_TOKEN_CHARS = 16
MAX_TOKEN_FILE_BYTES = Limit("size of a token file", 1_000_000, "bytes")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}:")
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class NamedToken:
    """A token and the name of its holder; tokens of one name are one holder's, those without a name are all of one."""

    token: Secret
    name: str = ""


class TokenFile:
    """The tokens of a file: one per line, newest first; `name: token` says whose it is. # begins a comment.

    All of them are admitted, and clients send the first. A changed file is read at its next use; one that can't be used
    is logged, and the tokens before stay. Raises `ConfigError` if that is so from the beginning.

        tokens = TokenFile(Path("tokens/agents"))
        tokens.newest().reveal()
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read_of = file_stamp(self.path)
        self._entries = _read(path)

    def __repr__(self) -> str:
        return f"TokenFile({str(self.path)!r})"

    def entries(self) -> tuple[NamedToken, ...]:
        """Return all tokens; the same tuple as before unless the file has changed."""
        stamp = file_stamp(self.path)
        if stamp != self._read_of:
            self._read_of = stamp
            try:
                self._entries = _read(self.path)
            except ConfigError as error:
                _log.error("a token file can't be used; keeping the tokens before", mistake=str(error))
        return self._entries

    def newest(self) -> Secret:
        """Return the first token, which clients send."""
        return self.entries()[0].token


Tokens: TypeAlias = tuple[Secret, ...] | TokenFile


class KnownTokens:
    """Recognises tokens. They are compared as hashes, so that the time which that takes tells nothing of them."""

    def __init__(self, tokens: Tokens = ()) -> None:
        self._file = tokens if isinstance(tokens, TokenFile) else None
        self._entries = () if isinstance(tokens, TokenFile) else tuple(NamedToken(token) for token in tokens)
        self._hashed_of: tuple[NamedToken, ...] = ()
        self._hashes: tuple[tuple[bytes, str], ...] = ()

    def __bool__(self) -> bool:
        return self._file is not None or bool(self._entries)

    def entries(self) -> tuple[NamedToken, ...]:
        """Return all tokens; the same tuple as before unless the file has changed."""
        return self._entries if self._file is None else self._file.entries()

    def holder_of(self, token: str) -> str | None:
        """Return the name of a token's holder, empty if it has none; None for a token that is unknown."""
        entries = self.entries()
        if entries is not self._hashed_of:
            self._hashes = tuple((_hash(each.token.reveal()), each.name) for each in entries)
            self._hashed_of = entries
        given = _hash(token)
        for known, name in self._hashes:
            if hmac.compare_digest(given, known):
                return name
        return None


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def _read(path: Path) -> tuple[NamedToken, ...]:
    try:
        text = read_private(path, MAX_TOKEN_FILE_BYTES, "the token file").decode("utf-8")
    except (SourceError, LimitExceededError) as error:
        raise ConfigError(str(error)) from error
    except UnicodeDecodeError:
        raise ConfigError(f"the token file {path} is no text; write one token in each line of a text file") from None
    lines = [line.strip() for line in text.splitlines()]
    entries = tuple(_entry(line) for line in lines if line and not line.startswith("#"))
    if not entries or any(not _is_token(each.token.reveal()) for each in entries):
        raise ConfigError(
            f"{path} must hold one token in each line, each of at least {MIN_TOKEN_CHARS} characters without blanks, "
            "or `name: token`; make one with `tickmind token`"
        )
    return entries


def _entry(line: str) -> NamedToken:
    name, _, token = line.partition(" ")
    if _NAME.fullmatch(name):
        return NamedToken(Secret(token.strip(), lasting=True), name[:-1])
    return NamedToken(Secret(line, lasting=True))


def _is_token(text: str) -> bool:
    return len(text) >= MIN_TOKEN_CHARS and text.isascii() and text.isprintable() and " " not in text


def rotate(path: Path, name: str = "", *, only: bool = False) -> int:
    """Put a new token of a holder in front of a file; with `only` remove the older ones instead, if there is any.

    Returns how many tokens that holder has then. Raises `ConfigError`.
    """
    if name and not _NAME.fullmatch(f"{name}:"):
        raise ConfigError(f"{name!r} is no name for the holder of a token; use letters, digits, dots and dashes")
    entries = list(_read(path)) if path.exists() else []
    own = [each for each in entries if each.name == name]
    if only:
        if not own:
            raise ConfigError(f"{path} has no token{f' of {name}' if name else ''}; make one first, without --only")
        entries = [each for each in entries if each.name != name or each is own[0]]
        own = own[:1]
    else:
        own = [NamedToken(Secret(secrets.token_urlsafe(32), lasting=True), name), *own]
        entries = [own[0], *entries]
    text = "".join(f"{f'{each.name}: ' if each.name else ''}{each.token.reveal()}\n" for each in entries)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(path, text.encode(), mode=PRIVATE_MODE)
    except OSError as error:
        raise ConfigError(f"{path} can't be written: {error.strerror}") from None
    return len(own)

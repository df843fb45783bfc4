"""Keys of the gateway's callers: random, shown once, kept as hashes.

A key is 256 bits of chance, so its plain SHA-256 can't be searched, and checking one costs a microsecond; a slow
password hash would guard nothing more and could be used to keep the gateway busy.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from typing import Final

from tickmind.base import ConfigError
from tickmind.gateway.settings.config import Caller, GatewayConfig
from tickmind.llm.safety import is_loopback

_PREFIX: Final = "sk-tm-"  # a shape that logs mask, and that clients which look for `sk-` accept
_HASH: Final = re.compile(r"sha256:([0-9a-f]{64})")
_MOST_SEEN: Final = 4096
_BEARER: Final = re.compile(r"bearer +(\S{1,200})", re.IGNORECASE | re.ASCII)


def new_key() -> str:
    """Make a random key. It is shown to its owner once and stored nowhere."""
    return _PREFIX + secrets.token_urlsafe(32)


def hash_key(key: str) -> str:
    """Return the hash that the configuration holds: enough to recognise the key, useless to a reader of the file."""
    return f"sha256:{hashlib.sha256(key.encode()).hexdigest()}"


def check_exposure(config: GatewayConfig, *, has_tls: bool) -> None:
    """Raise `ConfigError` if others than this machine could use the gateway without a key, or read keys on the way."""
    if is_loopback(config.host):
        return
    if not config.callers:
        raise ConfigError(
            f"listening on {config.host} lets others spend your quota, so callers need keys: make one with `tickmind "
            "gateway key NAME` and put the entry that it prints under `callers` in the configuration file, or listen "
            "on 127.0.0.1; beyond this machine it needs --tls, too"
        )
    if not (has_tls or config.plaintext):
        raise ConfigError(
            f"listening on {config.host} without TLS lets others read callers' keys and prompts; give --tls, or listen "
            "on 127.0.0.1. Where the network is protected otherwise, as behind a TLS proxy, say --plaintext"
        )


class CallerKeys:
    """Identifies callers by their keys. Without callers no key is needed, and `required` is False.

    A valid header is remembered, so that it is not hashed with each request; the table is looked up by Python's
    keyed hash, so timing reveals nothing about its content.
    """

    def __init__(self, callers: Iterable[Caller]) -> None:
        self._callers: dict[bytes, tuple[bytes, Caller]] = {}  # digest of the key -> the same, and whose it is
        for caller in callers:
            match = _HASH.fullmatch(caller.key_hash)
            if match is None:
                raise ConfigError(f"the key_hash of {caller.name!r} is no hash; see `tickmind gateway key NAME`")
            digest = bytes.fromhex(match[1])
            self._callers[digest] = (digest, caller)
        self._seen: dict[str, Caller] = {}  # header -> whose it is

    def check(self, authorization: str | None) -> Caller | None:
        """Return the caller of an `Authorization: Bearer ...` header; None if it is missing or unknown."""
        if not authorization:
            return None
        seen = self._seen.get(authorization)
        if seen is not None:
            return seen
        match = _BEARER.fullmatch(authorization)
        if match is None:
            return None
        digest = hashlib.sha256(match[1].encode("utf-8", "surrogateescape")).digest()
        known, caller = self._callers.get(digest, (b"", None))
        if caller is None or not hmac.compare_digest(known, digest):
            return None
        if len(self._seen) >= _MOST_SEEN:
            self._seen.clear()
        self._seen[authorization] = caller
        return caller

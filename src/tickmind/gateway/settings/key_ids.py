"""Ids of API keys: they distinguish keys and reveal nothing about them."""

import hashlib
import hmac
import secrets

from tickmind.base import Secret

_SHOWN_DIGITS = 16  # 64 bits: a million keys collide in one of thirty million gateways


class KeyIds:
    """Derives ids by SHA-256 under a secret of this process, so that keys can't be tried against an id.

    Gateways that share state must agree on the ids: give them the same `secret`.
    """

    def __init__(self, secret: Secret | None = None) -> None:
        self._secret = secret.reveal().encode() if secret else secrets.token_bytes(32)

    def of(self, key: str) -> str:
        """Return the id of a key; that of the empty key is `none`."""
        if not key:
            return "none"
        return hmac.digest(self._secret, key.encode(), hashlib.sha256).hex()[:_SHOWN_DIGITS]

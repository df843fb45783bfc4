"""Names for API keys that tell them apart and tell nothing about them."""

import hashlib
import hmac
import secrets

from tickmind.base import Secret

_SHOWN_DIGITS = 16  # 64 bits: two of a million keys meet once in thirty million gateways


class KeyIds:
    """Names keys by SHA-256 under a secret of this process, so that nobody can try keys against a name.

    Gateways that share their state must agree on the names: give them the same `secret`.
    """

    def __init__(self, secret: Secret | None = None) -> None:
        self._secret = secret.reveal().encode() if secret else secrets.token_bytes(32)

    def of(self, key: str) -> str:
        """The name of a key; the empty key, which is no key, is `none`."""
        if not key:
            return "none"
        return hmac.digest(self._secret, key.encode(), hashlib.sha256).hex()[:_SHOWN_DIGITS]

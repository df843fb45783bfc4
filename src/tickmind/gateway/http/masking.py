"""Masks secrets that a provider echoes in its replies, also where a stream splits them."""

import re

import orjson

from tickmind.gateway.routing.plan import Target

MASKED = b"***"
SHORTEST_MASKED = 8  # characters of a secret: anything shorter, as `none` or `ollama`, may be a word of replies
_PLAIN = re.compile(rb"[A-Za-z0-9._~-]*")  # what every JSON encoder leaves unescaped
_ODD = re.compile(r"[^A-Za-z0-9._~/-]")
_IN_HTML = re.compile(r"[\"&'+<>`]")  # what some encoders escape for HTML


def secrets_of(target: Target) -> tuple[bytes, ...]:
    """Return what is sent to a target and no caller may see: the key and secret headers, ours or a caller's own.

    Each comes in all its usual JSON spellings; most have one.
    """
    key = target.key.secret.reveal().encode()
    headers = target.provider.secret_headers
    others = tuple(value.reveal().encode() for value in headers.values()) if not target.custom else ()
    others += tuple(value.reveal().encode() for _, value in target.headers)
    long = [secret for secret in (key, *others) if len(secret) >= SHORTEST_MASKED]
    return tuple(dict.fromkeys(spelling for secret in long for spelling in spellings(secret)))


def spellings(secret: bytes) -> tuple[bytes, ...]:
    r"""Return a secret as it is and as JSON encoders may spell it: `/` as `\/`, `+` as `\u002B`."""
    if _PLAIN.fullmatch(secret):
        return (secret,)
    text = secret.decode("utf-8", "replace")
    variants = [text, orjson.dumps(text)[1:-1].decode()]
    variants += [_spelt(text, odd, form) for odd in (_ODD, _IN_HTML) for form in ("\\u{:04x}", "\\u{:04X}")]
    variants += [spelt.replace("/", escape) for spelt in tuple(variants) for escape in ("\\/", "\\u002f", "\\u002F")]
    return tuple(dict.fromkeys(spelt.encode() for spelt in variants))


def _spelt(text: str, odd: re.Pattern[str], form: str) -> str:
    return odd.sub(lambda match: form.format(ord(match[0])), text)


def masked(data: bytes, secrets: tuple[bytes, ...]) -> bytes:
    """Return the bytes with the secrets masked."""
    for secret in secrets:
        if secret and data.find(secret) >= 0:  # `in` first takes the secret for a number, and fails
            data = data.replace(secret, MASKED)
    return data


def masked_error(body: bytes, secrets: tuple[bytes, ...]) -> bytes:
    """Mask the secrets in an error reply, however its characters are escaped."""
    body = masked(body, secrets)
    if b"\\" not in body:
        return body
    try:
        plain = orjson.dumps(orjson.loads(body))
    except orjson.JSONDecodeError:
        return body
    clean = masked(plain, secrets)
    return body if clean == plain else clean


class StreamMask:
    """Masks secrets piece by piece; what may be the beginning of a secret waits for the next piece."""

    __slots__ = ("_held", "_key", "_next")

    def __init__(self, secrets: tuple[bytes, ...]) -> None:
        self._key = secrets[0] if secrets else b""
        self._next = StreamMask(secrets[1:]) if len(secrets) > 1 else None
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Take bytes and return those that can be passed on."""
        data = self._feed(data)
        return data if self._next is None else self._next.feed(data)

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits for the next piece."""
        return not self._held and (self._next is None or self._next.is_empty)

    def end(self) -> bytes:
        """Return the bytes that were held back and are no secret."""
        held, self._held = self._held, b""
        return held if self._next is None else self._next.feed(held) + self._next.end()

    def _feed(self, data: bytes) -> bytes:
        key = self._key
        if not key:
            return data
        if self._held:
            data = self._held + data
            self._held = b""
        if data.find(key) >= 0:
            data = data.replace(key, MASKED)
        if not data or data[-1] not in key:  # a whole event ends with an empty line
            return data
        at = data.find(key[:1], max(0, len(data) - len(key) + 1))
        while at >= 0:
            if key.startswith(data[at:]):
                self._held = data[at:]
                return data[:at]
            at = data.find(key[:1], at + 1)
        return data

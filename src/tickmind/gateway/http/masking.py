"""Takes a provider's echo of our secrets out of what it says, also where a stream cuts one in two."""

import re

import orjson

from tickmind.gateway.routing.plan import Target

MASKED = b"***"
SHORTEST_MASKED = 8  # of a caller's own headers: what is shorter is a word, and would be missing in replies
_PLAIN = re.compile(rb"[A-Za-z0-9._~-]*")  # what every writer of JSON leaves as it is
_ODD = re.compile(r"[^A-Za-z0-9._~/-]")
_IN_HTML = re.compile(r"[\"&'+<>`]")  # what some of them escape, so that it does no harm in a page


def secrets_of(target: Target) -> tuple[bytes, ...]:
    """What a target is sent and nobody else may see: the key and secret headers, ours or a caller's own.

    Each comes in all spellings that are usual in JSON; of most there is one.
    """
    key = target.key.secret.reveal().encode()
    headers = target.provider.secret_headers
    others = tuple(value.reveal().encode() for value in headers.values()) if not target.custom else ()
    others += tuple(value.reveal().encode() for _, value in target.headers if len(value.reveal()) >= SHORTEST_MASKED)
    return tuple(dict.fromkeys(spelling for secret in (key, *others) for spelling in spellings(secret)))


def spellings(secret: bytes) -> tuple[bytes, ...]:
    r"""A secret as it is and as writers of JSON may spell it in a text: `/` as `\/`, `+` as `\u002B`."""
    if _PLAIN.fullmatch(secret):
        return (secret,)
    text = secret.decode("utf-8", "replace")
    found = [text, orjson.dumps(text)[1:-1].decode()]
    found += [_spelt(text, odd, form) for odd in (_ODD, _IN_HTML) for form in ("\\u{:04x}", "\\u{:04X}")]
    found += [spelt.replace("/", escape) for spelt in tuple(found) for escape in ("\\/", "\\u002f", "\\u002F")]
    return tuple(dict.fromkeys(spelt.encode() for spelt in found))


def _spelt(text: str, odd: re.Pattern[str], form: str) -> str:
    return odd.sub(lambda match: form.format(ord(match[0])), text)


def masked(data: bytes, secrets: tuple[bytes, ...]) -> bytes:
    """The bytes without the secrets."""
    for secret in secrets:
        if secret and secret in data:
            data = data.replace(secret, MASKED)
    return data


def masked_error(body: bytes, secrets: tuple[bytes, ...]) -> bytes:
    """An error reply without the secrets, however its letters are spelt."""
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
    """Does the same piece by piece; what may be the beginning of a secret waits for the next piece."""

    __slots__ = ("_held", "_key", "_next")

    def __init__(self, secrets: tuple[bytes, ...]) -> None:
        self._key = secrets[0]
        self._next = StreamMask(secrets[1:]) if len(secrets) > 1 else None
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """The next bytes that can be passed on."""
        data = self._feed(data)
        return data if self._next is None else self._next.feed(data)

    def is_needless(self, lines: bytes) -> bool:
        """Whether whole lines, framed or not, can be passed by it: no secret is in them, nor the rest of one."""
        key = self._key
        if self._held or b"\n" in key or (key and key in lines):
            return False
        return self._next is None or self._next.is_needless(lines)

    def end(self) -> bytes:
        """What was held back and turned out to be something else."""
        held, self._held = self._held, b""
        return held if self._next is None else self._next.feed(held) + self._next.end()

    def _feed(self, data: bytes) -> bytes:
        key = self._key
        if not key:
            return data
        if self._held:
            data = self._held + data
            self._held = b""
        if key in data:
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

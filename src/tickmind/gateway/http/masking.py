"""Takes a provider's echo of our secrets out of what it says, also where a stream cuts one in two."""

from tickmind.gateway.queue.job import Target

MASKED = b"***"


def secrets_of(target: Target) -> tuple[bytes, ...]:
    """What a target is sent and nobody else may see: the key, and secret headers, which a caller's own has none of."""
    key = target.key.secret.reveal().encode()
    headers = target.provider.secret_headers
    if not headers or target.custom:
        return (key,)
    return (key, *(value.reveal().encode() for value in headers.values()))


def masked(data: bytes, secrets: tuple[bytes, ...]) -> bytes:
    """The bytes without the secrets."""
    for secret in secrets:
        if secret and secret in data:
            data = data.replace(secret, MASKED)
    return data


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

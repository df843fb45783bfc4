"""Takes a provider's echo of our key out of what it says, also where a stream cuts it in two."""

MASKED = b"***"


def masked(data: bytes, key: bytes) -> bytes:
    """The bytes without the key."""
    return data.replace(key, MASKED) if key and key in data else data


class StreamMask:
    """Does the same piece by piece; what may be the beginning of the key waits for the next piece."""

    __slots__ = ("_held", "_key")

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """The next bytes that can be passed on."""
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

    def end(self) -> bytes:
        """What was held back and turned out to be something else."""
        held, self._held = self._held, b""
        return held

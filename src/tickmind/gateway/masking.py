"""Takes a provider's echo of our key out of what it says, also where a stream cuts it in two."""

MASKED = b"***"
_MARK_BYTES = 4  # how much of a key must stand at the end of a piece for it to be held back


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
        at = data.rfind(key[:_MARK_BYTES], max(0, len(data) - len(key)))
        if at >= 0 and key.startswith(data[at:]):
            self._held = data[at:]
            return data[:at]
        return data

    def end(self) -> bytes:
        """What was held back and turned out to be something else."""
        held, self._held = self._held, b""
        return held

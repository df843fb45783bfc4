"""A reply body that is collected before it is sent to the caller."""

_MAX_PIECES = 256  # before they are joined: each piece has an overhead


class Collected:
    """The pieces of a reply."""

    __slots__ = ("_joined", "_pieces")

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._joined = bytearray()

    def add(self, data: bytes) -> None:
        """Add a piece."""
        self._pieces.append(data)
        if len(self._pieces) >= _MAX_PIECES:
            self._joined += b"".join(self._pieces)
            self._pieces = []

    def take(self) -> bytes:
        """Return the whole body, once."""
        whole = bytes(self._joined) + b"".join(self._pieces) if self._joined else b"".join(self._pieces)
        self._joined, self._pieces = bytearray(), []
        return whole

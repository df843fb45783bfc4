"""A reply that is collected before it is given to the caller."""

_MAX_PIECES = 256  # before they are put together: each alone takes room beside its bytes


class Collected:
    """The pieces of a reply."""

    __slots__ = ("_joined", "_pieces")

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._joined = bytearray()

    def add(self, data: bytes) -> None:
        """Keep a piece."""
        self._pieces.append(data)
        if len(self._pieces) >= _MAX_PIECES:
            self._joined += b"".join(self._pieces)
            self._pieces = []

    def take(self) -> bytes:
        """All of it, once."""
        whole = bytes(self._joined) + b"".join(self._pieces) if self._joined else b"".join(self._pieces)
        self._joined, self._pieces = bytearray(), []
        return whole

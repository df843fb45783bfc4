"""A cache of parsed message heads, looked up by their bytes.

A client that sends one request after the other sends the same headers each time, except for the digits of the length;
most servers do the same. A head is stored only after the strict parser has read it, and matches only with all of its
bytes except those digits, so a hit is what that parser would return.
"""

from typing import Generic, TypeVar

MAX_HEADS = 512  # that are kept; then the cache is cleared
MAX_HEAD_BYTES = 2048  # of each; browsers' heads are larger, and not worth caching
_MAX_DIGITS = 9
_LENGTH = b"ength: "  # the end of a name in either of its usual spellings
_Head = TypeVar("_Head")


class HeadMemo(Generic[_Head]):
    """Parsed heads. `find` costs two searches and one dictionary lookup, whatever the head."""

    __slots__ = ("_heads",)

    def __init__(self) -> None:
        self._heads: dict[bytes, _Head] = {}  # head without the digits of its length and without its end -> parsed

    def find(self, data: bytes) -> tuple[_Head, int, int] | None:
        """Return the parsed head at the start of the data, where the body begins, and its length (-1 if not stated)."""
        end = data.find(b"\r\n\r\n")
        if end < 0:
            return None
        at = data.find(_LENGTH, 0, end) + 7
        if at < 7:
            head = self._heads.get(data[:end])
            return None if head is None else (head, end + 4, -1)
        stop = data.find(b"\r\n", at)
        head = self._heads.get(data[:at] + data[stop:end])
        if head is None:
            return None
        digits = data[at:stop]
        if not digits.isdigit() or len(digits) > _MAX_DIGITS:
            return None
        return head, end + 4, int(digits)

    def keep(self, data: bytes, head: _Head) -> None:
        """Store a parsed head under its bytes, if it has a form that `find` recognises."""
        end = data.find(b"\r\n\r\n")
        if not 0 <= end <= MAX_HEAD_BYTES:
            return
        at = data.find(_LENGTH, 0, end) + 7
        named = data[:end].lower().count(b"content-length")
        if at < 7:
            name = data[:end]
            if named:  # in an odd form
                return
        else:
            stop = data.find(b"\r\n", at)
            own = data[data.rfind(b"\r\n", 0, at) + 2 : at].lower() == b"content-length: "
            if named != 1 or not own or not data[at:stop].isdigit():
                return
            name = data[:at] + data[stop:end]
        if len(self._heads) >= MAX_HEADS:
            self._heads.clear()
        self._heads[name] = head

    def __len__(self) -> int:
        return len(self._heads)


class Recall(Generic[_Head]):
    """The memo as one connection uses it: mostly the next head equals the last, which is found faster."""

    __slots__ = ("_after", "_after_size", "_at", "_before", "_head", "_memo", "_stop", "_whole")

    def __init__(self, memo: HeadMemo[_Head]) -> None:
        self._memo = memo
        self._before = b""  # the last head up to the digits of its length, empty if there was none
        self._after = b""  # and from there on
        self._after_size = 0
        self._at = self._stop = 0  # where those digits were
        self._head: _Head | None = None
        self._whole: tuple[_Head, int, int] | None = None  # what was found, if the last head states no length

    def find(self, data: bytes) -> tuple[_Head, int, int] | None:
        """Look up a head, the last one first; see `HeadMemo.find`."""
        head, before = self._head, self._before
        if head is not None and data.startswith(before):
            if self._whole is not None:
                return self._whole
            stop = self._stop
            if not data.startswith(self._after, stop):
                stop = self._other_stop(data)
            digits = data[self._at : stop]
            if digits.isdigit():
                return head, stop + self._after_size, int(digits)
        known = self._memo.find(data)
        if known is None:
            return None
        self._head, end, length = known
        if length < 0:
            self._before, self._whole = data[:end], known
        else:
            self._whole = None
            at = data.find(_LENGTH, 0, end) + 7
            stop = data.find(b"\r\n", at)
            self._before, self._after, self._after_size = data[:at], data[stop:end], end - stop
            self._at, self._stop = at, stop
        return known

    def _other_stop(self, data: bytes) -> int:
        """Return where the digits end if their number differs from last time; where they begin in another head."""
        stop = data.find(b"\r\n", self._at, self._at + _MAX_DIGITS + 2)
        if stop < 0 or not data.startswith(self._after, stop):
            return self._at
        self._stop = stop
        return stop

    def keep(self, data: bytes, head: _Head) -> None:
        """Store a head; see `HeadMemo.keep`."""
        self._memo.keep(data, head)

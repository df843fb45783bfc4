"""Heads of messages that were parsed before, found again by their bytes.

Who sends one request after the other sends the same headers each time, all but the digits of the length; so do most
servers with their replies. A head is kept only after the strict parser has read it, and is found only by all of its
bytes but those digits, so what is found is what that parser would say.
"""

from typing import Generic, TypeVar

MAX_HEADS = 512  # that are kept; then it begins anew
MAX_HEAD_BYTES = 2048  # of each; those of browsers are larger, and no browser is in a hurry
_MAX_DIGITS = 9
_LENGTH = b"ength: "  # the end of a name in either of its usual spellings
_Head = TypeVar("_Head")


class HeadMemo(Generic[_Head]):
    """What is known of heads. `find` costs two searches and one look into a table, whatever the head."""

    __slots__ = ("_heads",)

    def __init__(self) -> None:
        self._heads: dict[bytes, _Head] = {}  # head without the digits of its length and without its end -> parsed

    def find(self, data: bytes) -> tuple[_Head, int, int] | None:
        """What the head at the beginning of the data says, where the body begins, and its length, -1 if not said."""
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
        """Remember what a parser made of the head at the beginning of the data, if it is of a form that is found."""
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
    """A memo as one connection looks at it: what comes next is mostly what came last, and that is found quicker."""

    __slots__ = ("_after", "_before", "_digits", "_head", "_memo")

    def __init__(self, memo: HeadMemo[_Head]) -> None:
        self._memo = memo
        self._before = b""  # the last head up to the digits of its length, nothing if there was none
        self._after = b""  # and from there on
        self._digits = 0  # how many those were
        self._head: _Head | None = None

    def find(self, data: bytes) -> tuple[_Head, int, int] | None:
        """As the memo's."""
        head, before = self._head, self._before
        if head is not None and data.startswith(before):
            at, after = len(before), self._after
            stop = at + self._digits
            if not data.startswith(after, stop):
                stop = self._other_stop(data, at)
            digits = data[at:stop]
            if digits.isdigit():
                return head, stop + len(after), int(digits)
        found = self._memo.find(data)
        if found is not None and found[2] >= 0:
            self._head, end, _ = found
            at = data.find(_LENGTH, 0, end) + 7
            stop = data.find(b"\r\n", at)
            self._before, self._after, self._digits = data[:at], data[stop:end], stop - at
        return found

    def _other_stop(self, data: bytes, at: int) -> int:
        """Where the digits end, if they are more or fewer than last time; `at` if it is another head."""
        stop = data.find(b"\r\n", at, at + _MAX_DIGITS + 2)
        if stop < 0 or not data.startswith(self._after, stop):
            return at
        self._digits = stop - at
        return stop

    def keep(self, data: bytes, head: _Head) -> None:
        """As the memo's."""
        self._memo.keep(data, head)

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

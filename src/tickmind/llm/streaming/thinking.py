"""Separate `<think>...</think>` (and the other `TAG_NAMES`, in any case) from the answer, wherever a stream is cut.

This is the only rule for such tags: clients, tool agents and the readers of structured replies share it. It depends
on the text alone and never on how it was cut:

- Text between an opening and the next closing tag is thinking; tags themselves are in neither. Several blocks are
  joined. A block that never closes is thinking to the end. An opening tag inside a block is part of the thinking.
- A closing tag with no block before it means that the prompt opened the thinking: everything before it was thinking.
  In the totals (`ThinkSplitter.content`, `.thinking`, and `split_thinking`) it is. A stream has then already given
  that text out as content and can't take it back, so its pieces keep it as content. Set `opened=True` for models that
  do so always, and the pieces are right as well.
- A further closing tag without an opening one is dropped.

So the concatenated pieces are the same for every cut, the totals are the same for every cut and equal to
`split_thinking`, and both are equal to each other except in the case of a lone closing tag.
"""

import re
from dataclasses import dataclass
from typing import Literal

TAG_NAMES = ("think", "thinking", "thought", "thoughts", "reasoning", "reflection", "scratchpad")
_NAMES = "|".join(TAG_NAMES)
_TAG = re.compile(rf"<(/?)(?:{_NAMES})>", re.IGNORECASE)
_CLOSE = re.compile(rf"</(?:{_NAMES})>", re.IGNORECASE)
_LAST_TAG = re.compile(rf"<(/?)(?:{_NAMES})>\Z", re.IGNORECASE)
_CLOSE_TAGS = tuple(f"</{name}>" for name in TAG_NAMES)
_TAGS = (*(f"<{name}>" for name in TAG_NAMES), *_CLOSE_TAGS)
LONGEST_TAG = max(map(len, _TAGS))


@dataclass(frozen=True, slots=True)
class SplitText:
    """A text split into content and thinking."""

    content: str
    thinking: str


Piece = tuple[bool, str]  # (is it thinking, the text), the text never empty


class ThinkSplitter:
    """Split text into pieces of content and thinking as it comes; at most a tag's length is held back.

    `opened` means that the text begins inside a thinking block; with `tags=False` all of it is content.

        >>> splitter = ThinkSplitter()
        >>> for piece in ("<thi", "nk>Hm.</think>", "Hello!"):
        ...     _ = splitter.feed(piece)
        >>> _ = splitter.finish()
        >>> splitter.thinking, splitter.content
        ('Hm.', 'Hello!')
    """

    __slots__ = ("_before_block", "_content", "_held", "_inside", "_may_be_lone", "_tags", "_thinking")

    def __init__(self, *, opened: bool = False, tags: bool = True) -> None:
        self._tags = tags
        self._inside = opened
        self._may_be_lone = not opened
        self._held = ""
        self._before_block = 0  # how many pieces of thinking came before the block that was opened last
        self._content: list[str] = []
        self._thinking: list[str] = []

    @property
    def content(self) -> str:
        """All content so far."""
        return "".join(self._content)

    @property
    def thinking(self) -> str:
        """All thinking so far."""
        return "".join(self._thinking)

    @property
    def unclosed(self) -> str:
        """The thinking so far of a block that is still open."""
        return "".join(self._thinking[self._before_block :]) if self._inside else ""

    def note_thinking(self, text: str) -> None:
        """Count thinking that came by another way; a lone closing tag after it says nothing about the content."""
        self._may_be_lone = False
        self._thinking.append(text)

    def feed(self, text: str) -> list[Piece]:
        """Add text and return the pieces that are certain."""
        if not self._tags or ("<" not in text and not self._held):
            return self._give(text)
        text = self._held + text
        given: list[Piece] = []
        start = 0
        while match := (_CLOSE if self._inside else _TAG).search(text, start):
            given += self._give(text[start : match.start()])
            self._pass_tag(closing=text[match.start() + 1] == "/")
            start = match.end()
        keep = self._possible_tag(text, start)
        self._held = text[keep:]
        given += self._give(text[start:keep])
        return given

    def finish(self) -> list[Piece]:
        """Return the held-back pieces at the end of the text."""
        rest, self._held = self._held, ""
        return self._give(rest)

    def _give(self, text: str) -> list[Piece]:
        if not text:
            return []
        (self._thinking if self._inside else self._content).append(text)
        return [(self._inside, text)]

    def _pass_tag(self, *, closing: bool) -> None:
        if closing and not self._inside and self._may_be_lone:
            self._thinking += self._content
            self._content.clear()
        self._may_be_lone = False
        self._inside = not closing
        self._before_block = len(self._thinking)

    def _possible_tag(self, text: str, start: int) -> int:
        """Return where an ending begins that may turn out to be a tag."""
        at = text.rfind("<", max(start, len(text) - LONGEST_TAG + 1))
        if at >= 0:
            end = text[at:].lower()
            if any(tag.startswith(end) for tag in (_CLOSE_TAGS if self._inside else _TAGS)):
                return at
        return len(text)


def split_thinking(text: str, *, opened: bool = False) -> SplitText:
    """Split a whole text; equals the totals of a `ThinkSplitter` that was fed it in any pieces."""
    splitter = ThinkSplitter(opened=opened)
    splitter.feed(text)
    splitter.finish()
    return SplitText(splitter.content, splitter.thinking)


def tag_at_end(text: str) -> Literal["open", "close"] | None:
    """Return the kind of tag that a text ends with; None if it ends with none."""
    match = _LAST_TAG.search(text, max(0, len(text) - LONGEST_TAG))
    return None if match is None else "close" if match[1] else "open"

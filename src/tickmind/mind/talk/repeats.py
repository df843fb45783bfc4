"""`SpokenBefore`: what a character has said lately, so that it does not say it again."""

import re
from collections import deque
from collections.abc import Iterable
from functools import lru_cache

_WORD = re.compile(r"\w+")
REMEMBERED_LINES = 50
MOST_SHARED = 0.6  # of a line's word trigrams, with any one of the lines before


class SpokenBefore:
    """The last lines of one speaker, with names masked: "Morning, Ada!" and "Morning, Bram!" are the same."""

    def __init__(self) -> None:
        self._lines: deque[frozenset[tuple[str, ...]]] = deque(maxlen=REMEMBERED_LINES)

    def add(self, text: str, names: Iterable[str] = ()) -> None:
        """Note that a line was said; `names` are those that may stand in it."""
        self._lines.append(_trigrams(text, names))

    def shared(self, text: str, names: Iterable[str] = ()) -> float:
        """Return the greatest share of a line that it has in common with a line before, from 0 to 1."""
        own = _trigrams(text, names)
        return max((len(own & before) / len(own) for before in self._lines), default=0.0) if own else 1.0

    def is_fresh(self, text: str, names: Iterable[str] = ()) -> bool:
        """Return whether a line is not much like one of those before; nothing at all is not."""
        return self.shared(text, names) < MOST_SHARED


@lru_cache(maxsize=1024)
def _words_in_name(name: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(name.lower()))


def _trigrams(text: str, names: Iterable[str]) -> frozenset[tuple[str, ...]]:
    masked = {word for name in names for word in _words_in_name(name)}
    words = ["*" if word in masked else word for word in _WORD.findall(text.lower())]
    if len(words) < 3:
        return frozenset({tuple(words)} if words else ())
    return frozenset(zip(words, words[1:], words[2:], strict=False))

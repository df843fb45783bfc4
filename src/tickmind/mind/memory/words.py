"""The words of a text that carry its meaning."""

import re

_WORD = re.compile(r"\w+")
_SMALL = frozenset(
    _WORD.findall(
        "a an and are at by do does for from has have he her his how i in is it me my of on or our she so that the "
        "their them there they this to was we were what when where who why with you your"
    )
)


def flat_line(text: str) -> str:
    """Return a text without line breaks and invisible characters."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def words_in(text: str) -> list[str]:
    """Return the meaningful words of a text in their order, in lower case."""
    return [word for word in _WORD.findall(text.lower()) if word not in _SMALL]


def words_of(text: str) -> frozenset[str]:
    """Return the meaningful words of a text, each once."""
    return frozenset(words_in(text))

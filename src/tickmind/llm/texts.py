"""Shorten long texts for messages and records, and show where two differ."""

from tickmind.base import Limit

AROUND_CHARS = 30  # before and behind the first difference of two texts
SHORTENED_CHARS = 200  # enough to see a mistake, not enough to fill a small context


def shortened(text: str, limit_chars: int = SHORTENED_CHARS) -> str:
    """Return the beginning of a text, with dots where it was cut."""
    return text if len(text) <= limit_chars else text[:limit_chars] + "..."


def shortened_with_size(text: str, limit: Limit) -> str:
    """Return the beginning of a text, and how long it was."""
    if limit.allows(len(text)):
        return text
    return f"{text[: int(limit.maximum)]}... [shortened: {len(text):,} characters in all]"


def first_difference(left: str, right: str) -> tuple[int, str, str]:
    """Return the place of the first difference of two texts, from 1, and what stands around it in each."""
    pairs = enumerate(zip(left, right, strict=False))
    at = next((place for place, (one, other) in pairs if one != other), min(len(left), len(right)))
    part = slice(max(0, at - AROUND_CHARS), at + AROUND_CHARS)
    return at + 1, left[part], right[part]

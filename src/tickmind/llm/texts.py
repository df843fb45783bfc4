"""Shorten long texts for messages and records."""

from tickmind.base import Limit

SHORTENED_CHARS = 200  # enough to see a mistake, not enough to fill a small context


def shortened(text: str, limit_chars: int = SHORTENED_CHARS) -> str:
    """Return the beginning of a text, with dots where it was cut."""
    return text if len(text) <= limit_chars else text[:limit_chars] + "..."


def shortened_with_size(text: str, limit: Limit) -> str:
    """Return the beginning of a text, and how long it was."""
    if limit.allows(len(text)):
        return text
    return f"{text[: int(limit.maximum)]}... [shortened: {len(text):,} characters in all]"

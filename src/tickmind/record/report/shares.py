"""Shares as words, for pages and for the terminal."""

from collections.abc import Iterable
from typing import Final

SHOWN_SHARES: Final = 5
ELSEWHERE: Final = "elsewhere"  # outside of all zones


def listed_shares(shares: Iterable[tuple[str, float]], most: int = SHOWN_SHARES) -> str:
    """Return shares in a line: `square 62%, mill 30%, elsewhere 8%`; those after the first few as one number.

    >>> listed_shares([("square", 0.6), ("mill", 0.3), ("well", 0.1)], most=2)
    'square 60%, mill 30%, 1 more 10%'
    """
    given = list(shares)
    lines = [f"{name} {percent(share)}" for name, share in given[:most]]
    if rest := given[most:]:
        lines.append(f"{len(rest)} more {percent(sum(share for _, share in rest))}")
    return ", ".join(lines)


def percent(share: float) -> str:
    """Format a share: 62%, or <1% for the least that is not nothing."""
    return "<1%" if 0 < share < 0.005 else f"{share:.0%}"

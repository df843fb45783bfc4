"""Turns: what a mind did in each tick, as its process reports it and the record keeps it.

    a    it perceived and acted; the record has its intent, unless that reached the world too late
    l    it perceived and acted, but not before the deadline: its intent is lost, and the recorded one is not its own
    p    it perceived, and was not asked to act any more
    m    it missed the tick
    b    its process began here; this letter takes no tick

A text such as `b1a40l1a9` has a letter and a number for each stretch of ticks.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from itertools import groupby

_STRETCH = re.compile(r"([alpmb])([1-9][0-9]{0,8})")
_TURNS = re.compile(rf"(?:{_STRETCH.pattern})*")


class TurnCode(StrEnum):
    """What a mind did in a tick."""

    ACTED = "a"
    LATE = "l"
    PERCEIVED = "p"
    MISSED = "m"
    BEGAN = "b"


def encode_turns(codes: "list[TurnCode]") -> str:
    """Return the text of some turns."""
    return "".join(f"{code}{len(list(several))}" for code, several in groupby(codes))


def are_turns(text: str) -> bool:
    """Return whether a text is one of turns."""
    return _TURNS.fullmatch(text) is not None


def decode_turns(text: str, last_tick: int) -> Iterator[tuple[int, TurnCode]]:
    """Yield each tick with its code; the last turn in the text is that of `last_tick`. `b` stands at the next tick."""
    stretches = [(TurnCode(letter), int(count)) for letter, count in _STRETCH.findall(text)]
    tick_id = last_tick - sum(count for code, count in stretches if code is not TurnCode.BEGAN) + 1
    for code, count in stretches:
        if code is TurnCode.BEGAN:
            yield tick_id, code
            continue
        for _ in range(count):
            yield tick_id, code
            tick_id += 1

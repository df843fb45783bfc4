"""Words for a chronicle: names, numbers, lists, things and verbs of the past."""

import re
from collections.abc import Iterable, Sequence

from tickmind.protocol.setting import item_words, plural, with_article, zone_phrase

MAX_NAME_CHARS = 60
MAX_QUOTE_CHARS = 200
LISTED = 4  # names; more are counted
_NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_PAST = {
    "make": "made",
    "build": "built",
    "cut": "cut",
    "dig": "dug",
    "eat": "ate",
    "feed": "fed",
    "find": "found",
    "forge": "forged",
    "get": "got",
    "give": "gave",
    "go": "went",
    "grind": "ground",
    "light": "lit",
    "put": "put",
    "read": "read",
    "ring": "rang",
    "set": "set",
    "sew": "sewed",
    "shut": "shut",
    "sow": "sowed",
    "spin": "spun",
    "sweep": "swept",
    "take": "took",
    "teach": "taught",
    "weave": "wove",
    "write": "wrote",
    "bind": "bound",
    "break": "broke",
    "drink": "drank",
    "draw": "drew",
    "sing": "sang",
    "catch": "caught",
    "open": "opened",
    "visit": "visited",
    "harvest": "harvested",
    "water": "watered",
    "gather": "gathered",
    "butcher": "butchered",
}
_DOUBLED = re.compile(r"[^aeiou][aeiou][bdgklmnprt]")  # chop, tap: the last letter doubles


def plain(text: str, most: int = MAX_NAME_CHARS) -> str:
    """Return a text in one line, cut if it is long, with a sign in place of each character that is not printed."""
    flat = " ".join(text.split())
    shown = flat if len(flat) <= most else f"{flat[: most - 1].rstrip()}…"
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in shown)


def quoted(text: str) -> str:
    """Return what was said, in quotation marks."""
    inner = plain(text, MAX_QUOTE_CHARS).replace("“", "'").replace("”", "'")
    return f"“{inner}”"


def number(count: int) -> str:
    """Return a number as it stands in a sentence: in words up to twelve."""
    return _NUMBERS[count] if 0 <= count < len(_NUMBERS) else f"{count:,}"


def times(count: int) -> str:
    """Return how often: `once`, `twice`, `three times`."""
    return {1: "once", 2: "twice"}.get(count) or f"{number(count)} times"


def listed(words: Sequence[str], most: int = LISTED) -> str:
    """Return words as a list: `Ada, Bram and Cleo`, or `Ada, Bram, Cleo and five others`."""
    if len(words) > most + 1:
        words = [*words[: most - 1], f"{number(len(words) - most + 1)} others"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""


def each_once(words: Iterable[str]) -> list[str]:
    """Return words in their order, each once."""
    return list(dict.fromkeys(words))


def item_phrase(item: str, amount: int = 1) -> str:
    """Return some items: `bread`, `an axe`, `three berries`."""
    one, several = item_words(plain(item))
    return one if amount == 1 else f"{number(amount)} {several}"


def items_phrase(item: str) -> str:
    """Return items whose number is not known: `bread`, `axes`."""
    return item_words(plain(item))[1]


def bare_item(item: str, amount: int = 1) -> str:
    """Return some items as they stand after `the`: `bread`, `axe`, `three berries`."""
    return plain(item).replace("_", " ") if amount == 1 else item_phrase(item, amount)


def thing_phrase(kind: str, count: int = 1) -> str:
    """Return some objects of a kind: `a tree`, `an oven`, `three trees`."""
    name = plain(kind).replace("_", " ") or "thing"
    return with_article(name) if count == 1 else f"{number(count)} {plural(name)}"


def past(verb: str) -> str:
    """Return a verb in the past: `bake` becomes `baked`, `chop` `chopped`, `carry` `carried`.

    >>> past("bake"), past("chop"), past("carry"), past("dig up"), past("pray")
    ('baked', 'chopped', 'carried', 'dug up', 'prayed')
    """
    first, space, rest = plain(verb).replace("_", " ").partition(" ")
    if first in _PAST:
        done = _PAST[first]
    elif first.endswith("e"):
        done = f"{first}d"
    elif first.endswith("y") and first[-2:-1] not in tuple("aeiou"):
        done = f"{first[:-1]}ied"
    elif _DOUBLED.fullmatch(first[-3:]) and sum(char in "aeiou" for char in first) == 1:
        done = f"{first}{first[-1]}ed"
    else:
        done = f"{first}ed" if first else "worked on"
    return f"{done}{space}{rest}"


def at_place(zone: str) -> str:
    """Return ` at the square`; nothing without a zone."""
    return f" at {plain(zone_phrase(zone))}" if zone else ""


def in_sentence(errand: str) -> str:
    """Return an errand with its place as it stands in a sentence: `work at the wood`."""
    what, at, zone = plain(errand, MAX_QUOTE_CHARS).partition(" at ")
    what = "meet people" if what == "meet" else what
    return f"{what} at {zone_phrase(zone)}" if at and zone else what

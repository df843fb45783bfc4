"""Match the keys of a reply with the declared fields, however they are spelled."""

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from enum import IntEnum
from functools import lru_cache

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+")
_POSSESSIVE = re.compile(r"['\u2019]s?\b")
_DETERMINERS = frozenset(
    "a an the my your our his her its their this that chosen selected final current next set".split()  # noqa: SIM905  # a list of words reads better as a line
)
_SUFFIXES = frozenset({"name", "value", "text", "level", "score"})
_ENDINGS = ("s", "es", "d", "ed", "ing")
_LIKENESS = 0.8
_SHORTEST_LIKE = 5
_LONGEST_KEY = 64


class Spelling(IntEnum):
    """How close a key is to the declared name."""

    NEAR = 1  # response_characters for responding_characters, "Mira's goal" for goal
    SAME = 2  # "Responding Characters", respondingCharacters
    EXACT = 3


def words(key: str) -> tuple[str, ...]:
    """Split a key into words in lower case: camelCase, snake_case, spaces and hyphens are all the same."""
    return tuple(word.lower() for word in _WORDS.findall(_POSSESSIVE.sub("", key)))


@lru_cache(maxsize=4096)
def _own_words(key: str) -> tuple[str, ...]:
    """Return the words without what people put before or after a name: "my goal", "Mira's goal", "target_name"."""
    start = 0
    parts = words(key)
    owner = _POSSESSIVE.search(key)
    if owner is not None:
        start = min(len(words(key[: owner.start()])), len(parts) - 1)
    while start < len(parts) - 1 and parts[start] in _DETERMINERS:
        start += 1
    end = len(parts)
    if end - start > 1 and parts[end - 1] in _SUFFIXES:
        end -= 1
    return parts[start:end]


def spelling(key: str, name: str) -> Spelling | None:
    """Return how the key spells the name, or None if it means something else."""
    if key == name:
        return Spelling.EXACT
    return _spelling(key, name) if len(key) <= _LONGEST_KEY else None


@lru_cache(maxsize=4096)
def _spelling(key: str, name: str) -> Spelling | None:
    mine, wanted = words(key), words(name)
    if not mine or not wanted:
        return None
    joined, target = "".join(mine), "".join(wanted)
    if joined == target:
        return Spelling.SAME
    if "".join(_own_words(key)) == target:
        return Spelling.NEAR
    return Spelling.NEAR if _alike(mine, wanted, joined, target) else None


def _alike(mine: Sequence[str], wanted: Sequence[str], joined: str, target: str) -> bool:
    if joined[0] != target[0] or len(mine) != len(wanted):
        return False
    if [word for word in mine if word.isdigit()] != [word for word in wanted if word.isdigit()]:
        return False
    shorter, longer = sorted((joined, target), key=len)
    if longer[len(shorter) :] in _ENDINGS and longer.startswith(shorter):
        return True
    if len(shorter) < _SHORTEST_LIKE:
        return False
    return SequenceMatcher(None, joined, target, autojunk=False).ratio() >= _LIKENESS


def match_keys(keys: Iterable[str], names: Sequence[str]) -> dict[str, tuple[str, Spelling]]:
    """Match each key with at most one declared name and each name with at most one key, the best spelled first.

    A near miss counts only where it is the only one: two keys that are both almost `target` are neither of them.
    """
    keys = list(keys)
    matches = {key: (key, Spelling.EXACT) for key in keys if key in names}
    open_names = [name for name in names if name not in matches]
    if not open_names or len(keys) == len(matches):
        return matches
    near: dict[str, list[str]] = {}  # declared name -> keys that are almost it
    for name in open_names:
        for key in keys:
            if key in matches:
                continue
            how = spelling(key, name)
            if how is Spelling.SAME:
                matches[key] = (name, how)
                near.pop(name, None)
                break
            if how is Spelling.NEAR:
                near.setdefault(name, []).append(key)
    for name, candidates in near.items():
        free = [key for key in candidates if key not in matches]
        if len(free) == 1:
            matches[free[0]] = (name, Spelling.NEAR)
    return matches

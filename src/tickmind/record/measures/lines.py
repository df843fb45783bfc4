"""How much lines repeat each other."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeAlias, TypeVar

T = TypeVar("T")
SAMPLE = 200  # lines that are compared with each other
_WORD = re.compile(r"[\w*']+")
_NGRAM = 4
_LEAST_MATCHES = 0.1  # so that a line that shares nothing has a finite logarithm
_Gram: TypeAlias = tuple[str, ...]
_Best: TypeAlias = dict[_Gram, tuple[int, int, int]]


def masked(text: str, names: Iterable[str]) -> str:
    """Return a line in lower case with `*` for each name."""
    known = "|".join(sorted((re.escape(name) for name in names if name), key=len, reverse=True))
    return (re.sub(rf"(?<!\w)(?:{known})(?!\w)", "*", text, flags=re.IGNORECASE) if known else text).lower()


def repeated(lines: Iterable[tuple[str, str]]) -> tuple[int, int]:
    """Return how many lines their speaker has said before, and how many there are."""
    said: set[tuple[str, str]] = set()
    again = count = 0
    for line in lines:
        again += line in said
        count += 1
        said.add(line)
    return again, count


def spread(some: Sequence[T], most: int) -> list[T]:
    """Return so many of some things, spread evenly over all."""
    return [some[place * len(some) // most] for place in range(most)] if len(some) > most else list(some)


def distinct_2(lines: Iterable[str]) -> float | None:
    """Return the share of pairs of words that are different; None without any."""
    pairs = [pair for line in lines for pair in zip(_words(line), _words(line)[1:], strict=False)]
    return len(set(pairs)) / len(pairs) if pairs else None


def self_bleu(lines: Sequence[str]) -> float | None:
    """Return how alike lines are: the mean BLEU-4 of each with all others as references; None for fewer than two.

    It is 1 if all are the same, and near 0 if they share no four words in a row.
    """
    grams = [[Counter(_grams(_words(line), size)) for size in range(1, _NGRAM + 1)] for line in lines]
    lengths = [len(_words(line)) for line in lines]
    if len(lines) < 2:
        return None
    best = [_two_best(grams, size) for size in range(_NGRAM)]
    scores = [_bleu(place, grams[place], lengths, best) for place in range(len(lines))]
    return sum(scores) / len(scores)


def _bleu(
    place: int,
    own: Sequence[Counter[_Gram]],
    lengths: Sequence[int],
    best: Sequence[_Best],
) -> float:
    total = 0.0
    sizes = [size for size in range(_NGRAM) if own[size]]
    if not sizes:
        return 0.0
    for size in sizes:
        matches = 0
        for gram, count in own[size].items():
            most, whose, second = best[size][gram]
            matches += min(count, second if whose == place else most)
        total += math.log(max(matches, _LEAST_MATCHES) / sum(own[size].values()))
    others = (length for other, length in enumerate(lengths) if other != place)
    nearest = min(others, key=lambda length: (abs(length - lengths[place]), length))
    brevity = min(0.0, 1 - nearest / lengths[place])
    return math.exp(total / len(sizes) + brevity)


def _two_best(grams: Sequence[Sequence[Counter[_Gram]]], size: int) -> _Best:
    """Return for each n-gram how often it is in the line that has it most, which one that is, and in the next one."""
    best: _Best = {}
    for place, counts in enumerate(grams):
        for gram, count in counts[size].items():
            most, whose, second = best.get(gram, (0, -1, 0))
            best[gram] = (count, place, most) if count > most else (most, whose, max(second, count))
    return best


def _grams(words: Sequence[str], size: int) -> Iterable[_Gram]:
    return (tuple(words[place : place + size]) for place in range(len(words) - size + 1))


def _words(line: str) -> list[str]:
    return _WORD.findall(line)

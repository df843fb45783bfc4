"""`Option`: something that a character could do now, with its use. The best of them are a menu for a model."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from tickmind.base import Limit
from tickmind.mind.memory.words import has_phrase, words_in
from tickmind.mind.plans import DayErrand
from tickmind.strategy.prompts import one_line

MENU_SIZE = 4
MAX_DONE = Limit("number of options of which a character knows when it did them", 60)
WORDS_CHARS = 60  # of an option, at most
HALF_STEPS = 40  # of distance that halve the use of an option
SAME_SKILL = 2  # options of one skill in a menu, at most
STALE_WEIGHT, STALE_TICKS = 0.5, 300  # of what was done a while ago
FAILED_TICKS = 100  # that an option which failed is left out
INTEREST_WEIGHT = 1.2  # of what its persona wants
_MOST_LINES = 20  # of a reply
_MENU = "You could: "  # before the options of a menu
_Key: TypeAlias = tuple[str, str, str]
_EDGES = re.compile(r"^\W+|\W+$")


@dataclass(frozen=True, slots=True)
class Option:
    """Something to do, in words such as "visit Bram". `utility` goes from 0 to 1, before the way there counts."""

    words: str
    utility: float
    thing: str = ""  # an item, a kind of object, or the id of a person
    place: str = ""  # a zone
    steps: int = 0  # to where it is done
    rest_ticks: int = 0  # after it was chosen, before it can be chosen again
    skill: str = ""  # by whose name code does it

    @property
    def score(self) -> float:
        """The utility, less for what is far."""
        return self.utility * HALF_STEPS / (HALF_STEPS + self.steps)

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is, in whatever words."""
        return self.skill or self.words, self.thing, self.place

    def errand(self, minute: int) -> DayErrand:
        """Return it as an errand that begins now."""
        return DayErrand(minute, self.skill, self.thing, self.place)


class ChoiceHistory:
    """What a character has done and could not do lately, and so would rather not do again at once."""

    def __init__(self, interests: Iterable[str] = ()) -> None:
        self._interests = frozenset(word for text in interests for word in words_in(text))
        self._done: dict[_Key, int] = {}  # key of an option -> the tick in which it was chosen
        self._failed: dict[_Key, int] = {}  # key of an option -> the tick in which it failed

    def chose(self, tick: int, option: Option) -> None:
        """Note what was chosen."""
        _note(self._done, tick, option.key)

    def failed(self, tick: int, option: Option) -> None:
        """Note what could not be done."""
        _note(self._failed, tick, option.key)

    def weighed(self, tick: int, options: Iterable[Option]) -> list[Option]:
        """Return the options, the best first; without those that have just failed."""
        weighed = [self._weigh(tick, option) for option in options if self._is_open(tick, option)]
        return sorted(weighed, key=lambda option: (-option.score, option.words))

    def _is_open(self, tick: int, option: Option) -> bool:
        rests = tick - self._done.get(option.key, tick - option.rest_ticks) < option.rest_ticks
        return not rests and tick - self._failed.get(option.key, -FAILED_TICKS) >= FAILED_TICKS

    def _weigh(self, tick: int, option: Option) -> Option:
        weight = 1.0 if self._interests.isdisjoint(words_in(option.words)) else INTEREST_WEIGHT
        if tick - self._done.get(option.key, -STALE_TICKS) < STALE_TICKS:
            weight *= STALE_WEIGHT
        return replace(option, utility=option.utility * weight)


def _note(ticks: dict[_Key, int], tick: int, key: _Key) -> None:
    ticks.pop(key, None)
    ticks[key] = tick
    if not MAX_DONE.allows(len(ticks)):
        del ticks[next(iter(ticks))]


def menu(options: Iterable[Option]) -> list[Option]:
    """Return the first few options, of different words and not all of one skill."""
    chosen: list[Option] = []
    for option in options:
        same = sum(other.skill == option.skill for other in chosen)
        if same < SAME_SKILL and all(_plain(other.words) != _plain(option.words) for other in chosen):
            chosen.append(option)
        if len(chosen) == MENU_SIZE:
            break
    return chosen


def menu_text(options: Sequence[Option]) -> str:
    """Return a menu as a line of a prompt."""
    return f"{_MENU}{'; '.join(option.words for option in options)}."


def read_menu(prompt: str) -> list[str]:
    """Return the words of the options in a prompt with such a line; nothing if it has none."""
    line = next((line for line in prompt.splitlines() if line.startswith(_MENU)), "")
    return line.removeprefix(_MENU).removesuffix(".").split("; ") if line else []


def option_words(*parts: str) -> str:
    """Return the words of an option: on one line, short, and without what separates options."""
    return one_line(" ".join(parts).replace(";", ","))[:WORDS_CHARS].rstrip(" .")


def read_choice(reply: str, options: Iterable[Option]) -> Option | None:
    """Return the option that a model's reply names, if it names just one.

    >>> options = [Option("visit Bram", 0.4), Option("rest", 0.2)]
    >>> read_choice('I would like to "visit Bram".', options).words
    'visit Bram'
    >>> read_choice("visit Bram or rest", options) is None
    True
    """
    known = {plain: option for option in reversed(list(options)) if (plain := _plain(option.words))}
    lines = [_plain(line) for line in reply.splitlines()[:_MOST_LINES]]
    exact = next((line for line in reversed(lines) if line in known), None)  # a model may think aloud before it
    if exact is not None:
        return known[exact]
    said = " ".join(lines)
    named = [words for words in known if has_phrase(said, words)]
    longest = [words for words in named if not any(words != other and has_phrase(other, words) for other in named)]
    rest = said
    for words in sorted(longest, key=len, reverse=True):
        rest = rest.replace(words, "")
    is_clear = len(longest) == 1 and not any(has_phrase(rest, words) for words in known)
    return known[longest[0]] if is_clear else None


def _plain(text: str) -> str:
    return _EDGES.sub("", one_line(text).lower())

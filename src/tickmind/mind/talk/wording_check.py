"""`wording_problem`: whether a line of a model still says what it was given.

Small models keep words and lose sense. So a line is good if it has the given words as they are, with a few others
before or after them; or if it tells the same otherwise: the same people in the same order, most of the other words,
and each place after a preposition, so that no person becomes a place. What is told gets no place that it does not have.
"""

import re
from collections.abc import Collection, Iterable

from tickmind.base import Limit
from tickmind.mind.memory.words import has_phrase, words_in

ADDED_WORDS = Limit("number of words that a model adds to a line", 14)
TOLD_CHARS = Limit("length of what a model is asked to word", 90, "characters")  # what is added is remembered, too
_NEW_WORDS = 6  # meaningful ones that a line has which tells the same otherwise
_MOST = 0.75  # of the meaningful words of what it tells
_WORD = re.compile(r"[\w'-]+")
_DENIAL = re.compile(r"\b(?:not|never|no|nobody|nothing|none|neither|nor|cannot|hardly)\b|n't\b", re.IGNORECASE)
_SELF = frozenset(("i", "i'm", "i've", "me", "my", "mine", "we", "our", "us"))
_BROKEN = re.compile(r"\b(?:is|are|has) I\b|\bI (?:is|are|has)\b|\b(\w+),? (?:and )?\1\b")
_PLACE = re.compile(
    r"\b(?:at|in|on|by|near|to|from|beyond|behind|under) (?:the|a|my|our) (\w+(?: house| field)?)", re.IGNORECASE
)
_TOWARDS = r"(?<!looked )(?<!look )(?<!laughed )(?<!laugh )(?<!smiled )(?<!waved )(?<!stared )"  # at which nobody is
_AT = re.compile(rf"\b{_TOWARDS}at (?:the|a|my|our) (?!end\b|moment\b|time\b|same\b)(\w+)", re.IGNORECASE)
_ASKED = re.compile(r"(?<=[.!])\s+[^.!?]+\?$")  # the last sentence, if it is a question
_ENDING = re.compile(r"(?<=\w{3})(?:ing|ed|es|s|d)$")


def wording_problem(line: str, told: str, names: Collection[str] = ()) -> str:
    """Return why a line does not say what it was given to say; empty if it does. `names` are those of people."""
    if ("?" in line) is not ("?" in told):
        return "it asks and was not to, or the other way round"
    if "?" not in told and not set(_AT.findall(line)) <= set(_AT.findall(told)):
        return "it adds a place"
    words, given = _words(line), _words(told)
    if words == given:
        return "it adds nothing"
    if not any(words[at : at + len(given)] == given for at in range(len(words) - len(given) + 1)):
        return _change(line, told, names)
    if not ADDED_WORDS.allows(len(words) - len(given)):
        return "it adds too much"
    if "?" not in told and _DENIAL.search(_without(line, told)):
        return "it may deny what it says"
    return "it is no sentence" if _BROKEN.search(line) else ""


def without_question(line: str, told: str) -> str:
    """Return a line without the question at its end, if it was to ask none: it told enough before that."""
    if "?" in told or not line.endswith("?"):
        return line
    return _ASKED.sub("", line) or line


def names_another(line: str, given: str, names: Iterable[str]) -> bool:
    """Return whether a line names a person whom what was given does not name."""
    return any(has_phrase(line, name) and not has_phrase(given, name) for name in names)


def _change(line: str, told: str, names: Collection[str]) -> str:
    """Return what a line changes that tells the same otherwise."""
    content, had = {_stem(word) for word in words_in(told)}, {_stem(word) for word in words_in(line)}
    if len(content & had) < _MOST * len(content) or len(had - content) > _NEW_WORDS:
        return "it tells something else"
    if bool(_DENIAL.search(line)) is not bool(_DENIAL.search(told)):
        return "it denies what was said, or the other way round"
    if _people(line, told, names) != _people(told, told, names):
        return "it changes who did it"
    for place in _PLACE.findall(told):
        if place not in _PLACE.findall(line):
            return "it changes where it was"
    return "it is no sentence" if _BROKEN.search(line) else ""


def _people(text: str, told: str, names: Collection[str]) -> list[str]:
    """Return who is named in a text, in order, each once; only those that are in what was told."""
    known = {name.lower() for name in names} & {word.removesuffix("'s") for word in _words(told)}
    found = ("I" if word in _SELF else word.removesuffix("'s") for word in _words(text))
    return list(dict.fromkeys(who for who in found if who == "I" or who in known))


def _without(line: str, told: str) -> str:
    """Return a line without what it was given."""
    return re.sub(re.escape(told.rstrip(".!?")), " ", line, count=1, flags=re.IGNORECASE)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower().replace("\u2019", "'"))


def _stem(word: str) -> str:
    return _ENDING.sub("", word)

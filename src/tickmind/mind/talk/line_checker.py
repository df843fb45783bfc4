"""Checks of a line that a model wrote, before it is said."""

import re
from collections.abc import Iterable

from tickmind.base import Limit
from tickmind.mind.talk.meaning import read_line
from tickmind.mind.talk.repeats import SpokenBefore
from tickmind.strategy.prompts import one_line

MAX_LINE_CHARS = Limit("length of a spoken line", 200, "characters")
_REFUSAL = re.compile(
    r"\b(?:as an? (?:ai|language model|assistant)|language model|i(?:'m| am) sorry,? but i can(?:'t|not)"
    r"|i can(?:'t|not) (?:help|assist) with)\b",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"\b(?:[01]?\d|2[0-3]):[0-5]\d\b")
_MARKUP = re.compile(r"[{}<>|]|```|\\n")
_LABEL = re.compile(r"^\s*[\w' -]{1,30}:\s+")  # as in a script: "Ada: Good morning."
_STAGE = re.compile(r"\*[^*]{1,80}\*|\([^)]{0,80}\)|\[[^\]]{0,80}\]|(?<!\w)_[^_]{1,80}_(?!\w)")  # "*smiles*"


def clean_line(text: str, own_names: Iterable[str] = ()) -> str:
    """Return a line as it can be said: one line, without quotes around it, stage directions and the speaker's label."""
    flat = one_line(_STAGE.sub(" ", one_line(text)))
    label = _LABEL.match(flat)
    if label and label[0].strip(" :").lower() in {name.lower() for name in own_names}:
        flat = flat[label.end() :]
    if len(flat) >= 2 and flat[0] in "\"“'" and flat[-1] in "\"”'":
        flat = flat[1:-1].strip()
    return flat


def is_for_code(text: str) -> bool:
    """Return whether no model may say a line: listeners would do something about it, or it is no speech."""
    meaning = read_line(text)
    invites = meaning.invites is not None or bool(meaning.bids) or meaning.joins
    acts = meaning.promise is not None or meaning.request is not None or meaning.leaves or invites
    return acts or names_time(text) or is_markup(text)


def is_markup(text: str) -> bool:
    """Return whether a text has marks of code or forms in it, and so is no speech."""
    return _MARKUP.search(text) is not None


def names_time(text: str) -> bool:
    """Return whether a line names a time of the day, such as that of an appointment."""
    return _CLOCK.search(text) is not None


def problem_of(text: str, before: SpokenBefore, names: Iterable[str] = ()) -> str:
    """Return why a line is not to be said; empty if it may be. In comparisons `names` do not count."""
    if not any(letter.isalnum() for letter in text):
        return "it is empty"
    if not MAX_LINE_CHARS.allows(len(text)):
        return "it is too long"
    if _REFUSAL.search(text):
        return "it is a refusal"
    if is_for_code(text):
        return "it promises, asks, invites or says farewell, which code decides, or is no speech"
    return "" if before.is_fresh(text, names) else "it was said before"

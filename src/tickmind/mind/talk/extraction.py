"""`Extract`: the clauses that a model finds in free speech, and how code checks each against the words of the line.

A model proposes, code decides: a clause counts only if the line itself has its words, outside of quotation marks, and
says them of its own speaker. So a hostile line brings about no more than its speaker could have said plainly.
"""

import re
from dataclasses import replace
from typing import NamedTuple

from tickmind.base import Limit
from tickmind.mind.memory.memory import entry_text
from tickmind.mind.memory.words import words_in, words_of
from tickmind.mind.talk.line_checker import is_markup, names_time
from tickmind.mind.talk.meaning import Bringing, LineMeaning, minutes_named, number_of, read_line, unquoted
from tickmind.mind.talk.phrasebook import is_small_talk
from tickmind.protocol.setting import minute_of
from tickmind.strategy.prompts import one_line

MAX_FACTS = Limit("number of facts that are taken from one line", 3)
LEAST_WORDS = 4  # of a line that is put to a model
_MOST_LINES, _LINE_CHARS = 20, 300  # of a reply
EXTRACT_TASK = """\
What does that line say? Answer in lines of these forms only, in the words of the line:
fact: a short sentence
promise: 2 bread by 18:00
request: 1 fish by 12:00
offer: 3 eggs
A promise is what the speaker says to bring you, a request what you are to bring, an offer what you may have. Leave out
the time if none is named. If there is nothing of that, answer: nothing"""
_CLAUSE = re.compile(r"^[\s*-]*(fact|promise|request|offer):\s*(\S.*)$", re.IGNORECASE)
_GOODS = re.compile(r"^(\d{1,2}) ([A-Za-z][\w -]{0,39}?)(?: by (\d\d?:\d\d))?\.?$")
_SENTENCE = re.compile(r"[^.!?;]+[.!?;]*")
_WILL = re.compile(
    r"\b(?:I(?: will|'ll| shall| promise|'m going to| am going to)|let me|count on me|my word)\b", re.IGNORECASE
)
_MAY_HAVE = re.compile(
    r"\b(?:you (?:can|may|could) (?:have|take)|I (?:can|could) (?:give|lend|bring|spare|let)|"
    r"take (?:my|some|a|this|these)|help yourself|would you like|do you want|I offer)\b",
    re.IGNORECASE,
)
_WANTS = re.compile(
    r"\b(?:bring|get|fetch|give|lend|spare|find|buy|share)\b.*\b(?:me|us)\b|\bI (?:need|want|could use|would like|am "
    r"out of|have run out of)\b|\bI'd like\b|\bI'm out of\b",
    re.IGNORECASE,
)
_BRINGS = re.compile(r"\b(?:bring|give|get|fetch|carry|deliver|hand|send|buy|bake|make|have)\b", re.IGNORECASE)
_REPORTED = re.compile(
    r"\b(?:said|says?|saying|told|tells?|heard|promised|promises|claims?|claimed|thinks?|thought|according|pretends?|"
    r"wrote|writes|system|instructions?|assistant)\b",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\b(?:if|unless|when|whenever|once|maybe|perhaps|might|would have|yesterday|tomorrow)\b", re.IGNORECASE
)
_DENIAL = re.compile(r"\b(?:not|never|no|none|nothing|nobody|neither)\b|n't\b", re.IGNORECASE)
_LABEL = re.compile(r"^\W*[\w' \]\[#<|>/-]{1,60}:\s")  # as in a script, or before what others say


class FreeLine(NamedTuple):
    """A line in its speaker's own words, which a model is to read."""

    tick: int
    speaker_id: str
    text: str
    place: str = ""
    of_two: bool = False  # it was said in a talk of two


class Extract(NamedTuple):
    """What a line says, checked: facts as sentences, and what the speaker will bring, asks for or offers."""

    facts: tuple[str, ...] = ()
    promise: Bringing | None = None
    request: Bringing | None = None
    offer: Bringing | None = None


def is_free(text: str) -> bool:
    """Return whether a model could find more in a line than the reader of canonical clauses does."""
    meaning = read_line(text)
    is_read = meaning.told or meaning.promise or meaning.request or meaning.invites or meaning.bids or meaning.joins
    return not (is_read or is_small_talk(text)) and len(words_in(unquoted(text))) >= LEAST_WORDS


def with_request(meaning: LineMeaning, request: Bringing) -> LineMeaning:
    """Return what a line does, with what it asks for in its own words."""
    return replace(meaning, request=request, asks=True)


def read_extract(reply: str, line: str) -> Extract:
    """Return the clauses of a model's reply that the line bears out.

    >>> read_extract("promise: 2 fish by 18:00", "Don't you worry, I'll fetch you two fish before 6 pm.").promise
    Bringing(item='fish', amount=2, minute=1080)
    >>> read_extract("promise: 2 fish by 18:00", "Bram said he will bring you two fish by 6 pm.").promise is None
    True
    """
    facts: dict[str, None] = {}
    goods: dict[str, Bringing] = {}
    for each in reply.splitlines()[:_MOST_LINES]:
        clause = _CLAUSE.match(one_line(each[:_LINE_CHARS]))
        if clause is None:
            continue
        kind, content = clause[1].lower(), clause[2]
        if kind == "fact":
            if MAX_FACTS.allows(len(facts) + 1) and _bears_out(line, content):
                facts[entry_text(content)] = None
        elif kind not in goods and (bringing := _goods(kind, content, line)) is not None:
            goods[kind] = bringing
    return Extract(tuple(facts), goods.get("promise"), goods.get("request"), goods.get("offer"))


def _bears_out(line: str, fact: str) -> bool:
    """Return whether a line says a fact: with all of its words, and as much of a No."""
    plain = unquoted(line)
    words = words_of(fact)
    is_new = len(words) >= 2 and words <= words_of(plain) and not is_markup(fact) and "?" not in fact
    alike = bool(_DENIAL.search(fact)) is bool(_DENIAL.search(plain))
    meaning = read_line(fact)
    is_act = meaning.promise or meaning.request or meaning.invites or meaning.leaves or meaning.greets
    return is_new and alike and not is_act and (names_time(plain) or not names_time(fact))


def _goods(kind: str, content: str, line: str) -> Bringing | None:
    """Return what a clause says to be promised, asked for or offered, if one sentence of the line does that."""
    match = _GOODS.match(content)
    if match is None or _LABEL.match(line) or _REPORTED.search(line):
        return None
    amount, item, clock = int(match[1]), match[2].lower(), match[3] or ""
    try:
        minute = minute_of(clock.zfill(5)) if clock else -1
    except ValueError:
        return None  # there is no such time
    sentences = [one for one in _SENTENCE.findall(unquoted(line)) if _has_item(one, item)]
    fit = (sentence for sentence in sentences if _says(kind, sentence) and number_of(sentence) == amount)
    if not any(minute in minutes_named(one) if minute >= 0 else True for one in fit) or amount < 1:
        return None
    return Bringing(item, amount, minute)


def _says(kind: str, sentence: str) -> bool:
    """Return whether a sentence promises, asks or offers, as it stands and not under a condition."""
    if kind == "request":
        return _WANTS.search(sentence) is not None and _WILL.search(sentence) is None
    marker = _MAY_HAVE.search(sentence) if kind == "offer" else _WILL.search(sentence)
    if marker is None or _OPEN.search(sentence):
        return False
    start, end = sentence.rfind(",", 0, marker.start()) + 1, sentence.find(",", marker.end())
    if _DENIAL.search(sentence[start : end if end >= 0 else None]):
        return False
    if kind == "offer":
        return True
    return _BRINGS.search(sentence, marker.end()) is not None and not sentence.rstrip().endswith("?")


def _has_item(sentence: str, item: str) -> bool:
    """Return whether all words of an item are in a sentence, in the singular or the plural."""
    said = {form for word in words_in(sentence) for form in (word, word.removesuffix("s"), word.removesuffix("es"))}
    return all({word, word.removesuffix("s"), word.removesuffix("es")} & said for word in words_in(item)) and item != ""

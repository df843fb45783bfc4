"""`LineMeaning`: what a spoken line does in a talk, read from its words by code.

The reader trusts a line with nothing but what its speaker may say of itself: what stands in quotes, or after the name
of another, is the content of a line and never an act of its speaker.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from tickmind.mind.memory.words import words_of
from tickmind.protocol.setting import clock_of, minute_of

CACHED_LINES = 512  # whose meanings are kept
SAYS_AS_MUCH = 0.6  # share of the words of something that a line has which tells it

# Whatever quotation marks are used; what is opened and not closed goes on to the end.
_QUOTED = re.compile(r"[\"\u201c\u201e\u00ab\u2018][^\"\u201d\u201c\u00bb\u2019]*(?:[\"\u201d\u00bb\u2019]|$)")
_GREETING = re.compile(
    r"^\W*(?:[\w':-]{1,40}, *)?(?:good (?:morning|day|afternoon|evening)|morning|evening|hello|hi|hey|greetings|welcome"
    r"|well met|up early|still about|out so late)\b",
    re.IGNORECASE,
)
_FAREWELL = re.compile(
    r"\b(?:goodbye|good bye|farewell|bye|(?<!to )see you|take care|good night|until (?:later|tomorrow|next time)"
    r"|so long|till next time)\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"\b(?:I am|I'm|[Mm]y name is) ([A-Z]\w{0,39}(?:['-]\w{1,39})?)(?=[.,!?]|$)")
_NO_NAMES = frozenset(("I", "Me", "You", "We", "He", "She", "It", "They"))
# At the beginning of a sentence, so that what is said to be another's promise is none of the speaker's.
_BRING = r"(?:^|[.!?] )%s bring %s ([1-9]\d?) ([A-Za-z][\w -]{0,39}?) by (\d\d?:\d\d)"
_PROMISE = re.compile(_BRING % ("I will", "you") + r"(?=[.!]|$)")
_REQUEST = re.compile(_BRING % ("Will you", "me") + r"\?")
# As people ask; a whole sentence, so that no part of another is a request.
_FREE_REQUEST = re.compile(
    r"(?:^|[.!?] |^[\w':-]{1,40}, ?)(?:(?:will|would|could|can) you(?: please)?|please) (?:bring|give|fetch) me "
    r"(?:(an?|one|two|three|four|five|some|[1-9]\d?) )?([a-z][\w-]{0,39})"
    r"(?: (?:by|before|until) (\d\d?:\d\d|1?\d ?[ap]m|noon))?(?:,? please)?[.?!]?$",
    re.IGNORECASE,
)
# The first is said by code and names all who take part; the others are how people bid a guest, or ask to take part.
_INVITATION = re.compile(
    r"(?:^|[.!?] )Join us, ([\w':-][\w':\- ]{0,39}): here are ([\w':-][\w':,\- ]{0,249})(?=[.!]|$)"
)
_BID = re.compile(r"(?:^|[.!?] )(?:[Cc]ome and )?[Jj]oin us, ([\w':-]{1,40})(?=[.!]|$)")
_JOIN = re.compile(r"\b(?:(?:may|can|could) I join (?:you|in)|let me join (?:you|in))\b", re.IGNORECASE)
_NUMBERS = {"": 1, "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "some": 1}
_HOURS = {
    name: hour
    for hour, name in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"), 1
    )
}
_TIMES = re.compile(rf"\b(?:\d\d?:\d\d|1?\d ?[ap]m|noon|(?:at|by|before|until|till) (?:{'|'.join(_HOURS)}))\b")
_NEWS = re.compile(r"^[^:\"?]{1,100}: (\S.*)$")


class Bringing(NamedTuple):
    """Items to bring until a minute of the day, as a promise or a request names them."""

    item: str
    amount: int
    minute: int  # -1: none is named

    def timed(self, minute: int) -> "Bringing":
        """Return it with a time, if it names none."""
        return self if self.minute >= 0 else self._replace(minute=minute)

    def promised(self) -> str:
        """Return the sentence that promises it. No other sentence does."""
        return f"I will bring you {self.amount} {self.item} by {clock_of(self.minute)}."

    def requested(self) -> str:
        """Return the sentence that asks for it."""
        return f"Will you bring me {self.amount} {self.item} by {clock_of(self.minute)}?"


class Invitation(NamedTuple):
    """A person is taken into a talk of others, by the names that are spoken."""

    guest: str
    members: tuple[str, ...]  # all who take part already, in the order of their turns, the speaker among them

    def spoken(self) -> str:
        """Return the sentence that invites. No other sentence does."""
        *first, last = self.members
        return f"Join us, {self.guest}: here are {', '.join(first)}{' and ' if first else ''}{last}."


@dataclass(frozen=True, slots=True)
class LineMeaning:
    """What a line does: it greets, asks, tells, promises, invites, gives the speaker's name, or says farewell."""

    greets: bool = False
    asks: bool = False
    leaves: bool = False
    name: str = ""  # by which the speaker calls itself
    told: str = ""  # what it says to be so, without the words that lead to it
    promise: Bringing | None = None  # by the speaker, to the listener
    request: Bringing | None = None
    invites: Invitation | None = None
    bids: str = ""  # the name of whom the speaker would have in the talk
    joins: bool = False  # the speaker would take part

    @property
    def is_news(self) -> bool:
        """Whether there is something in it to react to."""
        return self.asks or bool(self.told) or self.promise is not None or self.invites is not None


_FORMS = (  # of what a speaker says of itself, and how others say it
    (re.compile(r"\b([A-Z]\w*) and I(?= (?:have|do|want|like|know|live|work|need)\b)"), r"\1 and NAME"),
    (re.compile(r"\bI(?: am|'m)\b"), "NAME is"),
    (re.compile(r"\bI have\b"), "NAME has"),
    (re.compile(r"\bI do\b"), "NAME does"),
    (re.compile(r"\bI (want|like|know|live|work|need)\b"), r"NAME \1s"),
    (re.compile(r"\b(?:I|me)\b"), "NAME"),
    (re.compile(r"\b[Mm]y\b"), "NAME's"),
)


def in_third_person(text: str, name: str) -> str:
    """Return what a speaker said of itself as others say it: "I saw Bram." becomes "Ada saw Bram."."""
    for pattern, form in _FORMS:
        text = pattern.sub(form.replace("NAME", name.replace("\\", "")), text)
    return text


@lru_cache(maxsize=CACHED_LINES)  # all who hear a line read it, several times each
def read_line(text: str) -> LineMeaning:
    """Return what a line does."""
    plain = unquoted(text)
    name = _NAME.search(plain)
    news = _NEWS.match(text.strip())
    promise = _bringing(_PROMISE.search(plain))
    invited, bid = _INVITATION.search(plain), _BID.search(plain)
    is_act = promise is not None or invited is not None
    return LineMeaning(
        greets=_GREETING.search(plain) is not None,
        asks="?" in plain,
        leaves=is_farewell(text),
        name=name[1] if name and name[1] not in _NO_NAMES else "",
        told=news[1] if news and "?" not in news[1] and not is_act else "",
        promise=promise,
        request=_bringing(_REQUEST.search(plain)) or _free_request(plain.strip()),
        invites=Invitation(invited[1], tuple(re.split(r", | and ", invited[2]))) if invited else None,
        bids=bid[1] if bid else "",
        joins=_JOIN.search(plain) is not None,
    )


@lru_cache(maxsize=CACHED_LINES)
def is_farewell(text: str) -> bool:
    """Return whether a line says farewell."""
    return _FAREWELL.search(unquoted(text)) is not None


def unquoted(text: str) -> str:
    """Return a line without what stands in quotation marks."""
    return _QUOTED.sub("", text)


def number_of(sentence: str) -> int:
    """Return the first number of things that a sentence names in digits or as a word; 1 if it names none."""
    rest = _TIMES.sub(" ", sentence.lower())
    found = (int(word) if word.isdigit() else _NUMBERS.get(word, 0) for word in re.findall(r"[a-z]+|\d{1,4}", rest))
    named = [number for number in found if number]
    return next((number for number in named if number > 1), 1)


def minutes_named(sentence: str) -> set[int]:
    """Return the minutes of the day that a sentence names; "six" is in the morning or in the evening."""
    minutes = set()
    for when in (found[0].strip() for found in _TIMES.finditer(sentence.lower())):
        hour = _HOURS.get(when.split()[-1])
        try:
            minutes |= {_minute_in(when)} if hour is None else {hour % 12 * 60, (hour % 12 + 12) * 60}
        except ValueError:
            continue  # there is no such time
    return minutes


def says_as_much(line: str, told: str) -> bool:
    """Return whether a line has most of the words of what may be told by it."""
    content = words_of(told)
    return len(words_of(line) & content) >= SAYS_AS_MUCH * len(content)


def _free_request(text: str) -> Bringing | None:
    """Return what a sentence such as "Could you bring me some bread?" asks for."""
    match = _FREE_REQUEST.search(text)
    if match is None:
        return None
    amount, item, when = (part or "" for part in match.groups())
    try:
        number = int(amount) if amount.isdigit() else _NUMBERS[amount.casefold()]  # to the pattern, a long s is an s
        return Bringing(item.lower(), number, _minute_in(when.lower()))
    except ValueError:
        return None  # there is no such time


def _minute_in(when: str) -> int:
    """Return the minute of the day in `18:00`, `6 pm` or `noon`; -1 for none. Raises `ValueError` for no such time."""
    if not when:
        return -1
    if when == "noon":
        return 12 * 60
    if ":" in when:
        return minute_of(when.zfill(5))
    hour, half = int(when[:-2]), when[-2:]
    if not 1 <= hour <= 12:
        raise ValueError(f"there is no hour {hour} {half}")
    return (hour % 12 + 12 * (half == "pm")) * 60


def _bringing(found: re.Match[str] | None) -> Bringing | None:
    if found is None:
        return None
    amount, item, clock = found.groups()
    try:
        return Bringing(item, int(amount), minute_of(clock.zfill(5)))
    except ValueError:
        return None  # there is no such time

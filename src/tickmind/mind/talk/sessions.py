"""`Talks`: the talks of one character, with strict turns, an end, and a rest after it."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from tickmind.base import Limit
from tickmind.mind.talk.meaning import LineMeaning, read_line

MAX_TALK_LINES = Limit("number of lines in a talk", 8)
MAX_PARTNERS = Limit("number of partners whose last talk a character remembers", 200)
REST_TICKS = 150  # after a talk, before the same two begin another
ANSWER_TICKS = 14  # that a character waits for an answer
CLOSING_LINES = 2  # of the lines of a talk: a farewell and its answer


class TalkEnd(StrEnum):
    """Why a talk is over."""

    FAREWELL = "farewell"
    NO_ANSWER = "no answer"
    APART = "apart"
    BUSY = "busy"


class TalkLine(NamedTuple):
    """One line of a talk."""

    tick: int
    speaker_id: str
    text: str
    meaning: LineMeaning


@dataclass(slots=True)
class Talk:
    """A talk between this character and one partner."""

    partner_id: str
    began_tick: int
    lines: list[TalkLine] = field(default_factory=list)
    my_turn: bool = False
    turn_tick: int = 0  # since when it is
    said_farewell: bool = False  # by this character
    heard_farewell: bool = False
    turns_without_news: int = 0
    ended: TalkEnd | None = None

    @property
    def must_close(self) -> bool:
        """Whether the next line has to be a farewell."""
        most = int(MAX_TALK_LINES.maximum) - CLOSING_LINES
        return self.heard_farewell or len(self.lines) >= most or self.turns_without_news >= 2

    @property
    def last_tick(self) -> int:
        """The tick of the last line."""
        return self.lines[-1].tick if self.lines else self.began_tick

    def last_of(self, speaker_id: str) -> TalkLine | None:
        """Return the last line of a speaker."""
        return next((line for line in reversed(self.lines) if line.speaker_id == speaker_id), None)


class Talks:
    """At most one talk at a time. Who is spoken to answers; a greeting gets one answer; every talk ends."""

    def __init__(self, entity_id: str) -> None:
        self._me = entity_id
        self.current: Talk | None = None
        """The talk under way."""
        self.ended: list[Talk] = []
        """The talks that ended since the last `take_ended`."""
        self._rest_until: dict[str, int] = {}  # partner -> the tick until which the two rest
        self._breaks: dict[str, int] = {}  # partner -> how often it broke the rest
        self._heard: dict[str, frozenset[str]] = {}  # partner -> its lines in the last talk

    def hear(self, tick: int, speaker_id: str, text: str) -> LineMeaning:
        """Take in a line that was said to this character, and return what it does."""
        meaning = read_line(text)
        talk = self.current
        if talk is not None and talk.partner_id != speaker_id:
            return meaning  # it is in a talk; the other one waits, or leaves
        if talk is None:
            rests = self._rest_until.get(speaker_id, 0) > tick
            asked_again = self._breaks.get(speaker_id, 0)
            if rests and (not meaning.is_news or asked_again >= 2 or text in self._heard.get(speaker_id, ())):
                return meaning
            if meaning.leaves and not meaning.is_news:
                return meaning  # a farewell begins no talk
            self._breaks[speaker_id] = asked_again + 1 if rests else 0
            talk = self.current = Talk(speaker_id, tick)
        if talk.said_farewell and not meaning.leaves:
            return meaning  # the talk is over but for the partner's farewell
        own = talk.last_of(self._me)
        crossed = own is not None and tick - own.tick <= 1  # said before it could be an answer
        talk.lines.append(TalkLine(tick, speaker_id, text, meaning))
        talk.heard_farewell |= meaning.leaves
        talk.turns_without_news = 0 if meaning.is_news else talk.turns_without_news + 1
        if len(talk.lines) >= 2 * MAX_TALK_LINES.maximum:  # the partner does not let it speak
            self._end(tick, TalkEnd.BUSY)
            return meaning
        is_mine = not crossed or meaning.is_news or self._me < speaker_id
        if is_mine and not talk.my_turn:
            talk.turn_tick = tick
        talk.my_turn = is_mine
        if talk.said_farewell and talk.heard_farewell:
            self._end(tick, TalkEnd.FAREWELL)
        return meaning

    def may_begin(self, tick: int, partner_id: str) -> bool:
        """Return whether this character may speak to a partner first."""
        return self.current is None and self._rest_until.get(partner_id, 0) <= tick

    def begin(self, tick: int, partner_id: str) -> Talk:
        """Begin a talk; this character speaks first."""
        self.current = Talk(partner_id, tick, my_turn=True, turn_tick=tick)
        return self.current

    def say(self, tick: int, text: str, *, leaves: bool = False) -> None:
        """Note that this character says a line in its talk."""
        talk = self.current
        if talk is None:
            return
        meaning = read_line(text)
        talk.lines.append(TalkLine(tick, self._me, text, meaning))
        talk.my_turn = False
        talk.said_farewell |= leaves or meaning.leaves
        is_full = len(talk.lines) >= MAX_TALK_LINES.maximum  # as when both spoke at once: no answer is waited for
        if talk.said_farewell and (talk.heard_farewell or is_full):
            self._end(tick, TalkEnd.FAREWELL)

    def pass_time(self, tick: int, *, together: bool, busy: bool = False) -> None:
        """End a talk whose partner is gone or silent, or that has to wait for something more urgent."""
        talk = self.current
        if talk is None:
            return
        if not together:
            self._end(tick, TalkEnd.APART)
        elif busy:
            self._end(tick, TalkEnd.BUSY)
        elif tick - talk.last_tick > ANSWER_TICKS:
            self._end(tick, TalkEnd.FAREWELL if talk.said_farewell or talk.heard_farewell else TalkEnd.NO_ANSWER)

    def take_ended(self) -> list[Talk]:
        """Return the talks that ended since the last call."""
        ended, self.ended = self.ended, []
        return ended

    def _end(self, tick: int, why: TalkEnd) -> None:
        talk, self.current = self.current, None
        assert talk is not None, "only a talk under way ends"
        talk.ended = why
        self.ended.append(talk)
        self._rest_until.pop(talk.partner_id, None)
        self._rest_until[talk.partner_id] = tick + REST_TICKS
        self._heard[talk.partner_id] = frozenset(line.text for line in talk.lines if line.speaker_id != self._me)
        if not MAX_PARTNERS.allows(len(self._rest_until)):
            longest_ago = next(iter(self._rest_until))
            del self._rest_until[longest_ago], self._heard[longest_ago]
            self._breaks.pop(longest_ago, None)

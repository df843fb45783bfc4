"""`Talks`: the talks of one character, with strict turns, an end, and a rest after it."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from tickmind.base import Limit
from tickmind.mind.talk.circle import MAX_CIRCLE, Circle
from tickmind.mind.talk.meaning import LineMeaning, is_farewell, read_line

MAX_TALK_LINES = Limit("number of lines in a talk of two", 8)
LINES_EACH = int(MAX_TALK_LINES.maximum) // 2  # of each that takes part, in a talk of any size
MAX_GUESTS = Limit("number of people who are asked, or ask, to take part in one talk", 20)
MAX_PARTNERS = Limit("number of partners whose last talk a character remembers", 200)
MAX_OVERHEARD = Limit("number of lines in talks of others that a character keeps in mind", 40)
REST_TICKS = 150  # after a talk, before the same two begin another
ANSWER_TICKS = 14  # that a character waits for an answer


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
    """A talk between this character and one partner, or several in a circle."""

    partner_id: str  # in a circle the one who spoke last
    began_tick: int
    lines: list[TalkLine] = field(default_factory=list)
    my_turn: bool = False
    turn_tick: int = 0  # since when it is
    said_farewell: bool = False  # by this character
    heard_farewell: bool = False  # from its only partner
    turns_without_news: int = 0
    ended: TalkEnd | None = None
    circle: Circle | None = None  # of three or more
    with_ids: dict[str, None] = field(default_factory=dict)  # all who took part at any time, but this character
    left_ids: set[str] = field(default_factory=set)  # who said farewell to a circle
    guests: dict[str, bool] = field(default_factory=dict)  # who asked to take part, and whether it was invited
    missed: int = 0  # lines that were said before this character was invited, as far as it has overheard them
    quiet_tick: int = 0  # since which no one has said anything; in a circle also since a member was passed over
    largest: int = 2  # number of people who took part at once

    def __post_init__(self) -> None:
        self.with_ids[self.partner_id] = None
        self.quiet_tick = self.quiet_tick or self.began_tick

    @property
    def size(self) -> int:
        """How many take part."""
        return 2 if self.circle is None else len(self.circle.members)

    @property
    def most_lines(self) -> int:
        """How many lines it may have: four for each of those who took part at once."""
        return LINES_EACH * self.largest

    @property
    def lines_left(self) -> int:
        """How many lines there are until all say farewell, one after another; in a large circle a little earlier."""
        return self.most_lines - self.size - self.missed - len(self.lines) - (self.size - 2) // 2

    @property
    def must_close(self) -> bool:
        """Whether the next line has to be a farewell."""
        is_over = self.heard_farewell or 2 * len(self.left_ids) >= self.largest
        return is_over or self.lines_left <= 0 or self.turns_without_news >= 2 * (self.size - 1)

    @property
    def wanting_in(self) -> str:
        """Who asked first to take part, and has not been invited yet; or nothing."""
        return next((who for who, invited in self.guests.items() if not invited), "")

    def others(self, own_id: str) -> list[str]:
        """Return who takes part besides the character with that id, in the order of their turns."""
        return [self.partner_id] if self.circle is None else [who for who in self.circle.members if who != own_id]

    def last_of(self, speaker_id: str) -> TalkLine | None:
        """Return the last line of a speaker."""
        return next((line for line in reversed(self.lines) if line.speaker_id == speaker_id), None)


class Talks:
    """At most one talk at a time. Who is spoken to answers; a greeting gets one answer; every talk ends.

    A member of a talk may invite others by one sentence, which names all who take part: then it is a talk in a circle,
    with turns in the order of joining. Who says farewell leaves it; when two are left it goes on as a talk of two.
    Who lets its turn pass is left out until it speaks again.
    """

    def __init__(self, entity_id: str) -> None:
        self._me = entity_id
        self.current: Talk | None = None
        """The talk under way."""
        self.ended: list[Talk] = []
        """The talks that ended since the last `take_ended`."""
        self._rest_until: dict[str, int] = {}  # partner -> the tick until which the two rest
        self._breaks: dict[str, int] = {}  # partner -> how often it broke the rest
        self._heard: dict[str, frozenset[str]] = {}  # partner -> its lines in the last talk
        # Tick, speaker, and whether it was a farewell.
        self._overheard = deque[tuple[int, str, bool]](maxlen=int(MAX_OVERHEARD.maximum))

    def hear(
        self, tick: int, speaker_id: str, text: str, *, guest_id: str = "", circle: Sequence[str] = ()
    ) -> LineMeaning:
        """Take in a line that was said to this character, or in its circle, and return what it does.

        `guest_id` is whom the line invites, and `circle` all who take part already, in their order; empty: the speaker
        would only have that guest.
        """
        meaning = read_line(text)
        if guest_id and circle:
            self._welcome(tick, speaker_id, guest_id, circle)
        talk = self.current
        if talk is not None and guest_id != self._me and speaker_id in talk.others(self._me):
            self._note_guest(talk, guest_id)
        if talk is not None and not self._takes_part(talk, speaker_id, meaning):
            self.overhear(tick, speaker_id, text)
            return meaning  # it is in a talk; the other one waits, leaves, or is invited
        if talk is None:
            if meaning.invites is not None:
                return meaning  # it takes part in a circle or not at all
            rests = self.rests(tick, speaker_id)
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
        talk.quiet_tick = tick
        talk.turns_without_news = 0 if meaning.is_news else talk.turns_without_news + 1
        if len(talk.lines) >= 2 * talk.most_lines:  # the others do not let it speak
            self._end(tick, TalkEnd.BUSY)
        elif talk.circle is not None:
            self._follow_circle(tick, talk, talk.circle, speaker_id, leaves=meaning.leaves)
        else:
            talk.heard_farewell |= meaning.leaves
            self._give_turn(tick, talk, mine=not crossed or meaning.is_news or self._me < speaker_id)
            if talk.said_farewell and talk.heard_farewell:
                self._end(tick, TalkEnd.FAREWELL)
        return meaning

    def overhear(self, tick: int, speaker_id: str, text: str) -> None:
        """Note a line in a talk of others, to know how long that is if this character is invited to it."""
        self._overheard.append((tick, speaker_id, is_farewell(text)))

    def may_begin(self, tick: int, partner_id: str) -> bool:
        """Return whether this character may speak to a partner first."""
        return self.current is None and not self.rests(tick, partner_id)

    def rests(self, tick: int, partner_id: str) -> bool:
        """Return whether the two have just had a talk."""
        return self._rest_until.get(partner_id, 0) > tick

    def begin(self, tick: int, partner_id: str) -> Talk:
        """Begin a talk; this character speaks first."""
        self.current = Talk(partner_id, tick, my_turn=True, turn_tick=tick)
        return self.current

    def invite(self, tick: int, guest_id: str) -> None:
        """Take a person into the talk under way; the line that says so is still to be said."""
        if self.current is not None:
            self._welcome(tick, self._me, guest_id, (self._me, *self.current.others(self._me)))

    def say(self, tick: int, text: str, *, leaves: bool = False) -> None:
        """Note that this character says a line in its talk."""
        talk = self.current
        if talk is None:
            return
        meaning = read_line(text)
        talk.lines.append(TalkLine(tick, self._me, text, meaning))
        talk.my_turn = False
        talk.quiet_tick = tick
        leaves |= meaning.leaves
        if talk.circle is not None:
            talk.circle.speak(self._me, tick + 1)  # when the others hear it
            if leaves:
                self._end(tick, TalkEnd.FAREWELL)
            return
        talk.said_farewell |= leaves
        is_full = len(talk.lines) >= talk.most_lines  # as when both spoke at once: no answer is waited for
        if talk.said_farewell and (talk.heard_farewell or is_full):
            self._end(tick, TalkEnd.FAREWELL)

    def pass_time(self, tick: int, *, together: bool, busy: bool = False) -> None:
        """End a talk whose partners are gone or silent, or that has to wait for something more urgent."""
        talk = self.current
        if talk is None:
            return
        is_over = tick - talk.quiet_tick > ANSWER_TICKS
        if not together:
            self._end(tick, TalkEnd.APART)
        elif busy:
            self._end(tick, TalkEnd.BUSY)
        elif is_over and talk.circle is not None and talk.circle.next_id != self._me:
            talk.quiet_tick = tick
            self._let_go(tick, talk, talk.circle, talk.circle.next_id, TalkEnd.NO_ANSWER)
        elif is_over:
            self._end(tick, TalkEnd.FAREWELL if talk.said_farewell or talk.heard_farewell else TalkEnd.NO_ANSWER)

    def take_ended(self) -> list[Talk]:
        """Return the talks that ended since the last call."""
        ended, self.ended = self.ended, []
        return ended

    def _takes_part(self, talk: Talk, speaker_id: str, meaning: LineMeaning) -> bool:
        """Return whether a speaker is in the talk. One who asks for it is noted; one who was passed over comes back."""
        if speaker_id in talk.others(self._me):
            return True
        if meaning.joins:
            self._note_guest(talk, speaker_id)
        if talk.circle is None or speaker_id not in talk.with_ids or speaker_id in talk.left_ids or meaning.leaves:
            return False
        talk.circle.add(speaker_id)
        return speaker_id in talk.circle.members

    def _note_guest(self, talk: Talk, guest_id: str, *, invited: bool = False) -> None:
        if not invited and guest_id in talk.others(self._me):
            return  # it takes part already
        if guest_id and (guest_id in talk.guests or MAX_GUESTS.allows(len(talk.guests) + 1)):
            talk.guests[guest_id] = invited or talk.guests.get(guest_id, False)
            talk.turns_without_news = 0  # there will be some

    def _welcome(self, tick: int, host_id: str, guest_id: str, members: Sequence[str]) -> None:
        """Follow an invitation: this character is invited to a circle, or another to its own."""
        talk = self.current
        if guest_id == self._me:
            free = talk is None and not self.rests(tick, host_id)
            if (free or (talk is not None and talk.circle is None and talk.partner_id in members)) and (
                MAX_CIRCLE.allows(len(members) + 1)
            ):
                circle = Circle((*members, guest_id), host_id, tick)
                lines = [] if talk is None else talk.lines
                others = [who for who in members if talk is None or who != talk.partner_id]
                missed = max(self._missed(tick, others), len(members) if talk is None else 0)  # each has spoken
                self.current = Talk(host_id, tick, lines, circle=circle, missed=missed)
                self._grow(self.current)
        elif talk is not None and host_id in (self._me, *talk.others(self._me)):
            if talk.circle is None:
                pair = {self._me, talk.partner_id}
                order = members if pair == set(members) else (host_id, *(pair - {host_id}))
                talk.circle = Circle(order, host_id, tick)
            if guest_id not in talk.with_ids:
                talk.missed += self._missed(tick, [guest_id], talk.began_tick)
            talk.circle.add(guest_id)
            self._note_guest(talk, guest_id, invited=True)
            self._grow(talk)

    def _missed(self, tick: int, people: Sequence[str], since: int = 0) -> int:
        """Return how many lines some have said: those overheard since a tick, and since a farewell or a pause."""
        count, later = 0, tick
        for said_tick, speaker_id, leaves in reversed(self._overheard):
            if speaker_id in people:
                if said_tick < since or later - said_tick > ANSWER_TICKS or leaves:
                    break
                count, later = count + 1, said_tick
        return count

    def _grow(self, talk: Talk) -> None:
        talk.with_ids.update(dict.fromkeys(talk.others(self._me)))
        talk.largest = max(talk.largest, talk.size)

    def _follow_circle(self, tick: int, talk: Talk, circle: Circle, speaker_id: str, *, leaves: bool) -> None:
        """Give the turn to the next one after a speaker, who may have left with its line."""
        talk.partner_id = speaker_id
        circle.speak(speaker_id, tick)
        if leaves:
            talk.left_ids.add(speaker_id)
            self._let_go(tick, talk, circle, speaker_id, TalkEnd.FAREWELL)
        else:
            self._give_turn(tick, talk, mine=circle.next_id == self._me)

    def _let_go(self, tick: int, talk: Talk, circle: Circle, person_id: str, why: TalkEnd) -> None:
        """Go on without a person: with two the talk is one of two, and alone it is over."""
        circle.remove(person_id)
        if len(circle.members) < 2:
            self._end(tick, why)
            return
        others = talk.others(self._me)
        if person_id == talk.partner_id:
            talk.partner_id = others[-1]
        self._give_turn(tick, talk, mine=circle.next_id == self._me)
        if len(circle.members) == 2:
            talk.circle, talk.partner_id = None, others[0]

    def _give_turn(self, tick: int, talk: Talk, *, mine: bool) -> None:
        if mine and not talk.my_turn:
            talk.turn_tick = tick
        talk.my_turn = mine

    def _end(self, tick: int, why: TalkEnd) -> None:
        talk, self.current = self.current, None
        assert talk is not None, "only a talk under way ends"
        talk.ended = why
        self.ended.append(talk)
        for who in talk.with_ids:
            self._rest_until.pop(who, None)
            self._rest_until[who] = tick + REST_TICKS
            self._heard[who] = frozenset(line.text for line in talk.lines if line.speaker_id == who)
            if not MAX_PARTNERS.allows(len(self._rest_until)):
                longest_ago = next(iter(self._rest_until))
                del self._rest_until[longest_ago], self._heard[longest_ago]
                self._breaks.pop(longest_ago, None)

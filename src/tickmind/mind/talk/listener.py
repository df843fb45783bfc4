"""`Listener`: what a mind takes in from the lines and deeds of others, and what follows from them."""

import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple
from itertools import chain
from typing import Any

from tickmind.mind.memory import EntryKind, Memory
from tickmind.mind.memory.entries import IMPORTANCE
from tickmind.mind.memory.memory import DAY_TICKS, entry_text
from tickmind.mind.mood import EVENTS
from tickmind.mind.people import MAX_TOPICS, Acquaintance, People
from tickmind.mind.promises import AS_PROMISED, Promise, Promises, PromiseState
from tickmind.mind.talk.extraction import Extract, FreeLine, with_request
from tickmind.mind.talk.line_checker import names_time
from tickmind.mind.talk.meaning import Bringing, LineMeaning, in_third_person, read_line
from tickmind.mind.talk.phrasebook import is_small_talk
from tickmind.mind.talk.sessions import TalkEnd, Talks
from tickmind.mind.talk.teller import Teller
from tickmind.mind.talk.wording_task import without_musing
from tickmind.protocol.setting import clock_of

PROMISE_TICKS = 150  # until a promise is due, where there is no clock
TRUSTS = -0.2  # those that it trusts less than this it promises nothing
_TO_YOU = re.compile(r"\byou\b", re.IGNORECASE)
BEGINS_WITH_NAME = re.compile(r"^([\w':-]{1,40})\s*[,!]\s")


class Listener(Teller):
    """Note whom it meets, what it is told and by whom, gifts, and promises made, kept and broken.

    `on_news` is called with what others say that it trusts; `tick_at` returns in which tick from another on a minute
    of the day comes.
    """

    def __init__(
        self,
        entity_id: str,
        name: str,
        chance: random.Random,
        memory: Memory,
        *,
        answer: Callable[[str], str] = lambda _question: "",
        tick_at: Callable[[int, int], int] = lambda tick, _minute: tick + PROMISE_TICKS,
        facts: Iterable[str] = (),
        secret: str = "",
        on_news: Callable[[str], None] = lambda _text: None,
        day_ticks: int = DAY_TICKS,
    ) -> None:
        super().__init__(
            entity_id, name, chance, memory, answer=answer, facts=facts, secret=secret, day_ticks=day_ticks
        )
        self.talks = Talks(entity_id)
        self.promises = Promises()
        self._on_news = on_news
        self._tick_at = tick_at
        called = f"(?:{re.escape(entity_id)}|{re.escape(name)})"
        self._addressed = re.compile(rf"^{called}\s*[,:!]\s*", re.IGNORECASE)

    def hear(self, tick: int, speaker_id: str, text: str, place: str = "", in_sight: Iterable[str] = ()) -> None:
        """Take in a line that was said to this character: note whom it met and what it was told, and by whom.

        `in_sight` are the ids of people by whose names a line may mean them, besides those that it knows.
        """
        meaning = read_line(text)
        guest_id, circle = self._invited(speaker_id, meaning, in_sight)
        self.talks.hear(tick, speaker_id, text, guest_id=guest_id, circle=circle)
        for who in (*circle, guest_id) if circle else ():
            if who != self._me:
                self.people.meet(who)  # so that no other person takes its name
        person = self.people.meet(speaker_id, meaning.name)
        is_new, person.heard = not person.heard, True
        if is_new:
            self._memory.note(tick, f"I met {person.called}.", importance=0.3, about=speaker_id, place=place)
        if meaning.promise is not None:
            self._hear_promise(tick, speaker_id, text, meaning.promise)
        told = entry_text(in_third_person(meaning.told or self._statement(text, meaning), person.called))
        if told:
            for who in self._listeners(speaker_id):
                self.people.meet(who).add_topic(told)
            if told not in self._own:  # which it may have told itself
                self._note_told(tick, told, speaker_id, place)

    def take_extract(self, tick: int, line: FreeLine, extract: Extract, due_minute: int) -> None:
        """Take in what a model found in a line that was heard, as if the line had said it in plain clauses.

        Facts take the place of the line in memory. A promise counts if it is to this character, a request while it is
        this character's turn to answer. What names no time is due at `due_minute`.
        """
        speaker_id, talk = line.speaker_id, self.talks.current
        called = self.people.called(speaker_id)
        if extract.facts:
            whole = entry_text(in_third_person(self._statement(line.text, read_line(line.text)), called))
            raw = (one for one in self._memory if one.text == whole and one.told_by == speaker_id and one.times == 1)
            if whole and (entry := next(raw, None)) is not None:
                self._memory.forget(entry.number)
        for fact in extract.facts:
            told = entry_text(in_third_person(self._addressed.sub("", fact), called))
            for who in self._listeners(speaker_id):
                self.people.meet(who).add_topic(told)
            if told not in self._own:
                self._note_told(line.tick, told, speaker_id, line.place)
        promise = None if extract.promise is None else extract.promise.timed(due_minute)
        to_me = (line.of_two and _TO_YOU.search(line.text)) or self._addressed.match(line.text)
        if promise is not None and promise.minute >= 0 and to_me:
            self._promise(tick, speaker_id, self._me, promise)
        if extract.offer is not None:
            text = f"{called} offered me {extract.offer.amount} {extract.offer.item}."
            about = (speaker_id, extract.offer.item)
            self._memory.note(tick, text, kind=EntryKind.HEARD, about=about, place=line.place, told_by=speaker_id)
        last = talk.lines[-1] if talk is not None and talk.my_turn and talk.lines else None
        if extract.request is not None and talk is not None and last is not None and last.text == line.text:
            talk.lines[-1] = last._replace(meaning=with_request(last.meaning, extract.request))

    def _listeners(self, speaker_id: str) -> list[str]:
        """Return who hears a line of a speaker: that one, and in its circle all others."""
        talk = self.talks.current
        others = [] if talk is None or talk.circle is None else talk.others(self._me)
        return [*(who for who in others if who != speaker_id), speaker_id] if speaker_id in others else [speaker_id]

    def _invited(self, speaker_id: str, meaning: LineMeaning, in_sight: Iterable[str]) -> tuple[str, tuple[str, ...]]:
        """Return the ids of whom a line invites, and of the circle; nothing if it names none that there is."""
        if meaning.invites is None:
            return self._id_of(meaning.bids, in_sight) if meaning.bids else "", ()
        ids = dict.fromkeys(self._id_of(name, in_sight) for name in meaning.invites.members)
        circle = tuple(who for who in ids if who)
        guest_id = self._id_of(meaning.invites.guest, in_sight)
        is_whole = speaker_id in circle and guest_id not in (*circle, "")
        return (guest_id, circle) if is_whole else ("", ())

    def _id_of(self, name: str, in_sight: Iterable[str] = ()) -> str:
        """Return who is called by a name; nothing if it neither knows nor sees such a person."""
        wanted = name.lower()
        if wanted in (self._me.lower(), self._name.lower()):
            return self._me
        known = (
            person.person_id for person in self.people if wanted in (person.called.lower(), person.person_id.lower())
        )
        seen = (who for who in in_sight if who.lower() == wanted)
        return next(chain(known, seen), "")

    def _hear_promise(self, tick: int, speaker_id: str, text: str, promise: Bringing) -> None:
        """Note a promise to this character; one to another in its circle is something that its speaker says."""
        to = self._promised_to(speaker_id, text, promise)
        if to == self._me:
            self._promise(tick, speaker_id, self._me, promise)
        elif to:
            told = _promise_text(self.people.called(speaker_id), self.people.called(to), promise)
            about = (speaker_id, to, promise.item)
            self._memory.note(tick, told, kind=EntryKind.HEARD, about=about, told_by=speaker_id)

    def _promised_to(self, speaker_id: str, text: str, promise: Bringing) -> str:
        """Return to whom a promise is: to the one that the line begins with, or that asked for it; or nothing.

        In a circle only the line just before asks for it: "you" would else be anybody.
        """
        if self._addressed.match(text) is not None:
            return self._me
        talk = self.talks.current
        if talk is None or speaker_id not in talk.others(self._me):
            return ""
        if talk.circle is None:
            asked = (line.meaning.request for line in talk.lines if line.speaker_id == self._me)
            return self._me if any(request is not None and request.item == promise.item for request in asked) else ""
        named = self._id_of(beginning[1]) if (beginning := BEGINS_WITH_NAME.match(text)) else ""
        if named:
            return named if named in talk.others(self._me) and named != speaker_id else ""
        before = talk.lines[-2] if len(talk.lines) > 1 else None
        wanted = None if before is None else before.meaning.request
        is_answer = before is not None and wanted is not None and wanted.item == promise.item
        return before.speaker_id if before is not None and is_answer and before.speaker_id != speaker_id else ""

    def _note_told(self, tick: int, told: str, speaker_id: str, place: str) -> None:
        """Note what it heard; what names a time of the day counts as much as a promise."""
        weight = IMPORTANCE[EntryKind.PROMISED] if names_time(told) else None
        self._memory.note(
            tick, told, kind=EntryKind.HEARD, importance=weight, about=speaker_id, place=place, told_by=speaker_id
        )
        person = self.people.get(speaker_id)
        if person is None or person.trust >= TRUSTS:
            self._on_news(told)

    def _statement(self, text: str, meaning: LineMeaning) -> str:
        """Return what a line says to be so, without words that lead to it or muse about it; or nothing."""
        is_act = meaning.promise is not None or meaning.asks or meaning.greets or meaning.leaves or meaning.name
        is_call = meaning.invites is not None or meaning.bids or meaning.joins
        if is_act or is_call or is_small_talk(text):
            return ""
        return without_musing(self._addressed.sub("", text.strip()))

    def _promise(self, tick: int, by: str, to: str, bringing: Bringing) -> None:
        """Note a promise of this character or to it."""
        due_tick = self._tick_at(tick, bringing.minute)
        made = self.promises.make(by, to, bringing.item, bringing.amount, tick, due_tick)
        if made is not None:
            one, other = ("I", self.people.called(to)) if by == self._me else (self.people.called(by), "me")
            text = _promise_text(one, other, bringing)
            other_id = to if by == self._me else by
            told_by = "" if by == self._me else by
            about = (other_id, bringing.item)
            self._memory.note(tick, text, kind=EntryKind.PROMISED, about=about, told_by=told_by)

    def give(self, tick: int, by: str, to: str, item: str, amount: int) -> None:
        """Note that items were given, by this character or to it; a promise may be kept by that."""
        kept = self.promises.give(by, to, item, amount)
        other = self.people.make_peace(by if to == self._me else to)
        if other is not None:
            self._memory.note(tick, f"{other.called} and I made peace.", importance=0.8, about=other.person_id)
        if to != self._me:
            return
        person = self.people.meet(by)
        person.like(0.1)
        text = f"{person.called} gave me {item}{AS_PROMISED if kept else '.'}"
        self._memory.note(tick, text, kind=EntryKind.GOT, about=(by, item))
        self.mood.feel(tick, EVENTS["got what was promised" if kept else "got a gift"])
        if kept is not None:
            person.believe(0.2)

    def kept(self) -> dict[str, Any]:
        """Return people and promises, for `restore`; a talk under way is not kept."""
        people = [
            (
                person.person_id,
                person.name,
                person.heard,
                person.talks,
                person.liking,
                person.trust,
                list(person.topics),
            )
            for person in self.people
        ]
        return {"people": people, "promises": [astuple(promise) for promise in self.promises], "mood": self.mood.kept()}

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Take over people and promises, if any were kept. Raises what comes of malformed ones."""
        if not kept:
            return
        known, made = People(self._me, self._name), Promises()
        known.restore(map(_person, kept.get("people", ())))
        made.restore(map(_kept_promise, kept.get("promises", ())))
        if "mood" in kept:
            self.mood.restore(*kept["mood"])
        self.people, self.promises = known, made

    def settle(self, tick: int) -> None:
        """Draw the consequences of talks that have ended, and of promises whose time is over."""
        for promise in self.promises.pass_time(tick):
            if promise.to == self._me:
                person = self.people.meet(promise.by)
                person.believe(-0.3)
                self.mood.feel(tick, EVENTS["was let down"])
                text = f"{person.called} did not bring me {promise.item}{AS_PROMISED}"
            else:
                self.mood.feel(tick, EVENTS["broke a promise"])
                text = f"I did not bring {self.people.called(promise.to)} {promise.item} as I had promised."
            other = promise.by if promise.to == self._me else promise.to
            self._memory.note(tick, text, kind=EntryKind.FAILED, importance=0.7, about=(other, promise.item))
        for talk in self.talks.take_ended():
            if not talk.lines:
                continue  # it ended before a word was said
            well = talk.said_farewell or talk.heard_farewell or talk.ended is TalkEnd.FAREWELL
            for person in map(self.people.meet, talk.with_ids):
                person.talks += 1
                person.like(0.05 if well else -0.02)
            self.mood.feel(tick, EVENTS["had a talk" if well else "was left"])


def _promise_text(by: str, to: str, bringing: Bringing) -> str:
    return f"{by} promised to bring {to} {bringing.amount} {bringing.item} by {clock_of(bringing.minute)}."


def _person(kept: Sequence[Any]) -> Acquaintance:
    *values, topics = kept
    person = Acquaintance(*values)
    for topic in topics[-int(MAX_TOPICS.maximum) :]:
        if isinstance(topic, str):  # as earlier versions kept it
            person.add_topic(entry_text(topic))
            continue
        if type(topic) is not int or not 0 <= topic < 2**32:
            raise TypeError("a topic is kept as its sum")
        person.add_topic_sum(topic)
    return person


def _kept_promise(kept: Sequence[Any]) -> Promise:
    *values, state = kept
    promise = Promise(*values)
    promise.state = PromiseState(state)
    return promise

"""`Talker`: what a mind says next in a talk, and in which words."""

import random
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from typing import Any, NamedTuple

from tickmind.mind.memory import EntryKind, Memory, MemoryEntry
from tickmind.mind.memory.entries import IMPORTANCE
from tickmind.mind.memory.memory import DAY_TICKS, entry_text
from tickmind.mind.memory.words import words_of
from tickmind.mind.mood import EVENTS, Mood
from tickmind.mind.people import MAX_TOPICS, Acquaintance, People
from tickmind.mind.promises import AS_PROMISED, Promise, Promises, PromiseState
from tickmind.mind.talk.line_checker import clean_line, names_time, problem_of
from tickmind.mind.talk.meaning import Bringing, LineMeaning, in_third_person, read_line, says_as_much
from tickmind.mind.talk.phrasebook import QUESTIONS, Act, Phrasebook, is_small_talk
from tickmind.mind.talk.questions import is_open, remembered_answer
from tickmind.mind.talk.repeats import SpokenBefore
from tickmind.mind.talk.sessions import CLOSING_LINES, MAX_TALK_LINES, Talk, Talks
from tickmind.mind.talk.wording_check import TOLD_CHARS, wording_problem
from tickmind.mind.talk.wording_task import EXAMPLE_NAMES
from tickmind.mind.talk.wordings import Wordings
from tickmind.protocol.setting import clock_of

_TOLD_KINDS = (EntryKind.DID, EntryKind.SAW, EntryKind.GOT, EntryKind.GAVE, EntryKind.HEARD, EntryKind.INSIGHT)
_NEWS_ENTRIES = 12  # that are looked through for something new
_FAREWELLS = (Act.FAREWELL, Act.FAREWELL_BACK)
_BY_CODE = (*_FAREWELLS, Act.REQUEST, Act.PROMISE, Act.DECLINE)  # acts with consequences, which no model words
PROMISE_TICKS = 150  # until a promise is due, where there is no clock
_TRUSTS = -0.2  # those that it trusts less than this it promises nothing
_HOW_ARE_YOU = re.compile(r"\b(?:how are you|how do you (?:do|feel)|how is it going|are you well)\b", re.IGNORECASE)
REHEARSED = 24  # lines in a model's words that are ready for news, at most


@dataclass(frozen=True, slots=True)
class TalkScene:
    """What a talk takes place in, as far as words need it."""

    tick: int
    part_of_day: str = "day"  # morning, day, evening or night
    place: str = ""  # "the square"; empty: none with a name
    weather: str = ""
    due_minute: int = -1  # of the day, by which one would ask for something; -1: there is no clock
    aim: str = ""  # what the speaker will do next, as in "I want to ..."


class Remark(NamedTuple):
    """A line to say, and what it is for."""

    act: Act
    text: str
    news: str = ""  # what it tells
    promise: Bringing | None = None
    is_worded: bool = False  # by a model

    @property
    def core(self) -> str:
        """What a model may word of it: its news or its question, without what leads to them; else nothing."""
        question = self.text.rpartition(": ")[2] if self.act is Act.ASK else ""
        return self.news or question


class Talker:
    """Decides acts by the state of a talk, and words them: by a model's line if it is good, or by the phrasebook.

    `answer` returns what the character knows about a question, or nothing; `wants` what it would ask others for, and
    `can_bring` whether it could bring that. It tells a `secret` close friends only; they may tell others. `on_news`
    is called with what those say that it trusts. `tick_at` returns in which tick from another on a minute of the day
    comes.
    """

    def __init__(
        self,
        entity_id: str,
        name: str,
        chance: random.Random,
        memory: Memory,
        *,
        answer: Callable[[str], str] = lambda _question: "",
        wants: Callable[[], tuple[str, int] | None] = lambda: None,
        can_bring: Callable[[str, int], bool] = lambda _item, _amount: False,
        tick_at: Callable[[int, int], int] = lambda tick, _minute: tick + PROMISE_TICKS,
        wishes: Iterable[str] = (),
        facts: Iterable[str] = (),
        secret: str = "",
        on_news: Callable[[str], None] = lambda _text: None,
        day_ticks: int = DAY_TICKS,
    ) -> None:
        self.mood = Mood(day_ticks)
        self._on_news = on_news
        self.talks = Talks(entity_id)
        self.people = People(entity_id, name)
        self.promises = Promises()
        self.spoken = SpokenBefore()
        self.wordings = Wordings()
        self._me = entity_id
        self._name = name
        self._memory = memory
        self._answer = answer
        self._wants = wants
        self._can_bring = can_bring
        self._tick_at = tick_at
        self._wishes = tuple(wishes)
        self._facts = tuple(facts)
        self._secret = secret
        own = (*self._facts, secret) if secret else self._facts
        self._own = {entry_text(form) for text in own for form in (text, in_third_person(text, name))}
        self._chance = chance
        self._phrases = Phrasebook(chance)
        called = f"(?:{re.escape(entity_id)}|{re.escape(name)})"
        self._addressed = re.compile(rf"^{called}\s*[,:!]\s*", re.IGNORECASE)

    def hear(self, tick: int, speaker_id: str, text: str, place: str = "") -> None:
        """Take in a line that was said to this character: note whom it met and what it was told, and by whom."""
        meaning = self.talks.hear(tick, speaker_id, text)
        person = self.people.meet(speaker_id, meaning.name)
        is_new, person.heard = not person.heard, True
        if is_new:
            self._memory.note(tick, f"I met {person.called}.", importance=0.3, about=speaker_id, place=place)
        if meaning.promise is not None and self._is_for_me(speaker_id, text, meaning.promise):
            self._promise(tick, speaker_id, self._me, meaning.promise)
        told = entry_text(in_third_person(meaning.told or self._statement(text, meaning), person.called))
        if told:
            person.add_topic(told)
            if told not in self._own:  # which it may have told itself
                self._note_told(tick, told, speaker_id, place)

    def _note_told(self, tick: int, told: str, speaker_id: str, place: str) -> None:
        """Note what it heard; what names a time of the day counts as much as a promise."""
        weight = IMPORTANCE[EntryKind.PROMISED] if names_time(told) else None
        self._memory.note(
            tick, told, kind=EntryKind.HEARD, importance=weight, about=speaker_id, place=place, told_by=speaker_id
        )
        person = self.people.get(speaker_id)
        if person is None or person.trust >= _TRUSTS:
            self._on_news(told)

    def _statement(self, text: str, meaning: LineMeaning) -> str:
        """Return what a line says to be so without words that lead to it; nothing if it is about nothing."""
        is_act = meaning.promise is not None or meaning.asks or meaning.greets or meaning.leaves or meaning.name
        if is_act or is_small_talk(text):
            return ""
        return self._addressed.sub("", text.strip())

    def _is_for_me(self, speaker_id: str, text: str, promise: Bringing) -> bool:
        """Return whether a promise is to this character: it has asked for it, or the line begins with its name."""
        talk = self.talks.current
        own = () if talk is None or talk.partner_id != speaker_id else talk.lines
        asked = (line.meaning.request for line in own if line.speaker_id == self._me)
        addressed = self._addressed.match(text) is not None
        return addressed or any(one is not None and one.item == promise.item for one in asked)

    def _promise(self, tick: int, by: str, to: str, bringing: Bringing) -> None:
        """Note a promise of this character or to it."""
        due_tick = self._tick_at(tick, bringing.minute)
        made = self.promises.make(by, to, bringing.item, bringing.amount, tick, due_tick)
        if made is not None:
            one, other = ("I", self.people.called(to)) if by == self._me else (self.people.called(by), "me")
            text = f"{one} promised to bring {other} {bringing.amount} {bringing.item} by {clock_of(bringing.minute)}."
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
            (one.person_id, one.name, one.heard, one.talks, one.liking, one.trust, list(one.topics))
            for one in self.people
        ]
        return {"people": people, "promises": [astuple(one) for one in self.promises], "mood": self.mood.kept()}

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
            person = self.people.meet(talk.partner_id)
            person.talks += 1
            well = talk.said_farewell or talk.heard_farewell
            person.like(0.05 if well else -0.02)
            self.mood.feel(tick, EVENTS["had a talk" if well else "was left"])

    def next_remark(self, talk: Talk, scene: TalkScene) -> Remark:
        """Return what to say next in a talk, in words of a model if some were kept for it."""
        act, news = self._choose(talk, scene)
        person = self.people.meet(talk.partner_id)
        names = self._names()
        slots = {
            "name": person.called,
            "me": self._name,
            "place": scene.place,
            "weather": scene.weather,
            "aim": scene.aim,
            "news": news,
            "request": "",
            "promise": "",
        }
        if act is Act.REQUEST and (wanted := self._request(talk, scene)) is not None:
            slots["request"] = wanted.requested()
        heard = talk.last_of(talk.partner_id)
        promise = _due(heard.meaning.request, scene) if act is Act.PROMISE and heard is not None else None
        if promise is not None:
            slots["promise"] = promise.promised()
        choices = self._choices(talk, scene, slots)  # fills slots, too
        text = self._phrases.line(act, slots, lambda line: self.spoken.shared(line, names), choices=choices)
        if act is Act.GREET and not person.talks:
            text = f"{text} {self._phrases.part('introduction', slots)}"
        remark = Remark(act, text, news, promise)
        if act is Act.ASK:
            question = self.usable(self.wordings.take_question(person.called))
            return Remark(act, question, is_worded=True) if question else remark
        return self.reworded(remark, self.wordings.take(act, news, person.called), person.called)

    def may_reword(self, remark: Remark) -> bool:
        """Return whether a model may word a remark: it tells or asks something, has no consequences and can wait."""
        core, is_fixed = remark.core, remark.is_worded or remark.act in _BY_CODE or names_time(remark.text)
        return bool(core) and not is_fixed and TOLD_CHARS.allows(len(core)) and not read_line(remark.text).name

    def reworded(self, remark: Remark, words: str, name: str = "") -> Remark:
        """Return a remark in a model's words, if they are good and say the same; else as it is.

        They may name the person to whom it is said, and nobody else whom the remark does not name.
        """
        line = self.usable(words) if self.may_reword(remark) else ""
        names = {*self._others(), *EXAMPLE_NAMES}
        others = self._named_in(line, names) - self._named_in(f"{remark.text} {name}", names)
        if not line or others or wording_problem(line, remark.core, self._names()):
            return remark
        return remark._replace(text=line, is_worded=True)

    @staticmethod
    def _named_in(text: str, names: Iterable[str]) -> set[str]:
        return {name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)}

    def keep_words(self, remark: Remark, words: str, name: str = "") -> bool:
        """Keep a model's words that came too late for a remark to a person of that name, or ahead; return if it did."""
        worded = self.reworded(remark, words, name)
        return worded.is_worded and self.wordings.add(remark.act, remark.core, worded.text, name)

    def untold(self, tick: int, tried: Collection[str] = ()) -> str:
        """Return what it might tell next and has few words of a model for, but for what was `tried`; or nothing."""
        recent = self._memory.recall(tick, most=_NEWS_ENTRIES)
        news = (*(entry.text for entry in recent if entry.kind in _TOLD_KINDS), *self._facts)
        fit = [text for text in news if not names_time(text) and TOLD_CHARS.allows(len(text))]
        if sum(told in fit for told in self.wordings.news) >= REHEARSED:
            return ""
        return self.wordings.scarcest([text for text in fit if text not in tried])

    def unasked(self, tried: Collection[str] = ()) -> str:
        """Return a question that it has few words of a model for, but for what was `tried`; or nothing."""
        return self.wordings.scarcest([text for text in QUESTIONS if text not in tried])

    def usable(self, text: str) -> str:
        """Return a line that a model wants said, cleaned; empty if it is not to be said."""
        line = clean_line(text, (self._name, self._me))
        return "" if problem_of(line, self.spoken, self._names()) else line

    def say(self, tick: int, talk: Talk, remark: Remark) -> None:
        """Note that a remark is said."""
        self.spoken.add(remark.text, self._names())
        if remark.news:
            self.people.meet(talk.partner_id).add_topic(remark.news)
        self.talks.say(tick, remark.text, leaves=remark.act in _FAREWELLS)
        if remark.promise is not None:
            self._promise(tick, self._me, talk.partner_id, remark.promise)

    def _names(self) -> set[str]:
        return {self._name, self._me, *self._others()}

    def _others(self) -> set[str]:
        return {name for one in self.people for name in (one.called, one.person_id)}

    def _choose(self, talk: Talk, scene: TalkScene) -> tuple[Act, str]:
        """Return the next act, and what it says where that is fixed."""
        heard, own = talk.last_of(talk.partner_id), talk.last_of(self._me)
        if talk.must_close:
            return (Act.FAREWELL_BACK if talk.heard_farewell else Act.FAREWELL), ""
        request = None if heard is None else _due(heard.meaning.request, scene)
        if request is not None:
            return (Act.PROMISE if self._would_bring(talk, request) else Act.DECLINE), ""
        if heard is not None and heard.meaning.asks:
            known = self.answer_to(scene.tick, heard.text, talk.partner_id)
            return (Act.ANSWER, known) if known else (Act.ADMIT, "")
        if own is None:
            return Act.GREET, ""
        if self._request(talk, scene) is not None:
            return Act.REQUEST, ""
        news = self._news(scene.tick, talk.partner_id)
        if news and names_time(news):
            return Act.TELL, news
        if len(talk.lines) + CLOSING_LINES >= int(MAX_TALK_LINES.maximum) - 1:  # there is no time for an answer
            return (Act.TELL, news) if news else (Act.FAREWELL, "")
        if heard is not None and heard.meaning.told and self._chance.random() < 0.5:
            return Act.REACT, ""
        asked = sum(line.speaker_id == self._me and line.meaning.asks for line in talk.lines)
        if news and (asked or self._chance.random() < 0.6):
            return Act.TELL, news
        if asked < 2:
            return Act.ASK, ""
        return (Act.TELL, news) if news else (Act.FAREWELL, "")

    def _would_bring(self, talk: Talk, wanted: Bringing) -> bool:
        """Return whether it promises what it is asked for: to those that it trusts, and once at a time."""
        person = self.people.get(talk.partner_id)
        trusts = person is None or person.trust >= _TRUSTS
        is_open = self.promises.between(self._me, talk.partner_id) is not None
        return trusts and not is_open and self._can_bring(wanted.item, wanted.amount)

    def _request(self, talk: Talk, scene: TalkScene) -> Bringing | None:
        """Return what it asks its partner for, once in a talk, while nobody has promised it."""
        wanted = self._wants() if scene.due_minute >= 0 else None
        if wanted is None or any(line.meaning.request and line.speaker_id == self._me for line in talk.lines):
            return None
        if any(one.to == self._me and one.item == wanted[0] for one in self.promises.open()):
            return None
        return Bringing(*wanted, scene.due_minute)

    def _news(self, tick: int, partner_id: str) -> str:
        """Return something that the partner has not heard from this character yet, as a sentence; or nothing."""
        person = self.people.meet(partner_id)
        known = person.topics
        if self._secret and self._secret not in known and person.is_close:
            return self._secret
        recent = self._memory.recall(tick, most=_NEWS_ENTRIES)
        fresh = [entry for entry in recent if self._is_news_for(entry, partner_id) and entry.text not in known]
        facts = [fact for fact in self._facts if fact not in known]
        pressing = next((text for text in (*facts, *(one.text for one in fresh)) if names_time(text)), "")
        if pressing:
            return pressing
        if fresh:
            return self._chance.choice(fresh[:4]).text
        return self._chance.choice(facts) if facts else ""

    def _is_news_for(self, entry: MemoryEntry, partner_id: str) -> bool:
        return entry.kind in _TOLD_KINDS and self._may_tell(entry, partner_id)

    def _may_tell(self, entry: MemoryEntry, partner_id: str) -> bool:
        """Return whether an entry is not about the partner, and does not give the secret away, as an insight may."""
        if partner_id in (*entry.about, entry.told_by):
            return False
        partner = self.people.get(partner_id)
        may_know = not self._secret or (partner is not None and partner.is_close)
        return may_know or not says_as_much(entry.text, self._secret)

    def answer_to(self, tick: int, question: str, partner_id: str) -> str:
        """Return what it knows or remembers about a question, or its news if that is open; else nothing."""
        known = self._answer(question)
        if known:
            return known
        if _HOW_ARE_YOU.search(question):
            return f"I feel {self.mood.word(tick)}."
        asked = words_of(question) - words_of(f"{self._name} {self.people.called(partner_id)}")
        about = [one.person_id for one in self.people if words_of(one.called) & asked]
        may_tell = partial(self._may_tell, partner_id=partner_id)
        if (entry := remembered_answer(self._memory, tick, question, asked, about, may_tell)) is not None:
            return entry.text
        return self._news(tick, partner_id) if not about and is_open(question, asked) else ""

    def _choices(self, talk: Talk, scene: TalkScene, slots: dict[str, str]) -> dict[str, str]:
        """Return which parts fit the scene, and fill the slots that they need."""
        others = [one.called for one in self.people if one.person_id != talk.partner_id]
        slots["person"] = self._chance.choice(others) if others else ""
        slots["wish"] = self._chance.choice(self._wishes) if self._wishes else ""
        slots["teller"] = self.teller_of(slots["news"]) if slots["news"] else ""
        remarks = (f"remark_{scene.part_of_day}", scene.place and "remark_place", scene.weather and "remark_weather")
        questions = (
            "question",
            slots["person"] and "question_person",
            slots["wish"] and "question_wish",
            scene.place and "question_place",
        )
        return {
            "hail": f"hail_{scene.part_of_day}",
            "remark": self._chance.choice([name for name in remarks if name]),
            "question": self._chance.choice([name for name in questions if name]),
            "lead": "lead_told" if slots["teller"] else "lead",
            "lead_answer": "lead_told" if slots["teller"] else "lead_answer",
            "reason": "reason" if scene.aim else "end",
        }

    def teller_of(self, news: str) -> str:
        """Return who is said to have told something; nothing if it was nobody."""
        entry = next((one for one in self._memory if one.text == news and one.told_by), None)
        return self.people.called(entry.told_by) if entry else ""


def _due(request: Bringing | None, scene: TalkScene) -> Bringing | None:
    """Return a request with its time: the one that it names, or that by which one would bring something here."""
    if request is None or request.minute >= 0:
        return request
    return request._replace(minute=scene.due_minute) if scene.due_minute >= 0 else None


def _person(kept: Sequence[Any]) -> Acquaintance:
    *values, topics = kept
    person = Acquaintance(*values)
    for topic in topics[-int(MAX_TOPICS.maximum) :]:
        person.add_topic(entry_text(str(topic)))
    return person


def _kept_promise(kept: Sequence[Any]) -> Promise:
    *values, state = kept
    promise = Promise(*values)
    promise.state = PromiseState(state)
    return promise

"""`Talker`: what a mind says next in a talk, and in which words."""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from tickmind.mind.memory import Memory
from tickmind.mind.memory.memory import DAY_TICKS
from tickmind.mind.talk.circle import MAX_CIRCLE
from tickmind.mind.talk.line_checker import clean_line, names_time, problem_of
from tickmind.mind.talk.listener import BEGINS_WITH_NAME, PROMISE_TICKS, TRUSTS, Listener
from tickmind.mind.talk.meaning import Bringing, Invitation, read_line
from tickmind.mind.talk.phrasebook import Act, Phrasebook, choose_part
from tickmind.mind.talk.repeats import SpokenBefore
from tickmind.mind.talk.sessions import Talk, TalkLine
from tickmind.mind.talk.wording_check import TOLD_CHARS, names_another, without_question, wording_problem
from tickmind.mind.talk.wording_task import EXAMPLE_NAMES

_FAREWELLS = (Act.FAREWELL, Act.FAREWELL_BACK)
_BY_CODE = (
    *_FAREWELLS,
    Act.REQUEST,
    Act.PROMISE,
    Act.DECLINE,
    Act.INVITE,
)  # acts with consequences, which no model words
ALL = "friends"  # how one speaks to a circle
INVITES = 0.5  # how often one invites a person who stands by


@dataclass(frozen=True, slots=True)
class TalkScene:
    """What a talk takes place in, as far as words need it."""

    tick: int
    part_of_day: str = "day"  # morning, day, evening or night
    place: str = ""  # "the square"; empty: none with a name
    weather: str = ""
    due_minute: int = -1  # of the day, by which one would ask for something; -1: there is no clock
    aim: str = ""  # what the speaker will do next, as in "I want to ..."
    bystanders: tuple[str, ...] = ()  # ids of those near who are free to join in


class Remark(NamedTuple):
    """A line to say, and what it is for."""

    act: Act
    text: str
    news: str = ""  # what it tells
    promise: Bringing | None = None
    is_worded: bool = False  # by a model
    guest_id: str = ""  # whom it invites

    @property
    def core(self) -> str:
        """What a model may word of it: its news or its question, without what leads to them; else nothing."""
        question = self.text.rpartition(": ")[2] if self.act is Act.ASK else ""
        return self.news or question


class Talker(Listener):
    """Decides acts by the state of a talk, and words them: by a model's line if it is good, or by the phrasebook.

    `answer` returns what the character knows about a question, or nothing; `wants` what it would ask others for, and
    `can_bring` whether it could bring that. `on_news` is called with what others say that it trusts. `tick_at` returns
    in which tick from another on a minute of the day comes. For `facts` and the `secret` see `Teller`.
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
        super().__init__(
            entity_id,
            name,
            chance,
            memory,
            answer=answer,
            tick_at=tick_at,
            facts=facts,
            secret=secret,
            on_news=on_news,
            day_ticks=day_ticks,
        )
        self.spoken = SpokenBefore()
        self._wants = wants
        self._can_bring = can_bring
        self._wishes = tuple(wishes)
        self._phrases = Phrasebook(chance)

    def next_remark(self, talk: Talk, scene: TalkScene) -> Remark:
        """Return what to say next in a talk, in words of a model if some were kept for it."""
        act, news = self._choose(talk, scene)
        person = self.people.meet(talk.partner_id)
        names = self._names()
        to_all = talk.circle is not None and act in (Act.GREET, *_FAREWELLS)
        slots = {
            "name": ALL if to_all else person.called,
            "me": self._name,
            "place": scene.place,
            "weather": scene.weather,
            "aim": scene.aim,
            "news": news,
            "request": "",
            "promise": "",
            "invitation": "",
        }
        guest_id = news if act is Act.INVITE else ""
        if guest_id:
            members = [self._name if who == self._me else self.people.called(who) for who in self._circle_of(talk)]
            invitation = Invitation(self.people.called(guest_id), tuple(members))
            news, slots["news"], slots["invitation"] = "", "", invitation.spoken()
        if act is Act.REQUEST and (wanted := self._request(talk, scene)) is not None:
            slots["request"] = wanted.requested()
        heard = self._heard_last(talk)
        promise = _due(heard.meaning.request, scene) if act is Act.PROMISE and heard is not None else None
        if promise is not None:
            slots["promise"] = promise.promised()
        choices = self._choices(talk, scene, slots)  # fills slots, too
        text = self._phrases.line(act, slots, lambda line: self.spoken.shared(line, names), choices=choices)
        if act is Act.GREET and not person.talks:
            text = f"{text} {self._phrases.part('introduction', slots)}"
        if promise is not None and talk.circle is not None:  # "you" would be anybody
            text = f"{person.called}! {text}"
        remark = Remark(act, text, news, promise, guest_id=guest_id)
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

        They may name the person to whom it is said, and no other person whom the remark does not name.
        """
        line = self.usable(without_question(words.strip(), remark.core)) if self.may_reword(remark) else ""
        if not line or names_another(line, f"{remark.text} {name}", {*self._others(), *EXAMPLE_NAMES}):
            return remark
        if wording_problem(line, remark.core, self._names()):
            return remark
        return remark._replace(text=line, is_worded=True)

    def keep_words(self, remark: Remark, words: str, name: str = "") -> bool:
        """Keep a model's words that came too late for a remark to a person of that name, or ahead; return if it did."""
        worded = self.reworded(remark, words, name)
        return worded.is_worded and self.wordings.add(remark.act, remark.core, worded.text, name)

    def usable(self, text: str) -> str:
        """Return a line that a model wants said, cleaned; empty if it is not to be said."""
        line = clean_line(text, (self._name, self._me))
        return "" if problem_of(line, self.spoken, self._names()) else line

    def say(self, tick: int, talk: Talk, remark: Remark) -> None:
        """Note that a remark is said."""
        self.spoken.add(remark.text, self._names())
        if remark.news:
            for who in talk.others(self._me):
                self.people.meet(who).add_topic(remark.news)
        if remark.guest_id:
            self.people.meet(remark.guest_id)
            self.talks.invite(tick, remark.guest_id)
        self.talks.say(tick, remark.text, leaves=remark.act in _FAREWELLS)
        if remark.promise is not None:
            self._promise(tick, self._me, talk.partner_id, remark.promise)

    def _choose(self, talk: Talk, scene: TalkScene) -> tuple[Act, str]:
        """Return the next act, and what it says where that is fixed."""
        heard, own = self._heard_last(talk), talk.last_of(self._me)
        if talk.must_close:
            return (Act.FAREWELL_BACK if talk.heard_farewell else Act.FAREWELL), ""
        request = None if heard is None else _due(heard.meaning.request, scene)
        if request is not None:
            return (Act.PROMISE if self._would_bring(talk, request) else Act.DECLINE), ""
        if talk.wanting_in and MAX_CIRCLE.allows(talk.size + 1):
            return Act.INVITE, talk.wanting_in
        if heard is not None and heard.meaning.asks:
            others = (who for who in talk.others(self._me) if who != talk.partner_id)
            known = self.answer_to(scene.tick, heard.text, talk.partner_id, *others)
            return (Act.ANSWER, known) if known else (Act.ADMIT, "")
        if own is None:
            return Act.GREET, ""
        if guest_id := self._guest(scene, talk):
            return Act.INVITE, guest_id
        if self._request(talk, scene) is not None:
            return Act.REQUEST, ""
        news = self._news(scene.tick, *talk.others(self._me))
        if news and names_time(news):
            return Act.TELL, news
        if talk.lines_left <= 1:  # there is no time for an answer
            return (Act.TELL, news) if news else (Act.FAREWELL, "")
        if heard is not None and heard.meaning.told and self._chance.random() < 0.5:
            return Act.REACT, ""
        asked = sum(line.speaker_id == self._me and line.meaning.asks for line in talk.lines)
        if news and (asked or self._chance.random() < 0.6):
            return Act.TELL, news
        if asked < 2:
            return Act.ASK, ""
        return (Act.TELL, news) if news else (Act.FAREWELL, "")

    def _heard_last(self, talk: Talk) -> TalkLine | None:
        """Return the line to which it answers: its partner's last; in a circle one since its own, for no other."""
        line = talk.last_of(talk.partner_id)
        if talk.circle is None or line is None:
            return line
        own = talk.last_of(self._me)
        if own is not None and talk.lines.index(own) > talk.lines.index(line):
            return None
        named = self._id_of(beginning[1]) if (beginning := BEGINS_WITH_NAME.match(line.text)) else ""
        return None if named in talk.others(self._me) else line

    def _circle_of(self, talk: Talk) -> list[str]:
        """Return the ids of all who take part, in the order of their turns."""
        return [self._me, talk.partner_id] if talk.circle is None else talk.circle.members

    def _guest(self, scene: TalkScene, talk: Talk) -> str:
        """Return whom it invites to its talk of its own accord: now and then one who stands by; or nothing."""
        if not MAX_CIRCLE.allows(talk.size + 1):
            return ""
        near = (who for who in scene.bystanders if who not in talk.guests and who not in talk.with_ids)
        guest_id = next((who for who in near if not self.talks.rests(scene.tick, who)), "")
        is_time = guest_id and talk.lines_left >= talk.size and self._chance.random() < INVITES
        return guest_id if is_time else ""

    def _would_bring(self, talk: Talk, wanted: Bringing) -> bool:
        """Return whether it promises what it is asked for: to those that it trusts, and once at a time."""
        person = self.people.get(talk.partner_id)
        trusts = person is None or person.trust >= TRUSTS
        is_open = self.promises.between(self._me, talk.partner_id) is not None
        return trusts and not is_open and self._can_bring(wanted.item, wanted.amount)

    def _request(self, talk: Talk, scene: TalkScene) -> Bringing | None:
        """Return what it asks its partner for, once in a talk, while no one has promised it."""
        wanted = self._wants() if scene.due_minute >= 0 else None
        if wanted is None or any(line.meaning.request and line.speaker_id == self._me for line in talk.lines):
            return None
        if any(promise.to == self._me and promise.item == wanted[0] for promise in self.promises.open()):
            return None
        return Bringing(*wanted, scene.due_minute)

    def _choices(self, talk: Talk, scene: TalkScene, slots: dict[str, str]) -> dict[str, str]:
        """Return which parts fit the scene, and fill the slots that they need."""
        present = talk.others(self._me)
        others = [person.called for person in self.people if person.person_id not in present]
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
            "remark": choose_part(self._chance, [name for name in remarks if name]),
            "question": choose_part(self._chance, [name for name in questions if name]),
            "lead": "lead_told" if slots["teller"] else "lead",
            "lead_answer": "lead_told" if slots["teller"] else "lead_answer",
            "reason": "reason" if scene.aim else "end",
        }


def _due(request: Bringing | None, scene: TalkScene) -> Bringing | None:
    """Return a request with its time: the one that it names, or that by which one would bring something here."""
    if request is None or request.minute >= 0:
        return request
    return request._replace(minute=scene.due_minute) if scene.due_minute >= 0 else None

"""`TalkingCharacter`: a character that talks with others, in words of its own, of a phrasebook or of a model."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from tickmind.agent.character.character import Character
from tickmind.agent.character.tactics import action, condition
from tickmind.agent.character.thinking import EMBEDDINGS, Faculty, has_small_model
from tickmind.agent.knowledge import Person, SpokenLine, distance
from tickmind.agent.minds import Start
from tickmind.ai import Status
from tickmind.base import Limit, text_sum
from tickmind.mind.talk import Act, Remark, Talk, Talker, TalkScene
from tickmind.mind.talk.extraction import EXTRACT_TASK, FreeLine, is_free, read_extract
from tickmind.mind.talk.meaning import read_line
from tickmind.mind.talk.sessions import ANSWER_TICKS
from tickmind.mind.talk.wording_task import EXAMPLES, WORDS_TASK, begun, finished, words_question
from tickmind.protocol.setting import zone_phrase
from tickmind.strategy import quoted

MAX_NOTICED = Limit("number of people of whom a character keeps in mind when it noticed them", 200)
MAX_UNREAD = Limit("number of lines that wait for a model to read them", 6)
TALK_STEPS, MEET_STEPS = 6, 3  # within which two talk, and one begins to
QUIET_TICKS = 20  # after it has spoken, before it begins a talk
PROMISE_HOURS = 6  # until what it asks for is due
LOOK_TICKS = 20  # between two looks for what is worth remembering
UNREAD_TICKS = 100  # after which no one waits any more for what a line says
WORDS_TICKS = 12  # that it waits for a model's words, less than its partner waits for an answer
NO_WORDS_TICKS = 100  # that it waits for no words after none have come
REHEARSE_TICKS = 30  # between two lines that it has worded ahead by a model that is not of this machine
MAX_TRIED = Limit("number of things to tell for which a character has asked for words", 60)
TALK = Faculty(
    "talk",
    WORDS_TASK,
    tier="chatter",
    priority=1,
    soonest_ticks=1,
    one_line=True,
    brief=True,
    examples=EXAMPLES,
)
REHEARSE = Faculty(
    "rehearse",
    WORDS_TASK,
    tier="chatter",
    priority=-4,
    soonest_ticks=REHEARSE_TICKS,
    fills=True,
    one_line=True,
    brief=True,
    examples=EXAMPLES,
)
EMBED = Faculty("embed", "", tier=EMBEDDINGS, priority=-2, soonest_ticks=1, bare=True)
EMBED_TEXTS = 4  # in one question
EXTRACT = Faculty("extract", EXTRACT_TASK, priority=-3, soonest_ticks=1, brief=True)


class TalkingCharacter(Character):
    """Has talks with others, of two and in a circle. Its tree has `in_talk`, `talk` and the like.

    Override `aim` for what it says that it will do next, and `answer` for what it knows besides. With `TALK` among the
    faculties of its `thinking` a model words its lines, and with `EXTRACT` a large one reads what others say in their
    own words.
    """

    talker_type: ClassVar[type[Talker]] = Talker

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        self.talker = self.talker_type(
            self.entity_id,
            self.name,
            self.random,
            self.memory,
            answer=self.answer,
            wants=self.wants,
            can_bring=self.can_bring,
            tick_at=self.setting.calendar.next_tick,
            wishes=self.persona.goals,
            facts=self.persona.knows,
            secret=self.persona.secret,
            on_news=self.hear_news,
            day_ticks=self.setting.calendar.day_ticks,
        )
        for who, relation in self.persona.relations:
            self.talker.people.know(who, relation)
        self._line: Remark | None = None  # what it will say next, before a model words it
        self._line_turn = (-1, 0)  # the turn of its talk that the line is for, and the lines before it
        self._line_tick = -1  # in which it was chosen
        self._no_words_until = 0  # the tick until which it waits for no words, because none have come
        self._model_words: str | None = None  # a model's, for that line
        self._said: tuple[range, Remark, str] | None = None  # its last line: ticks until it was said, and to whom
        self._tried: dict[str, None] = {}  # what it has asked words for; the newest last
        self._rehearses: str | None = None  # what it would tell or ask, and has worded ahead; None: nothing chosen yet
        self._rehearsal_tick = -1  # in which that was chosen
        self._unread: list[FreeLine] = []  # lines that a model is to read, the oldest first
        self._unread_tick = 0  # since which the first of them waits for its reply
        self._searched = ""  # what it searches its memory for, if the last line that it heard asks something
        self._look_phase = text_sum(self.entity_id) % LOOK_TICKS  # so that a process spreads the work of its many
        self._company = ""  # whom it would talk with
        self._talking: dict[str, int] = {}  # person -> the tick in which it was heard in a talk with another

    # What a kind of character may change

    def aim(self) -> str:
        """Return what it will do next, as in "I want to ..."."""
        return "go on with my day"

    def answer(self, question: str) -> str:  # noqa: ARG002  others know by it
        """Return what it knows about a question besides its memories; or nothing."""
        return ""

    def wants(self) -> tuple[str, int] | None:
        """Return what it would ask others for, and how many; or nothing."""
        return None

    def can_bring(self, item: str, amount: int) -> bool:  # noqa: ARG002  others go by them
        """Return whether it could bring another some items; here it never can."""
        return False

    def hear_news(self, text: str) -> None:
        """Do something about what another says to be so; here nothing. It is noted already."""

    def partner_wanted(self) -> str:
        """Return whom it would rather talk with than with others near; or nothing."""
        return ""

    def is_busy(self) -> bool:
        """Return whether it has to break off a talk."""
        return False

    def looks_about(self) -> bool:
        """Return whether it looks in this tick for what is worth remembering; each character in a tick of its own."""
        return (self.tick + self._look_phase) % LOOK_TICKS == 0

    # Lines of others

    def follow_talk(self) -> None:
        """End a talk that does not go on, draw the consequences of what was said, and think of what it could tell."""
        talks = self.talker.talks
        if talks.current is not None:
            partners = talks.current.others(self.entity_id)
            together = any(person.entity_id in partners for person in self.awake_within(TALK_STEPS))
            talks.pass_time(self.tick, together=together, busy=self.is_busy())
        self.talker.settle(self.tick)
        if self._rehearses is None or (self.looks_about() and not self._rehearses):
            self._choose_rehearsal()
        while self._unread and self.tick - self._unread[0].tick > UNREAD_TICKS:
            self._drop_unread()

    def _choose_rehearsal(self) -> None:
        """Choose what it will word ahead: what it might tell next, else what it might ask; or nothing."""
        if REHEARSE.name in self.faculties:
            is_small = has_small_model(self.settings)  # it goes on with what is told, and answers questions
            asked = "" if is_small else self.talker.unasked(self._tried)
            self._rehearses = self.talker.untold(self.tick, self._tried, begun if is_small else bool) or asked
            self._rehearsal_tick = self.tick

    def hear_line(self, line: SpokenLine, place: str) -> None:
        """Take in a line that is for it; what code can't read of it waits for a model, if one reads for it."""
        in_sight = [person.entity_id for person in self.surroundings.in_sight]
        self.talker.hear(self.tick, line.speaker_id, line.text, place, in_sight)
        self._searched = ""
        if EMBED.name in self.faculties and self.meanings is not None and read_line(line.text).asks:
            self._searched = self.talker.search_for(line.text, line.speaker_id)
            self.meanings([self._searched])  # so that it is asked for
        if EXTRACT.name in self.faculties and MAX_UNREAD.allows(len(self._unread) + 1) and is_free(line.text):
            talk = self.talker.talks.current
            of_two = talk is not None and talk.circle is None and talk.partner_id == line.speaker_id
            self._unread_tick = self._unread_tick if self._unread else self.tick
            self._unread.append(FreeLine(self.tick, line.speaker_id, line.text, place, of_two))

    def _drop_unread(self) -> None:
        del self._unread[0]
        self._unread_tick = self.tick

    def _is_meant(self, line: SpokenLine, named: list[str]) -> bool:
        """Return whether a line is for it: its partner answers, it is named, or it is near and no other is meant."""
        talk = self.talker.talks.current
        is_partner = talk is not None and line.speaker_id in talk.others(self.entity_id)
        if talk is not None and is_partner and not (talk.my_turn and talk.circle is None):
            return True
        if self.speech.speaks_to_me(line.text):
            return True
        return line.to_me and not named and not self._is_in_another_talk(line.speaker_id)

    def _is_in_another_talk(self, person_id: str) -> bool:
        """Return whether a person was heard in a talk with another until a moment ago."""
        heard_tick = self._talking.get(person_id)
        return heard_tick is not None and self.tick - heard_tick <= ANSWER_TICKS

    def _note_overheard(self, *people: str) -> None:
        """Note who is in a talk with another: the speaker of a line, and those whose names are in it."""
        for who in people:
            self._talking[who] = self.tick
        if not MAX_NOTICED.allows(len(self._talking)):
            self._talking.clear()

    # Talk

    @condition
    def in_talk(self) -> bool:
        """Return whether it is in a talk."""
        return self.talker.talks.current is not None

    @condition
    def company_near(self) -> bool:
        """Return whether a person is near with whom it could talk, and it has not just spoken."""
        if self.speech.silent_ticks(self.tick) * self.talker.mood.weight(self.tick) < QUIET_TICKS:
            return False
        awake = (neighbour.entity_id for neighbour in self.awake_within(MEET_STEPS))
        near = [who for who in awake if not self._is_in_another_talk(who) and not self._is_cold_to(who)]
        near.sort(key=lambda who: who != self.partner_wanted())
        self._company = next((who for who in near if self.talker.talks.may_begin(self.tick, who)), "")
        return bool(self._company)

    def _is_cold_to(self, person_id: str) -> bool:
        known = self.talker.people.get(person_id)
        return known is not None and known.is_cold

    @action
    def begin_talk(self) -> Status:
        """Speak to the person near."""
        return self.speak_in(self.talker.talks.begin(self.tick, self._company))

    @action
    def talk(self) -> Status:
        """Say the next line if it is its turn; else wait."""
        talk = self.talker.talks.current
        if talk is None:
            return Status.FAILURE
        return self.speak_in(talk) if talk.my_turn else self.wait()

    def speak_in(self, talk: Talk) -> Status:
        """Say the next line of a talk, in a model's words if they are good; wait if those are still to come."""
        if self._waits_to_understand(talk):
            return self.wait()
        turn = talk.turn_tick, len(talk.lines)
        if self._line is None or self._line_turn != turn:
            self._line, self._line_turn = self.talker.next_remark(talk, self._scene()), turn
            self._line_tick = self.tick
            self._model_words = None if self._may_reword(self._line) else self._line.text
        if self._waits_for_words(talk):
            return self.wait()
        if self._model_words is None and self._may_wait(talk):
            self._no_words_until = self.tick + NO_WORDS_TICKS
        partner = self.talker.people.called(talk.partner_id)
        remark = self.talker.reworded(self._line, self._model_words or "", partner)
        self._said = range(self._line_tick, self.tick), self._line, partner
        self._line = None
        self.talker.say(self.tick, talk, remark)
        if talk.ended is not None and talk.size > 2:
            self._note_overheard(*talk.others(self.entity_id))  # they go on without it
        return self.do(self.speech.say(self.tick, remark.text, talk.partner_id))

    def _waits_for_words(self, talk: Talk) -> bool:
        """Return whether a model is still to word the line, and the partner has patience; a greeting does not wait."""
        return self._model_words is None and self._may_wait(talk) and self.tick - talk.turn_tick < WORDS_TICKS

    def _may_reword(self, line: Remark) -> bool:
        """Return whether a model may word a line; a small one only goes on with what it tells."""
        is_fit = bool(begun(line.core)) or not has_small_model(self.settings)
        return is_fit and self.talker.may_reword(line)

    def _waits_to_understand(self, talk: Talk) -> bool:
        """Return whether a model is still to read the line that it answers, or to say what it is like; for a while."""
        last = talk.lines[-1] if talk.lines else None
        is_unread = last is not None and any((one.tick, one.text) == (last.tick, last.text) for one in self._unread)
        is_searched = self.meanings is not None and self.meanings.is_wanted(self._searched)
        if not is_unread and not is_searched:
            return False
        return self.tick - talk.turn_tick < WORDS_TICKS

    def _may_wait(self, talk: Talk) -> bool:
        return TALK.name in self.faculties and bool(talk.lines) and self.tick >= self._no_words_until

    def wonders(self, faculty: str) -> bool:
        """Return whether it is to say a line, and waits for a model's words; or does not, and may think of others."""
        talk = self.talker.talks.current
        if faculty == EMBED.name:
            return self.meanings is not None and bool(self.meanings.wanted(1))
        if faculty == EXTRACT.name:
            return bool(self._unread)
        if faculty == REHEARSE.name:
            return bool(self._rehearses) and not self.wonders(TALK.name)  # asleep, too: it will talk in the morning
        if faculty != TALK.name or self._line is None or talk is None:
            return False
        return self._line_turn == (talk.turn_tick, len(talk.lines)) and self._waits_for_words(talk)

    def ponder(self, faculty: str) -> str:
        """Return the last line of its partner, and what it is to say; what it would tell anybody; or a line to read."""
        talk = self.talker.talks.current
        if faculty == EMBED.name:
            return json.dumps([] if self.meanings is None else self.meanings.wanted(EMBED_TEXTS))
        if faculty == EXTRACT.name:
            return "\n".join(quoted(self.talker.people.called(one.speaker_id), one.text) for one in self._unread[:1])
        if faculty == REHEARSE.name:
            return words_question(self._rehearses or "", self._salt(self._rehearsal_tick))
        if faculty != TALK.name or talk is None or self._line is None:
            return ""
        partner, heard = self.talker.people.called(talk.partner_id), talk.last_of(talk.partner_id)
        lines = [] if heard is None or has_small_model(self.settings) else [quoted(partner, heard.text)]
        return "\n".join([*lines, words_question(self._line.core, self._salt(self._line_tick))])

    def _salt(self, tick: int) -> str:
        """Return what decides how a line that was chosen in a tick is begun for a model."""
        return f"{self.entity_id} {tick}"

    def learn(self, faculty: str, reply: Mapping[str, Any], asked_tick: int) -> None:
        """Take a model's words for the line that it is to say, or what it has read in a line of another.

        Words for a line that was said are for later.
        """
        if faculty == EMBED.name:
            self._learn_meanings(str(reply.get("text", "")))
            return
        if faculty == EXTRACT.name:
            if self._unread and asked_tick >= self._unread_tick:
                extract = read_extract(str(reply.get("text", "")), self._unread[0].text)
                self.talker.take_extract(self.tick, self._unread[0], extract, self._due_minute())
                self._drop_unread()
            return
        words = next(iter(str(reply.get("text", "")).strip().splitlines()), "")
        if faculty == REHEARSE.name and self._rehearses:
            news, self._rehearses = self._rehearses, ""
            remark = Remark(Act.ASK, news) if news.endswith("?") else Remark(Act.TELL, news, news)
            words = finished(begun(news, self._salt(self._rehearsal_tick)), words)
            if not self.talker.keep_words(remark, words):
                self._tried[news] = None
            if not MAX_TRIED.allows(len(self._tried)):
                del self._tried[next(iter(self._tried))]
            self._choose_rehearsal()
        elif faculty == TALK.name and self._line is not None and asked_tick >= self._line_tick:
            self._model_words = finished(begun(self._line.core, self._salt(self._line_tick)), words)
        elif faculty == TALK.name and self._said is not None and asked_tick in self._said[0]:
            ticks, remark, name = self._said
            words = finished(begun(remark.core, self._salt(ticks.start)), words)
            self.talker.keep_words(remark, words, name)

    def _due_minute(self) -> int:
        """Return the full hour by which it would ask for something."""
        return (self.time.hour + PROMISE_HOURS) % 24 * 60

    def _learn_meanings(self, reply: str) -> None:
        try:
            rows = json.loads(reply)
        except (ValueError, RecursionError):
            return  # they stay wanted
        if self.meanings is not None and isinstance(rows, dict):
            self.memory.learn_meanings(self.meanings.learn(rows))

    def _scene(self) -> TalkScene:
        hour, place = self.time.hour, self.zone
        part = "night" if hour < 5 or hour >= 22 else "morning" if hour < 11 else "day" if hour < 17 else "evening"
        where = zone_phrase(place.name) if place else ""
        return TalkScene(
            self.tick, part, where, self.time.weather, self._due_minute(), self.aim(), tuple(self._bystanders())
        )

    def _bystanders(self) -> Iterable[str]:
        """Yield who is near and could join its talk: all who take part hear each other."""
        talk, people = self.talker.talks.current, self.surroundings.people
        partners = [] if talk is None else [people[who] for who in talk.others(self.entity_id) if who in people]
        for neighbour in self.awake_within(MEET_STEPS):
            who, is_heard = (
                neighbour.entity_id,
                all(distance(neighbour.at, partner.at) <= TALK_STEPS for partner in partners),
            )
            if is_heard and not self._is_in_another_talk(who) and not self._is_cold_to(who):
                yield who

    def awake_within(self, steps: int) -> list[Person]:
        """Return others in sight that are awake, within so many steps, the nearest first."""
        return [who for who in self.surroundings.near(self.at, steps) if not who.asleep]

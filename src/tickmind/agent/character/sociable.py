"""`SociableCharacter`: a character that remembers what it does, sees and hears, and has talks with others."""

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tickmind.agent.character.body import NO_WAY_TICKS
from tickmind.agent.character.character import Character
from tickmind.agent.character.tactics import action, condition
from tickmind.agent.character.thinking import Faculty, has_small_model
from tickmind.agent.knowledge import Person, SpokenLine, Tile
from tickmind.agent.minds import Start
from tickmind.ai import Status
from tickmind.base import Limit
from tickmind.mind.memory import EntryKind
from tickmind.mind.promises import Promise
from tickmind.mind.talk import Act, Remark, Talk, Talker, TalkScene
from tickmind.mind.talk.sessions import ANSWER_TICKS
from tickmind.mind.talk.wording_task import EXAMPLES, WORDS_TASK, words_question
from tickmind.protocol import Accept, ActionResult, ActionType, ActorStatus, Give, ItemInfo, Wait
from tickmind.protocol.event import Acted
from tickmind.protocol.setting import zone_phrase
from tickmind.strategy import quoted

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_NOTICED = Limit("number of people of whom a character keeps in mind when it noticed them", 200)
TALK_STEPS, MEET_STEPS = 6, 3  # within which two talk, and one begins to
QUIET_TICKS = 20  # after it has spoken, before it begins a talk
WANTS_FOOD = 150  # hunger at which it asks for what it likes best to eat
JUST_SEEN_TICKS = 10
PROMISE_HOURS = 6  # until what it asks for is due
LOOK_TICKS = 20  # between two looks for what is worth remembering
SEEN_AGAIN_TICKS = 200  # before the same person in sight is noted again
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
    priority=-3,
    soonest_ticks=REHEARSE_TICKS,
    fills=True,
    one_line=True,
    brief=True,
    examples=EXAMPLES,
)
_NAMES = re.compile(r"\w+(?:[:-]\w+)*")
_DEEDS = {  # action -> how it is remembered, and whether the items that count come or go
    ActionType.PICKUP: ("picked", EntryKind.GOT, 1),
    ActionType.GIVE: ("gave", EntryKind.GAVE, -1),
    ActionType.USE: ("used", EntryKind.DID, -1),
    ActionType.INTERACT: ("made", EntryKind.DID, 1),
    ActionType.BUY: ("bought", EntryKind.GOT, 1),
    ActionType.SELL: ("sold", EntryKind.GAVE, -1),
}


class SociableCharacter(Character):
    """Turns observations into memories, and lines into talks. Its tree has `in_talk`, `talk` and the like.

    What it says comes from its memory and its persona. Override `aim` for what it says that it will do
    next, and `answer` for what it knows besides. With `faculties=(TALK,)` in its `thinking` a model words its lines.
    `food` is what it eats: its setting, or else all that stills hunger in its world.
    """

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        self.food = start.settings.texts("food", ()) or _foods(start.items)
        self.talker = Talker(
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
        self._promises_shown = 0  # `changes` of its promises when they were put onto the Blackboard
        self._promises_from = 0  # the tick from which on it sees to its promises again
        self._followed: tuple[str, Tile] = ("", (0, 0))  # to whom it went last, and where that one was then
        self._company = ""  # whom it would talk with
        self._talking: dict[str, int] = {}  # person -> the tick in which it was heard in a talk with another
        self._seen: dict[str, int] = {}  # person -> the tick in which it was noted to be somewhere

    # What a kind of character may change

    def aim(self) -> str:
        """Return what it will do next, as in "I want to ..."."""
        return "go on with my day"

    def answer(self, question: str) -> str:  # noqa: ARG002  others know by it
        """Return what it knows about a question besides its memories; or nothing."""
        return ""

    def wants(self) -> tuple[str, int] | None:
        """Return what it would ask others for, and how many; or nothing. Here: what it likes best to eat."""
        if not self.food or self.me.hunger < WANTS_FOOD or self.carries(self.food[0]):
            return None
        return self.food[0], 1

    def can_bring(self, item: str, amount: int) -> bool:
        """Return whether it could bring another some items: it can spare or buy them, or has just seen some."""
        known = (one for one in self.surroundings.things_with(item) if not self._is_contents(one))
        seen = sum(one.amount(item) for one in known if self.tick - one.tick < JUST_SEEN_TICKS)
        return self.spare(item) + seen >= amount or self.seller_of(item, amount) is not None

    def spare(self, item: str) -> int:
        """Return how many items of a kind it has that are promised to nobody."""
        owed = (one for one in self.talker.promises.open() if one.by == self.entity_id and one.item == item)
        return self.carries(item) - sum(one.amount - one.given for one in owed)

    def hear_news(self, text: str) -> None:
        """Do something about what another says to be so; here nothing. It is noted already."""

    def partner_wanted(self) -> str:
        """Return whom it would rather talk with than with others near; or nothing."""
        return ""

    def is_busy(self) -> bool:
        """Return whether it has to break off a talk."""
        return False

    # What outlives a crash

    def kept(self) -> dict[str, Any]:
        """Return what it knows of others, and all promises."""
        return self.talker.kept()

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Take over what it knew of others."""
        self.talker.restore(kept)

    # The tick

    def decide(self, tactics: "Callable[[], Status]") -> None:
        """End a talk that does not go on, and act."""
        talks = self.talker.talks
        if talks.current is not None:
            partner = talks.current.partner_id
            together = any(one.entity_id == partner for one in self.awake_within(TALK_STEPS))
            talks.pass_time(self.tick, together=together, busy=self.is_busy())
        self.talker.settle(self.tick)
        if self._rehearses is None or (self.tick % LOOK_TICKS == 0 and not self._rehearses):
            self._choose_rehearsal()
        self._show()
        tactics()

    def _choose_rehearsal(self) -> None:
        """Choose what it will word ahead: what it might tell next, else what it might ask; or nothing."""
        if REHEARSE.name in self.faculties:
            self._rehearses = self.talker.untold(self.tick, self._tried) or self.talker.unasked(self._tried)

    def _show(self) -> None:
        """Put the talk and what it knows of others onto the Blackboard, for those who watch."""
        talk = self.talker.talks.current
        shown = None if talk is None else {"with": talk.partner_id, "lines": len(talk.lines), "my_turn": talk.my_turn}
        if shown != self.blackboard.get("talk"):
            self.blackboard.set("talk", shown)
            self.blackboard.set("people", {one.called: one.shown() for one in self.talker.people})
        mood = self.talker.mood.word(self.tick)
        if mood != self.blackboard.get("mood"):
            self.blackboard.set("mood", mood)
        promises = self.talker.promises
        if promises.changes != self._promises_shown:
            self._promises_shown = promises.changes
            made = [f"{one.by} to {one.to}: {one.amount} {one.item}, {one.state}" for one in promises]
            self.blackboard.set("promises", made)

    # Memory

    def remember(self) -> None:
        """Note what was said to it, what it did, and whom and what it saw where."""
        result, looks = self.observation.result, self.tick % LOOK_TICKS == 0
        did = result is not None and result.ok and result.action_type in _DEEDS
        zone = self.zone if did or looks or self.speech.heard_now else None
        place = zone_phrase(zone.name) if zone else ""
        for line in self.speech.heard_now:
            named = self._named_in(line)
            if self._is_meant(line, named):
                self.talker.hear(self.tick, line.speaker_id, line.text, place)
            else:
                self._note_overheard(line.speaker_id, *named)
            self.speech.settle(line.speaker_id)
        where = f" at {place}" if place else ""
        if result is not None and did:
            self._note_deed(result, where, place)
        self._note_gifts()
        if looks:
            self._note_sights(where, place)

    def _is_meant(self, line: SpokenLine, named: list[str]) -> bool:
        """Return whether a line is for it: its partner answers, it is named, or it is near and no other is meant."""
        talk = self.talker.talks.current
        if talk is not None and talk.partner_id == line.speaker_id and not talk.my_turn:
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

    def _named_in(self, line: SpokenLine) -> list[str]:
        """Return which of those that it knows or sees are named in a line of another."""
        words, people = frozenset(_NAMES.findall(line.text.lower())), self.talker.people
        known = {*(one.entity_id for one in self.surroundings.in_sight), *(one.person_id for one in people)}
        others = sorted(known - {line.speaker_id, self.entity_id})
        return [who for who in others if who.lower() in words or people.called(who).lower() in words]

    def _note_deed(self, result: ActionResult, where: str, place: str) -> None:
        verb, kind, sign = _DEEDS[result.action_type]
        changes = (one for one in result.effects if one.name.startswith("inventory.") and one.value * sign > 0)
        for item in (one.name.removeprefix("inventory.") for one in changes):
            verb = "ate" if verb == "used" and item in self.food else verb
            to = f" to {self.talker.people.called(result.target_id)}" if verb == "gave" else ""
            about = (item, result.target_id) if to else (item,)
            self.memory.note(self.tick, f"I {verb} {item}{to}{where}.", kind=kind, about=about, place=place)

    def _note_gifts(self) -> None:
        """Note what it gave to others, and they to it. Where gifts need consent, they are given when accepted."""
        seen = [event.result for event in self.observation.events if isinstance(event, Acted)]
        own = self.observation.result
        for result in seen if own is None else (*seen, own):
            by, to = result.actor_id, result.target_id
            if result.action_type is ActionType.ACCEPT and all(effect.value > 0 for effect in result.effects):
                by, to = to, by
            elif result.action_type is not ActionType.GIVE:
                continue
            if result.ok and self.entity_id in (by, to):
                for effect in result.effects:
                    self.talker.give(self.tick, by, to, effect.name.removeprefix("inventory."), abs(effect.value))

    def _note_sights(self, where: str, place: str) -> None:
        for who in self.surroundings.near(self.at, TALK_STEPS):
            if where and self.tick - self._seen.get(who.entity_id, -SEEN_AGAIN_TICKS) >= SEEN_AGAIN_TICKS:
                self._seen = {} if not MAX_NOTICED.allows(len(self._seen)) else self._seen
                self._seen[who.entity_id] = self.tick
                name = self.talker.people.called(who.entity_id)
                self.memory.note(self.tick, f"I saw {name}{where}.", about=who.entity_id, place=place)
        fresh = (item for item in self.food for one in self.surroundings.things_with(item) if one.tick == self.tick)
        food = next(fresh, "") if where else ""
        if food:
            self.memory.note(self.tick, f"I saw {food}{where}.", about=food, place=place)

    # Promises

    @action
    def keep_promise(self) -> Status:
        """Bring what it promised, if there is such a promise and a way; gather it first if need be.

        After a refusal, as of one whose hands are full, it does something else for a while.
        """
        last = self.observation.result
        if last is not None and not last.ok and last.action_type in (ActionType.GIVE, ActionType.PICKUP):
            self._promises_from = self.tick + NO_WAY_TICKS
        if self.tick < self._promises_from:
            return Status.FAILURE
        for promise in self.talker.promises.open():
            if promise.by == self.entity_id:
                status = self._bring(promise)
                if status is not Status.FAILURE:
                    return status
        return Status.FAILURE

    def _bring(self, promise: Promise) -> Status:
        left = promise.amount - promise.given
        if self.carries(promise.item) < left:
            status = self.gather(promise.item)
            return self.buy(promise.item) if status is Status.FAILURE else status
        person = self.surroundings.people.get(promise.to)
        status = Status.FAILURE if person is None else self.go_up_to(person)
        return self.do(Give(promise.to, promise.item, left)) if status is Status.SUCCESS else status

    def go_up_to(self, person: Person) -> Status:
        """Go beside a person, and wait until it stands still; fails if it is no longer where it was seen."""
        stood, self._followed = self._followed == (person.entity_id, person.at), (person.entity_id, person.at)
        status = self.walk(person.at, beside=True)
        is_there = any(one.entity_id == person.entity_id for one in self.surroundings.near(self.at, 1))
        if status is Status.SUCCESS and is_there and not stood:
            self.do(Wait())
            return Status.RUNNING  # one that walks is a step away before it gets anything
        return Status.FAILURE if status is Status.SUCCESS and not is_there else status

    @action
    def accept_gift(self) -> Status:
        """Accept what an actor beside it offers for nothing; fails if there is no such offer."""
        beside = {person.entity_id for person in self.surroundings.near(self.at, 1)}
        gifts = (one for one in self.observation.offers if not one.wanted_kind and one.actor_id in beside)
        gift = next(gifts, None)
        return Status.FAILURE if gift is None else self.do(Accept(gift.actor_id))

    def _due_minute(self) -> int:
        """Return the full hour by which it would ask for something."""
        return (self.time.hour + PROMISE_HOURS) % 24 * 60

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
        awake = (one.entity_id for one in self.awake_within(MEET_STEPS))
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
        turn = talk.turn_tick, len(talk.lines)
        if self._line is None or self._line_turn != turn:
            self._line, self._line_turn = self.talker.next_remark(talk, self._scene()), turn
            self._line_tick = self.tick
            self._model_words = None if self.talker.may_reword(self._line) else self._line.text
        if self._waits_for_words(talk):
            return self.wait()
        if self._model_words is None and self._may_wait(talk):
            self._no_words_until = self.tick + NO_WORDS_TICKS
        partner = self.talker.people.called(talk.partner_id)
        remark = self.talker.reworded(self._line, self._model_words or "", partner)
        self._said = range(self._line_tick, self.tick), self._line, partner
        self._line = None
        self.talker.say(self.tick, talk, remark)
        return self.do(self.speech.say(self.tick, remark.text, talk.partner_id))

    def _waits_for_words(self, talk: Talk) -> bool:
        """Return whether a model is still to word the line, and the partner has patience; a greeting does not wait."""
        return self._model_words is None and self._may_wait(talk) and self.tick - talk.turn_tick < WORDS_TICKS

    def _may_wait(self, talk: Talk) -> bool:
        return TALK.name in self.faculties and bool(talk.lines) and self.tick >= self._no_words_until

    def wonders(self, faculty: str) -> bool:
        """Return whether it is to say a line, and waits for a model's words; or does not, and may think of others."""
        talk = self.talker.talks.current
        if faculty == REHEARSE.name:
            return bool(self._rehearses) and not self.wonders(TALK.name)  # asleep, too: it will talk in the morning
        if faculty != TALK.name or self._line is None or talk is None:
            return False
        return self._line_turn == (talk.turn_tick, len(talk.lines)) and self._waits_for_words(talk)

    def ponder(self, faculty: str) -> str:
        """Return the last line of its partner, and what it is to say; or what it would tell anybody."""
        talk = self.talker.talks.current
        if faculty == REHEARSE.name:
            return words_question(self._rehearses or "")
        if faculty != TALK.name or talk is None or self._line is None:
            return ""
        partner, heard = self.talker.people.called(talk.partner_id), talk.last_of(talk.partner_id)
        lines = [] if heard is None or has_small_model(self.settings) else [quoted(partner, heard.text)]
        return "\n".join([*lines, words_question(self._line.core)])

    def learn(self, faculty: str, reply: Mapping[str, Any], asked_tick: int) -> None:
        """Take a model's words for the line that it is to say; those for a line that was said are for later."""
        words = next(iter(str(reply.get("text", "")).strip().splitlines()), "")
        if faculty == REHEARSE.name and self._rehearses:
            news, self._rehearses = self._rehearses, ""
            remark = Remark(Act.ASK, news) if news.endswith("?") else Remark(Act.TELL, news, news)
            if not self.talker.keep_words(remark, words):
                self._tried[news] = None
            if not MAX_TRIED.allows(len(self._tried)):
                del self._tried[next(iter(self._tried))]
            self._choose_rehearsal()
        elif faculty == TALK.name and self._line is not None and asked_tick >= self._line_tick:
            self._model_words = words
        elif faculty == TALK.name and self._said is not None and asked_tick in self._said[0]:
            _, remark, name = self._said
            self.talker.keep_words(remark, words, name)

    def _scene(self) -> TalkScene:
        hour, place = self.time.hour, self.zone
        part = "night" if hour < 5 or hour >= 22 else "morning" if hour < 11 else "day" if hour < 17 else "evening"
        where = zone_phrase(place.name) if place else ""
        return TalkScene(self.tick, part, where, self.time.weather, self._due_minute(), self.aim())

    def awake_within(self, steps: int) -> list[Person]:
        """Return others in sight that are awake, within so many steps, the nearest first."""
        return [who for who in self.surroundings.near(self.at, steps) if not who.status & ActorStatus.ASLEEP]


def _foods(items: Iterable[ItemInfo]) -> tuple[str, ...]:
    """Return the items that still hunger, the best first."""
    stills = {item.name: item.adds_to("hunger") for item in items}
    return tuple(sorted((name for name, change in stills.items() if change < 0), key=lambda name: (stills[name], name)))

"""Live in a village: have needs, remember, talk, and make plans with a model if there is one.

The tree decides each tick. A model, asked at intervals and when the villager is spoken to, only chooses an aim and a
line to say; whatever it answers, the tree turns it into what this character could do anyway.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from tickmind.agent import Character, Start, action, condition
from tickmind.agent.character.thinking import Thinking
from tickmind.agent.knowledge import Person, SpokenLine, distance
from tickmind.ai import Action, Condition, Inverter, Node, Selector, Sequence, Status
from tickmind.mind.memory import EntryKind
from tickmind.mind.memory.words import words_of
from tickmind.mind.talk import Scene, Talk, Talker
from tickmind.mind.talk.line_checker import clean_line, problem_of
from tickmind.mind.talk.sessions import ANSWER_TICKS
from tickmind.protocol import ActionType, ActorStatus
from tickmind.protocol.setting import zone_phrase
from tickmind.strategy import Section, quoted

if TYPE_CHECKING:
    from collections.abc import Callable

GOALS = ("gather", "rest", "explore", "visit", "wander", "stay")
PLAN = {
    "type": "object",
    "properties": {
        "goal": {"enum": list(GOALS), "description": "what to do next"},
        "who": {"type": "string", "maxLength": 60, "description": "whom to visit or speak to, by id; may be empty"},
        "say": {"type": "string", "maxLength": 160, "description": "what to say aloud now; may be empty"},
        "remember": {"type": "string", "maxLength": 120, "description": "what is worth remembering; may be empty"},
    },
    "required": ["goal", "who", "say", "remember"],
    "additionalProperties": False,
}
ROLE = (
    "You live in a small village. You get hungry and eat, get tired and sleep in a bed, and know people by their ids. "
    "Say what you aim for in the next minute."
)
PLAN_TICKS = 90  # that a plan is followed
PATIENCE_TICKS = 6  # that a partner in a talk waits for the model's line
TALK_STEPS, MEET_STEPS = 6, 3  # within which two talk, and one begins to
DIGEST_TICKS = 300  # that the same memories go along, so that a model can cache them
DIGEST_NOTES = 4
NEWS_LINES, NEWS_CHARS = 3, 120  # of what was said since the last plan
QUIET_TICKS = 20  # after it has spoken, before it begins a talk
ENOUGH_BERRIES = 4
STOCK_BERRIES = 12  # that it gathers if it plans to
STARVING = 700  # hunger at which it is in danger
RESTED = 800  # energy at which it needs no bed
SEEN_AGAIN_TICKS = 200  # before the same person in sight is noted again
LOOK_TICKS = 20  # between two looks for what is worth remembering
AIMS = {  # goal -> what it says it will do
    "gather": "look for something to eat",
    "rest": "lie down for a while",
    "explore": "see what is over there",
    "visit": "see how {who} is",
    "wander": "stretch my legs",
    "stay": "sit here for a moment",
}
_DEEDS = {  # action -> how it is remembered, and whether the items that count come or go
    ActionType.PICKUP: ("picked", EntryKind.GOT, 1),
    ActionType.GIVE: ("gave", EntryKind.GAVE, -1),
    ActionType.USE: ("used", EntryKind.DID, -1),
    ActionType.INTERACT: ("made", EntryKind.DID, 1),
    ActionType.BUY: ("bought", EntryKind.GOT, 1),
    ActionType.SELL: ("sold", EntryKind.GAVE, -1),
}


class Villager(Character):
    """Settings: `name`, `personality`, `food` (what it eats, first choice first)."""

    thinking: ClassVar[Thinking] = Thinking(ROLE, PLAN)
    tree: ClassVar[Node] = Selector(
        Sequence(
            Condition("asleep"),
            Selector(Sequence(Condition("rested"), Action("wake")), Action("wait")),
            label="asleep",
        ),
        Sequence(Condition("hungry", {"above": STARVING}), Action("find_food"), label="starving"),
        Sequence(Condition("in_talk"), Action("talk")),
        Sequence(Condition("hungry", {"above": 350}), Action("eat_something")),
        Sequence(
            Condition("tired", {"below": 150}),
            Selector(Sequence(Action("go_to", {"kind": "bed"}), Action("sleep")), Action("sleep")),
        ),
        Action("speak_as_planned"),
        Sequence(Condition("company_near"), Action("begin_talk")),
        Action("follow_plan"),
        Sequence(Inverter(Condition("provided")), Action("find_food")),
        Action("explore"),
        Action("wander"),
        memory=False,
    )

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        self.food = start.settings.texts("food", ("berries",))
        self._asked_tick = -1  # of the plan that it follows
        self._plan_tick = -PLAN_TICKS  # in which it began to follow the plan
        self._in_danger = False
        self._danger_tick = -1  # in which danger began
        self._goal = self._who = self._to_say = ""
        self._company = ""  # whom it would talk with
        self._talking: dict[str, int] = {}  # person -> the tick in which it was heard in a talk with another
        self._seen: dict[str, int] = {}  # person -> the tick in which it was noted to be somewhere
        self.talker = Talker(
            self.entity_id,
            self.name,
            self.random,
            self.memory,
            answer=self._answer_about_food,
            wishes=self.persona.goals,
            facts=self.persona.knows,
        )
        self._digest: tuple[str, ...] = ()  # its memories, as in the last prompts
        self._digest_tick = -DIGEST_TICKS

    # Prompts and plans

    def describe(self) -> Iterable[Section]:
        """Yield what changes rarely first, then the news in a few lines; speech of others is quoted."""
        met = self.speech.met()
        if met:
            yield Section(f"You know {', '.join(met[:12])}.", priority=3)
        digest = self._remembered()
        if digest:
            yield Section("\n".join(quoted("memory", text, longest=NEWS_CHARS) for text in digest), priority=4)
        yield Section("\n".join(self._news()), priority=9)

    def _remembered(self) -> tuple[str, ...]:
        """Return the memories for every prompt; chosen again at intervals, or while there are hardly any."""
        if self.tick - self._digest_tick >= DIGEST_TICKS or len(self._digest) < min(2, len(self.memory)):
            notes = sorted(self.memory.recall(self.tick, most=DIGEST_NOTES), key=lambda note: note.tick)
            self._digest, self._digest_tick = tuple(note.text for note in notes), self.tick
        return self._digest

    def _news(self) -> Iterable[str]:
        me, around = self.me, self.surroundings
        bag = ", ".join(f"{stack.quantity} {stack.kind}" for stack in me.inventory) or "nothing"
        places = len({thing.at for item in self.food for thing in around.things_with(item)})
        enough = ", which is enough to eat" if self.provided() else ""
        needs = f"Hunger {me.hunger // 10} %, energy {me.energy // 10} %."
        yield f"{needs} You carry {bag}{enough}. Food is at {places} places."
        zone = self.zone
        place = f" You are in {zone_phrase(zone.name)}." if zone else ""
        yield f"It is {self.time.description()}.{place}"
        near = [f"{who.entity_id} {distance(who.at, self.at)}" for who in around.near(self.at, 10)[:6]]
        yield f"Near you, in steps: {', '.join(near) or 'nobody'}."
        talk = self.talker.talks.current
        if talk is not None:
            turn = "it is your turn to speak" if talk.my_turn else "you wait for an answer"
            yield f"You are talking with {talk.partner_id}, and {turn}."
        if self._goal:
            yield f"You aimed for: {self._goal} {self._who}".rstrip()
        lines = [line for line in self.speech.lines if line.tick > self._asked_tick][-NEWS_LINES:]
        words = " ".join(line.text for line in lines if line.speaker_id != self.entity_id)
        for note in self.memory.recall(self.tick, words, most=NEWS_LINES + 1) if words else ():
            if note.text not in self._digest and not any(line.text in note.text for line in lines):
                yield quoted("memory", note.text, longest=NEWS_CHARS)
                break
        for line in lines:
            yield quoted(line.speaker_id, line.text, longest=NEWS_CHARS)

    def pressing(self) -> bool:
        """Return whether a partner waits for its line, or it is in danger, and no plan was requested since."""
        talk = self.talker.talks.current
        waited = talk.last_tick if talk is not None and talk.my_turn else -1
        return self._asked_tick < max(self._danger_tick, waited)

    def fits(self, plan: Mapping[str, Any], asked_tick: int) -> bool:  # noqa: ARG002  however late it is
        """Return whether its aim is possible, its listener can hear it, or there is something to remember."""
        return self.possible(plan) or bool(self._words(plan)) or bool(plan.get("remember"))

    def possible(self, plan: Mapping[str, Any]) -> bool:
        """Return whether there is something to gather, it is tired enough to rest, or it knows whom to visit."""
        match plan.get("goal"):
            case "gather":
                known = any(True for item in self.food for _ in self.surroundings.things_with(item))
                return known and not self._stocked()
            case "rest":
                return self.me.energy < RESTED
            case "visit":
                return plan.get("who") in self.surroundings.people
            case goal:
                return goal in GOALS

    def decide(self, tactics: "Callable[[], Status]") -> None:
        """Adopt a new plan, and act."""
        in_danger = self.me.hunger >= STARVING
        if in_danger and not self._in_danger:
            self._danger_tick = self.tick
        self._in_danger = in_danger
        self._take_plan()
        talks = self.talker.talks
        if talks.current is not None:
            together = any(one.entity_id == talks.current.partner_id for one in self._awake_within(TALK_STEPS))
            talks.pass_time(self.tick, together=together, busy=in_danger)
        self.talker.settle(self.tick)
        tactics()

    def _take_plan(self) -> None:
        """Adopt a plan that has come, as far as it fits."""
        if self.plan_tick is None or self.plan_tick == self._asked_tick:
            return
        plan = self.plan
        self._asked_tick, self._plan_tick = self.plan_tick, self.tick
        who, note = (str(plan.get(name, "")) for name in ("who", "remember"))
        self._goal = str(plan.get("goal")) if self.possible(plan) else ""
        self._who = who if who in self.surroundings.people else ""
        self._to_say = self._words(plan)
        if note:
            self.memory.note(self.tick, note, kind=EntryKind.DID, importance=0.6, about=self._who)

    def _words(self, plan: Mapping[str, Any]) -> str:
        """Return what a plan has to say, unless it is meant for a person who is out of sight by now."""
        who = plan.get("who")
        if who in self.surroundings.people and not any(seen.entity_id == who for seen in self.surroundings.in_sight):
            return ""
        say = str(plan.get("say", ""))
        return " ".join("".join(letter if letter.isprintable() else " " for letter in say).split())

    # Needs

    @condition
    def provided(self) -> bool:
        """Return whether it has enough to eat for a while."""
        return self._meals() >= ENOUGH_BERRIES

    def _stocked(self) -> bool:
        """Return whether it has as much as it gathers if it plans to."""
        return self._meals() >= STOCK_BERRIES

    def _meals(self) -> int:
        return sum(map(self.carries, self.food))

    @action
    def eat_something(self) -> Status:
        """Eat what it likes best of what it has."""
        item = next(filter(self.carries, self.food), None)
        return Status.FAILURE if item is None else self.eat(item)

    @action
    def find_food(self) -> Status:
        """Eat, or else get something to eat."""
        if self.me.hunger >= 350 and self.eat_something() is not Status.FAILURE:
            return Status.SUCCESS
        for item in self.food:
            status = self.gather(item)
            if status is not Status.FAILURE:
                return status
        return Status.FAILURE

    # Memory

    def remember(self) -> None:
        """Note what was said to it, what it did, and whom and what it saw where."""
        place = zone_phrase(self.zone.name) if self.zone else ""
        for line in self.speech.heard_now:
            if self._is_meant(line):
                self.talker.hear(self.tick, line.speaker_id, line.text, place)
            else:
                self._note_overheard(line)
            self.speech.settle(line.speaker_id)
        where = f" at {place}" if place else ""
        self._note_deed(where, place)
        if self.tick % LOOK_TICKS == 0:
            self._note_sights(where, place)

    def _is_meant(self, line: SpokenLine) -> bool:
        """Return whether a line is for it: its partner answers, it is named, or it is near and no other is meant."""
        talk = self.talker.talks.current
        if talk is not None and talk.partner_id == line.speaker_id and not talk.my_turn:
            return True
        if self.speech.names_me(line.text):
            return True
        in_talk = self._talking.get(line.speaker_id, -ANSWER_TICKS) >= self.tick - ANSWER_TICKS
        return line.to_me and not in_talk and not self._named_in(line)

    def _note_overheard(self, line: SpokenLine) -> None:
        """Note who is in a talk with another: the speaker of a line, and those whose names are in it."""
        for who in (line.speaker_id, *self._named_in(line)):
            self._talking[who] = self.tick

    def _named_in(self, line: SpokenLine) -> list[str]:
        """Return which of those that it knows or sees are named in a line of another."""
        words, people = words_of(line.text), self.talker.people
        known = {*(one.entity_id for one in self.surroundings.in_sight), *(one.person_id for one in people)}
        others = sorted(known - {line.speaker_id, self.entity_id})
        return [who for who in others if words & words_of(f"{who} {people.called(who)}")]

    def _note_deed(self, where: str, place: str) -> None:
        result = self.observation.result
        if result is None or not result.ok or result.action_type not in _DEEDS:
            return
        verb, kind, sign = _DEEDS[result.action_type]
        changes = (one for one in result.effects if one.name.startswith("inventory.") and one.value * sign > 0)
        for item in (one.name.removeprefix("inventory.") for one in changes):
            verb = "ate" if verb == "used" and item in self.food else verb
            to = f" to {self.talker.people.called(result.target_id)}" if verb == "gave" else ""
            about = (item, result.target_id) if to else (item,)
            self.memory.note(self.tick, f"I {verb} {item}{to}{where}.", kind=kind, about=about, place=place)

    def _note_sights(self, where: str, place: str) -> None:
        for who in self.surroundings.near(self.at, TALK_STEPS):
            if where and self.tick - self._seen.get(who.entity_id, -LOOK_TICKS) >= SEEN_AGAIN_TICKS:
                self._seen[who.entity_id] = self.tick
                name = self.talker.people.called(who.entity_id)
                self.memory.note(self.tick, f"I saw {name}{where}.", about=who.entity_id, place=place)
        fresh = (item for item in self.food for one in self.surroundings.things_with(item) if one.tick == self.tick)
        food = next(fresh, "") if where else ""
        if food:
            self.memory.note(self.tick, f"I saw {food}{where}.", about=food, place=place)

    # Talk

    @condition
    def in_talk(self) -> bool:
        """Return whether it is in a talk."""
        return self.talker.talks.current is not None

    @condition
    def company_near(self) -> bool:
        """Return whether a person is near with whom it could talk, and it has not just spoken."""
        if self.speech.silent_ticks(self.tick) < QUIET_TICKS:
            return False
        free_tick = self.tick - ANSWER_TICKS
        near = [
            one.entity_id for one in self._awake_within(MEET_STEPS) if self._talking.get(one.entity_id, -99) < free_tick
        ]
        near.sort(key=lambda who: who != self._who)  # whom it planned to see goes first
        self._company = next((who for who in near if self.talker.talks.may_begin(self.tick, who)), "")
        return bool(self._company)

    @action
    def begin_talk(self) -> Status:
        """Speak to the person near: with the model's words if they are for it."""
        talk = self.talker.talks.begin(self.tick, self._company)
        return self._speak(talk, self._to_say if self._company == self._who else "")

    @action
    def talk(self) -> Status:
        """Say the next line if it is its turn: with the model's words if they come in time; else wait."""
        talk = self.talker.talks.current
        if talk is None:
            return Status.FAILURE
        waits = self.thinks and self._asked_tick < talk.last_tick and self.tick - talk.last_tick < PATIENCE_TICKS
        if not talk.my_turn or waits:
            return self.wait()
        return self._speak(talk, self._to_say if self._asked_tick >= talk.last_tick else "")

    @action
    def speak_as_planned(self) -> Status:
        """Say what the plan has to say, once: to the one it is for, who may answer, or to nobody."""
        text, self._to_say = clean_line(self._to_say, (self.name, self.entity_id)), ""
        if not text or problem_of(text, self.talker.spoken):
            return Status.FAILURE
        near = any(one.entity_id == self._who for one in self._awake_within(TALK_STEPS))
        if near and self.talker.talks.may_begin(self.tick, self._who):
            return self._speak(self.talker.talks.begin(self.tick, self._who), text)
        self.talker.spoken.add(text)
        return self.do(self.speech.say(self.tick, text))

    def _speak(self, talk: Talk, wording: str) -> Status:
        remark = self.talker.next_remark(talk, self._scene(), wording)
        self._to_say = ""
        self.talker.say(self.tick, talk, remark)
        return self.do(self.speech.say(self.tick, remark.text, talk.partner_id))

    def _scene(self) -> Scene:
        hour, place = self.time.minute // 60, self.zone
        part = "night" if hour < 5 or hour >= 22 else "morning" if hour < 11 else "day" if hour < 17 else "evening"
        aim = AIMS.get(self._goal, "").format(who=self.talker.people.called(self._who))
        if not aim:
            aim = "find something to eat" if not self.provided() else "go on with my day"
        return Scene(self.tick, part, zone_phrase(place.name) if place else "", self.time.weather, aim)

    def _awake_within(self, steps: int) -> list[Person]:
        asleep = {seen.entity_id for seen in self.observation.visible_entities if seen.status & ActorStatus.ASLEEP}
        return [who for who in self.surroundings.near(self.at, steps) if who.entity_id not in asleep]

    def _answer_about_food(self, question: str) -> str:
        """Return where there is something to eat, if that is asked."""
        text = question.lower()
        if not any(item in text for item in (*self.food, "food", "eat")):
            return ""
        around = self.surroundings
        place = around.nearest((thing for item in self.food for thing in around.things_with(item)), self.at)
        if place is None:
            return "I have seen nothing to eat yet."
        zone = self.setting.zone_at(*place.at)
        return f"There is something to eat {f'at {zone_phrase(zone.name)}' if zone else f'at {place.at}'}."

    # Plans

    @action
    def follow_plan(self) -> Status:
        """Do what the plan aims for; fails if there is no valid plan."""
        if self.tick - self._plan_tick > PLAN_TICKS:
            return Status.FAILURE
        match self._goal:
            case "gather":
                return Status.FAILURE if self._stocked() else self.find_food()
            case "rest":
                if self.me.energy >= RESTED:
                    return Status.FAILURE
                status = self.go_to("bed")
                return self.sleep() if status is Status.SUCCESS else status
            case "explore":
                return self.explore()
            case "visit":
                return self._visit()
            case "wander":
                return self.wander()
            case "stay":
                return self.wait()
            case _:
                return Status.FAILURE

    def _visit(self) -> Status:
        person = self.surroundings.people.get(self._who)
        if person is None:
            return Status.FAILURE
        status = self.walk(person.at, beside=True)
        return self.wait() if status is Status.SUCCESS else status


if __name__ == "__main__":
    Villager.run()

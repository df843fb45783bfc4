"""Live in a village: have needs, remember, talk, and make plans with a model if there is one.

The tree decides each tick. A model, asked at intervals and when the villager is spoken to, only chooses an aim and a
line to say; whatever it answers, the tree turns it into what this character could do anyway.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from tickmind.agent import Start, action, condition
from tickmind.agent.character.daily import NIGHT, RESTED, DailyCharacter
from tickmind.agent.character.sociable import TALK, TALK_STEPS
from tickmind.agent.character.thinking import Thinking
from tickmind.agent.knowledge import distance
from tickmind.ai import Action, Condition, Inverter, Node, Selector, Sequence, Status
from tickmind.mind.memory import EntryKind
from tickmind.mind.talk import Talk
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
STAY_TICKS = 20  # that it sits where it is, if that is its plan
PATIENCE_TICKS = 6  # that a partner in a talk waits for the model's line
DIGEST_TICKS = 300  # that the same memories go along, so that a model can cache them
DIGEST_NOTES = 4
NEWS_LINES, NEWS_CHARS = 3, 120  # of what was said since the last plan
ENOUGH_BERRIES = 4
STOCK_BERRIES = 12  # that it gathers if it plans to
STARVING = 700  # hunger at which it is in danger
AIMS = {  # goal -> what it says it will do
    "gather": "look for something to eat",
    "rest": "lie down for a while",
    "explore": "see what is over there",
    "visit": "see how {who} is",
    "wander": "stretch my legs",
    "stay": "sit here for a moment",
}


class Villager(DailyCharacter):
    """Settings: `name`, `personality`, `food` (what it eats, first choice first)."""

    thinking: ClassVar[Thinking] = Thinking(ROLE, PLAN, faculties=(TALK, *NIGHT))
    tree: ClassVar[Node] = Selector(
        Sequence(
            Condition("asleep"),
            Selector(Sequence(Condition("rested"), Action("wake")), Action("wait")),
            label="asleep",
        ),
        Sequence(Condition("incapacitated"), Selector(Action("eat_something"), Action("wait"))),
        Sequence(Condition("low"), Action("relieve")),
        Sequence(Condition("hungry", {"above": STARVING}), Action("find_food"), label="starving"),
        Sequence(Condition("in_talk"), Action("talk")),
        Sequence(Condition("hungry", {"above": 350}), Action("eat_something")),
        Sequence(
            Condition("tired", {"below": 150}),
            Selector(Sequence(Action("go_to", {"kind": "bed"}), Action("sleep")), Action("sleep")),
        ),
        Action("accept_gift"),
        Action("keep_promise"),
        Action("speak_as_planned"),
        Sequence(Condition("company_near"), Action("begin_talk")),
        Action("follow_plan"),
        Sequence(Inverter(Condition("provided")), Action("find_food")),
        Action("follow_routine"),
        Action("explore"),
        Action("wander"),
        memory=False,
    )

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        self.food = self.food or ("berries",)
        self._asked_tick = -1  # of the plan that it follows
        self._plan_tick = -PLAN_TICKS  # in which it began to follow the plan
        self._in_danger = False
        self._danger_tick = -1  # in which danger began
        self._goal = self._who = self._to_say = ""
        self._digest: tuple[str, ...] = ()  # its memories, as in the last prompts
        self._digest_tick = -DIGEST_TICKS

    # Prompts and plans

    def describe(self) -> Iterable[Section]:
        """Yield what changes rarely first, then the news in a few lines; speech of others is quoted."""
        met = [one.person_id for one in self.talker.people]
        if met:
            yield Section(f"You know {', '.join(sorted(met[-12:]))}.", priority=3)
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
        own = "".join(f", {need} {value // 10} %" for need, value in me.needs)
        needs = f"Hunger {me.hunger // 10} %, energy {me.energy // 10} %{own}."
        yield f"{needs} You carry {bag}{enough}. Food is at {places} places."
        zone = self.zone
        place = f" You are in {zone_phrase(zone.name)}." if zone else ""
        yield f"It is {self.time.description()}.{place} You feel {self.talker.mood.word(self.tick)}."
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
        waits = talk is not None and talk.my_turn and TALK.name not in self.faculties  # which asks by itself
        waited = talk.turn_tick if talk is not None and waits else -1
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
        super().decide(tactics)

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
        return str(plan.get("say", ""))

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
        """Eat what it likes best of what it can spare; if it is in danger, of all that it has."""
        item = next((one for one in self.food if self.spare(one) > 0), None)
        if item is None and self.me.hunger >= STARVING:
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

    # Talk

    def wording(self, talk: Talk) -> str | None:
        """Return the words of the last plan if they are for this line; None while the partner waits for the model."""
        words, self._to_say = self._to_say, ""
        if not talk.lines:
            return words if talk.partner_id == self._who else ""
        if self._asked_tick >= talk.turn_tick:
            return words
        asks = self.thinks and TALK.name not in self.faculties
        return None if asks and self.tick - talk.turn_tick < PATIENCE_TICKS else ""

    def aim(self) -> str:
        """Return what it will do next."""
        talk = self.talker.talks.current
        is_here = talk is not None and talk.partner_id == self._who  # whom it would say that it goes to see
        if self._goal in AIMS and not (self._goal == "visit" and is_here):
            return AIMS[self._goal].format(who=self.talker.people.called(self._who))
        return super().aim() if self.provided() else "find something to eat"

    def partner_wanted(self) -> str:
        """Return whom it planned to see."""
        return self._who

    def is_busy(self) -> bool:
        """Return whether it is starving."""
        return self._in_danger

    def answer(self, question: str) -> str:
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

    @action
    def speak_as_planned(self) -> Status:
        """Say what the plan has to say, once: to the one it is for, who may answer, or to nobody."""
        text, self._to_say = self.talker.usable(self._to_say), ""
        if not text:
            return Status.FAILURE
        near = any(one.entity_id == self._who for one in self.awake_within(TALK_STEPS))
        if near and self.talker.talks.may_begin(self.tick, self._who):
            self._to_say = text
            return self.speak_in(self.talker.talks.begin(self.tick, self._who))
        self.talker.say_aloud(text)
        return self.do(self.speech.say(self.tick, text))

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
                return self.wait() if self.tick - self._plan_tick <= STAY_TICKS else Status.FAILURE
            case _:
                return Status.FAILURE

    def _visit(self) -> Status:
        person = self.surroundings.people.get(self._who)
        if person is None:
            return Status.FAILURE
        status = self.walk(person.at, beside=True)
        if status is not Status.SUCCESS:
            return status
        return self.wait() if self.talker.talks.may_begin(self.tick, self._who) else Status.FAILURE


if __name__ == "__main__":
    Villager.run()

"""The villager of commit 2e81fee, frozen: the peer of `mind_measures`. It is a program for agents.

It had needs and a greeting, and no talks, plans, promises, insights or work; what it did without a model is kept here
on today's kit. Its memory is what `Body.remember` notes: whom it met, and what was said to it.
"""

from typing import ClassVar

from tickmind.agent import Character, Start, action, condition
from tickmind.agent.knowledge import SpokenLine
from tickmind.ai import Action, Condition, Inverter, Node, Selector, Sequence, Status

GREET_AGAIN_TICKS, QUIET_TICKS, MOST_EXCHANGES, MINUTE_TICKS = 300, 20, 6, 60
ENOUGH_BERRIES = 4
GREETINGS = ("hello", "good day", "good morning", "hi ")


class FirstVillager(Character):
    """Settings: `food` (what it eats, first choice first)."""

    tree: ClassVar[Node] = Selector(
        Sequence(
            Condition("asleep"),
            Selector(Sequence(Condition("rested"), Action("wake")), Action("wait")),
            label="asleep",
        ),
        Sequence(Condition("hungry", {"above": 700}), Action("find_food"), label="starving"),
        Sequence(Condition("spoken_to"), Action("answer")),
        Sequence(Condition("hungry", {"above": 350}), Action("eat_something")),
        Sequence(
            Condition("tired", {"below": 150}),
            Selector(Sequence(Action("go_to", {"kind": "bed"}), Action("sleep")), Action("sleep")),
        ),
        Sequence(Condition("stranger_near"), Action("greet")),
        Sequence(Inverter(Condition("provided")), Action("find_food")),
        Action("explore"),
        Action("wander"),
        memory=False,
    )

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        self.food = start.settings.texts("food", ("berries",))
        self._strangers: tuple[str, ...] = ()
        self._spoke: dict[str, list[int]] = {}  # who -> when it spoke to that one

    @condition
    def provided(self) -> bool:
        """It has enough to eat for a while."""
        return sum(map(self.carries, self.food)) >= ENOUGH_BERRIES

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
        tries = (self.gather(item) for item in self.food)
        return next((status for status in tries if status is not Status.FAILURE), Status.FAILURE)

    @condition
    def stranger_near(self) -> bool:
        """Somebody is near whom it has not spoken with for a long time, and it has not just spoken."""
        if self.speech.silent_ticks(self.tick) < QUIET_TICKS:
            return False
        near = (one.entity_id for one in self.surroundings.near(self.at, 3))
        self._strangers = tuple(who for who in near if not self._spoken_to(who, GREET_AGAIN_TICKS))
        return bool(self._strangers)

    @action
    def greet(self) -> Status:
        """Say hello to the nearest stranger."""
        who = self._strangers[0]
        return self._speak(f"Hello, {who}! I am {self.name}.", who)

    @condition
    def spoken_to(self) -> bool:
        """Somebody waits for an answer."""
        return self.speech.owed() is not None

    @action
    def answer(self) -> Status:
        """Answer whoever spoke with something simple."""
        line = self.speech.owed()
        if line is None:
            return Status.FAILURE
        self.speech.settle(line.speaker_id)
        text = self._simple_answer(line)
        return self._speak(text, line.speaker_id) if text else Status.FAILURE

    def _spoken_to(self, who: str, within_ticks: int) -> int:
        return sum(self.tick - tick < within_ticks for tick in self._spoke.get(who, ()))

    def _speak(self, text: str, to: str) -> Status:
        if not self.speech.may_say(self.tick, text) or self._spoken_to(to, MINUTE_TICKS) >= MOST_EXCHANGES:
            self.speech.settle(to)
            return Status.FAILURE
        self._spoke.setdefault(to, []).append(self.tick)
        return self.do(self.speech.say(self.tick, text, to))

    def _simple_answer(self, line: SpokenLine) -> str:
        """What one says without much thought; to what is neither greeting nor question, nothing."""
        text = line.text.lower()
        if any(item in text for item in (*self.food, "food", "eat")) and "?" in text:
            things = (thing for item in self.food for thing in self.surroundings.things_with(item))
            place = self.surroundings.nearest(things, self.at)
            return f"There is something to eat at {place.at}." if place else "I have seen nothing to eat yet."
        if any(word in text for word in GREETINGS):
            return f"Good day, {line.speaker_id}."
        return "I do not know." if "?" in text else ""


if __name__ == "__main__":
    FirstVillager.run()

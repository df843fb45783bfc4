"""Live in a village: have needs, remember, talk, keep promises, and choose with a model if there is one.

The tree decides each tick. A model, asked at intervals, only chooses from what the villager could do anyway, and words
what it says.
"""

import re
from collections.abc import Callable, Iterable
from typing import ClassVar

from tickmind.agent import Start
from tickmind.agent.character.choosing import ChoosingCharacter
from tickmind.agent.character.daily import NIGHT
from tickmind.agent.character.skills import HUNGRY, STARVING
from tickmind.agent.character.talking import EMBED, EXTRACT, REHEARSE, TALK
from tickmind.agent.character.thinking import Thinking
from tickmind.agent.knowledge import distance
from tickmind.ai import Action, Condition, Inverter, Node, Selector, Sequence, Status
from tickmind.mind.options import menu_text
from tickmind.protocol.setting import zone_phrase
from tickmind.strategy import Section, quoted

ROLE = """\
You live in a small village. You get hungry and eat, get tired and sleep in a bed, and have friends.
When you are asked what you do next, answer with one of the things that you could do, in the same words:
You could: work at the mill; visit Tom; rest at home.
visit Tom"""
TASK = "What do you do next?"
DIGEST_TICKS = 300  # that the same memories go along, so that a model can cache them
DIGEST_NOTES = 4
_ASKS_FOR_PLACE = re.compile(r"\b(?:where|find|is there|anything|something|have you seen)\b", re.IGNORECASE)
PRESSING_TICKS = 20  # in which it asks again before its turn
NEWS_LINES, NEWS_CHARS = 3, 120  # of what was said since the last choice


class Villager(ChoosingCharacter):
    """Settings: `name`, `personality`, `food` (what it eats, first choice first), `embeddings` (see `Body`).

    `enough` is how many items to spare it makes or gathers of a kind before it stops or sells them.
    """

    thinking: ClassVar[Thinking] = Thinking(ROLE, one_line=True, faculties=(TALK, EMBED, EXTRACT, REHEARSE, *NIGHT))
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
        Sequence(Condition("hungry", {"above": HUNGRY}), Action("eat_something")),
        Sequence(
            Condition("tired", {"below": 150}),
            Selector(Sequence(Action("go_to", {"kind": "bed"}), Action("sleep")), Action("sleep")),
        ),
        Action("accept_gift"),
        Action("keep_promise"),
        Sequence(Condition("company_near"), Action("begin_talk")),
        Action("follow_choice"),
        Sequence(Inverter(Condition("provided")), Action("find_food")),
        Action("follow_routine"),
        Action("spend_time"),
        Action("wander"),
        memory=False,
    )

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        self.food = self.food or ("berries",)
        self._in_danger = False
        self._danger_tick = -1  # in which danger began
        self._digest: tuple[str, ...] = ()  # its memories, as in the last prompts
        self._digest_tick = -DIGEST_TICKS

    def decide(self, tactics: Callable[[], Status]) -> None:
        """Notice danger, and act."""
        in_danger = self.me.hunger >= STARVING
        if in_danger and not self._in_danger:
            self._danger_tick = self.tick
        self._in_danger = in_danger
        super().decide(tactics)

    def pressing(self) -> bool:
        """Return whether danger has just begun or what was chosen has just failed, and no model has answered since."""
        since = max(self._danger_tick, self._failed_tick)
        return self._asked_tick < since and self.tick - since <= PRESSING_TICKS

    def is_busy(self) -> bool:
        """Return whether it is starving."""
        return self._in_danger

    # What a model reads

    def describe(self) -> Iterable[Section]:
        """Yield what changes rarely first, then the news in a few lines; speech of others is quoted."""
        met = [person.called for person in self.talker.people]
        if met:
            yield Section(f"You know {', '.join(sorted(met[-12:]))}.", priority=3)
        digest = self._remembered()
        if digest:
            yield Section("\n".join(quoted("memory", text, longest=NEWS_CHARS) for text in digest), priority=4)
        yield Section("\n".join((*self._news(), menu_text(self.menu()), TASK)), priority=9)

    def _remembered(self) -> tuple[str, ...]:
        """Return the memories for every prompt; chosen again at intervals, or while there are hardly any."""
        if self.tick - self._digest_tick >= DIGEST_TICKS or len(self._digest) < min(2, len(self.memory)):
            notes = sorted(self.memory.recall(self.tick, most=DIGEST_NOTES), key=lambda note: note.tick)
            self._digest, self._digest_tick = tuple(note.text for note in notes), self.tick
        return self._digest

    def _news(self) -> Iterable[str]:
        me, around = self.me, self.surroundings
        bag = ", ".join(f"{stack.quantity} {stack.kind}" for stack in me.inventory) or "nothing"
        enough = ", which is enough to eat" if self.provided() else ""
        own = "".join(f", {need} {value // 10} %" for need, value in me.needs)
        needs = f"Hunger {me.hunger // 10} %, energy {me.energy // 10} %{own}."
        yield f"{needs} You carry {bag}{enough}."
        zone = self.zone
        place = f" You are in {zone_phrase(zone.name)}." if zone else ""
        yield f"It is {self.time.description()}.{place} You feel {self.talker.mood.word(self.tick)}."
        called = self.talker.people.called
        near = [f"{called(who.entity_id)} {distance(who.at, self.at)}" for who in around.near(self.at, 10)[:6]]
        yield f"Near you, in steps: {', '.join(near) or 'nobody'}."
        talk = self.talker.talks.current
        if talk is not None:
            turn = "it is your turn to speak" if talk.my_turn else "you wait for an answer"
            partners = " and ".join(map(called, talk.others(self.entity_id)))
            yield f"You are talking with {partners}, and {turn}."
        if self._chosen is not None:
            yield f"You were about to {self._chosen.words}."
        lines = [line for line in self.speech.lines if line.tick > self._asked_tick][-NEWS_LINES:]
        words = " ".join(line.text for line in lines if line.speaker_id != self.entity_id)
        for note in self.memory.recall(self.tick, words, most=NEWS_LINES + 1) if words else ():
            if note.text not in self._digest and not any(line.text in note.text for line in lines):
                yield quoted("memory", note.text, longest=NEWS_CHARS)
                break
        for line in lines:
            yield quoted(called(line.speaker_id), line.text, longest=NEWS_CHARS)

    def answer(self, question: str) -> str:
        """Return where there is something to eat, if that is asked."""
        names = "|".join(re.escape(item.replace("_", " ")) for item in (*self.food, "food", "eat"))
        about_food = re.search(rf"\b(?:{names})s?\b", question, re.IGNORECASE)
        if not about_food or not _ASKS_FOR_PLACE.search(question):
            return ""
        around = self.surroundings
        place = around.nearest((thing for item in self.food for thing in around.things_with(item)), self.at)
        if place is None:
            return "I have seen nothing to eat yet."
        zone = self.setting.zone_at(*place.at)
        return f"There is something to eat {f'at {zone_phrase(zone.name)}' if zone else f'at {place.at}'}."


if __name__ == "__main__":
    Villager.run()

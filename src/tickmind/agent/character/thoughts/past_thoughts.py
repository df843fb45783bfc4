"""`PastThoughts`: the thoughts of characters whose past is lived again; no model is asked."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tickmind.agent.character.thoughts.prompting import PLAN, CharacterPrompts
from tickmind.agent.minds import PastMinds
from tickmind.agent.mistakes import Mistakes
from tickmind.ai import Blackboard
from tickmind.protocol import Thought

if TYPE_CHECKING:
    from tickmind.agent.character.base import BaseCharacter
    from tickmind.agent.character.thinking import Thinking
    from tickmind.tick import Engine, TickContext, World


@dataclass(frozen=True, slots=True)
class PromptCheck:
    """A prompt that was made again, and the recorded one."""

    entity_id: str
    tick_id: int
    recorded: tuple[str, str]  # system prompt and user message
    made: tuple[str, str]

    @property
    def equal(self) -> bool:
        """Whether they are the same."""
        return self.recorded == self.made


class PastThoughts:
    """Take over recorded thoughts in their ticks, in place of a strategic layer that asks.

    A thought acts as it did: what it wrote to the Blackboard is written again, in the tick in which it was taken in.
    The prompt is made again in the tick of the question, and compared.
    """

    def __init__(self, thinking: "Thinking", engine: "Engine", past: PastMinds) -> None:
        self.checks: list[PromptCheck] = []
        self.some = any(past.thoughts.values()) or any(past.questions.values())
        """Whether there are thoughts at all; without a model there were none."""
        self._prompts = CharacterPrompts(thinking)
        served = (faculty for faculty in thinking.faculties if past.tiers is None or faculty.tier in past.tiers)
        self._served = frozenset(faculty.name for faculty in served) if self.some else frozenset()
        self._eids: dict[str, int] = {}  # entity id -> entity of the private world
        self._mistakes = Mistakes()
        self._tick_id = 0
        self._until_tick = past.until_tick
        self._asked: dict[int, list[tuple[str, Thought]]] = defaultdict(list)  # tick -> questions
        self._answered: dict[int, list[tuple[str, Thought]]] = defaultdict(list)  # tick -> answers
        self._unanswered: dict[int, list[str]] = defaultdict(list)  # tick -> characters that asked for nothing
        for entity_id, several in past.thoughts.items():
            for thought in several:
                self._asked[thought.asked_tick].append((entity_id, thought))
                self._answered[thought.answered_tick].append((entity_id, thought))
        for entity_id, ticks in past.questions.items():
            plans = (thought for thought in past.thoughts.get(entity_id, ()) if not thought.kind)
            answered = {thought.asked_tick for thought in plans}
            for tick_id in ticks:
                if tick_id not in answered:
                    self._unanswered[tick_id].append(entity_id)
        engine.add_system(self._live)

    def enrol(self, eid: int, character: "BaseCharacter") -> list[int]:
        """Begin with a character. Nothing asks by itself."""
        self._prompts.add(eid, character)
        self._eids[character.entity_id] = eid
        character.faculties = self._served
        return []

    def leave(self, eid: int) -> None:
        """Forget a character whose entity is gone."""
        self._prompts.remove(eid)

    def attend(self, eid: int) -> None:
        """Do nothing: the past has its own order."""

    def change_timing(self, *, lockstep: bool, thinking_ticks: int) -> None:
        """Do nothing: each thought has its own ticks."""

    def note_tick(self, tick_id: int) -> None:
        """Begin a tick of the world."""
        self._tick_id = tick_id

    def pending(self, eid: int) -> bool:
        """Return whether a character waited for an answer."""
        entity_id = next((name for name, each in self._eids.items() if each == eid), "")
        return any(
            name == entity_id and thought.answered_tick > self._tick_id
            for asked_tick, questions in self._asked.items()
            if asked_tick <= self._tick_id
            for name, thought in questions
        )

    def take_questions(self) -> list[tuple[str, int]]:
        """Return nothing: no model is asked."""
        return []

    def take_thoughts(self) -> list[tuple[str, Thought]]:
        """Return nothing: all thoughts are recorded already."""
        return []

    def close(self) -> None:
        """Do nothing: nothing runs beside the ticks."""

    def _live(self, world: "World", _ctx: "TickContext") -> None:
        """Take in the answers of this tick, and make its prompts, in the order in which that happened."""
        tick_id = self._tick_id
        if self._until_tick is not None and tick_id > self._until_tick:
            return
        answers = [each for each in self._answered.get(tick_id, ()) if each[0] in self._eids]
        for entity_id, thought in answers:
            if thought.asked_tick < tick_id:
                self._take(world, entity_id, thought)
        for entity_id, thought in self._asked.get(tick_id, ()):
            if entity_id in self._eids:
                made = self._make_prompt(world, entity_id, thought.kind)
                recorded = (thought.system_prompt, thought.user_message)
                self.checks.append(PromptCheck(entity_id, tick_id, recorded, made))
        for entity_id in self._unanswered.get(tick_id, ()):
            if entity_id in self._eids:  # describing its situation may have changed the mind
                self._make_prompt(world, entity_id)
        for entity_id, thought in answers:
            if thought.asked_tick == tick_id:
                self._take(world, entity_id, thought)

    def _make_prompt(self, world: "World", entity_id: str, faculty: str = "") -> tuple[str, str]:
        try:
            if faculty in self._prompts.faculties:
                return self._prompts.make_for(faculty, world, self._eids[entity_id])
            return self._prompts.make(world, self._eids[entity_id])
        except Exception as error:  # noqa: BLE001  a character's description is user code
            return "", self._mistakes.note("describing failed", error, entity_id=entity_id, tick=self._tick_id)

    def _take(self, world: "World", entity_id: str, thought: Thought) -> None:
        if thought.error_type:
            return
        character = self._prompts.character(self._eids[entity_id])
        if thought.kind:
            self._learn(character, thought)
            return
        board = world.get(self._eids[entity_id], Blackboard)
        board.data.update(thought.directives)
        character.plan_tick = thought.asked_tick

    def _learn(self, character: "BaseCharacter", thought: Thought) -> None:
        reply = thought.directives.get(PLAN)
        try:
            character.learn(thought.kind, reply if isinstance(reply, Mapping) else {}, thought.asked_tick)
        except Exception as error:  # noqa: BLE001  it is user code, and failed then, too
            self._mistakes.note("learning failed", error, entity_id=character.entity_id, tick=self._tick_id)

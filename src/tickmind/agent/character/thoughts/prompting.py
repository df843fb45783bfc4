"""`CharacterPrompts`: the prompts of a kind of character, from its role, its identity and its situation."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from tickmind.agent.character.base import BaseCharacter
from tickmind.agent.character.thinking import MANNERS, Faculty, Thinking, has_small_model
from tickmind.llm.texts import shortened
from tickmind.protocol import GoalInfo
from tickmind.strategy import LLMAgent, LLMConfig, LLMManager, Section
from tickmind.strategy.prompts import one_line

if TYPE_CHECKING:
    from tickmind.tick import World

PLAN = "plan"
ROLE, RULES, CONTEXT, PARSER, TRIGGER, FITS = "role", "manners", "describe", "plan", "pressing", "fits"
MOST_GOALS = 8  # in a prompt
GOAL_CHARS = 120  # of one goal in a prompt
_IDENTITY = 1000  # the identity stays longest when the prompt is too long
_SITUATION, _GOALS = 5, 4  # of a situation in one piece, which stays longer than goals


class CharacterPrompts:
    """Make the prompts of the characters in a private world, in the tick in which they are asked for."""

    def __init__(self, thinking: Thinking, config: LLMConfig | None = None) -> None:
        self._thinking = thinking
        self._characters: dict[int, BaseCharacter] = {}  # entity of the private world -> the character
        manager = self.manager = LLMManager(config or thinking.config)
        manager.define_role(ROLE, thinking.role, keys=[PLAN])
        manager.define_personality(RULES, MANNERS)
        manager.define_context(CONTEXT, lambda _world, eid: self._situation(self._characters[eid]))
        manager.define_choices(CONTEXT, lambda _world, eid: self._characters[eid].choices())
        self.faculties = {faculty.name: faculty for faculty in thinking.faculties}
        self._owners: dict[int, int] = {}  # entity of a faculty -> that of its character
        self._own: dict[int, list[int]] = {}  # entity of a character -> those of its faculties
        for faculty in thinking.faculties:
            manager.define_context(defined_as(faculty.name), partial(self._about, faculty))
            manager.define_examples(defined_as(faculty.name), faculty.examples)

    def add(self, eid: int, character: BaseCharacter) -> None:
        """Begin with a character."""
        self._characters[eid] = character

    def remove(self, eid: int) -> None:
        """Forget a character, and what it has for its faculties."""
        self._characters.pop(eid, None)
        for own in self._own.pop(eid, ()):
            del self._owners[own]

    def add_faculty(self, eid: int, whose: int) -> None:
        """Begin with the entity of a faculty of a character."""
        self._owners[eid] = whose
        self._own.setdefault(whose, []).append(eid)

    def faculties_of(self, eid: int) -> list[int]:
        """Return the entities of a character's faculties."""
        return self._own.get(eid, [])

    def find(self, eid: int) -> BaseCharacter | None:
        """Return a character by its entity or that of one of its faculties, if it is still there."""
        return self._characters.get(self._owners.get(eid, eid))

    def character(self, eid: int) -> BaseCharacter:
        """Return a character by its entity or that of one of its faculties."""
        return self._characters[self._owners.get(eid, eid)]

    def make(self, world: "World", eid: int) -> tuple[str, str]:
        """Return the system prompt and the user message of a character, as it is now."""
        return self.manager.make_prompt(world, eid, LLMAgent(ROLE, RULES, CONTEXT))

    def make_for(self, faculty: str, world: "World", eid: int) -> tuple[str, str]:
        """Return the system prompt and the user message of a question of a faculty, as the character is now."""
        return self.manager.make_prompt(world, eid, LLMAgent(ROLE, RULES, defined_as(faculty)))

    def _about(self, faculty: Faculty, _world: "World", eid: int) -> Iterable[Section]:
        """Yield the identity, what the question is about, and the task at the end."""
        character = self.character(eid)
        if faculty.bare:
            about = character.ponder(faculty.name)
            yield from [Section(about, priority=_IDENTITY)] if isinstance(about, str) else about
            return
        if not (faculty.brief and has_small_model(character.settings)):
            yield self._identity(character, brief=faculty.brief)
        about = character.ponder(faculty.name)
        yield from [Section(about, priority=_SITUATION)] if isinstance(about, str) else about
        yield Section(faculty.task, priority=_IDENTITY)

    def _situation(self, character: BaseCharacter) -> Iterable[Section]:
        """Yield the identity and the situation; the common part of all prompts comes before, so models can cache it.

        The sections of `describe` should keep that order: first what changes rarely, last what is new.
        """
        yield self._identity(character)
        if character.goals:
            yield Section(goals_text(character.goals), priority=_GOALS)
        situation = character.describe()
        yield from [Section(situation, priority=_SITUATION)] if isinstance(situation, str) else situation

    def _identity(self, character: BaseCharacter, *, brief: bool = False) -> Section:
        persona = character.persona
        described = (persona.manner() if brief else persona.description()) or self._thinking.personality
        personality = character.settings.text("personality", described)
        return Section(f"Your name is {character.name}. {personality}", priority=_IDENTITY)


def defined_as(faculty: str) -> str:
    """Return the name under which the context and the parser of a faculty are defined."""
    return f"faculty {faculty}"


def goals_text(goals: Sequence[GoalInfo]) -> str:
    """Return the goals of a world as a line of a prompt.

    >>> goals_text([GoalInfo("all_home", 10, ends=True, types=("villager",), all_in="square")])
    'Goals of this world: all home (villager: all in square; 10 points; ends the run).'
    """
    texts = [shortened(_goal_text(goal), GOAL_CHARS) for goal in goals[:MOST_GOALS]]
    more = len(goals) - MOST_GOALS
    return f"Goals of this world: {'; '.join(texts)}{f' and {more} more' if more > 0 else ''}."


def _goal_text(goal: GoalInfo) -> str:
    points = f"{goal.score} {'point' if abs(goal.score) == 1 else 'points'}" if goal.score else ""
    parts = [goal.condition, points, "ends the run" if goal.ends else ""]
    return f"{one_line(goal.name.replace('_', ' '))} ({'; '.join(one_line(part) for part in parts if part)})"

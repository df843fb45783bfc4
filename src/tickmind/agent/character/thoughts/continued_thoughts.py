"""`ContinuedThoughts`: recorded thoughts up to a tick, and models that are asked after it."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tickmind.agent.character.base import BaseCharacter
    from tickmind.agent.character.thoughts.deliberations import Deliberations
    from tickmind.agent.character.thoughts.past_thoughts import PastThoughts, PromptCheck
    from tickmind.protocol import Thought


class ContinuedThoughts:
    """Play the past of minds, then let them ask. All of them may ask in the first tick after their past.

    `on_enrol` gets each of their entities with those of its faculties, which ask by themselves from then on.
    """

    def __init__(
        self,
        past: "PastThoughts",
        live: "Deliberations",
        until_tick: int,
        thoughts: "Sequence[tuple[str, Thought]]",
        on_enrol: Callable[[int, Iterable[int]], None],
    ) -> None:
        self._past = past
        self._live = live
        self._until_tick = until_tick
        self._thoughts = thoughts  # of the past, by character
        self._on_enrol = on_enrol
        self._waiting: dict[int, BaseCharacter] = {}  # entity -> the character, until it may ask
        self._asks = False

    @property
    def some(self) -> bool:
        """Whether there are thoughts at all."""
        return self._past.some

    @property
    def checks(self) -> "list[PromptCheck]":
        """The prompts of the past that were made again."""
        return self._past.checks

    def enrol(self, eid: int, character: "BaseCharacter") -> list[int]:
        """Begin with a character; return the entities of what it asks by itself."""
        if self._asks:
            return self._live.enrol(eid, character)
        self._waiting[eid] = character
        return self._past.enrol(eid, character)

    def leave(self, eid: int) -> None:
        """Forget a character whose entity is gone."""
        self._past.leave(eid)
        if self._waiting.pop(eid, None) is None:
            self._live.leave(eid)

    def attend(self, eid: int) -> None:
        """Have a character think before all others, once it may ask."""
        if self._asks:
            self._live.attend(eid)

    def change_timing(self, *, lockstep: bool, thinking_ticks: int) -> None:
        """Follow a world's rule for the time that a thought takes; thoughts of the past have their own ticks."""
        self._live.change_timing(lockstep=lockstep, thinking_ticks=thinking_ticks)

    def note_tick(self, tick_id: int) -> None:
        """Begin a tick of the world; after the last one of the past all may ask."""
        self._past.note_tick(tick_id)
        if tick_id > self._until_tick and not self._asks:
            self._begin()
        self._live.note_tick(tick_id)

    def _begin(self) -> None:
        self._asks = True
        for eid, character in self._waiting.items():
            self._on_enrol(eid, self._live.enrol(eid, character))
            spent = [thought for name, thought in self._thoughts if name == character.entity_id]
            self._live.count_spent(
                character, [thought for thought in spent if thought.answered_tick <= self._until_tick]
            )
        self._waiting = {}

    def pending(self, eid: int) -> bool:
        """Return whether a character waits for an answer."""
        return self._live.pending(eid) if self._asks else self._past.pending(eid)

    def take_questions(self) -> list[tuple[str, int]]:
        """Return the characters whose questions went out since the last call, each with the tick."""
        return self._live.take_questions()

    def take_thoughts(self) -> "list[tuple[str, Thought]]":
        """Return the deliberations after the past that have ended since the last call."""
        return self._live.take_thoughts()

    def close(self) -> None:
        """Drop all queries under way and close the client."""
        self._live.close()

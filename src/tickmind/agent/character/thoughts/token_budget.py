"""`TokenBudget`: how many tokens the thoughts of a character may take in a day of its world."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tickmind.agent.character.base import BaseCharacter
    from tickmind.protocol import Thought


class TokenBudget:
    """Count the tokens of characters by day. A character whose budget is spent asks no model until the next day.

    The setting `tokens_per_day` is a character's own budget; 0 is none. What an endpoint does not count is free.
    """

    def __init__(self, tokens_per_day: int = 0) -> None:
        self._usual = tokens_per_day
        self._spent: dict[str, tuple[int, int]] = {}  # character -> the day, and the tokens of that day

    def limits(self, character: "BaseCharacter") -> bool:
        """Return whether a character has a budget."""
        return self._most(character) > 0

    def spend(self, character: "BaseCharacter", thought: "Thought", tick_id: int) -> None:
        """Count a thought that ended in a tick."""
        if self.limits(character):
            day, tokens = self._spent.get(character.entity_id, (0, 0))
            today = character.setting.calendar.at(tick_id).day
            taken = (thought.prompt_tokens or 0) + (thought.completion_tokens or 0)
            self._spent[character.entity_id] = today, taken + (tokens if day == today else 0)

    def is_spent(self, character: "BaseCharacter", tick_id: int) -> bool:
        """Return whether a character has spent its budget of the day."""
        most = self._most(character)
        if most <= 0:
            return False
        day, tokens = self._spent.get(character.entity_id, (0, 0))
        return tokens >= most and day == character.setting.calendar.at(tick_id).day

    def _most(self, character: "BaseCharacter") -> int:
        return self._usual if character.tokens_per_day < 0 else character.tokens_per_day

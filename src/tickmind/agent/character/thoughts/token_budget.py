"""`TokenBudget`: how many tokens the thoughts of a character may take in a day of its world."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tickmind.agent.character.base import BaseCharacter
    from tickmind.protocol import Thought

SETTING = "tokens_per_day"


class TokenBudget:
    """Count the tokens of characters by day. A character whose budget is spent asks no model until the next day.

    The setting `tokens_per_day` is a character's own budget; 0 is none. What an endpoint does not count is free.
    """

    def __init__(self, tokens_per_day: int = 0) -> None:
        self._usual = tokens_per_day
        self._most: dict[str, int] = {}  # character -> its budget
        self._spent: dict[str, tuple[int, int]] = {}  # character -> the day, and the tokens of that day

    def add(self, character: "BaseCharacter") -> bool:
        """Begin with a character; return whether it has a budget."""
        most = character.settings.whole(SETTING, self._usual)
        if most > 0:
            self._most[character.entity_id] = most
        return most > 0

    def remove(self, character: "BaseCharacter") -> None:
        """Forget the budget of a character, and not what it has spent: it may come back on the same day."""
        self._most.pop(character.entity_id, None)

    def spend(self, character: "BaseCharacter", thought: "Thought") -> None:
        """Count a thought."""
        if character.entity_id in self._most:
            day, tokens = self._spent.get(character.entity_id, (0, 0))
            today = character.time.day
            taken = (thought.prompt_tokens or 0) + (thought.completion_tokens or 0)
            self._spent[character.entity_id] = today, taken + (tokens if day == today else 0)

    def is_spent(self, character: "BaseCharacter") -> bool:
        """Return whether a character has spent its budget of the day."""
        most = self._most.get(character.entity_id)
        if most is None:
            return False
        day, tokens = self._spent.get(character.entity_id, (0, 0))
        return day == character.time.day and tokens >= most

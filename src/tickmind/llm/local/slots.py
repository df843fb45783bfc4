"""`SlotPins`: which slot of a llama.cpp server each character uses; a slot remembers the prompt that it saw last."""

import threading
from collections.abc import Mapping
from typing import Any

from tickmind.base import Limit
from tickmind.llm.errors import LLMConfigError

MAX_PINNED = Limit("number of characters pinned to slots", 100_000)


class SlotPins:
    """Keep each character in one slot, so that the unchanged beginning of its prompt is read only once.

    With more characters than slots, the slot with the fewest is taken, the lowest first. Threads may share it.
    """

    def __init__(self, slots: int) -> None:
        if slots < 1:
            raise LLMConfigError(f"slots must be 1 or more, not {slots}")
        self.slots = slots
        self._lock = threading.Lock()
        self._pins: dict[str, int] = {}  # character -> slot
        self._counts = [0] * slots  # slot -> characters in it

    def slot_for(self, character_id: str) -> int:
        """Return the character's slot, the same until it is released."""
        with self._lock:
            slot = self._pins.get(character_id)
            if slot is None:
                MAX_PINNED.check(len(self._pins) + 1)
                slot = min(range(self.slots), key=self._counts.__getitem__)
                self._pins[character_id] = slot
                self._counts[slot] += 1
            return slot

    def release(self, character_id: str) -> None:
        """Forget a character that is gone and free its place."""
        with self._lock:
            slot = self._pins.pop(character_id, None)
            if slot is not None:
                self._counts[slot] -= 1

    def extra_for(self, character_id: str) -> Mapping[str, Any]:
        """Return the fields that pin a request of this character, for `ModelRequest.extra`."""
        return {"id_slot": self.slot_for(character_id), "cache_prompt": True}

"""When agents are due, at a cost that follows those that are, not all that there are.

Agents wait in a heap by the tick in which they are due. Those that are due move to a second heap by priority and age,
from which they are asked as limits allow. An entry may be out of date; it is checked when it comes up.
"""

import heapq
from dataclasses import dataclass

MOST_MOVES_PER_TICK = 2000  # so that a hundred thousand agents that are due at once do not hold up a tick


@dataclass(frozen=True, slots=True, order=True)
class Turn:
    """An agent that is due: first by priority, then by how long it has been due, then by id."""

    minus_priority: int
    due_tick: int
    entity_id: int


class Schedule:
    """Who is to be asked next."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, int, int]] = []  # due tick, minus priority, entity id
        self._ready: list[Turn] = []
        self._due: dict[int, int] = {}  # entity id -> the due tick that counts
        self._is_ready: set[int] = set()

    def __len__(self) -> int:
        return len(self._due)

    def __contains__(self, entity_id: int) -> bool:
        return entity_id in self._due

    @property
    def ready(self) -> int:
        """How many are due and not asked yet."""
        return len(self._is_ready)

    def put(self, entity_id: int, due_tick: int, priority: int) -> None:
        """Have an agent come up in a tick, instead of when it was to come up before."""
        if self._due.get(entity_id) == due_tick:
            return
        self._is_ready.discard(entity_id)
        self._due[entity_id] = due_tick
        heapq.heappush(self._waiting, (due_tick, -priority, entity_id))

    def due_tick(self, entity_id: int) -> int | None:
        """When an agent comes up."""
        return self._due.get(entity_id)

    def drop(self, entity_id: int) -> None:
        """Forget an agent."""
        self._due.pop(entity_id, None)
        self._is_ready.discard(entity_id)

    def clear(self) -> None:
        """Forget all."""
        self._waiting.clear()
        self._ready.clear()
        self._due.clear()
        self._is_ready.clear()

    def advance(self, tick: int) -> None:
        """Move those that are due by now to the ready ones."""
        waiting = self._waiting
        moves = 0
        while waiting and waiting[0][0] <= tick and moves < MOST_MOVES_PER_TICK:
            due_tick, minus_priority, entity_id = heapq.heappop(waiting)
            if self._due.get(entity_id) == due_tick and entity_id not in self._is_ready:
                heapq.heappush(self._ready, Turn(minus_priority, due_tick, entity_id))
                self._is_ready.add(entity_id)
                moves += 1

    def take(self) -> Turn | None:
        """The next that is due; the caller puts it back or asks it."""
        while self._ready:
            turn = heapq.heappop(self._ready)
            if turn.entity_id in self._is_ready and self._due.get(turn.entity_id) == turn.due_tick:
                self._is_ready.discard(turn.entity_id)
                del self._due[turn.entity_id]
                return turn
        return None

    def put_back(self, turn: Turn) -> None:
        """Leave one for the next tick, with its age."""
        self._due[turn.entity_id] = turn.due_tick
        self._is_ready.add(turn.entity_id)
        heapq.heappush(self._ready, turn)

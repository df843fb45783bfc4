"""`DueQueue`: when agents are due, at a cost that follows the due agents, not all of them.

Agents wait in a heap by the tick in which they are due. Those that are due move to a second heap by priority and age,
from which they are asked as limits allow. All of them age at one pace, so their order never changes while they wait:
an agent that became ready `aging_ticks` earlier ranks like one whose priority is higher by one, and a head start
counts like having become ready so many ticks earlier. A heap's entry may be out of date; it is checked when it comes
up, and a heap that is mostly out of date is rebuilt.
"""

import heapq
from typing import Any, NamedTuple

MOST_MOVES_PER_TICK = 500  # so that a hundred thousand agents that are due at once do not delay a tick
_FEW = 64  # entries that are not worth a clean-up


class QueryTurn(NamedTuple):
    """An agent's place in the order: by priority, then by how long it has been due, then by id."""

    minus_priority: int
    due_tick: int
    entity_id: int
    head_start: int = 0  # ticks by which an urgent question counts as older


class DueQueue:
    """The order in which agents are asked."""

    def __init__(self, *, aging_ticks: int | None = None) -> None:
        self._aging_ticks = aging_ticks
        self._waiting: list[tuple[int, QueryTurn]] = []  # due tick, turn
        self._ready: list[tuple[int, QueryTurn]] = []  # rank, turn
        self._planned: dict[int, QueryTurn] = {}  # entity id -> the turn that counts
        self._is_ready: set[int] = set()
        self._on_hold: set[int] = set()  # due, and skipped for a while
        self._since: dict[int, int] = {}  # entity id -> the tick in which it became ready

    def __len__(self) -> int:
        return len(self._planned)

    def __contains__(self, entity_id: int) -> bool:
        return entity_id in self._planned

    @property
    def ready(self) -> int:
        """The number of agents that are due and not asked yet."""
        return len(self._is_ready)

    @property
    def held(self) -> int:
        """The number of agents that are due and skipped for a while."""
        return len(self._on_hold)

    def put(self, entity_id: int, due_tick: Any, priority: Any, head_start: int = 0) -> None:
        """Schedule an agent for a tick, instead of its earlier one.

        Raises `TypeError` if either is no whole number: one NaN would put the whole heap out of order.
        """
        if not (isinstance(due_tick, int) and isinstance(priority, int)):
            raise TypeError(f"ticks and priorities must be whole numbers, not {due_tick!r} and {priority!r}")
        turn = QueryTurn(-priority, due_tick, entity_id, head_start)
        if self._planned.get(entity_id) == turn:
            return
        self.drop(entity_id)
        self._planned[entity_id] = turn
        heapq.heappush(self._waiting, (due_tick, turn))
        if len(self._waiting) > 2 * len(self._planned) + _FEW:
            self._clean_up_waiting()

    def is_planned(self, entity_id: int, due_tick: int, priority: int) -> bool:
        """Return whether an agent is scheduled for just that tick."""
        turn = self._planned.get(entity_id)
        return turn is not None and turn[1] == due_tick and turn[0] == -priority

    def press(self, entity_id: int, head_start: int) -> None:
        """Give a due agent that waits a head start; it keeps its age. An agent on hold is scheduled once more."""
        turn = self._planned.get(entity_id)
        if turn is None or turn.head_start >= head_start:
            return
        pressing = self._planned[entity_id] = turn._replace(head_start=head_start)
        if entity_id in self._is_ready:
            self._make_ready(pressing)
        else:
            heapq.heappush(self._waiting, (pressing.due_tick, pressing))

    def drop(self, entity_id: int) -> None:
        """Forget an agent."""
        self._planned.pop(entity_id, None)
        self._is_ready.discard(entity_id)
        self._on_hold.discard(entity_id)
        self._since.pop(entity_id, None)

    def clear(self) -> None:
        """Forget all agents."""
        self._waiting.clear()
        self._ready.clear()
        self._planned.clear()
        self._is_ready.clear()
        self._on_hold.clear()
        self._since.clear()

    def advance(self, tick: int, *, most: int = MOST_MOVES_PER_TICK) -> None:
        """Move the agents that are due by now to the ready ones, the longest due first."""
        waiting = self._waiting
        moves = 0
        while waiting and waiting[0][0] <= tick and moves < most:
            turn = heapq.heappop(waiting)[1]
            if self._planned.get(turn.entity_id) == turn and turn.entity_id not in self._is_ready:
                self._on_hold.discard(turn.entity_id)
                self._since.setdefault(turn.entity_id, tick)
                self._make_ready(turn)
            moves += 1

    def take(self) -> QueryTurn | None:
        """Return the next agent that is due; the caller puts it back or asks it."""
        while self._ready:
            turn = heapq.heappop(self._ready)[1]
            if turn.entity_id in self._is_ready and self._planned[turn.entity_id] == turn:
                self._is_ready.discard(turn.entity_id)
                del self._planned[turn.entity_id]
                return turn
        return None

    def put_back(self, turn: QueryTurn) -> None:
        """Put a taken agent back for later, with its age."""
        self._planned[turn.entity_id] = turn
        self._make_ready(turn)

    def hold(self, turn: QueryTurn, until_tick: int) -> None:
        """Skip a taken agent until a later tick, with its age."""
        self._planned[turn.entity_id] = turn
        self._on_hold.add(turn.entity_id)
        heapq.heappush(self._waiting, (until_tick, turn))

    def asked(self, entity_id: int, tick: int) -> int:
        """Note that a taken agent is asked; return the number of ticks that it waited."""
        return tick - self._since.pop(entity_id, tick)

    def _make_ready(self, turn: QueryTurn) -> None:
        heapq.heappush(self._ready, (self._rank(turn), turn))
        self._is_ready.add(turn.entity_id)
        if len(self._ready) > 2 * len(self._is_ready) + _FEW:
            turns = [self._planned[entity_id] for entity_id in self._is_ready]
            self._ready = [(self._rank(turn), turn) for turn in turns]
            heapq.heapify(self._ready)

    def _rank(self, turn: QueryTurn) -> int:
        """Return the rank: the lower, the sooner; among equals the turn itself decides."""
        if self._aging_ticks is None:
            return 2 * turn.minus_priority - (turn.head_start > 0)
        return self._since[turn.entity_id] + turn.minus_priority * self._aging_ticks - turn.head_start

    def _clean_up_waiting(self) -> None:
        kept: dict[QueryTurn, int] = {}  # turn -> its last scheduled tick
        for tick, turn in self._waiting:
            if self._planned.get(turn.entity_id) == turn and turn.entity_id not in self._is_ready:
                kept[turn] = max(tick, kept.get(turn, tick))
        self._waiting = [(tick, turn) for turn, tick in kept.items()]
        heapq.heapify(self._waiting)

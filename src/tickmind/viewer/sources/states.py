"""Agents' states at a tick, live and recorded."""

from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from tickmind.base import Limit
from tickmind.protocol import AgentState
from tickmind.viewer.frames import holding
from tickmind.viewer.sources.source import LATE_TICKS

if TYPE_CHECKING:
    from tickmind.protocol import AgentStatus
    from tickmind.record import RunReader

MAX_HOLDING = Limit("number of agents' states in a frame", 32_768)
MAX_KEPT = Limit("number of ticks with cached states", 64)


class AgentStates:
    """The state of each agent by its reports. Agents that run as usual are left out."""

    def __init__(self, actor_rows: Mapping[str, int], known: "Mapping[int, AgentStatus] | None" = None) -> None:
        self._rows = actor_rows
        self._known = dict(known or {})  # actor row -> its agent's last state, unless it runs as usual

    def take(self, statuses: "Iterable[AgentStatus]") -> None:
        """Update from reports; of each agent the newest comes last."""
        for status in statuses:
            row = self._rows.get(status.entity_id)
            if row is None:
                continue
            if status.state is AgentState.RUNNING and not status.detail:
                self._known.pop(row, None)
            else:
                self._known[row] = status

    def copy(self) -> "AgentStates":
        """Return an independent copy."""
        return AgentStates(self._rows, self._known)

    def frame(self, tick_id: int, sim_time_ms: int) -> bytes:
        """Make the frame of the states after a tick; of too many, agents that wait for a model come first."""
        order = sorted(self._known.items(), key=lambda entry: (entry[1].state is not AgentState.DELIBERATING, entry[0]))
        return holding(tick_id, sim_time_ms, islice(order, int(MAX_HOLDING.maximum)))


class RecordedStates:
    """The states of agents at any tick of a run. Requested states are cached to continue from."""

    def __init__(self, reader: "RunReader", actor_rows: Mapping[str, int]) -> None:
        self._reader = reader
        self._at_start = AgentStates(actor_rows)
        self._marks: list[int] = []  # ticks, ascending
        self._kept: dict[int, AgentStates] = {}  # tick -> the states after it

    def __len__(self) -> int:
        return len(self._kept)

    def after(self, tick_id: int) -> AgentStates:
        """Return the states after a tick, as a copy for the caller."""
        place = bisect_right(self._marks, tick_id)
        mark = self._marks[place - 1] if place else None
        states = (self._at_start if mark is None else self._kept[mark]).copy()
        if mark != tick_id:
            reports = self._reader.statuses(None if mark is None else mark + 1, tick_id + LATE_TICKS)
            states.take(status for status in reports if status.tick_id <= tick_id)
            self.keep(tick_id, states)
        return states

    def keep(self, tick_id: int, states: AgentStates) -> None:
        """Cache the states after a tick, unless later reports about it may come."""
        reader = self._reader
        if tick_id in self._kept or not (reader.meta.finished or tick_id + LATE_TICKS <= (reader.last_tick_id or 0)):
            return
        insort(self._marks, tick_id)
        self._kept[tick_id] = states.copy()
        if not MAX_KEPT.allows(len(self._marks)):
            for mark in self._marks[1::2]:
                del self._kept[mark]
            del self._marks[1::2]

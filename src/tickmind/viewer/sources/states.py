"""Which state each agent is in at a tick, live and on record alike."""

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

MAX_HOLDING = Limit("number of agents whose state a frame tells", 32_768)
MAX_KEPT = Limit("number of ticks of which all states are kept", 64)


class AgentStates:
    """The state of each agent by what was told up to now. Those that run as usual need no mention."""

    def __init__(self, actor_rows: Mapping[str, int], known: "Mapping[int, AgentStatus] | None" = None) -> None:
        self._rows = actor_rows
        self._known = dict(known or {})  # actor row -> what its agent told last, unless that it runs as usual

    def take(self, statuses: "Iterable[AgentStatus]") -> None:
        """Go on by what agents told; of each the newest comes last."""
        for status in statuses:
            row = self._rows.get(status.entity_id)
            if row is None:
                continue
            if status.state is AgentState.RUNNING and not status.detail:
                self._known.pop(row, None)
            else:
                self._known[row] = status

    def copy(self) -> "AgentStates":
        """The same states, to go on from apart."""
        return AgentStates(self._rows, self._known)

    def frame(self, tick_id: int, sim_time_ms: int) -> bytes:
        """The frame that tells the states after a tick; of too many, those who ask a model come first."""
        order = sorted(self._known.items(), key=lambda entry: (entry[1].state is not AgentState.DELIBERATING, entry[0]))
        return holding(tick_id, sim_time_ms, islice(order, int(MAX_HOLDING.maximum)))


class RecordedStates:
    """The states of agents at any tick of a run. Those that were wanted before are kept to go on from."""

    def __init__(self, reader: "RunReader", actor_rows: Mapping[str, int]) -> None:
        self._reader = reader
        self._nobody = AgentStates(actor_rows)
        self._marks: list[int] = []  # ticks, ascending
        self._kept: dict[int, AgentStates] = {}  # tick -> the states after it

    def __len__(self) -> int:
        return len(self._kept)

    def after(self, tick_id: int) -> AgentStates:
        """The states after a tick, which are the caller's own."""
        place = bisect_right(self._marks, tick_id)
        mark = self._marks[place - 1] if place else None
        states = (self._nobody if mark is None else self._kept[mark]).copy()
        if mark != tick_id:
            told = self._reader.statuses(None if mark is None else mark + 1, tick_id + LATE_TICKS)
            states.take(status for status in told if status.tick_id <= tick_id)
            self.keep(tick_id, states)
        return states

    def keep(self, tick_id: int, states: AgentStates) -> None:
        """Keep the states after a tick, unless more may be told of it."""
        reader = self._reader
        if tick_id in self._kept or not (reader.meta.finished or tick_id + LATE_TICKS <= (reader.last_tick_id or 0)):
            return
        insort(self._marks, tick_id)
        self._kept[tick_id] = states.copy()
        if not MAX_KEPT.allows(len(self._marks)):
            for mark in self._marks[1::2]:
                del self._kept[mark]
            del self._marks[1::2]

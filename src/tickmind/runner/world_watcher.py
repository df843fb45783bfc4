"""The world watcher: what a runner knows of characters: presence, control, actions and errors. Pure."""

from collections import Counter
from dataclasses import dataclass

from tickmind.protocol import ACTION_TYPES, AgentState, AgentStatus, LifecycleEvent, LifecycleKind, WorldInfo
from tickmind.wire import ViewerEvent

COUNTED = ("observations", "intents", "refused", "thoughts", "failed_thoughts", "dropped_reports")


@dataclass(slots=True)
class SeenCharacter:
    """One character as it was last seen."""

    controlled: bool = False
    played: bool = False  # by a person, who may stand still as long as it likes
    last_action: str = ""
    last_tick: int = 0  # of that action
    missed: int = 0  # ticks in a row under control without an action
    thinking: bool = False
    last_error: str = ""  # the last error that its agent reported


class WorldWatcher:
    """Keeps what the world's streams report; gaps in them count for nothing."""

    def __init__(self) -> None:
        self._seen: dict[str, SeenCharacter] = {}  # entity id -> character
        self._names: tuple[str, ...] = ()  # actor row -> id
        self._last_counts: dict[str, dict[str, int]] = {}  # entity id -> what its agent has counted since its start
        self.reported: dict[str, Counter[str]] = {}
        """Entity id -> what its agents have counted since the runner began."""
        self.tick_id = 0
        self.tick_s = 0.0  # how long a tick lasts; 0 before the world was seen
        self.refused = ""  # why the world that answers can't be used; empty if it can, or if none answers
        self.opened_s: float | None = None  # when the tick before the last one was seen to end; None before the second
        self.ticked_s: float | None = None  # when the last tick was seen to end; None before the first

    def of(self, entity_id: str) -> SeenCharacter:
        """Return one character as it was last seen."""
        return self._seen.setdefault(entity_id, SeenCharacter())

    def enter(self, world: WorldInfo) -> None:
        """Learn the names of the rows, and the pace."""
        self._names = tuple(actor.entity_id for actor in world.actors)
        self.tick_s = world.tick_duration_ms / 1000
        self.refused = ""

    def lifecycle(self, event: LifecycleEvent) -> None:
        """Handle a lifecycle event."""
        entity_id = event.entity.entity_id
        if event.kind is LifecycleKind.DESPAWNED:
            self._seen.pop(entity_id, None)
        elif event.kind in (LifecycleKind.CONTROLLED, LifecycleKind.UNCONTROLLED):
            self.control(entity_id, controlled=event.kind is LifecycleKind.CONTROLLED)
        elif event.kind in (LifecycleKind.PLAYED, LifecycleKind.UNPLAYED):
            self.of(entity_id).played = event.kind is LifecycleKind.PLAYED
            self.of(entity_id).missed = 0

    def control(self, entity_id: str, *, controlled: bool) -> None:
        """Record whether a character has a controller."""
        seen = self.of(entity_id)
        seen.controlled = controlled
        seen.missed = 0
        seen.thinking = seen.thinking and controlled
        seen.last_error = seen.last_error if controlled else ""

    def tick(self, event: ViewerEvent, now_s: float) -> None:
        """Handle the end of a tick."""
        acted: set[str] = set()
        for row, action in zip(event.results.actor.tolist(), event.results.action.tolist(), strict=True):
            name = self._names[row]
            seen = self.of(name)
            seen.last_action, seen.last_tick, seen.missed = ACTION_TYPES[action], event.tick_id, 0
            acted.add(name)
        for status in event.statuses:
            self.count(status)
            seen = self.of(status.entity_id)
            seen.thinking, seen.last_error = status.state is AgentState.DELIBERATING, status.detail
        for report in event.thoughts:
            self.of(report.entity_id).thinking = False
        if event.tick_id == self.tick_id + 1:
            for name, seen in self._seen.items():
                if seen.controlled and not seen.played and name not in acted:
                    seen.missed += 1
        self.tick_id, self.opened_s, self.ticked_s = event.tick_id, self.ticked_s, now_s

    def count(self, status: AgentStatus) -> None:
        """Add what an agent has counted since its last report; its counts begin anew with its process."""
        last = self._last_counts.get(status.entity_id, {})
        counts = {field: getattr(status, field) for field in COUNTED}
        began_anew = any(counts[field] < last.get(field, 0) for field in COUNTED)
        totals = self.reported.setdefault(status.entity_id, Counter())
        totals.update(counts if began_anew else {field: counts[field] - last.get(field, 0) for field in COUNTED})
        self._last_counts[status.entity_id] = counts

    def is_ticking(self, now_s: float) -> bool:
        """Whether the world goes on, as far as is known."""
        return self.ticked_s is not None and now_s - self.ticked_s < max(1.0, 3 * self.tick_s)

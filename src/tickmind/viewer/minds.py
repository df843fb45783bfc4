"""What is known of characters' minds and needs at a tick, in the form that the page reads."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tickmind.base import Limit
from tickmind.protocol import NeedColumns

if TYPE_CHECKING:
    from tickmind.wire import Insight

LOOK_BACK_TICKS = 96  # everything about a mind is told more often than that
NEED_TICKS = 320  # of needs, for the curve of one character
MAX_MIND_CHARS = Limit("length of all insights that are kept", 32_000_000, "characters")
MAX_NEED_ENTRIES = Limit("number of energies and hungers that are kept", 4_000_000)


def shown_insight(insight: "Insight") -> dict[str, Any]:
    """An insight as the page reads it; values of the Blackboard stay JSON."""
    return {
        "tick": insight.tick_id,
        "whole": insight.whole,
        "tree": [[line.depth, line.text] for line in insight.tree],
        "ran": None if insight.node_statuses is None else list(insight.node_statuses),
        "board": [[entry.key, entry.value_json] for entry in insight.board],
        "gone": insight.gone_keys,
        "memories": [[note.tick_id, note.text, note.about, note.importance] for note in insight.memories],
    }


def shown_mind(insights: "Iterable[Insight]", needs: Sequence[tuple[int, int, int]]) -> dict[str, Any]:
    """What is shown of one character: its insights from the last whole one on, and its needs."""
    found: list[Insight] = []
    for insight in sorted(insights, key=lambda one: one.tick_id):
        if insight.whole:
            found.clear()
        found.append(insight)
    return {"insights": [shown_insight(insight) for insight in found], "needs": needs}


def needs_of(row: int, told: Iterable[tuple[int, NeedColumns]]) -> list[tuple[int, int, int]]:
    """Tick, energy and hunger of one actor, wherever they were told."""
    found = []
    for tick_id, needs in told:
        at = int(np.searchsorted(needs.actor, row))
        if at < len(needs.actor) and needs.actor[at] == row:
            found.append((tick_id, int(needs.energy[at]), int(needs.hunger[at])))
    return found


class NeedsNow:
    """The needs of all actors, as far as they were told by now."""

    def __init__(self, actors: int) -> None:
        self._needs = np.full((2, actors), np.nan)
        self._means: tuple[float, float] | None = None

    def take(self, needs: NeedColumns | None) -> tuple[float, float] | None:
        """Go on by what a tick told; gives the means of energy and hunger, or None as long as nothing is known."""
        if needs is not None:
            self._needs[:, needs.actor] = needs.energy, needs.hunger
            known = self._needs[:, ~np.isnan(self._needs[0])]
            self._means = (float(known[0].mean()), float(known[1].mean())) if known.size else None
        return self._means


class Minds:
    """What agents showed of minds and what was told of needs lately, of a live world; the oldest goes first."""

    def __init__(self, actor_rows: Mapping[str, int]) -> None:
        self._rows = actor_rows
        self._order: deque[tuple[int, int]] = deque()  # actor row and length of each insight, oldest first
        self._insights: dict[int, deque[Insight]] = {}  # actor row -> its insights
        self._chars = 0
        self._told: deque[tuple[int, NeedColumns]] = deque()
        self._entries = 0

    def add(self, insights: "Iterable[Insight]") -> None:
        """Keep what agents showed."""
        for insight in insights:
            row = self._rows.get(insight.entity_id)
            if row is None:
                continue
            self._insights.setdefault(row, deque()).append(insight)
            self._order.append((row, insight.chars + 1))
            self._chars += insight.chars + 1
        while not MAX_MIND_CHARS.allows(self._chars):
            row, chars = self._order.popleft()
            self._insights[row].popleft()
            self._chars -= chars

    def add_needs(self, tick_id: int, needs: NeedColumns | None) -> None:
        """Keep what was told of needs in a tick."""
        if needs is None:
            return
        self._told.append((tick_id, needs))
        self._entries += len(needs.actor)
        while not MAX_NEED_ENTRIES.allows(self._entries):
            self._entries -= len(self._told.popleft()[1].actor)

    def of(self, row: int, last_tick: int) -> dict[str, Any]:
        """What is shown of one character at a tick."""
        insights = (
            one for one in self._insights.get(row, ()) if last_tick - LOOK_BACK_TICKS <= one.tick_id <= last_tick
        )
        told = ((tick, needs) for tick, needs in self._told if last_tick - NEED_TICKS <= tick <= last_tick)
        return shown_mind(insights, needs_of(row, told))

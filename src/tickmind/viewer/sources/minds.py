"""Characters' minds and needs at a tick, in the form that the page reads."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from typing import TYPE_CHECKING, Any

import numpy as np

from tickmind.base import Limit
from tickmind.protocol import NeedColumns
from tickmind.viewer.sources.bundles import Bundles
from tickmind.viewer.sources.shelf import LiveReportHistory

if TYPE_CHECKING:
    from tickmind.protocol import Insight
    from tickmind.protocol.columns import Int32

LOOK_BACK_TICKS = 96  # every part of a mind is reported more often than that
NEED_TICKS = 320  # of needs, for the curve of one character
MAX_MIND_BYTES = Limit("memory for insights of a live world", 4 * 1024 * 1024, "bytes")
MAX_NEED_BYTES = Limit("memory for needs of a live world", 32 * 1024 * 1024, "bytes")


def shown_insight(insight: "Insight") -> dict[str, Any]:
    """Return an insight in the form of the page; values of the Blackboard stay JSON."""
    return {
        "tick": insight.tick_id,
        "whole": insight.whole,
        "tree": [[line.depth, line.text] for line in insight.tree],
        "ran": None if insight.node_statuses is None else list(insight.node_statuses),
        "board": [[entry.key, entry.value_json] for entry in insight.board],
        "gone": list(insight.gone_keys),
        "memories": [[*astuple(note)[:-1], list(note.evidence)] for note in insight.memories],
    }


def shown_mind(insights: Iterable[dict[str, Any]], needs: Sequence[tuple[int, ...]]) -> dict[str, Any]:
    """Return one character's mind: its insights from the last whole one on, and its needs."""
    shown: list[dict[str, Any]] = []
    for insight in sorted(insights, key=lambda one: one["tick"]):
        if insight["whole"]:
            shown.clear()
        shown.append(insight)
    return {"insights": shown, "needs": needs}


def needs_of(row: int, recorded: Iterable[tuple[int, NeedColumns]]) -> list[tuple[int, ...]]:
    """Return tick, energy, hunger and own needs of one actor, where they were recorded."""
    rows = []
    for tick_id, needs in recorded:
        at = int(np.searchsorted(needs.actor, row))
        if at < len(needs.actor) and needs.actor[at] == row:
            own = () if needs.own is None else needs.own[at].tolist()
            rows.append((tick_id, int(needs.energy[at]), int(needs.hunger[at]), *own))
    return rows


class NeedsNow:
    """The needs of all actors, as far as they are known."""

    def __init__(self, actors: int) -> None:
        self._needs = np.full((2, actors), np.nan)
        self._means: tuple[float, float] | None = None
        self._gone = b""  # the rows of actors that were away

    def take(self, needs: NeedColumns | None, away: "Int32 | None" = None) -> tuple[float, float] | None:
        """Update from a tick; return the means of energy and hunger, or None as long as nothing is known.

        `away` are the rows of actors that are not in the world: what they need counts when they come back.
        """
        if needs is not None:
            self._needs[:, needs.actor] = needs.energy, needs.hunger
        gone = b"" if away is None else away.tobytes()
        if needs is not None or gone != self._gone:
            self._gone = gone
            known = ~np.isnan(self._needs[0])
            if away is not None:
                known[away] = False
            means = self._needs[:, known].mean(axis=1).tolist() if known.any() else None
            self._means = None if means is None else (means[0], means[1])
        return self._means


class Minds:
    """Recent insights and needs of a live world; the oldest are dropped first."""

    def __init__(self, actor_rows: Mapping[str, int], own_needs: int = 0) -> None:
        self._rows = actor_rows
        self._own_needs = own_needs  # how many the world declares
        self._insights = LiveReportHistory(MAX_MIND_BYTES)
        self._needs = Bundles(MAX_NEED_BYTES)

    def add(self, insights: "Iterable[Insight]") -> None:
        """Add agents' insights."""
        for insight in insights:
            row = self._rows.get(insight.entity_id)
            if row is not None:
                self._insights.add(row, insight.tick_id, shown_insight(insight))

    def add_needs(self, tick_id: int, needs: NeedColumns | None) -> None:
        """Add the needs of a tick."""
        if needs is None:
            return
        own = b"" if needs.own is None else needs.own.tobytes()
        self._needs.add(tick_id, b"".join((needs.actor.tobytes(), needs.energy.tobytes(), needs.hunger.tobytes(), own)))

    def of(self, row: int, last_tick: int) -> dict[str, Any]:
        """Return one character's mind at a tick."""
        insights = list(self._insights.newest(row, last_tick - LOOK_BACK_TICKS, last_tick))
        recorded = list(self._needs.newest(last_tick - NEED_TICKS, last_tick))
        return shown_mind(
            reversed(insights), needs_of(row, ((tick_id, self._columns(part)) for tick_id, part in reversed(recorded)))
        )

    def _columns(self, kept: memoryview) -> NeedColumns:
        count = len(kept) // (8 + 2 * self._own_needs)
        values = np.frombuffer(kept, np.int16, offset=4 * count)
        own = values[2 * count :].reshape(count, self._own_needs) if self._own_needs else None
        return NeedColumns(np.frombuffer(kept, np.int32, count), values[:count], values[count : 2 * count], own)

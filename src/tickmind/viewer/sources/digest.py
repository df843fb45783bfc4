"""The digest: a few numbers for each tick, for the timeline's marks and the charts."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from tickmind.base import Limit
from tickmind.protocol import ACTION_CODES, ActionType, ActorColumns, ActorStatus, ResultColumns

if TYPE_CHECKING:
    from tickmind.protocol import ThoughtReport
    from tickmind.record import TickCounts

MAX_DIGEST_TICKS = Limit("number of ticks in a digest", 20_000_000)
MOST_BUCKETS = 1000
COUNTS = ("said", "failed", "acted", "answers", "outages", "latency_s", "cost_usd", "tokens")  # add up in a bucket
LEVELS = (
    "awake",
    "asleep",
    "uncontrolled",
    "incapacitated",
    "gap_ms",
    "energy",
    "hunger",
)  # the mean of a bucket counts
COLUMNS = (*COUNTS, *LEVELS)
_AT = {name: place for place, name in enumerate(COLUMNS)}
_WAIT, _MOVE, _SAY = (ACTION_CODES[kind] for kind in (ActionType.WAIT, ActionType.MOVE, ActionType.SAY))


class Digest:
    """Grows with a run. Ticks that were never added count as empty."""

    def __init__(self, first_tick_id: int) -> None:
        self.first_tick_id = first_tick_id
        self._rows = np.zeros((1024, len(COLUMNS)), dtype=np.float32)  # tick - first -> numbers
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add_tick(
        self, tick_id: int, actors: ActorColumns, results: ResultColumns, said: int, gap_ms: float = 0.0
    ) -> None:
        """Count one tick."""
        row = self._row(tick_id)
        if row is None:
            return
        present, action = actors.present, results.action
        bits = actors.status_bits[present]
        asleep = np.count_nonzero(bits & ActorStatus.ASLEEP)
        row[_AT["said"]] = said
        row[_AT["failed"]] = np.count_nonzero(results.reason)
        row[_AT["acted"]] = np.count_nonzero(
            (action != _WAIT) & (action != _MOVE) & (action != _SAY) & (results.reason == 0)
        )
        row[_AT["asleep"]] = asleep
        row[_AT["awake"]] = len(bits) - asleep
        row[_AT["uncontrolled"]] = np.count_nonzero(bits & ActorStatus.UNCONTROLLED)
        row[_AT["incapacitated"]] = np.count_nonzero(bits & ActorStatus.INCAPACITATED)
        row[_AT["gap_ms"]] = gap_ms

    def add_counts(self, counts: "TickCounts") -> None:
        """Add a tick of a record whose states and actions are already counted."""
        row = self._row(counts.tick_id)
        if row is None:
            return
        row[_AT["said"]] = counts.said
        row[_AT["failed"]] = counts.failed
        row[_AT["acted"]] = counts.done.sum() - counts.done[[_WAIT, _MOVE, _SAY]].sum()
        row[_AT["asleep"]] = counts.asleep
        row[_AT["awake"]] = counts.actors - counts.asleep
        row[_AT["uncontrolled"]] = counts.uncontrolled
        row[_AT["incapacitated"]] = counts.incapacitated

    def add_needs(self, tick_id: int, means: tuple[float, float] | None) -> None:
        """Add the mean energy and hunger after a tick, if they are known."""
        row = self._row(tick_id)
        if row is not None and means is not None:
            row[_AT["energy"]], row[_AT["hunger"]] = means

    def add_thoughts(self, reports: "Iterable[ThoughtReport]") -> None:
        """Count model answers, each in its own tick; one of a later tick than exists counts in the last."""
        newest = self.first_tick_id + self._count - 1
        for report in reports:
            row = self._row(min(report.tick_id, newest))
            if row is None:
                continue
            thought = report.thought
            row[_AT["outages" if thought.error_type else "answers"]] += 1
            row[_AT["latency_s"]] += thought.latency_s
            row[_AT["cost_usd"]] += thought.cost_usd or 0.0
            row[_AT["tokens"]] += (thought.prompt_tokens or 0) + (thought.completion_tokens or 0)

    def shown(self, *, most_buckets: int = MOST_BUCKETS) -> dict[str, Any]:
        """Return everything in at most so many buckets of `step` ticks each, for JSON."""
        step = max(1, -(-self._count // most_buckets))
        whole = self._count // step * step
        rows = self._rows[:whole].reshape(-1, step, len(COLUMNS)).astype(np.float64)
        sums, means = rows.sum(axis=1), rows.mean(axis=1)
        if whole < self._count:
            rest = self._rows[whole : self._count].astype(np.float64)
            sums, means = np.vstack([sums, rest.sum(axis=0)]), np.vstack([means, rest.mean(axis=0)])
        return {
            "first": self.first_tick_id,
            "step": step,
            "ticks": self._count,
            "columns": {
                name: np.round((sums if name in COUNTS else means)[:, place], 6).tolist()
                for place, name in enumerate(COLUMNS)
            },
        }

    def _row(self, tick_id: int) -> Any:
        at = tick_id - self.first_tick_id
        if at < 0 or not MAX_DIGEST_TICKS.allows(at + 1):
            return None
        if at >= len(self._rows):
            grown = np.zeros((max(at + 1, 2 * len(self._rows)), len(COLUMNS)), dtype=np.float32)
            grown[: self._count] = self._rows[: self._count]
            self._rows = grown
        self._count = max(self._count, at + 1)
        return self._rows[at]

"""The inbox: the intents of one tick, one per actor; the first one counts."""

from typing import TYPE_CHECKING, Any

import numpy as np

from tickmind.protocol import REASON_CODES, Intent, IntentColumns, Reason

if TYPE_CHECKING:
    from tickmind.protocol.columns import Bool, Int32, UInt8

COLUMNS = ("actor", "action", "direction", "kind", "amount", "target")
DUPLICATE = REASON_CODES[Reason.DUPLICATE_INTENT]


class Inbox:
    """Takes intents while a tick is open. It does not know leases: its caller has checked them.

    A tick stays open until it is closed, at the deadline or as soon after it as the server can, so an intent that
    arrived in time is never refused because the server was busy.
    """

    def __init__(self, actors: int) -> None:
        self._tick_id = 0
        self._open = False
        self.answered: Bool = np.zeros(actors, dtype=np.bool_)  # actor row -> whether there is an intent
        self._single: dict[int, Intent] = {}  # actor row -> intent
        self._batches: list[IntentColumns] = []

    @property
    def is_open(self) -> bool:
        """Whether intents are accepted."""
        return self._open

    @property
    def tick_id(self) -> int:
        """The tick opened last."""
        return self._tick_id

    def open(self, tick_id: int) -> None:
        """Open a tick, and drop what is left of another."""
        self._tick_id = tick_id
        self._open = True
        self.answered[:] = False
        self._single = {}
        self._batches = []

    def close(self) -> tuple[dict[int, Intent], list[IntentColumns]]:
        """Close the tick, and return all intents: single ones, and those in columns."""
        self._open = False
        intents = self._single, self._batches
        self._single, self._batches = {}, []
        return intents

    def check_tick(self, tick_id: int) -> Reason:
        """Return whether intents for a tick are accepted now, as a reason."""
        if tick_id > self._tick_id:
            return Reason.EARLY_TICK
        if tick_id < self._tick_id or not self._open:
            return Reason.LATE_TICK
        return Reason.NONE

    def offer(self, row: int, tick_id: int, intent: Intent) -> Reason:
        """Accept one intent, or return why not."""
        if reason := self.check_tick(tick_id):
            return reason
        if self.answered[row]:
            return Reason.DUPLICATE_INTENT
        self.answered[row] = True
        self._single[row] = intent
        return Reason.NONE

    def offer_many(self, tick_id: int, intents: IntentColumns) -> "UInt8":
        """Accept many intents; return a reason code for each."""
        if reason := self.check_tick(tick_id):
            return np.full(len(intents), REASON_CODES[reason], dtype=np.uint8)
        again = self.answered[intents.actor]
        self.answered[intents.actor] = True
        taken = select(intents, ~again) if again.any() else intents
        if len(taken):
            self._batches.append(taken)
        return np.where(again, DUPLICATE, 0).astype(np.uint8)

    def forget(self, rows: "Int32") -> None:
        """Drop the intents of these actors, so that no intent survives a change of control."""
        gone = rows[self.answered[rows]]
        self.answered[gone] = False
        batched = [row for row in gone.tolist() if self._single.pop(row, None) is None]
        if batched:
            kept = np.ones(len(self.answered), dtype=np.bool_)
            kept[batched] = False
            left = [select(batch, kept[batch.actor]) for batch in self._batches]
            self._batches = [batch for batch in left if len(batch)]


def select(intents: IntentColumns, kept: "Bool") -> IntentColumns:
    """Return the kept intents, with their texts and wishes."""
    moved_to = np.cumsum(kept) - 1  # old place -> new place, of those that are kept
    texts = {int(moved_to[place]): said for place, said in intents.texts.items() if kept[place]}
    wanted = {int(moved_to[place]): goods for place, goods in intents.wanted.items() if kept[place]}
    columns: dict[str, Any] = {name: getattr(intents, name)[kept] for name in COLUMNS}
    return IntentColumns(texts=texts, wanted=wanted, **columns)


def merge(parts: list[IntentColumns]) -> IntentColumns:
    """Merge all intents of a tick, in ascending rows; no actor is in two parts."""
    if len(parts) == 1:
        return parts[0]
    order = np.argsort(np.concatenate([part.actor for part in parts]), kind="stable")
    place_of = np.empty(len(order), dtype=np.int64)  # place in the concatenated parts -> place in the result
    place_of[order] = np.arange(len(order))
    texts: dict[int, tuple[str, str]] = {}
    wanted: dict[int, tuple[int, int]] = {}
    start = 0
    for part in parts:
        texts |= {int(place_of[start + place]): said for place, said in part.texts.items()}
        wanted |= {int(place_of[start + place]): goods for place, goods in part.wanted.items()}
        start += len(part)
    columns: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts])[order] for name in COLUMNS}
    return IntentColumns(texts=texts, wanted=wanted, **columns)

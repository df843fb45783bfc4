"""Gifts: items that one actor handed to another, for either side; an exchange is one each way.

They follow from the results of `Give` and `Accept` in the log, so nothing is written for them during a run.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tickmind.protocol import ACTION_CODES, ActionType, TickRecord
from tickmind.record.parquet.schemas import GIFTS

GIVEN, RECEIVED = "given", "received"
INVENTORY = "inventory."  # how the names of effects on inventories begin
_GIVE, _ACCEPT = ACTION_CODES[ActionType.GIVE], ACTION_CODES[ActionType.ACCEPT]


@dataclass(frozen=True, slots=True)
class Gift:
    """Items that one actor handed to another."""

    giver_id: str
    receiver_id: str
    item: str
    amount: int


def gifts_in(record: TickRecord) -> list[Gift]:
    """Return the gifts of a tick, in the order in which they were handed over."""
    return [
        Gift(actor, other, item, -by) if by < 0 else Gift(other, actor, item, by)
        for actor, other, item, by in handed_over(record)
    ]


def handed_over(record: TickRecord) -> Iterator[tuple[str, str, str, int]]:
    """Iterate over what actors handed over: an actor, the other, an item, and how many the first one has more."""
    results = record.results
    if not results.effects:  # mostly, and then it need not be searched
        return
    hands_over = ((results.action == _GIVE) | (results.action == _ACCEPT)) & (results.reason == 0)
    for place in np.flatnonzero(hands_over).tolist():
        other = results.target_ids.get(place, "")
        for effect in results.effects.get(place, ()) if other else ():
            if effect.name.startswith(INVENTORY) and (effect.value < 0 or results.action[place] == _ACCEPT):
                actor = record.actor_ids[int(results.actor[place])]
                yield actor, other, effect.name.removeprefix(INVENTORY), effect.value


def gifts_table(records: Sequence[TickRecord], run_id: str) -> pa.Table:
    """Make the rows of `gifts`: one for the giver and one for the receiver of each."""
    rows = [row for record in records for gift in gifts_in(record) for row in _sides(record.tick_id, gift)]
    columns = zip(*rows, strict=True) if rows else ([] for _ in GIFTS.schema.names[1:])
    arrays = [pa.array(column, kind) for column, kind in zip(columns, GIFTS.schema.types[1:], strict=True)]
    run_ids = pa.array([run_id] * len(rows), pa.string())
    return pa.Table.from_arrays([run_ids, *arrays], schema=GIFTS.schema).cast(GIFTS.written_schema)


def _sides(tick_id: int, gift: Gift) -> Iterator[tuple[int, str, str, str, str, int]]:
    yield tick_id, gift.giver_id, GIVEN, gift.receiver_id, gift.item, gift.amount
    yield tick_id, gift.receiver_id, RECEIVED, gift.giver_id, gift.item, gift.amount

"""Intents as columns: names become the numbers of a world."""

from collections.abc import Mapping

import numpy as np

from tickmind.protocol import (
    ACTION_CODES,
    ACTION_OF,
    UNKNOWN,
    UNUSED,
    Drop,
    Give,
    Intent,
    IntentColumns,
    Interact,
    Move,
    Pickup,
    Say,
    Use,
)
from tickmind.world.errors import BadIntentsError
from tickmind.world.tables import Tables

_LARGEST = 2**31 - 1


def compile_intents(tables: Tables, intents: Mapping[int, Intent]) -> IntentColumns:
    """Make columns of intents by actor row; a name that the world does not have becomes `UNKNOWN`."""
    rows = sorted(intents)
    count = len(rows)
    action = np.zeros(count, dtype=np.uint8)
    direction = np.full(count, UNUSED, dtype=np.int8)
    kind, amount, target = (np.full(count, UNUSED, dtype=np.int32) for _ in range(3))
    texts: dict[int, tuple[str, str]] = {}
    for place, row in enumerate(rows):
        intent = intents[row]
        action[place] = ACTION_CODES[ACTION_OF[type(intent)]]
        if isinstance(intent, Move):
            direction[place] = intent.direction
        elif isinstance(intent, Pickup | Use | Drop | Give):
            kind[place] = UNKNOWN if intent.item_id else tables.item_code.get(intent.kind, UNKNOWN)
            amount[place] = max(-1, min(intent.amount, _LARGEST))
            if isinstance(intent, Give):
                target[place] = tables.actor_row.get(intent.target_id, UNKNOWN)
        elif isinstance(intent, Interact):
            kind[place] = tables.verb_code.get(intent.verb, UNKNOWN)
            target[place] = tables.object_row.get(intent.target_id, UNKNOWN)
        elif isinstance(intent, Say):
            texts[place] = (intent.channel, intent.text)
    actor = np.array(rows, dtype=np.int64)
    if count and not 0 <= actor[0] <= actor[-1] < len(tables.actor_ids):
        raise BadIntentsError(f"rows of actors go from 0 to {len(tables.actor_ids) - 1}; look them up with row_of()")
    return IntentColumns(actor.astype(np.int32), action, direction, kind, amount, target, texts)


def check_intents(tables: Tables, intents: IntentColumns) -> None:
    """Raise `BadIntentsError` unless every actor is there at most once, in ascending rows, in columns of one length."""
    rows = intents.actor
    columns = (intents.action, intents.direction, intents.kind, intents.amount, intents.target)
    if any(len(column) != len(rows) for column in columns):
        raise BadIntentsError("all columns of intents have one length; build them together")
    if len(rows) and not (rows[0] >= 0 and rows[-1] < len(tables.actor_ids) and bool((rows[1:] > rows[:-1]).all())):
        raise BadIntentsError(
            f"rows of actors ascend, each once, from 0 to {len(tables.actor_ids) - 1}; sort and deduplicate them"
        )

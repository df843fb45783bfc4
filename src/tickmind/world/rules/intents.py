"""Compile and check intents as columns: names become the numbers of a world."""

from collections.abc import Mapping

import numpy as np

from tickmind.protocol import ACTION_OF, Intent, IntentColumns, compiling
from tickmind.world.errors import BadIntentsError
from tickmind.world.state.tables import Tables


def compile_intents(tables: Tables, intents: Mapping[int, Intent]) -> IntentColumns:
    """Make columns of intents by actor row; a name that the world does not have becomes `UNKNOWN`."""
    if not all(type(row) is int for row in intents):
        raise BadIntentsError("intents are by rows of actors, which are whole numbers; look them up with row_of()")
    for intent in intents.values():
        if type(intent) not in ACTION_OF:
            raise BadIntentsError(f"a {type(intent).__name__} is no intent; use Move, Wait and the others of protocol")
    if intents and not 0 <= min(intents) <= max(intents) < len(tables.actor_ids):
        raise BadIntentsError(f"rows of actors go from 0 to {len(tables.actor_ids) - 1}; look them up with row_of()")
    return compiling.compile_intents(tables, intents)


_TYPES = {
    "actor": np.dtype(np.int32),
    "action": np.dtype(np.uint8),
    "direction": np.dtype(np.int8),
    "kind": np.dtype(np.int32),
    "amount": np.dtype(np.int32),
    "target": np.dtype(np.int32),
}


def check_intents(tables: Tables, intents: IntentColumns) -> None:
    """Raise `BadIntentsError` unless every actor is there at most once, in ascending rows, in columns of one length."""
    rows = intents.actor
    for name, dtype in _TYPES.items():
        column = getattr(intents, name)
        if getattr(column, "dtype", None) != dtype or column.ndim != 1:
            raise BadIntentsError(f"the intents' column {name!r} must be one of {dtype} numbers; build it as that")
        if len(column) != len(rows):
            raise BadIntentsError("the columns of intents differ in length; build them together")
    if any(not isinstance(part, str) for said in intents.texts.values() for part in said):
        raise BadIntentsError("the intents' texts must be pairs of a channel and a text")
    if any(type(number) is not int or abs(number) >= 2**31 for goods in intents.wanted.values() for number in goods):
        raise BadIntentsError("what offers are for must be pairs of an item's code and an amount below 2**31")
    if len(rows) and not (rows[0] >= 0 and rows[-1] < len(tables.actor_ids) and bool((rows[1:] > rows[:-1]).all())):
        raise BadIntentsError(
            f"rows of actors must ascend, each once, from 0 to {len(tables.actor_ids) - 1}; sort and deduplicate them"
        )

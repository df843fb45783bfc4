"""Compile and check intents as columns: names become the numbers of a world."""

from collections.abc import Mapping

from tickmind.protocol import Intent, IntentColumns, compiling
from tickmind.world.errors import BadIntentsError
from tickmind.world.state.tables import Tables


def compile_intents(tables: Tables, intents: Mapping[int, Intent]) -> IntentColumns:
    """Make columns of intents by actor row; a name that the world does not have becomes `UNKNOWN`."""
    if intents and not 0 <= min(intents) <= max(intents) < len(tables.actor_ids):
        raise BadIntentsError(f"rows of actors go from 0 to {len(tables.actor_ids) - 1}; look them up with row_of()")
    return compiling.compile_intents(tables, intents)


def check_intents(tables: Tables, intents: IntentColumns) -> None:
    """Raise `BadIntentsError` unless every actor is there at most once, in ascending rows, in columns of one length."""
    rows = intents.actor
    columns = (intents.action, intents.direction, intents.kind, intents.amount, intents.target)
    if any(len(column) != len(rows) for column in columns):
        raise BadIntentsError("the columns of intents differ in length; build them together")
    if len(rows) and not (rows[0] >= 0 and rows[-1] < len(tables.actor_ids) and bool((rows[1:] > rows[:-1]).all())):
        raise BadIntentsError(
            f"rows of actors must ascend, each once, from 0 to {len(tables.actor_ids) - 1}; sort and deduplicate them"
        )

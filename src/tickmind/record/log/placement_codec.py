"""Codec of operators' orders, as a table of a tick's frame. The finished files keep it beside the intents."""

from collections.abc import Sequence

import pyarrow as pa

from tickmind.protocol import REASON_CODES, REASONS, Placement
from tickmind.protocol.record import MAX_PLACEMENTS
from tickmind.record.columns import batch
from tickmind.record.errors import DamagedRunError
from tickmind.record.log.log_schema import SCHEMAS, LogTable


def pack_placements(placements: Sequence[Placement], actor_ids: Sequence[str]) -> list[tuple[int, pa.RecordBatch]]:
    """Return the table of a tick's orders, none if there are no orders."""
    if not placements:
        return []
    MAX_PLACEMENTS.check(len(placements))
    rows = {actor_id: row for row, actor_id in enumerate(actor_ids)}
    columns = (
        [rows[order.actor_id] for order in placements],
        [order.x for order in placements],
        [order.y for order in placements],
        [REASON_CODES[order.reason] for order in placements],
    )
    return [(LogTable.PLACEMENTS, batch(SCHEMAS[LogTable.PLACEMENTS], *columns))]


def read_placements(batches: dict[int, pa.RecordBatch], actor_ids: Sequence[str]) -> tuple[Placement, ...]:
    """Decode the orders of a tick."""
    some = batches.get(LogTable.PLACEMENTS)
    if some is None:
        return ()
    if not MAX_PLACEMENTS.allows(some.num_rows) or any(column.null_count for column in some.columns):
        raise DamagedRunError("the log has orders of operators that no tick has; recover the run")
    rows = some.to_pylist()
    if any(not 0 <= row["row"] < len(actor_ids) or row["reason"] >= len(REASONS) for row in rows):
        raise DamagedRunError("the log has an order for an unknown actor, or of an unknown outcome; recover the run")
    return tuple(Placement(actor_ids[row["row"]], row["x"], row["y"], REASONS[row["reason"]]) for row in rows)

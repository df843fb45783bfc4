"""Where actors went: a byte for each, where a byte is enough."""

import numpy as np
import pyarrow as pa

from tickmind.protocol import ActorColumns
from tickmind.record.columns import Column, batch, numbers
from tickmind.record.errors import DamagedRunError
from tickmind.record.log_schema import SCHEMAS, Table

_STILL = 4  # the step (dy + 1) * 3 + dx + 1 of an actor that stays
_FACINGS = 8
_FEW = 5  # one in so many changed: then their rows are written too


def same_shape(one: ActorColumns, other: ActorColumns) -> bool:
    """Whether both have as many actors."""
    return len(one.x) == len(other.x)


def keyframe(state: ActorColumns) -> list[tuple[int, pa.RecordBatch]]:
    """All actors as they are."""
    columns = (state.x, state.y, state.status_bits, state.facing)
    return [(Table.KEYFRAME, batch(SCHEMAS[Table.KEYFRAME], *columns))]


def steps(before: ActorColumns, now: ActorColumns) -> list[tuple[int, pa.RecordBatch]]:
    """What changed between two ticks."""
    dx, dy = now.x - before.x, now.y - before.y
    code = (((dy + 1) * 3 + (dx + 1)) * _FACINGS + now.facing).astype(np.uint8)
    odd = (now.status_bits != before.status_bits) | (np.abs(dx) > 1) | (np.abs(dy) > 1)
    odd |= (now.facing < 0) | (now.facing >= _FACINGS)
    changed = (dx != 0) | (dy != 0) | (now.facing != before.facing) | odd
    found: list[tuple[int, pa.RecordBatch]] = []
    if np.count_nonzero(changed) * _FEW >= len(changed):
        if odd.any():
            code[odd] = _STILL * _FACINGS
        found.append((Table.STEPS, batch(SCHEMAS[Table.STEPS], code)))
    else:
        rows = np.flatnonzero(changed & ~odd).astype(np.int32)
        found.append((Table.SOME_STEPS, batch(SCHEMAS[Table.SOME_STEPS], rows, code[rows])))
    rows = np.flatnonzero(odd).astype(np.int32)
    columns = (now.x[rows], now.y[rows], now.status_bits[rows], now.facing[rows])
    found.append((Table.PLACED, batch(SCHEMAS[Table.PLACED], rows, *columns)))
    return found


def read_state(found: dict[int, pa.RecordBatch], before: ActorColumns | None, actors: int) -> ActorColumns:
    """All actors after a tick; `before` is needed unless it is a keyframe."""
    whole = found.get(Table.KEYFRAME)
    if whole is not None:
        columns = [numbers(whole, name) for name in ("x", "y", "status_bits", "facing")]
        if len(columns[0]) != actors:
            raise DamagedRunError(f"the log has {len(columns[0])} actors in a tick of a world with {actors}")
        return ActorColumns(*columns)
    if before is None:
        if actors:
            raise DamagedRunError("the log has no keyframe where there must be one")
        return ActorColumns(*(np.zeros(0, kind) for kind in (np.int32, np.int32, np.int32, np.int8)))
    x, y, status, facing = before.x, before.y, before.status_bits, before.facing
    if Table.STEPS in found:
        dx, dy, ways = _decode(numbers(found[Table.STEPS], "code"))
        if len(dx) != actors:
            raise DamagedRunError(f"the log has {len(dx)} actors in a tick of a world with {actors}")
        x, y, facing = x + dx, y + dy, ways
    elif Table.SOME_STEPS in found:
        some = found[Table.SOME_STEPS]
        rows = check_rows(numbers(some, "row"), actors)
        dx, dy, ways = _decode(numbers(some, "code"))
        x, y, facing = x.copy(), y.copy(), facing.copy()
        x[rows] += dx
        y[rows] += dy
        facing[rows] = ways
    if Table.PLACED in found:
        some = found[Table.PLACED]
        rows = check_rows(numbers(some, "row"), actors)
        x, y, status, facing = x.copy(), y.copy(), status.copy(), facing.copy()
        x[rows], y[rows] = numbers(some, "x"), numbers(some, "y")
        status[rows], facing[rows] = numbers(some, "status_bits"), numbers(some, "facing")
    return ActorColumns(x, y, status, facing)


_DX = np.array([(step % 3) - 1 for step in range(9) for _ in range(_FACINGS)] + [0] * 184, dtype=np.int32)
_DY = np.array([(step // 3) - 1 for step in range(9) for _ in range(_FACINGS)] + [0] * 184, dtype=np.int32)
_WAY = np.array([code % _FACINGS for code in range(256)], dtype=np.int8)


def _decode(code: Column) -> tuple[Column, Column, Column]:
    return _DX[code], _DY[code], _WAY[code]


def check_rows(rows: Column, count: int) -> Column:
    """The rows, if they ascend and are all there."""
    if len(rows) and not (rows[0] >= 0 and rows[-1] < count and bool((rows[1:] > rows[:-1]).all())):
        raise DamagedRunError("the log has rows that the world does not have")
    return rows

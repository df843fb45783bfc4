"""Codec of actors' movements: one byte each, where a byte suffices."""

import numpy as np
import pyarrow as pa

from tickmind.protocol import ActorColumns
from tickmind.record.columns import Column, batch, numbers
from tickmind.record.errors import DamagedRunError
from tickmind.record.log.log_schema import SCHEMAS, LogTable

_STILL = 4  # the step (dy + 1) * 3 + dx + 1 of an actor that stays
_LAST_STEP = 8
_FACINGS = 8
_FEW = 5  # fewer than one in so many changed: then their rows are written too


def keyframe(state: ActorColumns) -> list[tuple[int, pa.RecordBatch]]:
    """Return all actors' states."""
    columns = (state.x, state.y, state.status_bits, state.facing)
    return [(LogTable.KEYFRAME, batch(SCHEMAS[LogTable.KEYFRAME], *columns))]


def steps(before: ActorColumns, now: ActorColumns) -> list[tuple[int, pa.RecordBatch]]:
    """Return the changes between two ticks. Mostly no actor moved further than one tile, which is cheap to detect."""
    dx, dy = now.x - before.x, now.y - before.y
    odd = _odd(before, now, dx, dy)
    code = dy.astype(np.uint8)  # negative numbers wrap, and are positive again below
    code *= 3
    code += dx.astype(np.uint8)
    code += _STILL
    code *= _FACINGS
    code += now.facing.view(np.uint8)
    if odd is not None:
        code[odd] = 0  # PLACED holds all of them
    ways = before.facing.view(np.uint8)
    changed = code != ways + np.uint8(_STILL * _FACINGS)
    changed |= ways >= _FACINGS  # whose sum wraps, and may be the code of a step
    batches: list[tuple[int, pa.RecordBatch]] = []
    if np.count_nonzero(changed) * _FEW >= len(changed):
        batches.append((LogTable.STEPS, batch(SCHEMAS[LogTable.STEPS], code)))
    else:
        rows = np.flatnonzero(changed if odd is None else changed & ~odd).astype(np.int32)
        batches.append((LogTable.SOME_STEPS, batch(SCHEMAS[LogTable.SOME_STEPS], rows, code[rows])))
    if odd is not None:
        rows = np.flatnonzero(odd).astype(np.int32)
        columns = (now.x[rows], now.y[rows], now.status_bits[rows], now.facing[rows])
        batches.append((LogTable.PLACED, batch(SCHEMAS[LogTable.PLACED], rows, *columns)))
    return batches


def _odd(before: ActorColumns, now: ActorColumns, dx: Column, dy: Column) -> Column | None:
    """Return the actors whose change is no step, or None if there are none."""
    if not len(dx):
        return None
    ways = now.facing.view(np.uint8)
    near = dx.max() <= 1 and dx.min() >= -1 and dy.max() <= 1 and dy.min() >= -1
    same = now.status_bits is before.status_bits or np.array_equal(now.status_bits, before.status_bits)
    if near and same and ways.max() < _FACINGS:
        return None
    odd: Column = now.status_bits != before.status_bits
    odd |= (np.abs(dx) > 1) | (np.abs(dy) > 1) | (ways >= _FACINGS)
    return odd


def read_state(batches: dict[int, pa.RecordBatch], before: ActorColumns | None, actors: int) -> ActorColumns:
    """Return all actors after a tick; `before` is needed unless it is a keyframe."""
    whole = batches.get(LogTable.KEYFRAME)
    if whole is not None:
        columns = [numbers(whole, name) for name in ("x", "y", "status_bits", "facing")]
        if len(columns[0]) != actors:
            raise DamagedRunError(f"the log has {len(columns[0])} actors in a tick of a world with {actors}")
        return ActorColumns(*columns)
    if before is None:
        if actors:
            raise DamagedRunError("the log lacks a keyframe at the start of a segment; recover the run")
        empty = np.zeros(0, np.int32)
        return ActorColumns(empty, empty, empty, np.zeros(0, np.int8))
    x, y, status, facing = before.x, before.y, before.status_bits, before.facing
    if LogTable.STEPS in batches:
        dx, dy, ways = _decode(numbers(batches[LogTable.STEPS], "code"))
        if len(dx) != actors:
            raise DamagedRunError(f"the log has {len(dx)} actors in a tick of a world with {actors}")
        x, y, facing = x + dx, y + dy, ways
    elif LogTable.SOME_STEPS in batches:
        some = batches[LogTable.SOME_STEPS]
        rows = check_rows(numbers(some, "row"), actors)
        dx, dy, ways = _decode(numbers(some, "code"))
        x, y, facing = x.copy(), y.copy(), facing.copy()
        x[rows] += dx
        y[rows] += dy
        facing[rows] = ways
    if LogTable.PLACED in batches:
        some = batches[LogTable.PLACED]
        rows = check_rows(numbers(some, "row"), actors)
        x, y, status, facing = x.copy(), y.copy(), status.copy(), facing.copy()
        x[rows], y[rows] = numbers(some, "x"), numbers(some, "y")
        status[rows], facing[rows] = numbers(some, "status_bits"), numbers(some, "facing")
    return ActorColumns(x, y, status, facing)


def _decode(code: Column) -> tuple[Column, Column, Column]:
    """Return the steps along x and y, and the facings."""
    step = code >> np.uint8(3)
    if len(step) and step.max() > _LAST_STEP:
        raise DamagedRunError("the log has an invalid step; recover the run")
    down = step // np.uint8(3)
    step -= down * np.uint8(3)
    one = np.int8(1)
    return step.view(np.int8) - one, down.view(np.int8) - one, (code & np.uint8(7)).view(np.int8)


def check_rows(rows: Column, count: int) -> Column:
    """Return the rows, checked to ascend and to exist in the world."""
    if len(rows) and not (rows[0] >= 0 and rows[-1] < count and bool((rows[1:] > rows[:-1]).all())):
        raise DamagedRunError("the log has rows that the world does not have")
    return rows

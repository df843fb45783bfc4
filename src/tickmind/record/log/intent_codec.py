"""Codec of intents and results: one byte each, where a byte suffices."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tickmind.protocol import ACTION_CODES, ACTION_TYPES, UNUSED, ActionType, Effect, IntentColumns, ResultColumns
from tickmind.protocol.reason import REASONS
from tickmind.record.columns import Column, batch, numbers
from tickmind.record.errors import DamagedRunError
from tickmind.record.limits import most_events
from tickmind.record.log.log_schema import SCHEMAS, LogTable
from tickmind.record.log.steps import check_rows

_MOVE = ACTION_CODES[ActionType.MOVE]
_AHEAD = 63  # a move to where the actor faces after the tick, like nearly all moves
_WAYS = 64  # + direction: a move elsewhere
_DIRECTIONS = 8
_NOBODY = 255
_DETAILED = 255  # see INTENT_DETAILS
_FEW = 32  # fewer than one actor in so many has an intent: then rows take less space than bits
_FEW_FAIL = 8

Batches = list[tuple[int, pa.RecordBatch]]
INTENT_TABLES = (
    LogTable.INTENTS,
    LogTable.SOME_INTENTS,
    LogTable.INTENT_DETAILS,
    LogTable.INTENT_TEXTS,
    LogTable.INTENT_WISHES,
)


def pack_intents(intents: IntentColumns, facing: Column) -> tuple[bytes | None, Batches]:
    """Return the bits of acting actors, if that is shortest, and the tables; `facing` is that after the tick."""
    count, actors = len(intents), len(facing)
    if not count:
        return None, []
    batches: Batches = []
    code: Column | None
    if _plain_moves(intents) and facing.view(np.uint8).max() < _DIRECTIONS:
        code, asks = _pack_moves(intents, facing)
    else:
        code, batches = _pack_details(intents, facing)
        asks = np.zeros(actors, dtype=np.bool_)
        asks[intents.actor] = True
    if intents.texts:
        said = sorted(intents.texts.items())
        columns_of_texts = ([place for place, _ in said], [one for _, (one, _) in said], [one for _, (_, one) in said])
        batches.append((LogTable.INTENT_TEXTS, batch(SCHEMAS[LogTable.INTENT_TEXTS], *columns_of_texts)))
    if intents.wanted:
        wishes = [(place, *goods) for place, goods in sorted(intents.wanted.items())]
        batches.append((LogTable.INTENT_WISHES, batch(SCHEMAS[LogTable.INTENT_WISHES], *_transposed(wishes))))
    if count * _FEW < actors:
        codes = np.full(count, _AHEAD, dtype=np.uint8) if code is None else code
        batches.append((LogTable.SOME_INTENTS, batch(SCHEMAS[LogTable.SOME_INTENTS], intents.actor, codes)))
        return None, batches
    if code is not None:
        batches.append((LogTable.INTENTS, batch(SCHEMAS[LogTable.INTENTS], code)))
    if count == actors:
        return None, batches
    return np.packbits(asks).tobytes(), batches


def _plain_moves(intents: IntentColumns) -> bool:
    """Whether all are moves in a direction, without anything else."""
    if not (intents.action == _MOVE).all() or intents.direction.view(np.uint8).max() >= _DIRECTIONS:
        return False
    rest = (intents.kind, intents.amount, intents.target)
    return all(np.bitwise_and.reduce(column) == UNUSED for column in rest)  # which has all bits set


def _pack_moves(intents: IntentColumns, facing: Column) -> tuple[Column | None, Column]:
    """Return the codes of moves, or None if all go ahead, and which actors move."""
    ways = np.full(len(facing), _NOBODY, dtype=np.uint8)
    ways[intents.actor.astype(np.intp)] = intents.direction.view(np.uint8)
    asks, ahead = ways != _NOBODY, ways == facing.view(np.uint8)
    if np.count_nonzero(ahead) == len(intents):
        return None, asks
    ways += np.uint8(_WAYS)
    ways[ahead] = _AHEAD
    return ways[asks], asks


def _pack_details(intents: IntentColumns, facing: Column) -> tuple[Column, Batches]:
    """Return the codes of all kinds of intents, and a table of those without a code."""
    action, direction = intents.action, intents.direction
    ahead = direction == facing[intents.actor]
    moves = (action == _MOVE) & (direction >= 0) & (direction < _DIRECTIONS)
    code = np.where(moves, np.where(ahead, np.uint8(_AHEAD), direction.view(np.uint8) + np.uint8(_WAYS)), action)
    plain = (intents.kind == UNUSED) & (intents.amount == UNUSED) & (intents.target == UNUSED)
    plain &= moves | ((direction == UNUSED) & (action < _AHEAD))
    if plain.all():
        return code, []
    code[~plain] = _DETAILED
    places = np.flatnonzero(~plain).astype(np.int32)
    columns = (action, direction, intents.kind, intents.amount, intents.target)
    table = batch(SCHEMAS[LogTable.INTENT_DETAILS], places, *(column[places] for column in columns))
    return code, [(LogTable.INTENT_DETAILS, table)]


def read_intents(
    batches: Mapping[int, pa.RecordBatch], count: int, askers: bytes | None, facing: Column
) -> IntentColumns:
    """Restore the intents; `facing` is that after the tick."""
    rows, code = _rows_and_codes(batches, count, askers, len(facing))
    action, direction = _unpack_codes(code, facing[rows])
    kind, amount, target = (np.full(count, UNUSED, dtype=np.int32) for _ in range(3))
    if LogTable.INTENT_DETAILS in batches:
        some = batches[LogTable.INTENT_DETAILS]
        places = check_rows(numbers(some, "place"), count)
        action[places], direction[places] = numbers(some, "action"), numbers(some, "direction")
        for column, name in ((kind, "kind"), (amount, "amount"), (target, "target")):
            column[places] = numbers(some, name)
    texts: dict[int, tuple[str, str]] = {}
    if LogTable.INTENT_TEXTS in batches:
        some = batches[LogTable.INTENT_TEXTS]
        places = check_rows(numbers(some, "place"), count)
        pairs = zip(some.column("channel").to_pylist(), some.column("text").to_pylist(), strict=True)
        texts = dict(zip(places.tolist(), pairs, strict=True))
    wanted: dict[int, tuple[int, int]] = {}
    if LogTable.INTENT_WISHES in batches:
        some = batches[LogTable.INTENT_WISHES]
        places = check_rows(numbers(some, "place"), count)
        goods = zip(numbers(some, "kind").tolist(), numbers(some, "amount").tolist(), strict=True)
        wanted = dict(zip(places.tolist(), goods, strict=True))
    return IntentColumns(rows, action, direction, kind, amount, target, texts, wanted)


def _rows_and_codes(
    batches: Mapping[int, pa.RecordBatch], count: int, askers: bytes | None, actors: int
) -> tuple[Column, Column]:
    """Return the rows of a tick's intents, and their codes."""
    code: Column | None = None
    if LogTable.SOME_INTENTS in batches:
        rows = check_rows(numbers(batches[LogTable.SOME_INTENTS], "row"), actors)
        code = numbers(batches[LogTable.SOME_INTENTS], "code")
    elif not count and LogTable.INTENTS not in batches:
        rows = np.zeros(0, dtype=np.int32)
    else:
        rows = np.arange(actors, dtype=np.int32) if askers is None else rows_of_bits(askers, actors)
        code = numbers(batches[LogTable.INTENTS], "code") if LogTable.INTENTS in batches else None
    if code is None:
        code = np.full(len(rows), _AHEAD, dtype=np.uint8)
    if len(code) != count or len(rows) != count:
        raise DamagedRunError(f"the log has {len(code)} intents of {len(rows)} actors in a tick with {count}")
    return rows, code


def _unpack_codes(code: Column, facing: Column) -> tuple[Column, Column]:
    """Return the actions and directions of codes; `facing` is that of the acting actors."""
    ahead = code == _AHEAD
    if ahead.all():  # the common case, which is cheap
        return np.full(len(code), _MOVE, dtype=np.uint8), facing
    moves = (code >= _WAYS) & (code < _WAYS + _DIRECTIONS)
    action = np.where(moves | ahead, np.uint8(_MOVE), code)
    direction = np.where(moves, code - np.uint8(_WAYS), np.uint8(255)).view(np.int8)
    return action, np.where(ahead, facing, direction)


def rows_of_bits(bits: bytes, count: int) -> Column:
    """Return the rows whose bit is set."""
    return np.flatnonzero(read_bits(bits, count)).astype(np.int32)


def read_bits(bits: bytes, count: int) -> Column:
    """Return a bool for each row."""
    if len(bits) != (count + 7) // 8:
        raise DamagedRunError(f"the log has bits for {len(bits) * 8} actors in a world with {count}")
    return np.unpackbits(np.frombuffer(bits, dtype=np.uint8), count=count).view(np.bool_)


def pack_results(results: ResultColumns, intents: IntentColumns, actors: int) -> Batches:
    """Return the tables of the results of intents, in a world with so many actors."""
    batches: Batches = []
    if not _are_of(results, intents):
        batches.append((LogTable.RESULTS, batch(SCHEMAS[LogTable.RESULTS], results.actor, results.action)))
    failed = np.count_nonzero(results.reason)
    if failed * _FEW_FAIL > len(results):
        batches.append((LogTable.REASONS, batch(SCHEMAS[LogTable.REASONS], results.reason)))
    elif failed:
        places = np.flatnonzero(results.reason).astype(np.int32)
        batches.append((LogTable.SOME_REASONS, batch(SCHEMAS[LogTable.SOME_REASONS], places, results.reason[places])))
    targets = [(place, name) for place, name in sorted(results.target_ids.items()) if name]
    if targets:
        batches.append((LogTable.TARGETS, batch(SCHEMAS[LogTable.TARGETS], *_transposed(targets))))
    effects = [
        (place, effect.name, effect.value) for place in sorted(results.effects) for effect in results.effects[place]
    ]
    if effects:
        most_events(actors).check(len(effects))
        batches.append((LogTable.EFFECTS, batch(SCHEMAS[LogTable.EFFECTS], *_transposed(effects))))
    return batches


def _transposed(rows: Iterable[tuple[Any, ...]]) -> Sequence[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


def _are_of(results: ResultColumns, intents: IntentColumns) -> bool:
    same = results.actor is intents.actor or np.array_equal(results.actor, intents.actor)
    return same and (results.action is intents.action or np.array_equal(results.action, intents.action))


def read_results(
    batches: Mapping[int, pa.RecordBatch], count: int, intents: IntentColumns, actors: int
) -> ResultColumns:
    """Restore the results of intents."""
    rows, action = intents.actor, intents.action
    if LogTable.RESULTS in batches:
        rows = check_rows(numbers(batches[LogTable.RESULTS], "row"), actors)
        action = numbers(batches[LogTable.RESULTS], "action")
    if len(rows) != count:
        raise DamagedRunError(f"the log has {len(rows)} results in a tick with {count}")
    reason: Column = np.zeros(count, dtype=np.uint8)
    if LogTable.REASONS in batches:
        reason = numbers(batches[LogTable.REASONS], "reason")
    elif LogTable.SOME_REASONS in batches:
        some = batches[LogTable.SOME_REASONS]
        reason[check_rows(numbers(some, "place"), count)] = numbers(some, "reason")
    if len(reason) != count:
        raise DamagedRunError(f"the log has {len(reason)} reasons in a tick with {count} results")
    if count and (action.max() >= len(ACTION_TYPES) or reason.max() >= len(REASONS)):
        raise DamagedRunError("the log has an unknown action or reason; read it with the version that wrote it")
    targets: dict[int, str] = {}
    if LogTable.TARGETS in batches:
        some = batches[LogTable.TARGETS]
        places = check_rows(numbers(some, "place"), count).tolist()
        targets = dict(zip(places, some.column("target_id").to_pylist(), strict=True))
    effects = _read_effects(batches[LogTable.EFFECTS], count, actors) if LogTable.EFFECTS in batches else {}
    return ResultColumns(rows, action, reason, targets, effects)


def _read_effects(some: pa.RecordBatch, count: int, actors: int) -> dict[int, tuple[Effect, ...]]:
    """Return the effects of `count` results by their places; one may have several, in a row."""
    check_events(some, actors)
    places = numbers(some, "place")
    new = np.ones(len(places), dtype=np.bool_)
    np.not_equal(places[1:], places[:-1], out=new[1:])
    starts = np.flatnonzero(new)
    check_rows(places[starts], count)
    effects = [*map(Effect, some.column("name").to_pylist(), some.column("value").to_pylist())]
    ends = [*starts.tolist(), len(effects)][1:]
    spans = zip(places[starts].tolist(), starts.tolist(), ends, strict=True)
    return {place: tuple(effects[start:end]) for place, start, end in spans}


def check_events(some: pa.RecordBatch, actors: int) -> None:
    """Raise `DamagedRunError` if a tick has more utterances or effects than is possible."""
    most = most_events(actors)
    if not most.allows(some.num_rows):
        raise DamagedRunError(f"the log has {some.num_rows:,} rows where a tick has {most.maximum:,} at most")

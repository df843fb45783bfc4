"""Codec of a tick as the content of a frame."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from tickmind.protocol import (
    NO_REPORTS,
    ActorColumns,
    NeedColumns,
    ObjectDelta,
    TickRecord,
    TickReports,
    Utterance,
)
from tickmind.record.columns import batch, numbers, one_row, pack_batches, unpack_batches
from tickmind.record.errors import DamagedRunError
from tickmind.record.limits import MAX_DELTAS, most_events
from tickmind.record.log.intent_codec import (
    INTENT_TABLES,
    check_events,
    pack_intents,
    pack_results,
    read_bits,
    read_intents,
    read_results,
)
from tickmind.record.log.log_schema import SCHEMAS, LogTable
from tickmind.record.log.placement_codec import pack_placements, read_placements
from tickmind.record.log.report_codec import pack_reports, read_insights, read_left_out, read_statuses, read_thoughts
from tickmind.record.log.rule_event_codec import pack_rule_events, read_rule_events
from tickmind.record.log.steps import keyframe, read_state, steps

_TICK = pa.struct(list(SCHEMAS[LogTable.TICK]))
_ASKED = (*INTENT_TABLES, LogTable.PLACEMENTS)
_SAID = ("actor_id", "channel", "text", "x", "y")


def pack_tick(record: TickRecord, before: ActorColumns | None, reports: TickReports = NO_REPORTS) -> bytes:
    """Return the content of a frame: the changes since `before`, or all actors if that is None."""
    askers, intents = pack_intents(record.intents, record.actor_state.facing)
    controlled = None if record.controlled is None else np.packbits(record.controlled).tobytes()
    tick = one_row(
        _TICK,
        record.tick_id,
        record.sim_time_ms,
        record.world_version,
        record.state_hash,
        len(record.intents),
        len(record.results),
        askers,
        controlled,
    )
    return pack_batches(
        [
            (LogTable.TICK, tick),
            *(keyframe(record.actor_state) if before is None else steps(before, record.actor_state)),
            *intents,
            *pack_results(record.results, record.intents, len(record.actor_ids)),
            *_pack_utterances(record.utterances, len(record.actor_ids)),
            *_pack_deltas(record.object_deltas),
            *_pack_needs(record.needs),
            *pack_rule_events(record.rule_events, record.actor_ids),
            *pack_placements(record.placements, record.actor_ids),
            *pack_reports(reports),
        ]
    )


def pack_only_reports(reports: TickReports) -> bytes:
    """Return the content of a frame after the last tick."""
    return pack_batches(pack_reports(reports))


@dataclass(frozen=True, slots=True, eq=False)
class LoggedTick:
    """Everything in a tick's frame."""

    record: TickRecord
    reports: TickReports
    askers: bytes | None  # bits of acting actors, as in the log
    asked: bytes  # the intents and the orders of operators, as in the log


def read_tick(content: pa.Buffer, before: ActorColumns | None, actor_ids: Sequence[str]) -> TickRecord:
    """Decode a tick. `before` is the state after the tick before it, unless it is a keyframe."""
    return _read_record(unpack_batches(content, SCHEMAS), before, actor_ids)


def read_all(content: pa.Buffer, before: ActorColumns | None, actor_ids: Sequence[str]) -> LoggedTick:
    """Decode everything in the content of a frame."""
    batches = unpack_batches(content, SCHEMAS)
    record = _read_record(batches, before, actor_ids)
    askers = batches[LogTable.TICK].column("askers")[0].as_py()
    asked = pack_batches((table, batches[table]) for table in _ASKED if table in batches)
    return LoggedTick(record, _reports_in(batches), askers, asked)


def _read_record(
    batches: dict[int, pa.RecordBatch], before: ActorColumns | None, actor_ids: Sequence[str]
) -> TickRecord:
    tick, actors = batches.get(LogTable.TICK), len(actor_ids)
    if tick is None or tick.num_rows != 1:
        raise DamagedRunError("the log has a tick without its number; recover the run")
    row = tick.to_pylist()[0]
    state = read_state(batches, before, actors)
    intents = read_intents(batches, row["intents"], row["askers"], state.facing)
    controlled = None if row["controlled"] is None else read_bits(row["controlled"], actors)
    return TickRecord(
        tick_id=row["tick_id"],
        sim_time_ms=row["sim_time_ms"],
        world_version=row["world_version"],
        state_hash=row["state_hash"],
        actor_ids=actor_ids,
        actor_state=state,
        results=read_results(batches, row["results"], intents, actors),
        utterances=_read_utterances(batches, actors),
        object_deltas=_read_deltas(batches),
        intents=intents,
        controlled=controlled,
        needs=_read_needs(batches, actors),
        rule_events=read_rule_events(batches, actor_ids),
        placements=read_placements(batches, actor_ids),
    )


def read_only_state(content: pa.Buffer, before: ActorColumns | None, actors: int) -> ActorColumns:
    """Decode only the actors after a tick."""
    return read_state(unpack_batches(content, SCHEMAS), before, actors)


def read_reports(content: pa.Buffer) -> TickReports:
    """Decode the reports in the content of a frame of any kind."""
    return _reports_in(unpack_batches(content, SCHEMAS))


def _reports_in(batches: dict[int, pa.RecordBatch]) -> TickReports:
    return TickReports(read_thoughts(batches), read_statuses(batches), read_insights(batches), read_left_out(batches))


def _pack_needs(needs: NeedColumns | None) -> list[tuple[int, pa.RecordBatch]]:
    if needs is None:
        return []
    batches = [(int(LogTable.NEEDS), batch(SCHEMAS[LogTable.NEEDS], needs.actor, needs.energy, needs.hunger))]
    if needs.own is not None:
        batches.append((LogTable.OWN_NEEDS, batch(SCHEMAS[LogTable.OWN_NEEDS], needs.own.reshape(-1))))
    return batches


def _read_needs(batches: dict[int, pa.RecordBatch], actors: int) -> NeedColumns | None:
    if LogTable.NEEDS not in batches:
        return None
    needs = NeedColumns(*(numbers(batches[LogTable.NEEDS], name) for name in ("row", "energy", "hunger")))
    if LogTable.OWN_NEEDS in batches:
        values = numbers(batches[LogTable.OWN_NEEDS], "value")
        if not len(needs.actor) or len(values) % len(needs.actor):
            raise DamagedRunError("the log has own needs that belong to no actor; recover the run")
        needs = replace(needs, own=values.reshape(len(needs.actor), -1))
    if len(needs.actor) and not 0 <= needs.actor.min() <= needs.actor.max() < actors:
        raise DamagedRunError("the log has needs of an unknown actor; recover the run")
    return needs


def _pack_utterances(said: Sequence[Utterance], actors: int) -> list[tuple[int, pa.RecordBatch]]:
    if not said:
        return []
    most_events(actors).check(len(said))
    columns = [[getattr(utterance, name) for utterance in said] for name in _SAID]
    return [(LogTable.UTTERANCES, batch(SCHEMAS[LogTable.UTTERANCES], *columns))]


def _read_utterances(batches: dict[int, pa.RecordBatch], actors: int) -> tuple[Utterance, ...]:
    said = batches.get(LogTable.UTTERANCES)
    if said is None:
        return ()
    check_events(said, actors)
    return tuple(map(Utterance, *(said.column(name).to_pylist() for name in _SAID)))


def _pack_deltas(deltas: Sequence[ObjectDelta]) -> list[tuple[int, pa.RecordBatch]]:
    if not deltas:
        return []
    MAX_DELTAS.check(len(deltas))
    values = [delta.new_value for delta in deltas]
    columns = (
        [delta.object_id for delta in deltas],
        [delta.field for delta in deltas],
        [value if isinstance(value, int) else None for value in values],
        [value if isinstance(value, str) else None for value in values],
    )
    return [(LogTable.OBJECT_DELTAS, batch(SCHEMAS[LogTable.OBJECT_DELTAS], *columns))]


def _read_deltas(batches: dict[int, pa.RecordBatch]) -> tuple[ObjectDelta, ...]:
    if LogTable.OBJECT_DELTAS not in batches:
        return ()
    some = batches[LogTable.OBJECT_DELTAS]
    if not MAX_DELTAS.allows(some.num_rows):
        raise DamagedRunError(f"the log has {some.num_rows:,} changes of objects in one tick, more than possible")
    columns = [some.column(name).to_pylist() for name in ("object_id", "field", "number", "text")]
    return tuple(
        ObjectDelta(object_id, field, text if number is None else number)
        for object_id, field, number, text in zip(*columns, strict=True)
    )

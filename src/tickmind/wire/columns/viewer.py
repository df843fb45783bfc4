"""Codec of viewers' requests, events and snapshots; their many numbers are packed."""

from typing import TYPE_CHECKING, Any

from tickmind.protocol import (
    ACTION_TYPES,
    REASONS,
    ActorColumns,
    Effect,
    NeedColumns,
    ObjectDelta,
    ResultColumns,
    RuleEvent,
)
from tickmind.wire.codec.actions import decode_effects, encode_effects
from tickmind.wire.codec.entities import decode_lifecycle, encode_lifecycle
from tickmind.wire.codec.insights import decode_insight, encode_insight
from tickmind.wire.codec.telemetry import decode_status, decode_thought_report, encode_status, encode_thought_report
from tickmind.wire.codec.values import (
    VIEWER_EVENT_TYPES,
    chosen,
    count,
    encoder,
    member,
    name,
    names,
    optional_name,
    place,
    text,
    tick,
)
from tickmind.wire.columns.observations import decode_utterances, encode_utterance
from tickmind.wire.columns.packing import (
    I1,
    I2,
    I4,
    I8,
    U1,
    U2,
    Column,
    ColumnBounds,
    pack,
    read_codes,
    read_column,
    read_own_needs,
    read_rows,
)
from tickmind.wire.errors import MessageError
from tickmind.wire.messages.limits import (
    MAX_EVENTS,
    MAX_FILTER_ITEMS,
    MAX_NEED,
    MAX_RULE_ACTORS,
    MAX_RULE_EVENTS,
    MAX_TEXT_CHARS,
)
from tickmind.wire.messages.viewing import (
    GroundColumns,
    ObjectColumns,
    Region,
    ViewerEvent,
    ViewerEventType,
    ViewerSnapshot,
    ViewFilter,
)
from tickmind.wire.v1 import viewer_pb2 as pb

if TYPE_CHECKING:
    from tickmind.protocol.columns import Int32

TYPE_NUMBERS = {kind: code for code, kind in enumerate(ViewerEventType, start=1)}  # type -> number in messages
STATE = (
    Column("x", I4, -1, "width"),  # -1: the actor is away
    Column("y", I4, -1, "height"),
    Column("status_bits", I4, 0, 16),
    Column("facing", I1, 0, 8),
)
_NEED = int(MAX_NEED.maximum) + 1
NEED = (Column("energy", I2, 0, _NEED), Column("hunger", I2, 0, _NEED))
OBJECT = (Column("state", U1, 0, "states"), Column("work", I4), Column("stock", I4))
PLACE = (Column("x", I4, -1, "width"), Column("y", I4, -1, "height"))  # -1: it is not there
GROUND = (
    Column("x", I4, 0, "width"),
    Column("y", I4, 0, "height"),
    Column("kind", U2, 0, "item_kinds"),
    Column("amount", I8),
)


@encoder
def encode_filter(view: ViewFilter) -> pb.ViewFilter:
    """Encode a filter."""
    types: Any = [TYPE_NUMBERS[kind] for kind in view.types]
    regions = [pb.Region(min_x=at.min_x, min_y=at.min_y, max_x=at.max_x, max_y=at.max_y) for at in view.regions]
    return pb.ViewFilter(actor_ids=view.actor_ids, regions=regions, types=types)


def decode_filter(message: pb.ViewFilter) -> ViewFilter:
    """Decode a filter."""
    count(message.regions, "regions", MAX_FILTER_ITEMS)
    count(message.types, "types", MAX_FILTER_ITEMS)
    return ViewFilter(
        names(message.actor_ids, "actor_ids", MAX_FILTER_ITEMS),
        tuple(_decode_region(region) for region in message.regions),
        tuple(member(VIEWER_EVENT_TYPES, kind, "types") for kind in message.types),
    )


def _decode_region(message: pb.Region) -> Region:
    min_x, min_y = place(message.min_x, message.min_y, "regions.min")
    max_x, max_y = place(message.max_x, message.max_y, "regions.max")
    if min_x > max_x or min_y > max_y:
        raise MessageError("regions", "rectangles whose min is not beyond their max")
    return Region(min_x, min_y, max_x, max_y)


@encoder
def encode_viewer_event(event: ViewerEvent) -> pb.ViewerEvent:
    """Encode the event of one tick."""
    return pb.ViewerEvent(
        tick_id=event.tick_id,
        sim_time_ms=event.sim_time_ms,
        actors=_encode_actors(event.actor, event.state),
        results=_encode_results(event.results),
        utterances=[encode_utterance(utterance) for utterance in event.utterances],
        object_deltas=[_encode_delta(delta) for delta in event.object_deltas],
        lifecycle=[encode_lifecycle(item) for item in event.lifecycle],
        thoughts=[encode_thought_report(report) for report in event.thoughts],
        statuses=[encode_status(status) for status in event.statuses],
        insights=[encode_insight(insight) for insight in event.insights],
        needs=_encode_needs(event.needs),
        rule_events=[_encode_rule_event(rule_event) for rule_event in event.rule_events],
    )


def _encode_needs(needs: NeedColumns | None) -> pb.NeedColumns | None:
    if needs is None:
        return None
    own = b"" if needs.own is None else pack(needs.own, I2, "own")
    return pb.NeedColumns(actor=pack(needs.actor, I4, "actor"), own=own, **_pack_all(needs, NEED))


def _decode_needs(message: pb.ViewerEvent | pb.ViewerSnapshot, bounds: ColumnBounds) -> NeedColumns | None:
    if not message.HasField("needs"):
        return None
    actor = read_rows(message.needs.actor, bounds.actors, "needs.actor")
    own = read_own_needs(message.needs.own, I2, len(actor), bounds)
    return NeedColumns(actor=actor, own=own, **_read_all(message.needs, NEED, len(actor), bounds))


def _encode_actors(actor: "Int32", state: ActorColumns) -> pb.ActorColumns:
    return pb.ActorColumns(actor=pack(actor, I4, "actor"), **_pack_all(state, STATE))


def _pack_all(columns: object, table: tuple[Column, ...]) -> dict[str, Any]:
    return {column.name: pack(getattr(columns, column.name), column.dtype, column.name) for column in table}


def _encode_results(results: ResultColumns) -> pb.ResultColumns:
    places = sorted({*results.target_ids, *results.effects})
    return pb.ResultColumns(
        actor=pack(results.actor, I4, "actor"),
        action=pack(results.action, U1, "action"),
        reason=pack(results.reason, U1, "reason"),
        details=[
            pb.ResultDetail(
                place=at,
                target_id=results.target_ids.get(at, ""),
                effects=encode_effects(results.effects.get(at, ())),
            )
            for at in places
        ],
    )


def _encode_delta(delta: ObjectDelta) -> pb.ObjectDelta:
    if isinstance(delta.new_value, str):
        return pb.ObjectDelta(object_id=delta.object_id, field=delta.field, word=delta.new_value)
    return pb.ObjectDelta(object_id=delta.object_id, field=delta.field, number=delta.new_value)


def _encode_rule_event(event: RuleEvent) -> pb.RuleEvent:
    return pb.RuleEvent(
        name=event.name,
        actor_ids=event.actor_ids,
        score=event.score,
        ends=event.ends,
        own=event.own,
        text=event.text,
        effects=encode_effects(event.effects),
    )


def _decode_rule_event(message: pb.RuleEvent) -> RuleEvent:
    return RuleEvent(
        name=name(message.name, "rule_events.name"),
        actor_ids=names(message.actor_ids, "rule_events.actor_ids", MAX_RULE_ACTORS),
        score=message.score,
        ends=message.ends,
        own=message.own,
        text=text(message.text, "rule_events.text", MAX_TEXT_CHARS),
        effects=decode_effects(message.effects),
    )


def decode_viewer_event(message: pb.ViewerEvent, bounds: ColumnBounds) -> ViewerEvent:
    """Decode the event of one tick."""
    for field in ("object_deltas", "lifecycle", "thoughts", "statuses", "insights"):
        count(getattr(message, field), field, MAX_EVENTS)
    count(message.rule_events, "rule_events", MAX_RULE_EVENTS)
    actor, state = _decode_actors(message.actors, bounds)
    return ViewerEvent(
        tick_id=tick(message.tick_id),
        sim_time_ms=tick(message.sim_time_ms, "sim_time_ms"),
        actor=actor,
        state=state,
        results=_decode_results(message.results, bounds),
        utterances=decode_utterances(message.utterances),
        object_deltas=tuple(_decode_delta(delta) for delta in message.object_deltas),
        lifecycle=tuple(decode_lifecycle(item) for item in message.lifecycle),
        thoughts=tuple(decode_thought_report(report) for report in message.thoughts),
        statuses=tuple(decode_status(status) for status in message.statuses),
        insights=tuple(decode_insight(insight) for insight in message.insights),
        needs=_decode_needs(message, bounds),
        rule_events=tuple(_decode_rule_event(rule_event) for rule_event in message.rule_events),
    )


def _decode_actors(message: pb.ActorColumns, bounds: ColumnBounds) -> "tuple[Int32, ActorColumns]":
    actor = read_rows(message.actor, bounds.actors, "actor")
    return actor, ActorColumns(**_read_all(message, STATE, len(actor), bounds))


def _read_all(message: Any, table: tuple[Column, ...], length: int, bounds: ColumnBounds) -> dict[str, Any]:
    return {column.name: read_column(message, column, length, bounds) for column in table}


def _decode_results(message: pb.ResultColumns, bounds: ColumnBounds) -> ResultColumns:
    actor = read_rows(message.actor, bounds.actors, "actor")
    count(message.details, "details", MAX_EVENTS)
    target_ids: dict[int, str] = {}
    effects: dict[int, tuple[Effect, ...]] = {}
    last = -1
    for detail in message.details:
        if not last < detail.place < len(actor):
            raise MessageError("details.place", "ascending places in the columns")
        last = detail.place
        if detail.target_id:
            target_ids[last] = optional_name(detail.target_id, "details.target_id")
        if detail.effects:
            effects[last] = decode_effects(detail.effects)
    return ResultColumns(
        actor=actor,
        action=read_codes(message.action, len(actor), len(ACTION_TYPES), "action"),
        reason=read_codes(message.reason, len(actor), len(REASONS), "reason"),
        target_ids=target_ids,
        effects=effects,
    )


def _decode_delta(message: pb.ObjectDelta) -> ObjectDelta:
    form = chosen(message, "new_value", "object_deltas")
    value = message.number if form == "number" else optional_name(message.word, "object_deltas.word")
    return ObjectDelta(name(message.object_id, "object_deltas"), name(message.field, "object_deltas.field"), value)


@encoder
def encode_snapshot(snapshot: ViewerSnapshot) -> pb.ViewerSnapshot:
    """Encode a snapshot."""
    objects, ground = snapshot.objects, snapshot.ground
    return pb.ViewerSnapshot(
        tick_id=snapshot.tick_id,
        sim_time_ms=snapshot.sim_time_ms,
        actors=_encode_actors(snapshot.actor, snapshot.state),
        objects=pb.ObjectColumns(
            object_row=pack(objects.row, I4, "object_row"),
            **_pack_all(objects, OBJECT),
            **({} if objects.x is None else _pack_all(objects, PLACE)),
        ),
        ground=pb.GroundColumns(**_pack_all(ground, GROUND)),
        needs=_encode_needs(snapshot.needs),
        run_id=snapshot.run_id,
    )


def decode_snapshot(message: pb.ViewerSnapshot, bounds: ColumnBounds) -> ViewerSnapshot:
    """Decode a snapshot."""
    actor, state = _decode_actors(message.actors, bounds)
    row = read_rows(message.objects.object_row, bounds.objects, "object_row")
    items = len(message.ground.x) // I4.itemsize
    return ViewerSnapshot(
        tick_id=tick(message.tick_id),
        sim_time_ms=tick(message.sim_time_ms, "sim_time_ms"),
        actor=actor,
        state=state,
        objects=ObjectColumns(
            row=row,
            **_read_all(message.objects, OBJECT, len(row), bounds),
            **(_read_all(message.objects, PLACE, len(row), bounds) if message.objects.x else {}),
        ),
        ground=GroundColumns(**_read_all(message.ground, GROUND, items, bounds)),
        needs=_decode_needs(message, bounds),
        run_id=optional_name(message.run_id, "run_id"),
    )

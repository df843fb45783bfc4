"""Codec of the observations of many actors, packed."""

from typing import Any

import numpy as np

from tickmind.protocol import ACTION_TYPES, REASONS, ObservationColumns, OpenOffer, ResultDetail, Utterance
from tickmind.wire.codec.actions import decode_effects, encode_effects
from tickmind.wire.codec.amounts import NEED
from tickmind.wire.codec.observations import DURATION_MS, RADIUS, decode_open_offer, encode_open_offer
from tickmind.wire.codec.values import count, encoder, name, number, optional_name, place, text, tick
from tickmind.wire.columns.packing import (
    I1,
    I4,
    I8,
    U1,
    U2,
    U8,
    Column,
    ColumnBounds,
    pack,
    read_column,
    read_offsets,
    read_own_needs,
    read_rows,
    unpack,
)
from tickmind.wire.errors import MessageError
from tickmind.wire.messages.limits import MAX_EVENTS, MAX_TEXT_CHARS
from tickmind.wire.v1 import columns_pb2 as pb

ACTIONS, REASON_COUNT = len(ACTION_TYPES), len(REASONS)
OBSERVER = (  # one number for each observer
    Column("x", I4, 0, "width"),
    Column("y", I4, 0, "height"),
    Column("status_bits", I4, 0, 8),
    Column("facing", I1, 0, 8),
    Column("energy", I4, 0, NEED + 1),
    Column("hunger", I4, 0, NEED + 1),
    Column("result_action", U1, 0, ACTIONS),
    Column("result_reason", U1, 0, REASON_COUNT),
)
ENTITY = (
    Column("entity", I4, 0, "actors"),
    Column("entity_dx", I1, -RADIUS, RADIUS + 1),
    Column("entity_dy", I1, -RADIUS, RADIUS + 1),
    Column("entity_status", U1, 0, 8),
    Column("entity_facing", I1, 0, 8),
    Column("entity_flags", U1, 0, 4),
    Column("entity_action", U1, 0, ACTIONS),
    Column("entity_reason", U1, 0, REASON_COUNT),
)
LEFT = (Column("left", I4, 0, "actors"),)
OBJECT = (
    Column("object_row", I4, 0, "objects"),
    Column("object_state", U1, 0, "states"),
    Column("object_work", I4),
    Column("object_stock", I4),
)
GROUND = (
    Column("ground_dx", I1, -RADIUS, RADIUS + 1),
    Column("ground_dy", I1, -RADIUS, RADIUS + 1),
    Column("ground_kind", U2, 0, "item_kinds"),
    Column("ground_amount", I8),
)
LISTS = {  # column of offsets -> columns that they part
    "entity_offset": ENTITY,
    "left_offset": LEFT,
    "object_offset": OBJECT,
    "ground_offset": GROUND,
}
ATTRIBUTES = {"object_row": "object"}  # name in messages -> name in ObservationColumns, where they differ

# name in messages, name in ObservationColumns, type
PACKED = [
    (column.name, ATTRIBUTES.get(column.name, column.name), column.dtype)
    for column in (
        Column("actor", I4),
        *OBSERVER,
        Column("inventory", U2),
        Column("visible", U8),
        *(column for columns in LISTS.values() for column in columns),
        *(Column(offsets, I8) for offsets in (*LISTS, "heard_offset")),
        Column("heard", I4),
        Column("own_needs", I4),  # None in a world without
    )
]


def mask_words(radius: int) -> int:
    """Return how many words the mask of one observer's window has."""
    return ((2 * radius + 1) ** 2 + 63) // 64


@encoder
def encode_observation_columns(columns: ObservationColumns) -> pb.ObservationColumns:
    """Encode the observations of many actors."""
    message = pb.ObservationColumns()
    write_observation_columns(message, columns)
    return message


def write_observation_columns(message: pb.ObservationColumns, columns: ObservationColumns) -> None:
    """Encode into a message that is part of another; inserting it afterwards would copy all of it."""
    for field, own, dtype in PACKED:
        column = getattr(columns, own)
        if column is not None:
            setattr(message, field, pack(column, dtype, field))
    message.tick_id = columns.tick_id
    message.deadline_ms = columns.deadline_ms
    message.radius = columns.radius
    message.utterances.extend([encode_utterance(utterance) for utterance in columns.utterances])
    message.offers.extend(encode_placed_offers(columns.offers))
    message.placed.extend(encode_placed_objects(columns.placed))
    message.details.extend(encode_details(columns.details))


def decode_observation_columns(message: pb.ObservationColumns, bounds: ColumnBounds) -> ObservationColumns:
    """Decode the observations of many actors. The arrays share the message's memory and are read-only."""
    radius = number(message.radius, "radius", 0, RADIUS)
    arrays: dict[str, Any] = {"actor": read_rows(message.actor, bounds.actors, "actor")}
    n = len(arrays["actor"])
    for column in OBSERVER:
        arrays[column.name] = read_column(message, column, n, bounds)
    arrays["inventory"] = unpack(message.inventory, U2, "inventory", n * bounds.item_kinds).reshape(
        n, bounds.item_kinds
    )
    arrays["visible"] = _read_masks(message.visible, n, radius)
    for offsets, columns in LISTS.items():
        total = len(getattr(message, columns[0].name)) // columns[0].dtype.itemsize
        arrays[offsets] = read_offsets(getattr(message, offsets), n, total, offsets)
        for column in columns:
            arrays[ATTRIBUTES.get(column.name, column.name)] = read_column(message, column, total, bounds)
    _check_order(arrays["entity_offset"], arrays["entity_dx"], arrays["entity_dy"])
    utterances = decode_utterances(message.utterances)
    heard = read_column(message, Column("heard", I4, 0, len(utterances)), len(message.heard) // 4, bounds)
    return ObservationColumns(
        tick_id=tick(message.tick_id),
        deadline_ms=number(message.deadline_ms, "deadline_ms", 0, DURATION_MS),
        radius=radius,
        heard=heard,
        heard_offset=read_offsets(message.heard_offset, n, len(heard), "heard_offset"),
        utterances=utterances,
        offers=_decode_placed_offers(message, n),
        own_needs=read_own_needs(message.own_needs, I4, n, bounds),
        placed=_decode_placed_objects(message, bounds),
        details=_decode_details(message, bounds),
        **arrays,
    )


def _read_masks(data: bytes, observers: int, radius: int) -> Any:
    words = mask_words(radius)
    masks = unpack(data, U8, "visible", observers * words).reshape(observers, words)
    used = (2 * radius + 1) ** 2 - 64 * (words - 1)
    if used < 64 and (masks[:, -1] >> np.uint64(used)).any():
        raise MessageError("visible", "masks without bits beyond the window")
    return masks


def _check_order(offsets: Any, dx: Any, dy: Any) -> None:
    """Check that lists of entities are in the order of the map, with at most one on a tile."""
    tile = dy.astype(np.int16) * (2 * RADIUS + 1) + dx
    follows = tile[1:] > tile[:-1]
    first = offsets[(offsets > 0) & (offsets < len(tile))]  # starts of lists, which may lie further back
    follows[first - 1] = True
    if not follows.all():
        raise MessageError("entity_dx", "in the order of the map for each observer: line by line, from west to east")


def encode_placed_offers(offers: tuple[tuple[int, OpenOffer], ...]) -> list[pb.PlacedOffer]:
    """Encode offers to observers."""
    return [pb.PlacedOffer(place=at, offer=encode_open_offer(offer)) for at, offer in offers]


def _decode_placed_offers(message: pb.ObservationColumns, observers: int) -> tuple[tuple[int, OpenOffer], ...]:
    count(message.offers, "offers", MAX_EVENTS)
    places = [number(placed.place, "offers.place", 0, observers - 1) for placed in message.offers]
    if places != sorted(places):
        raise MessageError("offers", "in the order of the observers")
    return tuple((at, decode_open_offer(placed.offer)) for at, placed in zip(places, message.offers, strict=True))


def encode_placed_objects(placed: tuple[tuple[int, int, int], ...]) -> list[pb.PlacedObject]:
    """Encode where objects are."""
    return [pb.PlacedObject(object_row=row, x=x, y=y) for row, x, y in placed]


def _decode_placed_objects(message: pb.ObservationColumns, bounds: ColumnBounds) -> tuple[tuple[int, int, int], ...]:
    last, found = -1, []
    for placed in message.placed:
        if not last < placed.object_row < bounds.objects:
            raise MessageError("placed", "in ascending rows of objects")
        if not (0 <= placed.x < bounds.width and 0 <= placed.y < bounds.height):
            raise MessageError("placed", "on the map")
        last = placed.object_row
        found.append((last, placed.x, placed.y))
    return tuple(found)


def encode_details(details: tuple[ResultDetail, ...]) -> list[pb.ActorResultDetail]:
    """Encode what actions were done to and changed."""
    return [
        pb.ActorResultDetail(actor_row=detail.actor, target_id=detail.target_id, effects=encode_effects(detail.effects))
        for detail in details
    ]


def _decode_details(message: pb.ObservationColumns, bounds: ColumnBounds) -> tuple[ResultDetail, ...]:
    last, found = -1, []
    for detail in message.details:
        if not last < detail.actor_row < bounds.actors:
            raise MessageError("details", "in ascending rows of actors")
        last = detail.actor_row
        target_id = optional_name(detail.target_id, "details.target_id")
        found.append(ResultDetail(last, target_id, decode_effects(detail.effects)))
    return tuple(found)


def encode_utterance(utterance: Utterance) -> pb.Utterance:
    """Encode an utterance."""
    return pb.Utterance(
        actor_id=utterance.actor_id,
        channel=utterance.channel,
        text=utterance.text,
        x=utterance.x,
        y=utterance.y,
    )


def decode_utterances(messages: Any) -> tuple[Utterance, ...]:
    """Decode utterances."""
    count(messages, "utterances", MAX_EVENTS)
    return tuple([_decode_utterance(message) for message in messages])


def _decode_utterance(message: pb.Utterance) -> Utterance:
    x, y = place(message.x, message.y, "utterances")
    return Utterance(
        name(message.actor_id, "utterances.actor_id"),
        name(message.channel, "utterances.channel"),
        text(message.text, "utterances.text", MAX_TEXT_CHARS),
        x,
        y,
    )

"""Codec of observations as records. They are most of a small world's traffic, so the loops are kept tight."""

from collections.abc import Iterable
from typing import Any

from tickmind.protocol import (
    Acted,
    Entered,
    Event,
    Heard,
    ItemStack,
    Left,
    Moved,
    Observation,
    OpenOffer,
    SelfState,
    VisibleEntity,
    VisibleObject,
    VisibleTiles,
)
from tickmind.wire.codec.actions import AMOUNT, decode_result, encode_result
from tickmind.wire.codec.amounts import NEED, decode_needs
from tickmind.wire.codec.values import (
    DIRECTIONS,
    INT32_MAX,
    chosen,
    count,
    encoder,
    member,
    name,
    names,
    number,
    optional_name,
    place,
    present,
    sides,
    size,
    status,
    text,
    tick,
)
from tickmind.wire.errors import MessageError
from tickmind.wire.messages.limits import (
    MAX_DURATION_MS,
    MAX_EVENTS,
    MAX_RADIUS,
    MAX_SEEN,
    MAX_STACKS,
    MAX_TAGS,
    MAX_TEXT_CHARS,
)
from tickmind.wire.v1 import observation_pb2 as pb

RADIUS = int(MAX_RADIUS.maximum)
DURATION_MS = int(MAX_DURATION_MS.maximum)
MAX_KNOWN_ENTITIES = 4096

_known_entities: dict[bytes, VisibleEntity] = {}  # message -> its decoded entity


@encoder
def encode_observation(observation: Observation) -> pb.Observation:
    """Encode an observation; for many observers at once `ObservationWriter` is faster."""
    message = encode_own_part(observation)
    message.visible_objects.extend([encode_object(seen) for seen in observation.visible_objects])
    add_entity = message.visible_entities.add
    for seen in observation.visible_entities:
        write_entity(add_entity(), seen)
    add_event = message.events.add
    for event in observation.events:
        write_event(add_event(), event)
    return message


def encode_own_part(observation: Observation) -> pb.Observation:
    """Encode an observation without visible things and events, which other observers may share."""
    me, tiles = observation.me, observation.visible_tiles
    message = pb.Observation(
        tick_id=observation.tick_id,
        deadline_ms=observation.deadline_ms,
        me=pb.SelfState(
            entity_id=me.entity_id,
            x=me.x,
            y=me.y,
            status_bits=me.status,
            facing=_number(me.facing),
            inventory=_stacks(me.inventory),
            energy=me.energy,
            hunger=me.hunger,
            needs=[pb.NeedValue(name=need, value=value) for need, value in me.needs],
        ),
        visible_tiles=pb.VisibleTiles(
            radius=tiles.radius,
            centre_x=tiles.centre_x,
            centre_y=tiles.centre_y,
            visible=tiles.visible,
            walkable=tiles.walkable,
            floors=tiles.floors,
        ),
        tick_start_server_time_ms=observation.tick_start_server_time_ms,
        intent_deadline_server_time_ms=observation.intent_deadline_server_time_ms,
        offers=[encode_open_offer(offer) for offer in observation.offers],
    )
    if observation.result is not None:
        message.result.CopyFrom(encode_result(observation.result))
    return message


def _number(direction: int) -> Any:
    return direction + 1


def _stacks(stacks: Iterable[ItemStack]) -> list[pb.ItemStack]:
    return [pb.ItemStack(kind=stack.kind, quantity=stack.quantity, item_id=stack.item_id) for stack in stacks]


def encode_open_offer(offer: OpenOffer) -> pb.OpenOffer:
    """Encode an offer that stands."""
    return pb.OpenOffer(
        actor_id=offer.actor_id,
        kind=offer.kind,
        amount=offer.amount,
        wanted_kind=offer.wanted_kind,
        wanted_amount=offer.wanted_amount,
    )


def decode_open_offer(message: pb.OpenOffer) -> OpenOffer:
    """Decode an offer that stands."""
    return OpenOffer(
        name(message.actor_id, "offers.actor_id"),
        name(message.kind, "offers.kind"),
        number(message.amount, "offers.amount", 1, AMOUNT),
        optional_name(message.wanted_kind, "offers.wanted_kind"),
        number(message.wanted_amount, "offers.wanted_amount", 0, AMOUNT),
    )


def encode_object(seen: VisibleObject) -> pb.VisibleObject:
    """Encode a visible object."""
    return pb.VisibleObject(
        object_id=seen.object_id,
        kind=seen.kind,
        x=seen.x,
        y=seen.y,
        state=seen.state,
        work_remaining=seen.work_remaining,
        items=_stacks(seen.items),
        verbs=seen.verbs,
        owner=seen.owner,
        **sides(seen.size),
    )


def write_entity(message: pb.VisibleEntity, seen: VisibleEntity) -> None:
    """Encode a visible actor."""
    message.entity_id = seen.entity_id
    message.x = seen.x
    message.y = seen.y
    message.type = seen.type
    if seen.tags:
        message.tags.extend(seen.tags)
    if seen.status:
        message.status_bits = seen.status
    message.facing = _number(seen.facing)


def write_event(message: pb.Event, event: Event) -> None:
    """Encode an event."""
    form: Any
    match event:
        case Moved(entity_id, x, y, direction):
            form = message.moved
            form.entity_id, form.x, form.y, form.direction = entity_id, x, y, direction + 1
        case Entered(entity_id, x, y):
            form = message.entered
            form.entity_id, form.x, form.y = entity_id, x, y
        case Left(entity_id, x, y):
            form = message.left
            form.entity_id, form.x, form.y = entity_id, x, y
        case Acted(result):
            message.acted.result.CopyFrom(encode_result(result))
        case Heard(speaker_id, channel, said, x, y):
            form = message.heard
            form.speaker_id, form.channel, form.text, form.x, form.y = speaker_id, channel, said, x, y
        case _:
            raise TypeError(event)


def decode_observation(message: pb.Observation) -> Observation:
    """Decode an observation."""
    present(message, "me")
    present(message, "visible_tiles")
    entities, objects, events = message.visible_entities, message.visible_objects, message.events
    count(entities, "visible_entities", MAX_SEEN)
    count(objects, "visible_objects", MAX_SEEN)
    count(events, "events", MAX_EVENTS)
    count(message.offers, "offers", MAX_SEEN)
    return Observation(
        tick(message.tick_id),
        number(message.deadline_ms, "deadline_ms", 0, DURATION_MS),
        _decode_me(message.me),
        _decode_tiles(message.visible_tiles),
        _decode_entities(entities) if entities else (),
        tuple([_decode_object(seen) for seen in objects]) if objects else (),
        tuple([_decode_event(event) for event in events]) if events else (),
        decode_result(message.result) if message.HasField("result") else None,
        message.tick_start_server_time_ms,
        message.intent_deadline_server_time_ms,
        tuple([decode_open_offer(offer) for offer in message.offers]) if message.offers else (),
    )


def _decode_me(message: pb.SelfState) -> SelfState:
    x, y = place(message.x, message.y, "me")
    return SelfState(
        name(message.entity_id, "me.entity_id"),
        x,
        y,
        status(message.status_bits, "me.status_bits"),
        member(DIRECTIONS, message.facing, "me.facing"),
        _decode_stacks(message.inventory, "me.inventory"),
        number(message.energy, "me.energy", 0, NEED),
        number(message.hunger, "me.hunger", 0, NEED),
        decode_needs(message.needs),
    )


def _decode_stacks(stacks: Any, field: str) -> tuple[ItemStack, ...]:
    if not stacks:
        return ()
    count(stacks, field, MAX_STACKS)
    return tuple(
        [
            ItemStack(
                name(stack.kind, field),
                number(stack.quantity, field, 0, AMOUNT),
                optional_name(stack.item_id, field),
            )
            for stack in stacks
        ]
    )


def _decode_tiles(message: pb.VisibleTiles) -> VisibleTiles:
    radius = number(message.radius, "visible_tiles.radius", 0, RADIUS)
    x, y = place(message.centre_x, message.centre_y, "visible_tiles.centre")
    visible, walkable, floors = message.visible, message.walkable, message.floors
    tiles = (2 * radius + 1) ** 2
    size = (tiles + 7) // 8
    if len(visible) != size or len(walkable) != size or len(floors) not in (0, tiles):
        raise MessageError("visible_tiles", f"masks of {size} bytes and no floors or {tiles}, for radius {radius}")
    seen = int.from_bytes(visible, "little")
    if seen >> tiles or int.from_bytes(walkable, "little") & ~seen:
        raise MessageError("visible_tiles", "masks without bits beyond the window, and walkable only where visible")
    return VisibleTiles(radius, x, y, visible, walkable, floors)


def _decode_entities(messages: Any) -> tuple[VisibleEntity, ...]:
    """Decode the visible actors. Most are unchanged since the last tick, and those come from a cache."""
    entities = []
    for message in messages:
        data = message.SerializeToString()
        entity = _known_entities.get(data)
        if entity is None:
            entity = _decode_entity(message)
            if len(_known_entities) >= MAX_KNOWN_ENTITIES:
                _known_entities.clear()
            _known_entities[data] = entity
        entities.append(entity)
    return tuple(entities)


def _decode_entity(message: pb.VisibleEntity) -> VisibleEntity:
    x, y = place(message.x, message.y, "visible_entities")
    tags = message.tags
    return VisibleEntity(
        name(message.entity_id, "visible_entities.entity_id"),
        x,
        y,
        optional_name(message.type, "visible_entities.type"),
        names(tags, "visible_entities.tags", MAX_TAGS) if tags else (),
        status(message.status_bits, "visible_entities.status_bits"),
        member(DIRECTIONS, message.facing, "visible_entities.facing"),
    )


def _decode_object(message: pb.VisibleObject) -> VisibleObject:
    x, y = place(message.x, message.y, "visible_objects")
    return VisibleObject(
        name(message.object_id, "visible_objects.object_id"),
        name(message.kind, "visible_objects.kind"),
        x,
        y,
        optional_name(message.state, "visible_objects.state"),
        number(message.work_remaining, "visible_objects.work_remaining", 0, INT32_MAX),
        _decode_stacks(message.items, "visible_objects.items"),
        names(message.verbs, "visible_objects.verbs", MAX_STACKS),
        optional_name(message.owner, "visible_objects.owner"),
        size(message.width, message.height, "visible_objects"),
    )


def _decode_event(message: pb.Event) -> Event:
    form = chosen(message, "kind", "events")
    if form == "acted":
        present(message.acted, "result")
        return Acted(decode_result(message.acted.result))
    event = getattr(message, form)
    x, y = place(event.x, event.y, "events")
    if form == "moved":
        return Moved(name(event.entity_id, "events"), x, y, member(DIRECTIONS, event.direction, "events.direction"))
    if form == "heard":
        said = text(event.text, "events.text", MAX_TEXT_CHARS)
        return Heard(name(event.speaker_id, "events"), name(event.channel, "events.channel"), said, x, y)
    kind = Entered if form == "entered" else Left
    return kind(name(event.entity_id, "events"), x, y)

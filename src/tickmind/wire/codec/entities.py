"""Codec of actors, their lifecycle, and the constant part of a world."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tickmind.protocol import (
    EntityInfo,
    GroundInfo,
    LifecycleEvent,
    LifecycleKind,
    ObjectInfo,
    WorldInfo,
)
from tickmind.protocol.record import AWAY
from tickmind.wire.codec.goals import decode_goal, encode_goal
from tickmind.wire.codec.kinds import (
    decode_floor,
    decode_item,
    decode_kind,
    encode_floor,
    encode_item,
    encode_kind,
)
from tickmind.wire.codec.setting import decode_persona, decode_setting, encode_persona, encode_setting
from tickmind.wire.codec.values import (
    INT32_MAX,
    LIFECYCLE_KINDS,
    SIDE,
    count,
    encoder,
    member,
    name,
    names,
    number,
    optional_name,
    place,
    present,
    tick,
)
from tickmind.wire.errors import MessageError
from tickmind.wire.messages.limits import (
    MAX_ACTORS,
    MAX_AMOUNT,
    MAX_DURATION_MS,
    MAX_GOALS,
    MAX_HEARING,
    MAX_KINDS,
    MAX_OBJECTS,
    MAX_OWN_NEEDS,
    MAX_PAGE,
    MAX_RADIUS,
    MAX_TAGS,
)
from tickmind.wire.v1 import entity_pb2 as pb

PART_ITEMS = 10_000  # actors or objects in one part of the world
PART_BYTES = 1_000_000  # floor codes in one part
KIND_NUMBERS = {kind: code for code, kind in enumerate(LifecycleKind, start=1)}  # kind -> number in messages


@encoder
def encode_entity(entity: EntityInfo) -> pb.EntityInfo:
    """Encode an actor."""
    return pb.EntityInfo(
        entity_id=entity.entity_id,
        type=entity.type,
        tags=entity.tags,
        spawn_tick=entity.spawn_tick,
        persona=None if entity.persona is None else encode_persona(entity.persona),
    )


def decode_entity(message: pb.EntityInfo) -> EntityInfo:
    """Decode an actor."""
    return EntityInfo(
        name(message.entity_id, "entity_id"),
        optional_name(message.type, "type"),
        names(message.tags, "tags", MAX_TAGS),
        tick(message.spawn_tick, "spawn_tick"),
        decode_persona(message.persona) if message.HasField("persona") else None,
    )


def decode_page(message: pb.ListControllableEntitiesResponse) -> tuple[tuple[EntityInfo, ...], bool]:
    """Decode a page of actors, and whether there are more."""
    count(message.entities, "entities", MAX_PAGE)
    if message.more and not message.entities:
        raise MessageError("more", "false on an empty page")
    return tuple([decode_entity(entity) for entity in message.entities]), message.more


@encoder
def encode_lifecycle(event: LifecycleEvent) -> pb.LifecycleEvent:
    """Encode a lifecycle event."""
    number_of: Any = KIND_NUMBERS[event.kind]
    return pb.LifecycleEvent(tick_id=event.tick_id, kind=number_of, entity=encode_entity(event.entity))


def decode_lifecycle(message: pb.LifecycleEvent) -> LifecycleEvent:
    """Decode a lifecycle event."""
    present(message, "entity")
    kind = member(LIFECYCLE_KINDS, message.kind, "kind")
    return LifecycleEvent(tick(message.tick_id), kind, decode_entity(message.entity))


def encode_world(world: WorldInfo) -> Iterator[pb.StreamWorldResponse]:
    """Encode the constant part of a world, in parts that are small enough to send."""
    yield pb.StreamWorldResponse(header=_encode_header(world))
    for start in range(0, len(world.floor_codes), PART_BYTES):
        yield pb.StreamWorldResponse(floor_codes=world.floor_codes[start : start + PART_BYTES])
    for start in range(0, len(world.objects), PART_ITEMS):
        yield _encode_objects(world.objects[start : start + PART_ITEMS])
    for start in range(0, len(world.actors), PART_ITEMS):
        yield pb.StreamWorldResponse(
            actors=[encode_entity(actor) for actor in world.actors[start : start + PART_ITEMS]]
        )
    for start in range(0, len(world.ground), PART_ITEMS):
        yield _encode_ground(world.ground[start : start + PART_ITEMS])


@encoder
def _encode_header(world: WorldInfo) -> pb.WorldHeader:
    return pb.WorldHeader(
        name=world.name,
        world_version=world.world_version,
        width=world.width,
        height=world.height,
        sight_radius=world.sight_radius,
        hearing_radius=world.hearing_radius,
        tick_duration_ms=world.tick_duration_ms,
        intent_deadline_ms=world.intent_deadline_ms,
        floors=map(encode_floor, world.floors),
        item_kinds=world.item_kinds,
        items=map(encode_item, world.items),
        verbs=world.verbs,
        kinds=[encode_kind(kind) for kind in world.kinds],
        object_count=len(world.objects),
        actor_count=len(world.actors),
        ground_count=len(world.ground),
        setting=encode_setting(world.setting),
        own_needs=world.own_needs,
        goals=map(encode_goal, world.goals),
    )


@encoder
def _encode_objects(objects: Iterable[ObjectInfo]) -> pb.StreamWorldResponse:
    return pb.StreamWorldResponse(
        objects=[
            pb.ObjectInfo(
                object_id=thing.object_id,
                kind=thing.kind,
                x=thing.x,
                y=thing.y,
                state=thing.state,
                stock=thing.stock,
                owner=thing.owner,
            )
            for thing in objects
        ]
    )


@encoder
def _encode_ground(heaps: Iterable[GroundInfo]) -> pb.StreamWorldResponse:
    return pb.StreamWorldResponse(
        ground=[pb.GroundInfo(x=heap.x, y=heap.y, item=heap.item, amount=heap.amount) for heap in heaps]
    )


@dataclass(slots=True)
class WorldReader:
    """Joins the parts of a world: `add` each, then `finish`. It never holds more than the header announced."""

    _header: pb.WorldHeader | None = None
    _floor_codes: bytearray = field(default_factory=bytearray)
    _objects: list[ObjectInfo] = field(default_factory=list)
    _actors: list[EntityInfo] = field(default_factory=list)
    _ground: list[GroundInfo] = field(default_factory=list)

    def add(self, message: pb.StreamWorldResponse) -> None:
        """Add the next part."""
        if self._header is None:
            present(message, "header")
            _check_header(message.header)
            self._header = message.header
        elif message.HasField("header"):
            raise MessageError("header", "in the first part only")
        header = self._header
        self._floor_codes += message.floor_codes
        if (
            len(self._floor_codes) > header.width * header.height
            or len(self._objects) + len(message.objects) > header.object_count
            or len(self._actors) + len(message.actors) > header.actor_count
            or len(self._ground) + len(message.ground) > header.ground_count
        ):
            raise MessageError("parts", "no more than the header announced")
        self._objects += [_decode_object(thing, header) for thing in message.objects]
        self._actors += [decode_entity(actor) for actor in message.actors]
        self._ground += [_decode_ground(heap, header) for heap in message.ground]

    def finish(self) -> WorldInfo:
        """Return the whole world, once the last part was added."""
        header = self._header
        if header is None:
            raise MessageError("parts", "at least one, with the header")
        if (len(self._floor_codes), len(self._objects), len(self._actors), len(self._ground)) != (
            header.width * header.height,
            header.object_count,
            header.actor_count,
            header.ground_count,
        ):
            raise MessageError("parts", "as much as the header announced")
        if self._floor_codes and max(self._floor_codes) >= len(header.floors):
            raise MessageError("floor_codes", "codes of the floors in the header")
        if len({actor.entity_id for actor in self._actors}) != len(self._actors):
            raise MessageError("actors", "all different in their ids")
        return WorldInfo(
            name=optional_name(header.name, "name"),
            world_version=optional_name(header.world_version, "world_version"),
            width=header.width,
            height=header.height,
            sight_radius=header.sight_radius,
            hearing_radius=header.hearing_radius,
            tick_duration_ms=header.tick_duration_ms,
            intent_deadline_ms=header.intent_deadline_ms,
            floors=tuple(map(decode_floor, header.floors)),
            floor_codes=bytes(self._floor_codes),
            item_kinds=tuple(header.item_kinds),
            verbs=tuple(header.verbs),
            kinds=tuple(decode_kind(kind) for kind in header.kinds),
            objects=tuple(self._objects),
            actors=tuple(self._actors),
            ground=tuple(self._ground),
            setting=decode_setting(header.setting),
            own_needs=tuple(header.own_needs),
            items=tuple(map(decode_item, header.items)),
            goals=tuple(map(decode_goal, header.goals)),
        )


def _check_header(header: pb.WorldHeader) -> None:
    number(header.width, "width", 1, SIDE)
    number(header.height, "height", 1, SIDE)
    number(header.sight_radius, "sight_radius", 0, int(MAX_RADIUS.maximum))
    number(header.hearing_radius, "hearing_radius", 0, int(MAX_HEARING.maximum))
    number(header.tick_duration_ms, "tick_duration_ms", 0, int(MAX_DURATION_MS.maximum))
    number(header.intent_deadline_ms, "intent_deadline_ms", 0, int(MAX_DURATION_MS.maximum))
    number(header.object_count, "object_count", 0, int(MAX_OBJECTS.maximum))
    number(header.actor_count, "actor_count", 0, int(MAX_ACTORS.maximum))
    number(header.ground_count, "ground_count", 0, int(MAX_OBJECTS.maximum))
    count(header.floors, "floors", MAX_KINDS)
    count(header.kinds, "kinds", MAX_KINDS)
    count(header.goals, "goals", MAX_GOALS)
    names(header.item_kinds, "item_kinds", MAX_KINDS)
    if len(set(names(header.own_needs, "own_needs", MAX_OWN_NEEDS))) != len(header.own_needs):
        raise MessageError("own_needs", "all different")
    if header.items and [item.name for item in header.items] != list(header.item_kinds):
        raise MessageError("items", "those of item_kinds, in the same order")
    count(header.verbs, "verbs", MAX_KINDS)
    for place_of, verb in enumerate(header.verbs):
        if bool(optional_name(verb, "verbs")) is (place_of == 0):
            raise MessageError("verbs", "names, but the first one empty")


def _decode_object(message: pb.ObjectInfo, header: pb.WorldHeader) -> ObjectInfo:
    x, y = message.x, message.y
    if not (0 <= x < header.width and 0 <= y < header.height) and (x, y) != (AWAY, AWAY):
        raise MessageError("objects", "on the map")
    return ObjectInfo(
        name(message.object_id, "objects.object_id"),
        name(message.kind, "objects.kind"),
        x,
        y,
        optional_name(message.state, "objects.state"),
        number(message.stock, "objects.stock", 0, INT32_MAX),
        optional_name(message.owner, "objects.owner"),
    )


def _decode_ground(message: pb.GroundInfo, header: pb.WorldHeader) -> GroundInfo:
    x, y = place(message.x, message.y, "ground")
    if x >= header.width or y >= header.height:
        raise MessageError("ground", "on the map")
    amount = number(message.amount, "ground.amount", 1, int(MAX_AMOUNT.maximum))
    return GroundInfo(x, y, name(message.item, "ground.item"), amount)

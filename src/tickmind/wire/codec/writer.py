"""A writer of observations for many observers of one tick, as bytes."""

from functools import lru_cache

from tickmind.protocol import Event, Observation, TickEvent, VisibleEntity, VisibleObject
from tickmind.wire.codec.observations import encode_object, encode_own_part, write_entity, write_event
from tickmind.wire.codec.values import encoder
from tickmind.wire.v1 import control_pb2, observation_pb2

ENTITY_FIELD = observation_pb2.Observation.VISIBLE_ENTITIES_FIELD_NUMBER
OBJECT_FIELD = observation_pb2.Observation.VISIBLE_OBJECTS_FIELD_NUMBER
EVENT_FIELD = observation_pb2.Observation.EVENTS_FIELD_NUMBER
FRAME_FIELD = control_pb2.ControlResponse.OBSERVATION_FIELD_NUMBER
STREAM_FIELD = observation_pb2.StreamObservationsResponse.OBSERVATION_FIELD_NUMBER


class ObservationWriter:
    """Writes the observations of one tick, encoding shared perceptions once. Make a new writer each tick.

    Sharing goes by identity: let the observers of an actor, object or event share one `VisibleEntity`, `VisibleObject`
    or `Event`. The bytes equal those of `encode_observation` after serialization, with the fields in another order.
    """

    __slots__ = ("_shared",)

    def __init__(self) -> None:
        # id of a perceived thing -> the thing, which keeps the id valid, and its encoded field
        self._shared: dict[int, tuple[VisibleEntity | VisibleObject | Event, bytes]] = {}

    @encoder
    def write(self, observation: Observation) -> bytes:
        """Return a serialized `Observation`."""
        shared = self._shared
        pieces = [encode_own_part(observation).SerializeToString()]
        for seen in observation.visible_entities:
            known = shared.get(id(seen))
            pieces.append(known[1] if known else self._add_entity(seen))
        for thing in observation.visible_objects:
            known = shared.get(id(thing))
            pieces.append(known[1] if known else self._add_object(thing))
        for event in observation.events:
            known = shared.get(id(event))
            pieces.append(known[1] if known else self._add_event(event))
        return b"".join(pieces)

    def write_frame(self, observation: Observation) -> bytes:
        """Return a serialized `ControlResponse`."""
        return _field(FRAME_FIELD, self.write(observation))

    def write_response(self, observation: Observation) -> bytes:
        """Return a serialized `StreamObservationsResponse`."""
        return _field(STREAM_FIELD, self.write(observation))

    def _add_entity(self, seen: VisibleEntity) -> bytes:
        message = observation_pb2.VisibleEntity()
        write_entity(message, seen)
        data = _field(ENTITY_FIELD, message.SerializeToString())
        self._shared[id(seen)] = (seen, data)
        return data

    def _add_object(self, seen: VisibleObject) -> bytes:
        data = _field(OBJECT_FIELD, encode_object(seen).SerializeToString())
        self._shared[id(seen)] = (seen, data)
        return data

    def _add_event(self, event: Event) -> bytes:
        message = observation_pb2.Event()
        write_event(message, event)
        data = _field(EVENT_FIELD, message.SerializeToString())
        self._shared[id(event)] = (event, data)
        return data


def write_times(event: TickEvent, left_ms: int | None = None) -> tuple[bytes, bytes]:
    """Return the times of a tick, to be appended to the results of `write_frame` and `write_response`.

    Two concatenated pieces are one message, in which the later value of a field counts. So `left_ms` replaces the
    deadline of an observation that is sent when part of its time is over.
    """
    data = observation_pb2.Observation(
        deadline_ms=left_ms,
        tick_start_server_time_ms=event.tick_start_server_time_ms,
        intent_deadline_server_time_ms=event.intent_deadline_server_time_ms,
    ).SerializeToString()
    return _field(FRAME_FIELD, data), _field(STREAM_FIELD, data)


def field_head(field: int, size: int) -> bytes:
    """Return what precedes the bytes of a message or of packed numbers: the field's number and the size.

    Both are varints: groups of seven bits, lowest first.
    """
    return _varint(field << 3 | 2) + _varint(size)


@lru_cache(maxsize=4096)
def _varint(number: int) -> bytes:
    groups = bytearray()
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    groups.append(number)
    return bytes(groups)


def _field(field: int, data: bytes) -> bytes:
    """Return a field that holds a message."""
    return field_head(field, len(data)) + data

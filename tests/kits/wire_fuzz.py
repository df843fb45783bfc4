"""Throws spoilt messages at the decoders: each must give a legal value or a `MessageError`, and nothing else."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from tests.kits.wire_same import same
from tests.kits.wire_sample_columns import BOUNDS, ColumnSamples

from tickmind.wire import codec, columns
from tickmind.wire.errors import MessageError
from tickmind.wire.messages.frames import IntentBatch
from tickmind.wire.v1 import (
    action_pb2,
    columns_pb2,
    control_pb2,
    entity_pb2,
    lease_pb2,
    observation_pb2,
    operator_pb2,
    telemetry_pb2,
    tick_pb2,
    viewer_pb2,
)

POOL = 40  # legal messages of each kind that are spoilt, renewed now and then
NUMBERS = (0, 1, -1, 2, 7, 8, 9, 255, 256, 1001, 4096, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63), 2**64 - 1)
TEXTS = ("", "a", "x" * 100, "x" * 101, "x" * 501, "\x00", "é\u2028", "local", "{}", '{"a": [[[]]]}', "[" * 3000, "NaN")


@dataclass(frozen=True, slots=True)
class MessageCodec:
    """One kind of message: how to make a value, write it and read it."""

    message: Callable[[], Message]
    make: Callable[[ColumnSamples], Any]
    encode: Callable[[Any], Message]
    decode: Callable[[Any], Any]


def _encode_whole_world(world: Any) -> Message:
    """The world as one message, which reads the same as its parts."""
    parts = list(codec.encode_world(world))
    for part in parts[1:]:
        parts[0].MergeFrom(part)
    return parts[0]


def _decode_whole_world(message: Any) -> Any:
    reader = codec.WorldReader()
    reader.add(message)
    return reader.finish()


# kind of message -> how it is handled
CODECS: dict[str, MessageCodec] = {
    "intent": MessageCodec(action_pb2.Intent, ColumnSamples.intent, codec.encode_intent, codec.decode_intent),
    "ack": MessageCodec(action_pb2.Ack, ColumnSamples.ack, codec.encode_ack, codec.decode_ack),
    "result": MessageCodec(action_pb2.ActionResult, ColumnSamples.result, codec.encode_result, codec.decode_result),
    "observation": MessageCodec(
        observation_pb2.Observation, ColumnSamples.observation, codec.encode_observation, codec.decode_observation
    ),
    "entity": MessageCodec(entity_pb2.EntityInfo, ColumnSamples.entity, codec.encode_entity, codec.decode_entity),
    "lifecycle": MessageCodec(
        entity_pb2.LifecycleEvent, ColumnSamples.lifecycle, codec.encode_lifecycle, codec.decode_lifecycle
    ),
    "world": MessageCodec(
        entity_pb2.StreamWorldResponse, ColumnSamples.world, _encode_whole_world, _decode_whole_world
    ),
    "lease": MessageCodec(lease_pb2.Lease, ColumnSamples.lease, codec.encode_lease, codec.decode_lease),
    "acquired": MessageCodec(
        lease_pb2.AcquireLeaseResponse,
        lambda samples: samples.rng.choice((samples.lease(), samples.refusal())),
        codec.encode_acquired,
        codec.decode_lease_answer,
    ),
    "tick": MessageCodec(tick_pb2.TickEvent, ColumnSamples.tick, codec.encode_tick, codec.decode_tick),
    "thought": MessageCodec(
        telemetry_pb2.ThoughtReport,
        ColumnSamples.thought_report,
        codec.encode_thought_report,
        codec.decode_thought_report,
    ),
    "status": MessageCodec(
        telemetry_pb2.AgentStatus, ColumnSamples.agent_status, codec.encode_status, codec.decode_status
    ),
    "up": MessageCodec(control_pb2.ControlRequest, ColumnSamples.up, codec.encode_up, codec.decode_up),
    "down": MessageCodec(control_pb2.ControlResponse, ColumnSamples.down, codec.encode_down, codec.decode_down),
    "batch_up": MessageCodec(
        control_pb2.ControlBatchRequest,
        ColumnSamples.batch_up,
        columns.encode_batch_up,
        lambda message: columns.decode_batch_up(message, BOUNDS),
    ),
    "batch_down": MessageCodec(
        control_pb2.ControlBatchResponse,
        ColumnSamples.batch_down,
        columns.encode_batch_down,
        lambda message: columns.decode_batch_down(message, BOUNDS),
    ),
    "observation_columns": MessageCodec(
        columns_pb2.ObservationColumns,
        ColumnSamples.observation_columns,
        columns.encode_observation_columns,
        lambda message: columns.decode_observation_columns(message, BOUNDS),
    ),
    "filter": MessageCodec(viewer_pb2.ViewFilter, ColumnSamples.view, columns.encode_filter, columns.decode_filter),
    "viewer_event": MessageCodec(
        viewer_pb2.ViewerEvent,
        ColumnSamples.viewer_event,
        columns.encode_viewer_event,
        lambda message: columns.decode_viewer_event(message, BOUNDS),
    ),
    "submit": MessageCodec(
        action_pb2.SubmitIntentRequest, ColumnSamples.submit, codec.encode_submit, codec.decode_submit
    ),
    "acquire": MessageCodec(
        lease_pb2.AcquireLeaseRequest, ColumnSamples.acquire, codec.encode_acquire, codec.decode_acquire
    ),
    "spawn": MessageCodec(
        operator_pb2.SpawnActorRequest,
        lambda samples: samples.placement_request(leaves=False),
        codec.encode_placement_request,
        codec.decode_placement_request,
    ),
    "despawn": MessageCodec(
        operator_pb2.DespawnActorRequest,
        lambda samples: samples.placement_request(leaves=True),
        codec.encode_placement_request,
        codec.decode_placement_request,
    ),
    "placed": MessageCodec(
        operator_pb2.SpawnActorResponse,
        ColumnSamples.placement_outcome,
        lambda outcome: codec.encode_placement_outcome(outcome, operator_pb2.SpawnActorResponse),
        codec.decode_placement_outcome,
    ),
    "observations_request": MessageCodec(
        observation_pb2.StreamObservationsRequest,
        ColumnSamples.observations_request,
        codec.encode_observations_request,
        codec.decode_observations_request,
    ),
    "entities_request": MessageCodec(
        entity_pb2.ListControllableEntitiesRequest,
        ColumnSamples.entities_request,
        codec.encode_entities_request,
        codec.decode_entities_request,
    ),
    "thought_request": MessageCodec(
        telemetry_pb2.ReportThoughtRequest,
        ColumnSamples.thought_request,
        codec.encode_thought_request,
        codec.decode_thought_request,
    ),
    "status_request": MessageCodec(
        telemetry_pb2.ReportStatusRequest,
        ColumnSamples.status_request,
        codec.encode_status_request,
        codec.decode_status_request,
    ),
    "insights_request": MessageCodec(
        telemetry_pb2.ReportInsightsRequest,
        ColumnSamples.insights_request,
        codec.encode_insights_request,
        codec.decode_insights_request,
    ),
    "snapshot": MessageCodec(
        viewer_pb2.ViewerSnapshot,
        ColumnSamples.snapshot,
        columns.encode_snapshot,
        lambda message: columns.decode_snapshot(message, BOUNDS),
    ),
}


@dataclass(slots=True)
class FuzzReport:
    """What became of the cases so far."""

    cases: int = 0
    unreadable: int = 0  # no protobuf at all
    refused: Counter[str] = field(default_factory=Counter)  # kind of message -> refused by the codec
    legal: Counter[str] = field(default_factory=Counter)  # kind of message -> still legal


class Fuzzer:
    """Makes cases for ever from one seed. A failure is any exception other than `MessageError`."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = random.Random(seed)
        self.samples = ColumnSamples(self.rng)
        self.report = FuzzReport()
        self._pool: dict[str, list[bytes]] = {kind: [] for kind in CODECS}

    def run(self, cases: int) -> FuzzReport:
        """Try some more cases."""
        kinds = list(CODECS)
        for _ in range(cases):
            kind = self.rng.choice(kinds)
            self.try_one(kind, self._spoilt(kind))
        return self.report

    def try_one(self, kind: str, data: bytes) -> None:
        """Read one message; if it is legal, writing and reading it again must give the same."""
        handler = CODECS[kind]
        self.report.cases += 1
        try:
            message = codec.parse(handler.message, data)
        except MessageError:
            self.report.unreadable += 1
            return
        try:
            value = handler.decode(message)
        except MessageError:
            self.report.refused[kind] += 1
            return
        self.report.legal[kind] += 1
        again = handler.decode(codec.parse(handler.message, handler.encode(value).SerializeToString()))
        assert same(_without_refused(value), _without_refused(again)), f"{kind} changed when written and read again"

    def _spoilt(self, kind: str) -> bytes:
        rng, pool = self.rng, self._pool[kind]
        if len(pool) < POOL or rng.random() < 0.02:
            made = CODECS[kind].encode(CODECS[kind].make(self.samples)).SerializeToString()
            if len(pool) == POOL:
                pool.pop(rng.randrange(POOL))
            pool.append(made)
        data = rng.choice(pool)
        way = rng.random()
        if way < 0.6:
            message = CODECS[kind].message()
            message.ParseFromString(data)
            for _ in range(rng.randint(1, 3)):
                self.spoil(message)
            return message.SerializeToString()
        if way < 0.9:
            return self._spoil_bytes(bytearray(data))
        return rng.randbytes(rng.choice((0, 1, 10, 100)))

    def _spoil_bytes(self, data: bytearray) -> bytes:
        rng = self.rng
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(data) + 1)
            match rng.randrange(4):
                case 0 if data:
                    data[at % len(data)] ^= 1 << rng.randrange(8)
                case 1:
                    del data[at : at + rng.choice((1, 4, 1000))]
                case 2:
                    data[at:at] = rng.randbytes(rng.choice((1, 4, 8)))
                case _:
                    data += data[at : at + 40]
        return bytes(data)

    def spoil(self, message: Message) -> None:
        """Change one field, at any depth, to something that may be illegal."""
        rng = self.rng
        one = rng.choice(message.DESCRIPTOR.fields or [None])
        if one is None:
            return
        if rng.random() < 0.1:
            message.ClearField(one.name)
        elif one.is_repeated:
            self._spoil_list(getattr(message, one.name), one)
        elif one.type == FieldDescriptor.TYPE_MESSAGE:
            self.spoil(getattr(message, one.name))
            if rng.random() < 0.3:
                getattr(message, one.name).SetInParent()
        else:
            setattr(message, one.name, self._value(one, getattr(message, one.name)))

    def _spoil_list(self, items: Any, one: Any) -> None:
        if items and self.rng.random() < 0.3:
            del items[self.rng.randrange(len(items))]
        elif one.type != FieldDescriptor.TYPE_MESSAGE:
            items.extend([self._value(one, "")] * self.rng.choice((1, 2, 300)))
        elif items and self.rng.random() < 0.6:
            self.spoil(self.rng.choice(items))
        else:
            self.spoil(items.add())

    def _value(self, one: Any, old: Any) -> Any:
        rng = self.rng
        if one.type == FieldDescriptor.TYPE_STRING:
            return rng.choice(TEXTS)
        if one.type == FieldDescriptor.TYPE_BYTES:
            return self._spoil_bytes(bytearray(old or b"")) if rng.random() < 0.8 else b""
        if one.type == FieldDescriptor.TYPE_BOOL:
            return rng.random() < 0.5
        if one.type == FieldDescriptor.TYPE_DOUBLE:
            return rng.choice((0.0, -1.0, float("nan"), float("inf"), 1e300))
        if one.type == FieldDescriptor.TYPE_UINT32:
            return rng.choice([value for value in (*NUMBERS, 2**32 - 1) if 0 <= value < 2**32])
        wide = one.type in (FieldDescriptor.TYPE_INT64, FieldDescriptor.TYPE_SINT64)
        bits = 63 if wide else 31
        return rng.choice([value for value in NUMBERS if -(2**bits) <= value < 2**bits])


def _without_refused(value: Any) -> Any:
    """An intent batch as it is when it is written: refused intents are not part of the message."""
    return (value.tick_id, value.intents) if isinstance(value, IntentBatch) else value

"""Codec of the frames of a control stream for many entities."""

from typing import Any

from tickmind.protocol import REASONS
from tickmind.wire.codec.control import decode_closed, decode_run, encode_closed, encode_run
from tickmind.wire.codec.leases import DURATION_MS
from tickmind.wire.codec.values import (
    chosen,
    controller,
    encoder,
    number,
    optional_secret,
    present,
    secret,
    tick,
)
from tickmind.wire.columns.intents import decode_intent_batch, encode_intent_batch
from tickmind.wire.columns.observations import decode_observation_columns, write_observation_columns
from tickmind.wire.columns.packing import I4, I8, U1, ColumnBounds, check_range, pack, read_codes, read_rows, unpack
from tickmind.wire.messages.frames import (
    AckBatch,
    BatchDown,
    BatchOpen,
    BatchOpened,
    BatchUp,
    Closed,
    IntentBatch,
    KeepAlive,
    LeasesLost,
    ObservationBatch,
    Release,
)
from tickmind.wire.messages.limits import MAX_PARTS
from tickmind.wire.v1 import control_pb2 as pb

PARTS = int(MAX_PARTS.maximum)


@encoder
def encode_batch_up(frame: BatchUp) -> pb.ControlBatchRequest:
    """Encode a frame from a host; the refused intents of an `IntentBatch` are not sent."""
    match frame:
        case IntentBatch():
            return pb.ControlBatchRequest(intents=encode_intent_batch(frame.tick_id, frame.intents))
        case KeepAlive():
            return pb.ControlBatchRequest(keep_alive=pb.KeepAlive())
        case Release():
            return pb.ControlBatchRequest(release=pb.Release())
        case BatchOpen():
            opening = pb.ControlBatchOpen(
                controller_id=frame.controller_id,
                actor=pack(frame.actor, I4, "actor"),
                previous_lease_id=frame.previous_lease_id.reveal() if frame.previous_lease_id else "",
            )
            return pb.ControlBatchRequest(open=opening)
        case _:
            raise TypeError(frame)


def decode_batch_up(message: pb.ControlBatchRequest, bounds: ColumnBounds) -> BatchUp:
    """Decode a frame from a host."""
    form = chosen(message, "frame", "frame")
    if form == "intents":
        present(message.intents, "intents")
        return decode_intent_batch(message.intents, bounds)
    if form == "keep_alive":
        return KeepAlive()
    if form == "release":
        return Release()
    return BatchOpen(
        controller(message.open.controller_id, "controller_id"),
        read_rows(message.open.actor, bounds.actors, "actor"),
        optional_secret(message.open.previous_lease_id, "previous_lease_id"),
    )


@encoder
def encode_batch_down(frame: BatchDown) -> pb.ControlBatchResponse:
    """Encode a frame from the world."""
    match frame:
        case ObservationBatch():
            message = pb.ControlBatchResponse()
            batch = message.observations
            batch.part, batch.parts = frame.part, frame.parts
            batch.observations.SetInParent()
            write_observation_columns(batch.observations, frame.observations)
            return message
        case AckBatch():
            acks = pb.AckBatch(
                tick_id=frame.tick_id,
                accepted=frame.accepted,
                refused=pack(frame.refused, I4, "refused"),
                refused_reason=pack(frame.refused_reason, U1, "refused_reason"),
            )
            return pb.ControlBatchResponse(acks=acks)
        case LeasesLost():
            lost = pb.LeasesLost(actor=pack(frame.actor, I4, "actor"), reason=pack(frame.reason, U1, "reason"))
            return pb.ControlBatchResponse(lost=lost)
        case BatchOpened():
            opened = pb.ControlBatchOpened(
                lease_id=frame.lease_id.reveal(),
                ttl_ms=frame.ttl_ms,
                granted=pack(frame.granted, I4, "granted"),
                epoch=pack(frame.epoch, I8, "epoch"),
                refused=pack(frame.refused, I4, "refused"),
                refused_reason=pack(frame.refused_reason, U1, "refused_reason"),
                **encode_run(frame.run),
            )
            return pb.ControlBatchResponse(opened=opened)
        case Closed():
            return pb.ControlBatchResponse(closed=encode_closed(frame))
        case _:
            raise TypeError(frame)


def decode_batch_down(message: pb.ControlBatchResponse, bounds: ColumnBounds) -> BatchDown:
    """Decode a frame from the world."""
    form = chosen(message, "frame", "frame")
    if form == "observations":
        return _decode_observations(message.observations, bounds)
    if form == "acks":
        acks = message.acks
        return AckBatch(
            tick(acks.tick_id), number(acks.accepted, "accepted", 0, bounds.actors), **_refused(acks, bounds)
        )
    if form == "lost":
        actor = read_rows(message.lost.actor, bounds.actors, "actor")
        return LeasesLost(actor, read_codes(message.lost.reason, len(actor), len(REASONS), "reason", low=1))
    if form == "opened":
        return _decode_opened(message.opened, bounds)
    return decode_closed(message.closed)


def _decode_observations(message: pb.ObservationBatch, bounds: ColumnBounds) -> ObservationBatch:
    present(message, "observations")
    parts = number(message.parts, "parts", 1, PARTS)
    part = number(message.part, "part", 0, parts - 1)
    return ObservationBatch(part, parts, decode_observation_columns(message.observations, bounds))


def _decode_opened(message: pb.ControlBatchOpened, bounds: ColumnBounds) -> BatchOpened:
    granted = read_rows(message.granted, bounds.actors, "granted")
    epoch = unpack(message.epoch, I8, "epoch", len(granted))
    check_range(epoch, 0, None, "epoch")
    return BatchOpened(
        lease_id=secret(message.lease_id, "lease_id"),
        ttl_ms=number(message.ttl_ms, "ttl_ms", 1, DURATION_MS),
        granted=granted,
        epoch=epoch,
        run=decode_run(message),
        **_refused(message, bounds),
    )


def _refused(message: pb.AckBatch | pb.ControlBatchOpened, bounds: ColumnBounds) -> dict[str, Any]:
    refused = read_rows(message.refused, bounds.actors, "refused")
    codes = read_codes(message.refused_reason, len(refused), len(REASONS), "refused_reason", low=1)
    return {"refused": refused, "refused_reason": codes}

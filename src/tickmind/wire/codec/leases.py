"""Codec of leases and ticks."""

from typing import Any

from tickmind.protocol import REASON_CODES, Lease, Reason, TickEvent
from tickmind.wire.codec.values import (
    controller,
    encoder,
    name,
    number,
    optional_name,
    reason,
    secret,
    tick,
)
from tickmind.wire.errors import MessageError
from tickmind.wire.messages.frames import Closed
from tickmind.wire.messages.limits import MAX_DURATION_MS
from tickmind.wire.v1 import lease_pb2 as pb
from tickmind.wire.v1 import tick_pb2

DURATION_MS = int(MAX_DURATION_MS.maximum)


@encoder
def encode_lease(lease: Lease) -> pb.Lease:
    """Encode a lease, including its secret."""
    return pb.Lease(
        lease_id=lease.lease_id.reveal(),
        entity_id=lease.entity_id,
        controller_id=lease.controller_id,
        epoch=lease.epoch,
        ttl_ms=lease.ttl_ms,
    )


def decode_lease(message: pb.Lease) -> Lease:
    """Decode a lease."""
    return Lease(
        secret(message.lease_id, "lease_id"),
        name(message.entity_id, "entity_id"),
        controller(message.controller_id, "controller_id"),
        tick(message.epoch, "epoch"),
        number(message.ttl_ms, "ttl_ms", 1, DURATION_MS),
    )


@encoder
def encode_acquired(answer: Lease | Closed) -> pb.AcquireLeaseResponse:
    """Encode a lease, or why there is none."""
    if isinstance(answer, Lease):
        return pb.AcquireLeaseResponse(lease=encode_lease(answer))
    why: Any = _refusal(answer.reason)
    return pb.AcquireLeaseResponse(reason=why, retry_after_ms=answer.retry_after_ms)


@encoder
def encode_renewed(answer: Lease | Closed) -> pb.RenewLeaseResponse:
    """Encode a renewed lease, or why it was not renewed."""
    if isinstance(answer, Lease):
        return pb.RenewLeaseResponse(lease=encode_lease(answer))
    why: Any = _refusal(answer.reason)
    return pb.RenewLeaseResponse(reason=why)


def _refusal(why: Reason) -> int:
    if not why:
        raise MessageError("reason", "set where no lease is given")
    return REASON_CODES[why]


def decode_lease_answer(message: pb.AcquireLeaseResponse | pb.RenewLeaseResponse) -> Lease | Closed:
    """Decode a lease, or why there is none."""
    why = reason(message.reason, "reason")
    if message.HasField("lease") is bool(why):
        raise MessageError("reason", "set if and only if there is no lease")
    if not why:
        return decode_lease(message.lease)
    wait_ms = message.retry_after_ms if isinstance(message, pb.AcquireLeaseResponse) else 0
    return Closed(why, number(wait_ms, "retry_after_ms", 0, DURATION_MS))


@encoder
def encode_tick(event: TickEvent) -> tick_pb2.TickEvent:
    """Encode the start of a tick."""
    return tick_pb2.TickEvent(
        tick_id=event.tick_id,
        tick_start_server_time_ms=event.tick_start_server_time_ms,
        intent_deadline_server_time_ms=event.intent_deadline_server_time_ms,
        tick_duration_ms=event.tick_duration_ms,
        world_version=event.world_version,
    )


def decode_tick(message: tick_pb2.TickEvent) -> TickEvent:
    """Decode the start of a tick."""
    return TickEvent(
        tick(message.tick_id),
        message.tick_start_server_time_ms,
        message.intent_deadline_server_time_ms,
        number(message.tick_duration_ms, "tick_duration_ms", 0, DURATION_MS),
        optional_name(message.world_version, "world_version"),
    )


def decode_released(message: pb.ReleaseLeaseResponse) -> Reason:
    """Decode whether there was a lease to end."""
    return reason(message.reason, "reason")

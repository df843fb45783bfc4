"""Codec of requests of plain calls. A decoder raises `MessageError`, whose reason an `Ack` can carry."""

from tickmind.base import Secret
from tickmind.wire.codec.actions import decode_intent, encode_intent
from tickmind.wire.codec.insights import decode_insight, encode_insight
from tickmind.wire.codec.telemetry import decode_status, decode_thought_report, encode_status, encode_thought_report
from tickmind.wire.codec.values import (
    controller,
    count,
    encoder,
    name,
    number,
    optional_name,
    optional_secret,
    present,
    secret,
    tick,
)
from tickmind.wire.errors import MessageError
from tickmind.wire.messages.limits import MAX_INSIGHTS, MAX_PAGE
from tickmind.wire.messages.requests import (
    AcquireRequest,
    EntitiesRequest,
    InsightsRequest,
    ObservationsRequest,
    StatusRequest,
    SubmitRequest,
    ThoughtRequest,
)
from tickmind.wire.v1 import action_pb2, entity_pb2, lease_pb2, observation_pb2, telemetry_pb2


@encoder
def encode_submit(request: SubmitRequest) -> action_pb2.SubmitIntentRequest:
    """Encode an intent with its lease."""
    return action_pb2.SubmitIntentRequest(
        lease_id=request.lease_id.reveal(),
        entity_id=request.entity_id,
        tick_id=request.tick_id,
        intent=encode_intent(request.intent),
    )


def decode_submit(message: action_pb2.SubmitIntentRequest) -> SubmitRequest:
    """Decode an intent with its lease."""
    present(message, "intent")
    return SubmitRequest(
        secret(message.lease_id, "lease_id"),
        name(message.entity_id, "entity_id"),
        tick(message.tick_id),
        decode_intent(message.intent),
    )


@encoder
def encode_acquire(request: AcquireRequest) -> lease_pb2.AcquireLeaseRequest:
    """Encode a request for control."""
    return lease_pb2.AcquireLeaseRequest(
        entity_id=request.entity_id,
        controller_id=request.controller_id,
        previous_lease_id=request.previous_lease_id.reveal() if request.previous_lease_id else "",
    )


def decode_acquire(message: lease_pb2.AcquireLeaseRequest) -> AcquireRequest:
    """Decode a request for control."""
    return AcquireRequest(
        name(message.entity_id, "entity_id"),
        controller(message.controller_id, "controller_id"),
        optional_secret(message.previous_lease_id, "previous_lease_id"),
    )


def decode_lease_id(message: lease_pb2.RenewLeaseRequest | lease_pb2.ReleaseLeaseRequest) -> Secret:
    """Decode which lease to renew or to end."""
    return secret(message.lease_id, "lease_id")


@encoder
def encode_observations_request(request: ObservationsRequest) -> observation_pb2.StreamObservationsRequest:
    """Encode a request for observations."""
    return observation_pb2.StreamObservationsRequest(
        lease_id=request.lease_id.reveal(),
        entity_id=request.entity_id,
        want_floors=request.want_floors,
        once=request.once,
    )


def decode_observations_request(message: observation_pb2.StreamObservationsRequest) -> ObservationsRequest:
    """Decode a request for observations."""
    lease_id, entity_id = secret(message.lease_id, "lease_id"), name(message.entity_id, "entity_id")
    return ObservationsRequest(lease_id, entity_id, message.want_floors, message.once)


@encoder
def encode_entities_request(request: EntitiesRequest) -> entity_pb2.ListControllableEntitiesRequest:
    """Encode which actors to list."""
    return entity_pb2.ListControllableEntitiesRequest(
        uncontrolled_only=request.uncontrolled_only,
        page_size=request.page_size,
        after_entity_id=request.after_entity_id,
    )


def decode_entities_request(message: entity_pb2.ListControllableEntitiesRequest) -> EntitiesRequest:
    """Decode which actors to list."""
    size = number(message.page_size, "page_size", 0, int(MAX_PAGE.maximum))
    return EntitiesRequest(message.uncontrolled_only, size, optional_name(message.after_entity_id, "after_entity_id"))


@encoder
def encode_thought_request(request: ThoughtRequest) -> telemetry_pb2.ReportThoughtRequest:
    """Encode a thought with its lease."""
    report = encode_thought_report(request.report)
    return telemetry_pb2.ReportThoughtRequest(lease_id=request.lease_id.reveal(), report=report)


def decode_thought_request(message: telemetry_pb2.ReportThoughtRequest) -> ThoughtRequest:
    """Decode a thought with its lease."""
    present(message, "report")
    return ThoughtRequest(secret(message.lease_id, "lease_id"), decode_thought_report(message.report))


@encoder
def encode_status_request(request: StatusRequest) -> telemetry_pb2.ReportStatusRequest:
    """Encode a status with its lease."""
    status = encode_status(request.status)
    return telemetry_pb2.ReportStatusRequest(lease_id=request.lease_id.reveal(), status=status)


def decode_status_request(message: telemetry_pb2.ReportStatusRequest) -> StatusRequest:
    """Decode a status with its lease."""
    present(message, "status")
    return StatusRequest(secret(message.lease_id, "lease_id"), decode_status(message.status))


@encoder
def encode_insights_request(request: InsightsRequest) -> telemetry_pb2.ReportInsightsRequest:
    """Encode insights with their lease."""
    insights = [encode_insight(insight) for insight in request.insights]
    return telemetry_pb2.ReportInsightsRequest(lease_id=request.lease_id.reveal(), insights=insights)


def decode_insights_request(message: telemetry_pb2.ReportInsightsRequest) -> InsightsRequest:
    """Decode insights with their lease."""
    if not message.insights:
        raise MessageError("insights", "at least one")
    count(message.insights, "insights", MAX_INSIGHTS)
    return InsightsRequest(secret(message.lease_id, "lease_id"), tuple(map(decode_insight, message.insights)))

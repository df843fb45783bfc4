"""The plain (unary) calls that are answered at once."""

from collections.abc import Callable
from typing import Any, TypeAlias

from tickmind.protocol import REASON_CODES, Ack, Reason
from tickmind.server.authority import Authority
from tickmind.wire import MessageError, codec
from tickmind.wire.v1 import action_pb2, entity_pb2, lease_pb2, telemetry_pb2

Call: TypeAlias = Callable[[bytes], bytes]  # request to response, both serialized
Calls: TypeAlias = dict[str, Call]  # by method


def plain_calls(authority: Authority) -> dict[str, Calls]:
    """Return all plain calls by service."""
    return {
        "LeaseService": _lease_calls(authority),
        "ActionService": _action_calls(authority),
        "EntityDiscovery": _discovery_calls(authority),
        "AgentTelemetry": _telemetry_calls(authority),
    }


def _lease_calls(authority: Authority) -> Calls:
    def acquire(data: bytes) -> bytes:
        request = codec.decode_acquire(codec.parse(lease_pb2.AcquireLeaseRequest, data))
        return codec.encode_acquired(authority.acquire(request)).SerializeToString()

    def renew(data: bytes) -> bytes:
        lease_id = codec.decode_lease_id(codec.parse(lease_pb2.RenewLeaseRequest, data))
        return codec.encode_renewed(authority.leases.renew(lease_id)).SerializeToString()

    def release(data: bytes) -> bytes:
        lease_id = codec.decode_lease_id(codec.parse(lease_pb2.ReleaseLeaseRequest, data))
        code: Any = REASON_CODES[authority.leases.release(lease_id)]
        return lease_pb2.ReleaseLeaseResponse(reason=code).SerializeToString()

    return {"AcquireLease": acquire, "RenewLease": renew, "ReleaseLease": release}


def _action_calls(authority: Authority) -> Calls:
    return {
        "SubmitIntent": _acknowledged(
            action_pb2.SubmitIntentRequest,
            action_pb2.SubmitIntentResponse,
            lambda message: authority.submit(codec.decode_submit(message)),
            authority.refuse,
        )
    }


def _discovery_calls(authority: Authority) -> Calls:
    def list_entities(data: bytes) -> bytes:
        request = codec.parse(entity_pb2.ListControllableEntitiesRequest, data)
        entities, more = authority.entities(codec.decode_entities_request(request))
        page = [codec.encode_entity(entity) for entity in entities]
        return entity_pb2.ListControllableEntitiesResponse(entities=page, more=more).SerializeToString()

    return {"ListControllableEntities": list_entities}


def _telemetry_calls(authority: Authority) -> Calls:
    return {
        "ReportThought": _acknowledged(
            telemetry_pb2.ReportThoughtRequest,
            telemetry_pb2.ReportThoughtResponse,
            lambda message: authority.report_thought(codec.decode_thought_request(message)),
        ),
        "ReportStatus": _acknowledged(
            telemetry_pb2.ReportStatusRequest,
            telemetry_pb2.ReportStatusResponse,
            lambda message: authority.report_status(codec.decode_status_request(message)),
        ),
        "ReportInsights": _acknowledged(
            telemetry_pb2.ReportInsightsRequest,
            telemetry_pb2.ReportInsightsResponse,
            lambda message: authority.report_insights(codec.decode_insights_request(message)),
        ),
    }


def _acknowledged(
    request: Any,
    response: Any,
    act: Callable[[Any], Ack],
    refuse: Callable[[Reason], Ack] = lambda reason: Ack(False, reason),
) -> Call:
    """Return a call that is answered by an `Ack`, also where a field of its message can't be read."""

    def call(data: bytes) -> bytes:
        message = codec.parse(request, data)
        try:
            ack = act(message)
        except MessageError as error:
            ack = refuse(error.reason)
        answer: bytes = response(ack=codec.encode_ack(ack)).SerializeToString()
        return answer

    return call

"""The plain (unary) calls that are answered at once."""

from collections.abc import Callable
from typing import Any, TypeAlias

from tickmind.protocol import REASON_CODES, Ack
from tickmind.server.authority import Authority
from tickmind.wire import MessageError, codec
from tickmind.wire.v1 import action_pb2, entity_pb2, lease_pb2, telemetry_pb2

Calls: TypeAlias = dict[str, Callable[[bytes], bytes]]  # method -> request to response, both serialized


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
    def submit(data: bytes) -> bytes:
        message = codec.parse(action_pb2.SubmitIntentRequest, data)
        try:
            ack = authority.submit(codec.decode_submit(message))
        except MessageError as error:
            ack = authority.refuse(error.reason)
        return action_pb2.SubmitIntentResponse(ack=codec.encode_ack(ack)).SerializeToString()

    return {"SubmitIntent": submit}


def _discovery_calls(authority: Authority) -> Calls:
    def list_entities(data: bytes) -> bytes:
        request = codec.parse(entity_pb2.ListControllableEntitiesRequest, data)
        entities, more = authority.entities(codec.decode_entities_request(request))
        page = [codec.encode_entity(entity) for entity in entities]
        return entity_pb2.ListControllableEntitiesResponse(entities=page, more=more).SerializeToString()

    return {"ListControllableEntities": list_entities}


def _telemetry_calls(authority: Authority) -> Calls:
    def report_thought(data: bytes) -> bytes:
        message = codec.parse(telemetry_pb2.ReportThoughtRequest, data)
        try:
            ack = authority.report_thought(codec.decode_thought_request(message))
        except MessageError as error:
            ack = Ack(False, error.reason)
        return telemetry_pb2.ReportThoughtResponse(ack=codec.encode_ack(ack)).SerializeToString()

    def report_status(data: bytes) -> bytes:
        message = codec.parse(telemetry_pb2.ReportStatusRequest, data)
        try:
            ack = authority.report_status(codec.decode_status_request(message))
        except MessageError as error:
            ack = Ack(False, error.reason)
        return telemetry_pb2.ReportStatusResponse(ack=codec.encode_ack(ack)).SerializeToString()

    def report_insights(data: bytes) -> bytes:
        message = codec.parse(telemetry_pb2.ReportInsightsRequest, data)
        try:
            ack = authority.report_insights(codec.decode_insights_request(message))
        except MessageError as error:
            ack = Ack(False, error.reason)
        return telemetry_pb2.ReportInsightsResponse(ack=codec.encode_ack(ack)).SerializeToString()

    return {"ReportThought": report_thought, "ReportStatus": report_status, "ReportInsights": report_insights}

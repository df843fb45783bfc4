"""The plain calls: a question, and its answer at once."""

from typing import Any

from tickmind.protocol import REASON_CODES, Ack
from tickmind.server.authority import Authority
from tickmind.server.services.methods import plain
from tickmind.wire import MessageError, codec, columns
from tickmind.wire.v1 import action_pb2, entity_pb2, lease_pb2, telemetry_pb2, viewer_pb2


def lease_methods(authority: Authority) -> dict[str, Any]:
    """LeaseService by name."""

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

    return {"AcquireLease": plain(acquire), "RenewLease": plain(renew), "ReleaseLease": plain(release)}


def action_methods(authority: Authority) -> dict[str, Any]:
    """ActionService by name."""

    def submit(data: bytes) -> bytes:
        message = codec.parse(action_pb2.SubmitIntentRequest, data)
        try:
            ack = authority.submit(codec.decode_submit(message))
        except MessageError as error:
            ack = authority.refuse(error.reason)
        return action_pb2.SubmitIntentResponse(ack=codec.encode_ack(ack)).SerializeToString()

    return {"SubmitIntent": plain(submit)}


def discovery_calls(authority: Authority) -> dict[str, Any]:
    """The plain call of EntityDiscovery by name."""

    def list_entities(data: bytes) -> bytes:
        request = codec.parse(entity_pb2.ListControllableEntitiesRequest, data)
        found, more = authority.entities(codec.decode_entities_request(request))
        page = [codec.encode_entity(entity) for entity in found]
        return entity_pb2.ListControllableEntitiesResponse(entities=page, more=more).SerializeToString()

    return {"ListControllableEntities": plain(list_entities)}


def viewer_calls(authority: Authority) -> dict[str, Any]:
    """The plain call of ViewerService by name."""

    def get_snapshot(data: bytes) -> bytes:
        view = columns.decode_filter(codec.parse(viewer_pb2.GetViewerSnapshotRequest, data).filter)
        snapshot = columns.encode_snapshot(authority.snapshot(view))
        return viewer_pb2.GetViewerSnapshotResponse(snapshot=snapshot).SerializeToString()

    return {"GetViewerSnapshot": plain(get_snapshot)}


def telemetry_methods(authority: Authority) -> dict[str, Any]:
    """AgentTelemetry by name."""

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

    return {"ReportThought": plain(report_thought), "ReportStatus": plain(report_status)}

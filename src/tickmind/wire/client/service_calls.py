"""`service_calls`: the methods of a service of the schema, on a channel."""

from types import SimpleNamespace
from typing import Any

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.message_factory import GetMessageClass


def service_calls(channel: Any, schema: FileDescriptor) -> SimpleNamespace:
    """Return the methods of the one service in a file of the schema, by name; the channel may be blocking or asyncio.

    leases = service_calls(channel, lease_pb2.DESCRIPTOR)
    answer = await leases.AcquireLease(lease_pb2.AcquireLeaseRequest(entity_id="actor:0"))
    """
    (service,) = schema.services_by_name.values()
    calls = SimpleNamespace()
    for method in service.methods:
        up = "stream" if method.client_streaming else "unary"
        down = "stream" if method.server_streaming else "unary"
        open_call = getattr(channel, f"{up}_{down}")
        call = open_call(
            f"/{service.full_name}/{method.name}",
            request_serializer=GetMessageClass(method.input_type).SerializeToString,
            response_deserializer=GetMessageClass(method.output_type).FromString,
        )
        setattr(calls, method.name, call)
    return calls

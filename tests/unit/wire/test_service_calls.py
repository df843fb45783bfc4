from tickmind.wire.client.service_calls import service_calls
from tickmind.wire.v1 import control_pb2, lease_pb2, tick_pb2


class RememberingChannel:
    """Takes the place of a channel: what it was asked to open, as text."""

    def __init__(self):
        self.opened = {}

    def __getattr__(self, kind):
        def open_call(path, *, request_serializer, response_deserializer):
            self.opened[path] = kind, request_serializer, response_deserializer
            return path

        return open_call


def test_each_method_has_the_kind_and_the_messages_of_the_schema():
    channel = RememberingChannel()
    leases = service_calls(channel, lease_pb2.DESCRIPTOR)
    kind, write, read = channel.opened[leases.RenewLease]
    assert leases.RenewLease == "/tickmind.v1.LeaseService/RenewLease"
    assert kind == "unary_unary"
    request = lease_pb2.RenewLeaseRequest(lease_id="abc")
    assert write(request) == request.SerializeToString()
    assert read(b"") == lease_pb2.RenewLeaseResponse()


def test_streams_are_streams_in_their_own_directions():
    channel = RememberingChannel()
    ticks = service_calls(channel, tick_pb2.DESCRIPTOR)
    control = service_calls(channel, control_pb2.DESCRIPTOR)
    assert channel.opened[ticks.StreamTicks][0] == "unary_stream"
    assert channel.opened[control.ControlBatch][0] == "stream_stream"

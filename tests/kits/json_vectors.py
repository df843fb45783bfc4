"""Messages in the JSON form, with all that a client reads of them: what clients in other languages are tested with."""

from collections.abc import Iterator
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import Message
from tests.kits.wire_samples import Samples

from tickmind.wire.codec import encode_down
from tickmind.wire.v1 import door_pb2 as pb


def vectors() -> Iterator[dict[str, Any]]:
    """Yield a name, the message in JSON (`short`) and the same with all of its fields (`whole`), for many messages.

    Numbers of 64 bits are texts in both, because not every reader of JSON is exact.
    """
    samples = Samples(4)
    frames: list[Message] = [pb.SocketResponse(control=encode_down(samples.down())) for _ in range(80)]
    frames += [
        pb.SocketResponse(error=pb.SocketError(code=pb.SOCKET_ERROR_CODE_STALLED, message="slow", ends=True)),
        pb.SocketResponse(),
    ]
    for frame in frames:
        yield {
            "name": frame.DESCRIPTOR.name,
            "short": json_format.MessageToDict(frame),
            "whole": json_format.MessageToDict(frame, always_print_fields_with_no_presence=True),
        }

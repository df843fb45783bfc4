"""Observations of control streams in JSON, which cost a bridge no more than those in protobuf."""

from tickmind.protocol import TickEvent
from tickmind.wire.codec import write_times
from tickmind.wire.json_form.wire_json import WireJson
from tickmind.wire.v1 import control_pb2

_START, _END = '{"observation":{', "}}"


class JsonFrame(bytes):
    """A `ControlResponse` as JSON in UTF-8, where others are in protobuf's binary form."""

    __slots__ = ()


class JsonObservations:
    """Writes observations as JSON in two steps: most of it before the tick begins, and its times then."""

    def __init__(self) -> None:
        self._write = WireJson(control_pb2.ControlResponse.DESCRIPTOR).write

    def prepare(self, frame: bytes) -> str:
        """Return the JSON of a `ControlResponse` with an observation that has no times yet."""
        return self._write(frame)

    def times(self, event: TickEvent) -> str:
        """Return what `finish` appends to each of the tick's observations."""
        text = self._write(write_times(event)[0])
        return text.removeprefix(_START).removesuffix(_END)

    def finish(self, prepared: str, times: str) -> JsonFrame:
        """Return a prepared observation with its times."""
        if not times:
            return JsonFrame(prepared.encode())
        comma = "" if prepared == _START + _END else ","
        return JsonFrame(f"{prepared.removesuffix(_END)}{comma}{times}{_END}".encode())

    def whole(self, frame: bytes) -> JsonFrame:
        """Return a `ControlResponse` as JSON."""
        return JsonFrame(self._write(frame).encode())

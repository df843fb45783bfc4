"""Random frames of the WebSocket endpoint, legal and spoilt; the same seed gives the same ones."""

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import Message
from tests.kits.wire_sample_columns import ColumnSamples

from tickmind.wire import codec, columns
from tickmind.wire.v1 import door_pb2 as pb
from tickmind.wire.v1 import entity_pb2, viewer_pb2

ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 2**31, -(2**63), 2**64, 1e400, "", "x", "1", "-1", "NaN", "é\u2028\x00", "\ud800",
    "x" * 600, [], [[]], [None], {}, {"a": {}}, "DIRECTION_E", "====", "2024-01-01T00:00:00Z",
)  # fmt: skip
ODD_TEXTS = (
    "",
    "null",
    "[]",
    "{",
    '{"control":}',
    "[" * 50_000,
    '{"a":' * 20_000,
    '{"world":{},"world":{}}',
    "9" * 5000,
)


class SocketSamples:
    """Makes frames of every kind from the samples of the wire."""

    def __init__(self, seed: int = 0) -> None:
        self.samples = ColumnSamples(seed)

    def up(self) -> Iterator[pb.SocketRequest]:
        """Make one frame of each kind that goes up, and several of control."""
        samples = self.samples
        for _ in range(8):
            yield pb.SocketRequest(control=codec.encode_up(samples.up()), request_id=samples.number(2**31 - 1))
        view = columns.encode_filter(samples.view())
        yield pb.SocketRequest(watch=viewer_pb2.StreamViewerEventsRequest(filter=view), token="a-token")
        yield pb.SocketRequest(describe=codec.encode_entities_request(samples.entities_request()))
        yield pb.SocketRequest(snapshot=viewer_pb2.GetViewerSnapshotRequest(filter=view))
        yield pb.SocketRequest(world=entity_pb2.StreamWorldRequest())
        thought = codec.encode_thought_request(samples.thought_request())
        yield pb.SocketRequest(telemetry=pb.TelemetryReport(thought=thought))
        status = codec.encode_status_request(samples.status_request())
        yield pb.SocketRequest(telemetry=pb.TelemetryReport(status=status))
        insights = codec.encode_insights_request(samples.insights_request())
        yield pb.SocketRequest(telemetry=pb.TelemetryReport(insights=insights))

    def down(self) -> Iterator[pb.SocketResponse]:
        """Make one frame of each kind that comes down, and several of control."""
        samples = self.samples
        for frame in (*(samples.down() for _ in range(8)), samples.opened(), samples.observation()):
            yield pb.SocketResponse(control=codec.encode_down(frame))
        event = columns.encode_viewer_event(samples.viewer_event())
        yield pb.SocketResponse(watch=viewer_pb2.StreamViewerEventsResponse(event=event))
        page = entity_pb2.ListControllableEntitiesResponse(entities=[codec.encode_entity(samples.entity())], more=True)
        yield pb.SocketResponse(describe=page, request_id=samples.number(2**31 - 1))
        yield pb.SocketResponse(telemetry=pb.TelemetryAnswer(ack=codec.encode_ack(samples.ack())))
        snapshot = columns.encode_snapshot(samples.snapshot())
        yield pb.SocketResponse(snapshot=viewer_pb2.GetViewerSnapshotResponse(snapshot=snapshot))
        for part in codec.encode_world(samples.world()):
            yield pb.SocketResponse(world=pb.WorldPart(part=part, last=samples.rng.random() < 0.5))
        code: Any = samples.rng.choice(pb.SocketErrorCode.values()[1:])
        yield pb.SocketResponse(error=pb.SocketError(code=code, message=samples.text(), ends=True))


class JsonSpoiler:
    """Spoils JSON texts: letters, names, values and the shape."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = random.Random(seed)

    def spoil(self, frame: Message) -> str:
        """Return a frame as JSON with something in it that may be wrong."""
        return self.spoil_value(json_format.MessageToDict(frame))

    def spoil_value(self, value: dict[str, Any]) -> str:
        """Return the text of an object with something in it that may be wrong; the object is changed."""
        rng = self.rng
        way = rng.random()
        if way < 0.02:
            return rng.choice(ODD_TEXTS)
        if way < 0.65:
            for _ in range(rng.randint(1, 2)):
                self._spoil_value(value)
            return json.dumps(value)
        text = json.dumps(value)
        for _ in range(rng.randint(1, 3)):
            place = rng.randrange(len(text) + 1)
            letters = "".join(rng.choices('{}[],:"0123456789eE+-.\\u tfnx', k=rng.randrange(3)))
            text = text[:place] + letters + text[place + rng.randrange(3) :]
        return text

    def _spoil_value(self, value: Any) -> None:
        """Change something in an object: go down by chance, then replace, add, rename or remove."""
        rng = self.rng
        while True:
            inner = [
                one for one in (value.values() if isinstance(value, dict) else value) if isinstance(one, dict | list)
            ]
            if not inner or rng.random() < 0.3:
                break
            value = rng.choice(inner)
        odd = copy.deepcopy(rng.choice(ODD_VALUES))
        if isinstance(value, list):
            value.insert(rng.randrange(len(value) + 1), odd)
            return
        names = list(value)
        way = rng.random()
        if not names or way < 0.2:
            value[rng.choice(("control", "intent", "open", "leaseId", "lease_id", "entityId", "tickId", "a", ""))] = odd
        elif way < 0.75:
            value[rng.choice(names)] = odd
        elif way < 0.9:
            value[rng.choice(("move", "watch", "tick_id", "Control"))] = value.pop(rng.choice(names))
        else:
            del value[rng.choice(names)]

"""An observation that became JSON in two steps is what protobuf itself says of its bytes with its times."""

import json

import pytest
from google.protobuf import json_format
from tests.kits.socket_frames import SocketSamples

from tickmind.protocol import TickEvent
from tickmind.wire.codec import write_times
from tickmind.wire.json_form.frames import JsonObservations
from tickmind.wire.v1 import control_pb2, observation_pb2

FRAME = control_pb2.ControlResponse
TIMES = ("tick_start_server_time_ms", "intent_deadline_server_time_ms")


def event(started_ms):
    return TickEvent(3, started_ms, started_ms + 500 if started_ms else 0, 1000)


def prepared_ones():
    """Observations without times, as bytes of frames."""
    answers = [answer.control for answer in SocketSamples(0).down() if answer.control.HasField("observation")]
    seen = [observation_pb2.Observation(), *(answer.observation for answer in answers)]
    for one in seen:
        for name in TIMES:
            one.ClearField(name)
    return [FRAME(observation=one).SerializeToString() for one in seen]


@pytest.mark.parametrize("started_ms", [0, 1, 1_700_000_000_000])
def test_what_is_written_in_two_steps_is_one_message(started_ms):
    writer, frames = JsonObservations(), prepared_ones()
    assert len(frames) > 1
    times, data = writer.times(event(started_ms)), write_times(event(started_ms))[0]
    for frame in frames:
        expected = json_format.MessageToDict(FRAME.FromString(frame + data))
        assert json.loads(writer.finish(writer.prepare(frame), times)) == expected
        assert json.loads(writer.whole(frame + data)) == expected


def test_less_time_left_replaces_the_deadline():
    writer, frame = JsonObservations(), FRAME(observation={"tick_id": 3, "deadline_ms": 500}).SerializeToString()
    written = json.loads(writer.whole(frame + write_times(event(1), 20)[0]))
    assert written["observation"]["deadlineMs"] == 20

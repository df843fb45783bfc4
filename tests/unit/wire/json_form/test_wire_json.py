"""JSON straight from bytes is what protobuf itself says of the same bytes, however they are put together."""

import gc
import json
import random

import pytest
from google.protobuf import json_format
from google.protobuf.message import DecodeError
from tests.kits.socket_frames import SocketSamples
from tests.long import short_or_long

from tickmind.wire.json_form.limits import MAX_KEPT_PART_BYTES, MAX_KEPT_PARTS
from tickmind.wire.json_form.wire_json import KeptNumbers, KeptTexts, WireJson
from tickmind.wire.v1 import action_pb2, control_pb2, entity_pb2, lease_pb2, observation_pb2
from tickmind.wire.v1 import door_pb2 as pb

FRAME = control_pb2.ControlResponse
SPOILT = short_or_long(1_000, 1_000_000)


@pytest.fixture(scope="module")
def writer():
    return WireJson(FRAME.DESCRIPTOR)


@pytest.fixture(scope="module")
def frames():
    answers = [answer for seed in range(2) for answer in SocketSamples(seed).down()]
    return [answer.control.SerializeToString() for answer in answers if answer.HasField("control")]


def same(writer, data):
    assert json.loads(writer.write(data)) == json_format.MessageToDict(FRAME.FromString(data))


def test_parts_of_a_message_in_any_order_are_one_message(writer):
    me = observation_pb2.SelfState(entity_id="ada", x=3, y=-4, energy=7)
    first = observation_pb2.Observation(tick_id=2**62, deadline_ms=500, me=me)
    more = observation_pb2.Observation(deadline_ms=20, me=observation_pb2.SelfState(x=9, hunger=1))
    seen = observation_pb2.Observation(visible_entities=[{"entity_id": "bo", "tags": ["npc", '\u2028<"\\>']}])
    for parts in ((first, more, seen), (seen, more, first), (seen, first, seen, more)):
        data = b"".join(FRAME(observation=part).SerializeToString() for part in parts)
        same(writer, data)


def test_of_two_kinds_of_frame_in_one_the_last_counts(writer):
    opened = FRAME(opened=control_pb2.ControlOpened(run_id="r", kinds=[{"name": "oven"}])).SerializeToString()
    closed = FRAME(closed=control_pb2.Closed(reason=action_pb2.REASON_OVERLOADED)).SerializeToString()
    same(writer, opened + closed)
    same(writer, closed + opened)
    same(writer, b"")


def test_values_that_are_there_and_values_that_are_not_known(writer):
    nothing = FRAME(observation=observation_pb2.Observation(me=observation_pb2.SelfState())).SerializeToString()
    same(writer, nothing)
    unknown_field, unknown_enum = b"\x12\x04\xa2\x06\x01x", b"\x22\x03\x08\xe7\x07"
    same(writer, unknown_field)
    same(writer, unknown_enum)
    same(writer, b"\x12\x02\x10\x00")  # a default that is written
    same(writer, b"\x12\x06\x10\x85\x80\x80\x80\x10")  # more bits than the field has
    same(writer, b"\x22\x06\x08\x81\x80\x80\x80\x10")


def test_every_message_of_a_socket_can_be_written_so():
    for seed in range(2):
        for answer in SocketSamples(seed).down():
            data = answer.SerializeToString()
            assert json.loads(WireJson(pb.SocketResponse.DESCRIPTOR).write(data)) == json_format.MessageToDict(answer)
    info = entity_pb2.KindInfo.DESCRIPTOR
    assert WireJson(info).write(b"") == "{}"


def test_spoilt_bytes_are_what_protobuf_reads_in_them_or_none(writer, frames):
    dice, read, refused = random.Random(1), 0, 0
    for _ in range(SPOILT):
        data = bytearray(dice.choice(frames))
        for _ in range(dice.randint(1, 3)):
            place = dice.randrange(len(data) + 1)
            match dice.randrange(3):
                case 0 if place < len(data):
                    data[place] = dice.randrange(256)
                case 1:
                    del data[place : place + dice.randint(1, 9)]
                case _:
                    data[place:place] = dice.randbytes(dice.randint(1, 4))
        try:
            expected = json_format.MessageToDict(FRAME.FromString(bytes(data)))
        except DecodeError:
            refused += 1
            with pytest.raises(DecodeError):
                writer.write(bytes(data))
        else:
            read += 1
            assert json.loads(writer.write(bytes(data))) == expected
    assert min(read, refused) > SPOILT / 20


@pytest.mark.parametrize(("kept", "part"), [(KeptTexts(bytes.decode), b"%d".__mod__), (KeptNumbers(str), int)])
def test_what_is_kept_has_an_end(kept, part):
    most = int(MAX_KEPT_PARTS.maximum)
    for number in range(2 * most):
        assert kept[part(number)] == str(number)
        assert len(kept) <= most


def test_neither_long_parts_nor_secrets_are_kept(writer):
    kept = KeptTexts(bytes.decode)
    assert kept[b"x" * (int(MAX_KEPT_PART_BYTES.maximum) + 1)]
    assert not kept
    opened = FRAME(opened=control_pb2.ControlOpened(lease=lease_pb2.Lease(lease_id="the-secret")))
    assert "the-secret" in writer.write(opened.SerializeToString())
    held = [one for one in gc.get_objects() if isinstance(one, KeptTexts)]
    assert len(held) > 10
    assert not [key for one in held for key in one if b"the-secret" in key]

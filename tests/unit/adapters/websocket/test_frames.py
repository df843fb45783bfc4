import json
from pathlib import Path

import jsonschema
import pytest
from google.protobuf import json_format
from tests.acceptance.test_documents import blocks_of
from tests.kits.socket_frames import ODD_TEXTS, JsonSpoiler, SocketSamples
from tests.long import short_or_long

from tickmind.adapters.websocket import BadFrameError, frame_schema
from tickmind.adapters.websocket.frames import CODECS, JSON_SUBPROTOCOL, PROTOBUF_SUBPROTOCOL
from tickmind.wire.json_form.limits import MAX_KEPT_PART_BYTES
from tickmind.wire.v1 import action_pb2, control_pb2
from tickmind.wire.v1 import door_pb2 as pb

SPOILT = short_or_long(2_000, 1_000_000)
SEEDS = range(short_or_long(4, 200))
JSON, PROTOBUF = CODECS[JSON_SUBPROTOCOL], CODECS[PROTOBUF_SUBPROTOCOL]
GUIDE = Path(__file__).parents[4] / "docs" / "guides" / "websocket.md"


@pytest.fixture(scope="module")
def validator():
    schema = frame_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("seed", SEEDS)
def test_frames_fit_the_schema_and_are_the_same_in_both_forms(validator, seed):
    samples = SocketSamples(seed)
    kinds = set()
    for frame in samples.up():
        text = json_format.MessageToJson(frame)
        validator.validate(json.loads(text))
        assert JSON.read(text) == frame == PROTOBUF.read(frame.SerializeToString())
        kinds.add(frame.WhichOneof("frame"))
    assert kinds == {field.name for field in pb.SocketRequest.DESCRIPTOR.oneofs_by_name["frame"].fields}
    kinds.clear()
    for answer in samples.down():
        written, data = JSON.write(answer), PROTOBUF.write(answer)
        assert isinstance(data, bytes)
        validator.validate(json.loads(written))
        assert json_format.Parse(written, pb.SocketResponse()) == answer == pb.SocketResponse.FromString(data)
        assert json.loads(written) == json_format.MessageToDict(answer)
        if answer.HasField("control"):
            passed_on = answer.control.SerializeToString()
            assert json.loads(JSON.write_control(passed_on)) == json.loads(written)
            binary = PROTOBUF.write_control(passed_on)
            assert isinstance(binary, bytes)
            assert pb.SocketResponse.FromString(binary) == answer
        kinds.add(answer.WhichOneof("frame"))
    assert kinds == {field.name for field in pb.SocketResponse.DESCRIPTOR.oneofs_by_name["frame"].fields}


@pytest.mark.parametrize(
    "frame",
    [
        {"contrl": {}},
        {"control": {"open": {"entityId": 5}}},
        {"control": {"open": {}}, "watch": {}},
        {"control": {"intent": {"tickId": "1.5"}}},
        {"control": {"intent": {"intent": {"move": {"direction": "EAST"}}}}},
        {"requestId": 2**31},
    ],
    ids=json.dumps,
)
def test_the_schema_refuses_what_the_endpoint_refuses(validator, frame):
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(frame)
    with pytest.raises(BadFrameError):
        JSON.read(json.dumps(frame))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"control":{"open":{"entity":"ada"}}}', "SocketRequest.control.open has no field 'entity'"),
        ('{"controls":{}}', "SocketRequest has no field 'controls'"),
        ("{", "the frame is no SocketRequest in JSON: "),
        ('{"watch":{"filter":{"actorIds":"\\ud800"}}}', "must be in [] which is \\ud800"),
        ('{"\\ud800":{}}', "a name in it is no field"),
        ("[" * 100_000, "the frame is no SocketRequest in JSON: "),
    ],
)
def test_a_frame_that_is_none_is_refused_in_plain_words(text, words):
    with pytest.raises(BadFrameError) as refused:
        JSON.read(text)
    assert words in str(refused.value)
    assert len(str(refused.value)) < 500
    str(refused.value).encode()  # else it could not be sent


@pytest.mark.parametrize("item", ["{}", "[]", "1", '""', '"\\\\"', '"\\""'])
def test_a_frame_of_countless_values_is_refused_unread(item):
    """Reading a million bytes of them takes a second, in which no other client is served."""
    items = ",".join([item] * 30_000)
    with pytest.raises(BadFrameError, match="number of values in a JSON frame of a WebSocket client is over 20000"):
        JSON.read(f'{{"telemetry":{{"insights":{{"insights":[{items}]}}}}}}')


def test_what_is_in_texts_does_not_count_as_values():
    text = 20_000 * '{"\\",[' + "\\"
    frame = {"telemetry": {"thought": {"report": {"thought": {"reply": text}}}}}
    assert JSON.read(json.dumps(frame)).telemetry.thought.report.thought.reply == text


def test_each_subprotocol_has_its_own_kind_of_frame():
    with pytest.raises(BadFrameError, match="are text; this one is binary"):
        JSON.read(b"{}")
    with pytest.raises(BadFrameError, match="are binary; this one is text"):
        PROTOBUF.read("{}")
    with pytest.raises(BadFrameError, match="no SocketRequest in protobuf's binary form"):
        PROTOBUF.read(b"\xff\xff")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_spoilt_text_gives_a_message_or_a_plain_refusal():
    spoiler, read, refused = JsonSpoiler(1), 0, 0
    while read + refused < SPOILT:
        samples = SocketSamples(spoiler.rng.getrandbits(32))
        for frame in 8 * list(samples.up()):
            try:
                JSON.read(spoiler.spoil(frame)).SerializeToString()
                read += 1
            except BadFrameError as error:
                str(error).encode()
                refused += 1
    assert min(read, refused) > SPOILT / 20


@pytest.mark.parametrize("text", ODD_TEXTS, ids=lambda text: text[:20])
def test_an_odd_text_is_refused(text):
    with pytest.raises(BadFrameError):
        JSON.read(text)


def test_the_frames_in_the_guide_are_frames(validator):
    blocks = [block.text for block in blocks_of(GUIDE.read_text(encoding="utf-8")) if block.language == "json"]
    frames = [json.loads(line) for block in blocks for line in block.splitlines()]
    assert len(frames) > 5
    for frame in frames:
        validator.validate(frame)


@pytest.mark.parametrize("codec", [JSON, PROTOBUF])
def test_only_short_intents_without_a_token_are_known_when_they_come_again(codec):
    said = action_pb2.Intent(say=action_pb2.Say(text="known"))
    intent = control_pb2.ControlRequest(intent=control_pb2.ControlIntent(tick_id=7, intent=said))
    data = in_form(codec, pb.SocketRequest(control=intent))
    codec.read(data)
    known = codec.known_intent(data)
    assert known is not None
    assert control_pb2.ControlRequest.FromString(known) == intent
    said.say.text = "x" * int(MAX_KEPT_PART_BYTES.maximum)
    long = control_pb2.ControlRequest(intent=control_pb2.ControlIntent(tick_id=7, intent=said))
    opened = control_pb2.ControlRequest(open=control_pb2.ControlOpen(entity_id="ada"))
    for other in (
        pb.SocketRequest(control=intent, token="a-secret"),
        pb.SocketRequest(control=long),
        pb.SocketRequest(control=opened),
    ):
        data = in_form(codec, other)
        codec.read(data)
        assert codec.known_intent(data) is None


def in_form(codec, frame):
    return json_format.MessageToJson(frame) if codec is JSON else frame.SerializeToString()

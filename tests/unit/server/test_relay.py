"""Control streams of many clients over one stream, message by message."""

import json
import random
from typing import Any

import grpc
import pytest
from google.protobuf import json_format
from tests.long import short_or_long

from tickmind.protocol import Direction, Move, Reason, Say
from tickmind.server.callers import WITHDRAWN
from tickmind.server.delivery.streams import StreamKind
from tickmind.server.limits import MAX, ServerLimits
from tickmind.server.seats import WORN_OUT
from tickmind.server.services import relay
from tickmind.server.services.relay import ControlRelay
from tickmind.wire import MessageError, codec
from tickmind.wire.messages.frames import (
    Closed,
    ControlAck,
    ControlIntent,
    ControlOpen,
    ControlOpened,
    KeepAlive,
    Release,
)
from tickmind.wire.messages.limits import MAX_RELAYED_FRAMES
from tickmind.wire.v1 import control_pb2
from tickmind.wire.v1 import relay_pb2 as pb


class Bridge:
    """The other side of a relay."""

    def __init__(self, game):
        self.game = game
        self.stream = game.stream(StreamKind.RELAY, 1)
        self.relay = ControlRelay(game.authority, self.stream)

    def send(self, *frames):
        """Send frames up in one message; one is a number, and a value or the bytes of one, or None for the end."""
        message = pb.RelayControlRequest()
        for number, frame in frames:
            if frame is None:
                message.frames.add(stream=number, end={})
            else:
                data = frame if isinstance(frame, bytes) else codec.encode_up(frame).SerializeToString()
                message.frames.add(stream=number, frame=data)
        self.relay.take(message.SerializeToString())

    def open(self, *numbers):
        """Let each number control the entity of that number."""
        self.send(*((number, ControlOpen(f"entity:{number}", f"agent:{number}")) for number in numbers))

    def open_as_json(self, number):
        """Let a number control the entity of that number, with observations in JSON."""
        opening = codec.encode_up(ControlOpen(f"entity:{number}", f"agent:{number}")).SerializeToString()
        message = pb.RelayControlRequest(frames=[{"stream": number, "frame": opening, "as_json": True}])
        self.relay.take(message.SerializeToString())

    def read(self):
        """Return what comes down: number -> values, and the statuses of ends."""
        found: dict[int, list[Any]] = {}
        while (wake := self.stream.outbox.take()) is not None:
            for data in self.relay.messages(wake):
                for frame in pb.RelayControlResponse.FromString(data).frames:
                    found.setdefault(frame.stream, []).append(value_of(frame))
        return found

    def kinds(self):
        """Return what comes down, as the names of kinds."""
        return {
            number: [frame if isinstance(frame, tuple) else type(frame).__name__ for frame in frames]
            for number, frames in self.read().items()
        }


def value_of(frame):
    if frame.HasField("end"):
        return frame.end.status, frame.end.details
    if frame.HasField("json"):
        return json.loads(frame.json)
    return codec.decode_down(codec.parse(control_pb2.ControlResponse, frame.frame))


@pytest.fixture
def bridge(game):
    return Bridge(game)


def status(code):
    return code.value[0]


def test_each_client_gets_its_own_lease_observations_and_acknowledgements(game, bridge):
    bridge.open(1, 2)
    game.authority.begin()
    found = bridge.read()
    assert isinstance(found[1][0], ControlOpened)
    assert {number: frames[0].lease.entity_id for number, frames in found.items()} == {1: "entity:1", 2: "entity:2"}
    assert [found[number][1].me.entity_id for number in (1, 2)] == ["entity:1", "entity:2"]
    bridge.send((1, ControlIntent(1, Move(Direction.N))), (2, ControlIntent(7, Move(Direction.S))))
    acks = bridge.read()
    assert [ack.ack.accepted for ack in acks[1]] == [True]
    assert [ack.ack.reason for ack in acks[2]] == [Reason.EARLY_TICK]
    assert game.authority.statistics().streams == {"relay": 1, "control": 2}


@pytest.mark.parametrize("left_ms", [None, 300])
def test_observations_are_the_same_in_json_for_clients_that_want_them_so(game, bridge, left_ms):
    other = Bridge(game)
    event = game.authority.begin()
    bridge.open_as_json(1)
    bridge.open_as_json(3)
    other.open(2)
    game.authority.audience.send(event, left_ms)
    found, there = bridge.read(), other.read()
    assert [type(frames[0]) for frames in found.values()] == [ControlOpened, ControlOpened]
    [_, mine], [_, theirs] = found[1], there[2]
    seen = json_format.MessageToDict(codec.encode_down(theirs))
    assert mine["observation"].keys() == seen["observation"].keys()
    for name in ("tickId", "deadlineMs", "tickStartServerTimeMs", "intentDeadlineServerTimeMs"):
        assert mine["observation"].get(name) == seen["observation"].get(name), name
    assert [frames[1]["observation"]["me"]["entityId"] for frames in found.values()] == ["entity:1", "entity:3"]
    bridge.send((1, ControlIntent(1, Move(Direction.N))))
    assert [ack.ack.accepted for ack in bridge.read()[1]] == [True]


def test_a_refused_client_ends_and_the_others_go_on(game, bridge):
    game.control("entity:2")
    bridge.open(1, 2)
    assert bridge.kinds() == {1: ["ControlOpened"], 2: ["Closed", (0, "")]}
    bridge.send((1, ControlIntent(0, Move(Direction.N))), (2, KeepAlive()))
    assert bridge.kinds() == {1: ["ControlAck"]}


@pytest.mark.parametrize("frame", [b"\xff\xff", b"", ControlOpen("entity:1", "agent:1")])
def test_a_malformed_frame_ends_its_stream_alone_and_leaves_the_lease(game, bridge, frame):
    bridge.open(1, 2)
    bridge.read()
    bridge.send((1, frame), (1, KeepAlive()), (2, KeepAlive()))
    [(code, words)] = bridge.read()[1]
    assert code == status(grpc.StatusCode.INVALID_ARGUMENT)
    assert words
    assert game.authority.leases.controlled[:3].tolist() == [True, True, False]
    assert game.authority.statistics().streams == {"relay": 1, "control": 1}


def test_the_first_frame_must_open(bridge):
    bridge.send((1, KeepAlive()))
    assert bridge.read()[1][0][0] == status(grpc.StatusCode.INVALID_ARGUMENT)


def test_an_error_of_ours_ends_one_stream_and_shows_nothing(game, bridge, monkeypatch, caplog):
    bridge.open(1, 2)
    bridge.read()
    monkeypatch.setattr(game.authority.leases, "suspended", lambda *_: 1 / 0)
    bridge.send((1, ControlIntent(0, Move(Direction.N))), (2, KeepAlive()))
    [(code, words)] = bridge.read()[1]
    assert code == status(grpc.StatusCode.INTERNAL)
    assert "division" not in words
    assert "a relayed control stream failed" in caplog.text


def test_a_number_is_not_used_again(game, bridge):
    bridge.open(2)
    bridge.send((2, None), (2, ControlOpen("entity:3", "me")), (1, ControlOpen("entity:4", "me")))
    assert bridge.read() == {}
    assert game.authority.leases.controlled.tolist() == [False, True, False, False]


def test_an_end_from_a_client_leaves_its_lease_to_run_out(game, bridge):
    bridge.open(1, 2)
    bridge.send((1, None))
    assert game.authority.leases.controlled[:2].tolist() == [True, True]
    game.clock.advance(11)
    game.authority.begin()
    assert bridge.kinds() == {2: ["ControlOpened", "Closed", (0, "")]}
    assert not game.authority.leases.controlled.any()


def test_a_newer_stream_of_the_same_lease_replaces_the_older(bridge):
    bridge.open(1)
    lease_id = bridge.read()[1][0].lease.lease_id
    bridge.send((2, ControlOpen("entity:1", "agent:1", lease_id)))
    assert bridge.kinds() == {1: ["Closed", (0, "")], 2: ["ControlOpened"]}


def test_only_the_newest_observation_waits_behind_the_acknowledgements(game, bridge):
    bridge.open(1)
    bridge.read()
    for _ in range(3):
        game.tick()
    game.authority.begin()
    bridge.send((1, ControlIntent(game.world.tick_id, Say("hello"))))
    ack, observation = bridge.read()[1]
    assert isinstance(ack, ControlAck)
    assert observation.tick_id == game.world.tick_id


def test_a_client_that_is_cut_off_gets_the_reason(game, bridge):
    bridge.open(1, 2)
    bridge.read()
    streams = game.authority.streams
    streams.cut_where(lambda stream: stream.kind is StreamKind.CONTROL and stream.peer == "here", WITHDRAWN)
    code = status(grpc.StatusCode.UNAUTHENTICATED)
    assert bridge.read() == {1: [(code, WITHDRAWN)], 2: [(code, WITHDRAWN)]}
    assert game.authority.statistics().streams["control"] == 0


def test_control_streams_count_for_the_limits_of_streams(make_game):
    game = make_game(limits=ServerLimits(peer_streams=MAX.peer_streams.at(2)))
    bridge = Bridge(game)
    bridge.open(1, 2)
    found = bridge.kinds()
    assert found[1] == ["ControlOpened"]
    assert found[2][0][0] == status(grpc.StatusCode.RESOURCE_EXHAUSTED)
    assert game.authority.leases.controlled[:2].tolist() == [True, False]


def test_refused_control_streams_count_for_nobody(make_game):
    game = make_game(limits=ServerLimits(peer_streams=MAX.peer_streams.at(2)))
    bridge = Bridge(game)
    bridge.open(1, 2, 3, 4)  # and reads nothing yet
    assert game.authority.statistics().streams == {"relay": 1, "control": 1}
    assert len(game.authority.streams) == 2
    bridge.send((1, None))
    assert not game.authority.streams.why_not(StreamKind.CONTROL, bridge.stream.peer)
    assert sorted(bridge.read()) == [2, 3, 4]


def test_a_client_that_does_not_read_why_its_streams_are_refused_is_cut_off(make_game):
    limits = ServerLimits(peer_streams=MAX.peer_streams.at(1), stray_frames=MAX.stray_frames.at(3))
    game = make_game(limits=limits)
    bridge = Bridge(game)
    bridge.open(1, 2, 3)
    assert not bridge.stream.cut_off
    game.tick()
    bridge.open(4)
    assert "does not read" in bridge.stream.cut_off
    bridge.open(5)
    assert bridge.read() == {}


def test_a_client_that_sends_too_many_frames_for_no_stream_is_cut_off(make_game):
    game = make_game(limits=ServerLimits(stray_frames=MAX.stray_frames.at(5)))
    bridge = Bridge(game)
    bridge.open(9)
    bridge.send(*((number, KeepAlive()) for number in (1, 2, 3, 4)))
    assert not bridge.stream.cut_off
    game.tick()
    bridge.send(*((number, KeepAlive()) for number in (1, 2, 3, 4, 5)))
    assert not bridge.stream.cut_off
    bridge.send((1, KeepAlive()), (9, ControlIntent(2, Move(Direction.N))))
    assert "for no control stream" in bridge.stream.cut_off


def test_a_message_with_too_many_frames_is_refused(bridge):
    frames = [(1, KeepAlive())] * (int(MAX_RELAYED_FRAMES.maximum) + 1)
    with pytest.raises(MessageError, match="at most"):
        bridge.send(*frames)
    with pytest.raises(MessageError):
        bridge.relay.take(b"\xff\xff")


def test_a_client_that_sends_too_many_messages_is_cut_off(game, bridge):
    for _ in range(int(MAX.frames_per_tick.maximum) * WORN_OUT):
        bridge.send()
    assert not bridge.stream.cut_off
    bridge.send()
    assert "too many messages" in bridge.stream.cut_off


def test_spoilt_messages_change_nothing_but_by_the_rules(game, caplog):
    """What can't be read raises `MessageError`, and then a new stream is opened, as a bridge would."""
    dice = random.Random(1)
    bridge, refused, acks = Bridge(game), 0, 0
    acts = (ControlIntent(1, Move(Direction.N)), ControlIntent(1, Say("x" * 40)))
    frames = [codec.encode_up(one) for one in (ControlOpen("entity:1", "a"), *acts, KeepAlive(), Release())]
    game.authority.begin()
    before = game.world.state_hash()
    for turn in range(short_or_long(1_000, 1_000_000)):
        if turn % 50 == 0:
            bridge.send(*((turn // 50 * 4 + at, ControlOpen(f"entity:{at}", "a")) for at in range(1, 5)))
        message = pb.RelayControlRequest()
        for _ in range(dice.randint(1, 4)):
            number = dice.randint(1, 4) + turn // 50 * 4
            message.frames.add(stream=number, frame=dice.choice(frames).SerializeToString())
        data = bytearray(message.SerializeToString())
        for _ in range(dice.randint(1, 3) if turn % 2 else 0):
            data[dice.randrange(len(data))] = dice.randrange(256)
        try:
            bridge.relay.take(bytes(data))
        except MessageError:
            refused += 1
            bridge.relay.leave()
            game.authority.streams.close(bridge.stream)
            bridge = Bridge(game)
        acks += sum(isinstance(frame, ControlAck) for frames_down in bridge.read().values() for frame in frames_down)
        if turn % 50 == 49:
            assert game.world.state_hash() == before
            game.finish()
            game.clock.advance(11)
            game.authority.begin()
            before = game.world.state_hash()
        assert game.authority.statistics().streams.get("control", 0) <= 4
    assert refused > 100
    assert acks > 10
    assert "failed" not in caplog.text


def test_many_answers_come_in_several_messages(game, bridge, monkeypatch):
    monkeypatch.setattr(relay, "MESSAGE_BYTES", 1)
    bridge.open(1, 2, 3)
    assert len(list(bridge.relay.messages(bridge.stream.outbox.take()))) == 3


def test_leaving_ends_all_control_streams_and_no_lease(game, bridge):
    bridge.open(1, 2)
    bridge.relay.leave()
    game.authority.streams.close(bridge.stream)
    assert game.authority.leases.controlled[:2].tolist() == [True, True]
    assert not len(game.authority.streams)
    game.tick()
    game.authority.begin()  # nobody is left to be sent anything


def test_a_world_that_stops_closes_each_and_then_the_stream(game, bridge):
    bridge.open(1, 2)
    bridge.read()
    game.authority.stop()
    found = bridge.read()
    assert [frame for frames in found.values() for frame in frames if isinstance(frame, Closed)] == [
        Closed(Reason.STOPPING),
        Closed(Reason.STOPPING),
    ]
    assert bridge.stream.outbox.ended

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kits.wire_samples import Samples

from tickmind.protocol import Ack, Direction, Move, Pickup, Reason, Say, Wait
from tickmind.wire import MessageError, codec
from tickmind.wire.v1 import action_pb2 as typed_action_pb2
from tickmind.wire.v1 import control_pb2, entity_pb2, observation_pb2, telemetry_pb2
from tickmind.wire.v1 import lease_pb2 as typed_lease_pb2

action_pb2: Any = typed_action_pb2  # so that codes beyond the enums can be given
lease_pb2: Any = typed_lease_pb2
GOOD = codec.encode_observation(Samples(4).observation())


def spoilt(change):
    message = observation_pb2.Observation()
    message.CopyFrom(GOOD)
    change(message)
    return message


def test_amount_and_channel_have_their_defaults():
    assert codec.decode_intent(action_pb2.Intent(pickup=action_pb2.Pickup(kind="berries"))) == Pickup("berries", 1)
    assert codec.decode_intent(action_pb2.Intent(say=action_pb2.Say(text="hi"))) == Say("hi", "local")


@pytest.mark.parametrize(
    "intent",
    [
        action_pb2.Intent(),
        action_pb2.Intent(move=action_pb2.Move()),
        action_pb2.Intent(move=action_pb2.Move(direction=9)),
        action_pb2.Intent(move=action_pb2.Move(direction=-1)),
        action_pb2.Intent(pickup=action_pb2.Pickup()),
        action_pb2.Intent(pickup=action_pb2.Pickup(kind="berries", amount=0)),
        action_pb2.Intent(use=action_pb2.Use(kind="berries", amount=-1)),
        action_pb2.Intent(drop=action_pb2.Drop(kind="x" * 101)),
        action_pb2.Intent(give=action_pb2.Give(kind="berries")),
        action_pb2.Intent(interact=action_pb2.Interact(target_id="a\nb")),
        action_pb2.Intent(say=action_pb2.Say(text="hi", channel="")),
        action_pb2.Intent(say=action_pb2.Say(text="hi", channel="radio")),
        action_pb2.Intent(say=action_pb2.Say(text="")),
        action_pb2.Intent(say=action_pb2.Say(text=" \n")),
    ],
    ids=str,
)
def test_an_intent_that_no_action_has_is_illegal(intent):
    with pytest.raises(MessageError) as caught:
        codec.decode_intent(intent)
    assert caught.value.reason is Reason.ILLEGAL_ACTION


def test_a_long_text_has_a_reason_of_its_own():
    with pytest.raises(MessageError) as caught:
        codec.decode_intent(action_pb2.Intent(say=action_pb2.Say(text="x" * 501)))
    assert caught.value.reason is Reason.TEXT_TOO_LONG


def test_a_malformed_secret_is_an_invalid_lease_and_is_not_shown():
    request = action_pb2.SubmitIntentRequest(lease_id="not a secret!", entity_id="a", intent={"wait": {}})
    with pytest.raises(MessageError) as caught:
        codec.decode_submit(request)
    assert caught.value.reason is Reason.INVALID_LEASE
    assert "not a secret!" not in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        lambda seen: seen.ClearField("me"),
        lambda seen: seen.ClearField("visible_tiles"),
        lambda seen: setattr(seen, "tick_id", -1),
        lambda seen: setattr(seen, "deadline_ms", -1),
        lambda seen: setattr(seen.me, "x", -1),
        lambda seen: setattr(seen.me, "y", 4096),
        lambda seen: setattr(seen.me, "status_bits", 8),
        lambda seen: setattr(seen.me, "facing", 0),
        lambda seen: setattr(seen.me, "energy", 1001),
        lambda seen: seen.me.needs.add(name="warmth", value=1001),
        lambda seen: seen.me.needs.add(value=1),
        lambda seen: seen.me.needs.extend([observation_pb2.NeedValue(name="warmth")] * 9),
        lambda seen: setattr(seen.visible_tiles, "radius", 32),
        lambda seen: setattr(seen.visible_tiles, "visible", b""),
        lambda seen: setattr(seen.visible_tiles, "visible", b"\xff" * len(seen.visible_tiles.visible)),
        lambda seen: setattr(seen.visible_tiles, "floors", b"\x00\x00"),
        lambda seen: seen.visible_entities.add(),
        lambda seen: seen.visible_entities.add(entity_id="a", facing=1, tags=["t"] * 65),
        lambda seen: seen.visible_objects.add(object_id="door"),
        lambda seen: seen.events.add(),
        lambda seen: seen.events.add().acted.SetInParent(),
        lambda seen: seen.events.add().heard.SetInParent(),
        lambda seen: setattr(seen.result, "actor_id", ""),
    ],
)
def test_an_observation_that_breaks_a_rule_is_refused(change):
    assert codec.decode_observation(GOOD) is not None
    with pytest.raises(MessageError):
        codec.decode_observation(spoilt(change))


def test_walkable_tiles_are_visible_ones():
    tiles = observation_pb2.VisibleTiles(radius=0, visible=b"\x00", walkable=b"\x01")
    with pytest.raises(MessageError, match="walkable only where visible"):
        codec.decode_observation(spoilt(lambda seen: seen.visible_tiles.CopyFrom(tiles)))


@pytest.mark.parametrize(
    ("decode", "message"),
    [
        (codec.decode_ack, action_pb2.Ack(accepted=True, reason=1)),
        (codec.decode_ack, action_pb2.Ack(accepted=False)),
        (codec.decode_ack, action_pb2.Ack(accepted=False, reason=99)),
        (codec.decode_result, action_pb2.ActionResult(actor_id="a", action_type=1, ok=True, reason=1)),
        (codec.decode_result, action_pb2.ActionResult(actor_id="a", action_type=0, ok=True)),
        (codec.decode_lease_answer, lease_pb2.AcquireLeaseResponse()),
        (codec.decode_lease_answer, lease_pb2.AcquireLeaseResponse(lease={}, reason=1)),
        (codec.decode_up, control_pb2.ControlRequest()),
        (codec.decode_up, control_pb2.ControlRequest(intent={})),
        (codec.decode_down, control_pb2.ControlResponse()),
        (codec.decode_down, control_pb2.ControlResponse(opened={})),
        (codec.decode_page, entity_pb2.ListControllableEntitiesResponse(more=True)),
    ],
)
def test_contradictions_are_refused(decode, message):
    with pytest.raises(MessageError):
        decode(message)


DEEP = '{"a":' * 40 + "1" + "}" * 40
LONG = '{"a": "' + "x" * 70_000 + '"}'


@pytest.mark.parametrize(
    "json", ["[]", "{", "NaN", '{"a": NaN}', '{"a": 1e999}', DEEP, LONG], ids=lambda json: json[:12]
)
def test_directives_are_a_small_flat_json_object(json):
    report = codec.encode_thought_report(Samples(1).thought_report())
    report.thought.directives_json = json
    with pytest.raises(MessageError):
        codec.decode_thought_report(report)


@pytest.mark.parametrize(
    ("field", "value"), [("latency_s", float("nan")), ("latency_s", -1.0), ("cost_usd", float("inf"))]
)
def test_amounts_of_a_thought_are_finite(field, value):
    report = codec.encode_thought_report(Samples(1).thought_report())
    setattr(report.thought, field, value)
    with pytest.raises(MessageError):
        codec.decode_thought_report(report)


def test_text_that_is_not_utf_8_is_refused():
    with pytest.raises(MessageError, match="UTF-8"):
        codec.parse(telemetry_pb2.AgentStatus, b"\x0a\x02\xff\xfe")


@pytest.mark.parametrize("intent", [Pickup("berries", 2**31), Wait, None], ids=repr)
def test_what_does_not_fit_is_not_written(intent):
    with pytest.raises(MessageError):
        codec.encode_intent(intent)


def test_a_world_in_parts_must_be_as_announced():
    world = replace(Samples(3).world(), objects=())
    parts = list(codec.encode_world(world))
    reader = codec.WorldReader()
    with pytest.raises(MessageError):
        reader.finish()
    reader.add(parts[0])
    with pytest.raises(MessageError, match="as much as the header announced"):
        reader.finish()
    with pytest.raises(MessageError, match="first part only"):
        reader.add(parts[0])
    for part in parts[1:]:
        reader.add(part)
    assert reader.finish() == world
    with pytest.raises(MessageError, match="no more than"):
        reader.add(parts[1])


def test_a_header_can_not_announce_more_than_a_world_may_have():
    header = entity_pb2.WorldHeader(width=1, height=1, actor_count=2_000_000, verbs=[""])
    with pytest.raises(MessageError, match="actor_count"):
        codec.WorldReader().add(entity_pb2.StreamWorldResponse(header=header))


@settings(deadline=None)
@given(seeds=st.lists(st.integers(0, 2**32), min_size=1, max_size=4))
@pytest.mark.slow
def test_shared_parts_are_written_once_and_read_the_same(seeds):
    first = Samples(seeds[0]).observation()
    writer = codec.ObservationWriter()
    for seed in seeds:
        own = Samples(seed).observation()
        seen = replace(own, visible_entities=first.visible_entities, events=first.events)
        message = codec.parse(observation_pb2.Observation, writer.write(seen))
        assert message == codec.encode_observation(seen)
        assert codec.decode_observation(message) == seen
        frame = codec.parse(control_pb2.ControlResponse, writer.write_frame(seen))
        assert codec.decode_down(frame) == seen
        answer = codec.parse(observation_pb2.StreamObservationsResponse, writer.write_response(seen))
        assert codec.decode_observation(answer.observation) == seen


def test_names_are_checked_again_after_many_others():
    for number in range(70_000):
        assert codec.decode_entity(entity_pb2.EntityInfo(entity_id=f"actor:{number}")).entity_id
    with pytest.raises(MessageError):
        codec.decode_entity(entity_pb2.EntityInfo(entity_id="actor\x00"))


def test_every_direction_and_reason_travels():
    for direction in Direction:
        move = action_pb2.Intent(move=action_pb2.Move(direction=direction + 1))
        assert codec.decode_intent(move) == Move(direction)
    for reason in Reason:
        ack = Ack(not reason, reason)
        assert codec.decode_ack(codec.encode_ack(ack)) == ack

"""What the rules really make goes over the wire and comes back the same."""

import random

import numpy as np
import pytest
from tests.kits.wire_same import same

from tickmind.protocol import Direction, Drop, Give, Interact, Move, Pickup, Say, Sleep, Use, Wait, Wake
from tickmind.wire import ViewerEvent, codec, columns
from tickmind.wire.columns import ColumnBounds
from tickmind.wire.messages import limits as wire_limits
from tickmind.wire.messages.frames import IntentBatch, ObservationBatch
from tickmind.wire.v1 import control_pb2, observation_pb2, viewer_pb2
from tickmind.world import MAX_TEXT_CHARS, TileWorld, generate_village, parse_scenario
from tickmind.world.scenario import limits as world_limits

TICKS = 12
pytestmark = pytest.mark.slow  # the rules may have to be compiled first


@pytest.fixture
def village():
    return TileWorld.from_scenario(parse_scenario(generate_village(seed=7)))


def intents_of(world, rng):
    """Something for everybody, sensible or not."""
    kinds = [*world.info.item_kinds, "nonsense"]
    objects = [thing.object_id for thing in world.info.objects] or ["nothing"]
    actors = [actor.entity_id for actor in world.info.actors]
    found = {}
    for row in range(len(actors)):
        kind = rng.choice(kinds)
        found[row] = rng.choice(
            [
                Wait(),
                Move(rng.choice(tuple(Direction))),
                Move(rng.choice(tuple(Direction))),
                Pickup(kind),
                Use(kind),
                Say("Good morning."),
                Interact(rng.choice(objects)),
                Drop(kind),
                Give(rng.choice(actors), kind),
                Sleep(),
                Wake(),
            ]
        )
    return found


def test_the_world_itself_arrives(village):
    reader = codec.WorldReader()
    for part in codec.encode_world(village.info):
        reader.add(part)
    assert reader.finish() == village.info


def test_observations_intents_and_results_of_a_living_village_arrive(village):
    rng, bounds = random.Random(3), ColumnBounds.of(village.info)
    rows = np.arange(len(village.info.actors), dtype=np.int32)
    nobody = np.empty(0, np.int32), np.empty(0, np.uint8)
    for _ in range(TICKS):
        packed = ObservationBatch(0, 1, village.observe_columns())
        data = columns.encode_batch_down(packed).SerializeToString()
        assert same(columns.decode_batch_down(codec.parse(control_pb2.ControlBatchResponse, data), bounds), packed)

        writer = codec.ObservationWriter()
        for seen in village.observe(rows):
            assert codec.decode_observation(codec.parse(observation_pb2.Observation, writer.write(seen))) == seen

        intents = intents_of(village, rng)
        for intent in intents.values():
            assert codec.decode_intent(codec.encode_intent(intent)) == intent
        compiled = village.compile(intents)
        batch = IntentBatch(village.tick_id, compiled, *nobody)
        data = columns.encode_batch_up(batch).SerializeToString()
        received = columns.decode_batch_up(codec.parse(control_pb2.ControlBatchRequest, data), bounds)
        assert isinstance(received, IntentBatch)
        assert same(received, batch)

        record = village.step(received.intents)
        event = ViewerEvent(
            record.tick_id, record.sim_time_ms, rows, record.actor_state, record.results, record.utterances,
            record.object_deltas,
        )  # fmt: skip
        data = columns.encode_viewer_event(event).SerializeToString()
        assert same(columns.decode_viewer_event(codec.parse(viewer_pb2.ViewerEvent, data), bounds), event)


def test_a_world_stepped_by_received_intents_is_the_same_world(village):
    other, rng = TileWorld.from_scenario(parse_scenario(generate_village(seed=7))), random.Random(4)
    bounds = ColumnBounds.of(village.info)
    for _ in range(TICKS):
        intents = intents_of(village, rng)
        message = columns.encode_batch_up(
            IntentBatch(1, other.compile(intents), np.empty(0, np.int32), np.empty(0, np.uint8))
        )
        received = columns.decode_batch_up(message, bounds)
        assert isinstance(received, IntentBatch)
        assert village.step(intents).state_hash == other.step(received.intents).state_hash


def test_the_wire_allows_all_that_a_world_may_have():
    assert wire_limits.MAX_TEXT_CHARS.maximum == MAX_TEXT_CHARS.maximum
    for name in (
        "MAX_ACTORS",
        "MAX_HEARING",
        "MAX_KINDS",
        "MAX_MAP_SIDE",
        "MAX_NAME_CHARS",
        "MAX_OBJECTS",
        "MAX_RADIUS",
        "MAX_STATES",
    ):
        assert getattr(wire_limits, name).maximum >= getattr(world_limits, name).maximum, name
    assert wire_limits.MAX_AMOUNT.maximum >= world_limits.MAX_GROUND.maximum

"""The frames: the same bytes from a record and from a live world, and all of the world in them."""

import contextlib
import random

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.viewer.conftest import Lively
from tests.unit.world.test_arrivals import INN
from tests.unit.world.test_setting import VILLAGE

from tickmind.protocol import (
    ACTION_TYPES,
    REASONS,
    ActorColumns,
    AgentState,
    AgentStatus,
    Direction,
    Move,
    ResultColumns,
    Thought,
    ThoughtReport,
)
from tickmind.record import RunStore
from tickmind.viewer import FrameError
from tickmind.viewer.frames import FrameKind, Tag, hello, notes, unpack
from tickmind.viewer.frames.layout import MAX_FRAME_BYTES, pack
from tickmind.viewer.frames.notes import thought_news
from tickmind.viewer.frames.steps import FIRST_FAILED, MOVE_REASONS, OTHER, step_codes
from tickmind.viewer.frames.tick import MOST_ENTRIES
from tickmind.viewer.sources.digest import Digest
from tickmind.viewer.sources.frame_builder import FrameBuilder, scene_at_start, scene_of_snapshot
from tickmind.viewer.sources.replay import RunFrames
from tickmind.wire.messages.limits import MAX_EVENTS
from tickmind.world import TileWorld, parse_scenario


@pytest.mark.parametrize("seed", range(3))
def test_a_record_and_a_live_world_give_the_same_bytes(lively, seed):
    life = lively(seed=seed)
    start = scene_of_snapshot(life.snapshot())
    recorded = FrameBuilder(life.info, scene_at_start(life.info, 0, 0, life.world.view().actors))
    live = FrameBuilder(life.info, start)
    assert recorded.keyframe() == live.keyframe()
    for _ in range(60):
        record, event = life.step()
        assert recorded.record(record) == live.event(event)
        assert recorded.keyframe() == live.keyframe()


def test_whoever_applies_ticks_has_the_world_at_every_tick(lively, reader):
    life = lively(seed=5, side=14)
    stage = FrameBuilder(life.info, scene_of_snapshot(life.snapshot()))
    reader.take(next(unpack(stage.keyframe())))
    for _ in range(80):
        record, _event = life.step()
        (frame,) = unpack(stage.record(record))
        reader.take(frame)
        view, now = life.world.view(), record.actor_state
        assert frame.sim_time_ms == record.sim_time_ms
        assert reader.x.tolist() == now.x.tolist()
        assert reader.y.tolist() == now.y.tolist()
        assert reader.facing.tolist() == now.facing.tolist()
        assert reader.status.tolist() == now.status_bits.tolist()
        assert reader.state.tolist() == view.object_state.tolist()
        assert reader.stock.tolist() == view.object_stock.tolist()
        heaps = zip(view.ground_x.tolist(), view.ground_y.tolist(), view.ground_kind.tolist(), strict=True)
        assert reader.ground == dict(zip(heaps, view.ground_amount.tolist(), strict=True))
        done = zip(record.results.action.tolist(), record.results.reason.tolist(), strict=True)
        assert reader.results == dict(zip(record.results.actor.tolist(), done, strict=True))
        assert [text for _, _, text, _, _ in reader.said] == [said.text for said in record.utterances]


def test_frames_have_no_place_for_who_is_away(reader, tmp_path):
    # From the corner of the map to -1, -1 it is as far as a step, but never one.
    scenario = parse_scenario(INN.replace("at: [1, 0]", "at: [0, 0], facing: SE"))
    life, store = Lively(TileWorld.from_scenario(scenario), random.Random(3)), RunStore(tmp_path)
    start = scene_of_snapshot(life.snapshot())
    recorded, live = (FrameBuilder(life.info, start) for _ in range(2))
    reader.take(next(unpack(live.keyframe())))
    there = []
    with store.create(life.info, "inn") as log:
        for _ in range(9):
            record, event = life.step()
            log.publish(record)
            frame = live.event(event)
            assert recorded.record(record) == frame
            reader.take(next(unpack(frame)))
            assert (reader.x.tolist(), reader.y.tolist()) == (
                record.actor_state.x.tolist(),
                record.actor_state.y.tolist(),
            )
            there.append(int(reader.x[0]) >= 0)
    assert there == [False, True, True, True, False, False, False, False, False]
    with store.open("inn") as run:
        for part in unpack(b"".join(RunFrames(run).frames(1, 9))):
            if part.kind is not FrameKind.NOTES:
                reader.take(part)
        assert reader.x[0] == -1


def test_coming_and_going_is_no_step():
    away, corner = (np.array([at], np.int32) for at in (-1, 0))
    facing = np.array([Direction.SE], np.int8)
    moved = ResultColumns(corner, np.array([1], np.uint8), np.array([0], np.uint8))
    for old, new in ((away, corner), (corner, away)):
        codes, told = step_codes(ActorColumns(old, old, corner, facing), ActorColumns(new, new, corner, facing), moved)
        assert (codes.tolist(), told.tolist()) == ([OTHER], [False])


def test_the_digest_counts_those_that_are_there():
    world, digest = TileWorld.from_scenario(parse_scenario(INN)), Digest(1)
    for _ in range(6):
        record = world.step({}, np.array([False, True]))  # the guest is not controlled, wherever it is
        digest.add_tick(record.tick_id, record.actor_state, record.results, 0)
    shown = digest.shown()["columns"]
    assert shown["uncontrolled"] == [0, 1, 1, 1, 0, 0]
    assert [sum(both) for both in zip(shown["awake"], shown["asleep"], strict=True)] == [1, 2, 2, 2, 1, 1]


def test_a_walking_crowd_costs_at_most_a_byte_for_each_actor(lively):
    life = lively(2000, side=80)
    stage = FrameBuilder(life.info, scene_of_snapshot(life.snapshot()))
    for _ in range(20):
        ways = {row: Move(Direction(life.dice.randrange(8))) for row in range(2000)}
        frame = stage.record(life.world.step(ways))
        assert len(frame) <= 2000


def test_a_quiet_tick_costs_next_to_nothing(lively):
    life = lively(2000, side=80)
    stage = FrameBuilder(life.info, scene_of_snapshot(life.snapshot()))
    life.world.step({})
    assert len(stage.record(life.world.step({7: Move(Direction.N)}))) < 100


ONE = st.tuples(
    st.integers(-3, 3),
    st.integers(-3, 3),
    st.integers(0, 7),
    st.integers(0, 7),
    st.one_of(st.none(), st.tuples(st.integers(0, len(ACTION_TYPES) - 1), st.integers(0, len(REASONS) - 1))),
)


@given(st.lists(ONE, min_size=1, max_size=30))
def test_a_step_code_tells_the_truth_or_nothing(actors):
    count = len(actors)
    zeros = np.zeros(count, np.int32)
    old = ActorColumns(zeros + 10, zeros + 10, zeros, np.array([one[2] for one in actors], np.int8))
    new = ActorColumns(
        np.array([10 + one[0] for one in actors], np.int32),
        np.array([10 + one[1] for one in actors], np.int32),
        zeros,
        np.array([one[3] for one in actors], np.int8),
    )
    done = [(row, *one[4]) for row, one in enumerate(actors) if one[4] is not None]
    results = ResultColumns(
        np.array([row for row, _, _ in done], np.int32),
        np.array([action for _, action, _ in done], np.uint8),
        np.array([reason for _, _, reason in done], np.uint8),
    )
    codes, told = step_codes(old, new, results)
    told_rows = {row: is_told for (row, _, _), is_told in zip(done, told.tolist(), strict=True)}
    for row, (dx, dy, before, facing, result) in enumerate(actors):
        code = int(codes[row])
        if code == 0:
            assert (dx, dy, before) == (0, 0, facing)
            assert not told_rows.get(row)
        elif code <= 8:
            way = Direction(code - 1)
            assert (dx, dy, facing, result) == (way.dx, way.dy, way, (1, 0))
        elif code <= 72:
            reason = MOVE_REASONS[(code - FIRST_FAILED) // 8]
            assert (dx, dy, facing) == (0, 0, (code - FIRST_FAILED) % 8)
            assert result == (1, REASONS.index(reason))
        elif code == 73:
            assert (dx, dy, before, result) == (0, 0, facing, (0, 0))
        else:
            assert code == OTHER
            assert not told_rows.get(row)


def test_hello_has_the_map_and_all_names(lively):
    info = lively().info
    (frame,) = unpack(hello(info, mode="replay"))
    given = orjson.loads(frame.sections[Tag.INFO])
    assert (given["width"], given["height"], given["mode"]) == (info.width, info.height, "replay")
    assert len(given["item_words"]) == len(given["items"])
    assert bytes(frame.sections[Tag.FLOOR]) == info.floor_codes
    assert orjson.loads(frame.sections[Tag.ACTOR_IDS]) == [actor.entity_id for actor in info.actors]
    places = np.frombuffer(frame.sections[Tag.OBJECT_PLACE], "<i2").reshape(2, -1)
    assert places.T.tolist() == [[thing.x, thing.y] for thing in info.objects]


def test_hello_says_who_people_are_without_the_settings_of_their_programs():
    info = TileWorld.from_scenario(parse_scenario(VILLAGE)).info
    (frame,) = unpack(hello(info))
    ada = orjson.loads(frame.sections[Tag.INFO])["people"]["0"]
    assert (ada["name"], ada["colour"]) == ("Ada", "#c04040")
    assert info.actors[0].persona is not None
    assert info.actors[0].persona.agent
    assert "agent" not in ada


@pytest.mark.parametrize(
    ("kind", "reply", "news"),
    [
        ("", "see what is new", "wants to see what is new"),
        ("", "Berries first.", "decides: Berries first."),
        (
            "",
            '```json\n{"goal": "eat_now", "why": null, "sure": true}\n```',
            "decides: goal eat_now, why nothing, sure yes",
        ),
        ("", '{"goal": "eat", "steps": ["go', "decides: goal : eat , steps : go"),
        ("", "[" * 900, "gets an empty answer"),
        ("", '{"a":' * 300 + "1" + "}" * 300, "decides: a a a a …"),
        ("", " ", "gets an empty answer"),
        ("talk", "Good day!", "thinks of saying “Good day!”"),
        ("rehearse", "Hello", "thinks of saying “Hello”"),
        ("extract", "nothing", "hears nothing worth keeping"),
        ("extract", "Iris has a bag", "will remember: Iris has a bag"),
        ("reflect", "Nothing follows.", "concludes nothing new"),
        ("reflect", "Bram is kind", "concludes: Bram is kind"),
        ("plan_day", "08:00 work\n21:00 rest", "plans the day: 08:00 work, 21:00 rest"),
        ("own", "so be it", "thinks: so be it"),
    ],
)
def test_a_thought_is_a_sentence_in_lists_and_never_json(kind, reply, news):
    assert thought_news(kind, reply) == news


def test_notes_tell_of_thoughts_in_brief_and_leave_out_strangers():
    thought = Thought(1, 3, 9, "be kind", "what now?", reply="x" * 1000, model="m", latency_s=1.5, prompt_tokens=7)
    data = notes(
        12,
        12_000,
        [ThoughtReport("a", 11, thought), ThoughtReport("stranger", 11, thought)],
        [AgentStatus("a", 12, AgentState.DELIBERATING, "asks a model")],
        {"a": 4},
    )
    (frame,) = unpack(data)
    (mark,) = orjson.loads(frame.sections[Tag.THOUGHTS])
    assert (mark["tick"], mark["row"], mark["waited"], mark["tokens"]) == (11, 4, 6, 7)
    assert mark["brief"].startswith("decides: ")
    assert len(mark["brief"]) == len("decides: ") + 280
    assert orjson.loads(frame.sections[Tag.STATES]) == [[12, 4, "deliberating", "asks a model"]]
    assert notes(12, 0, [], [], {"a": 4}) == b""


def test_frames_that_follow_each_other_are_aligned_and_read_apart():
    both = pack(FrameKind.NOTES, 1, 2, {Tag.THOUGHTS: b"[1]"}) + pack(FrameKind.TICK, 2, 3, {Tag.STEPS: b"12345"})
    assert len(both) % 8 == 0
    one, two = unpack(both)
    assert bytes(one.sections[Tag.THOUGHTS]) == b"[1]"
    assert (two.kind, two.tick_id, bytes(two.sections[Tag.STEPS])) == (FrameKind.TICK, 2, b"12345")


@given(st.binary(max_size=80))
def test_bytes_that_are_no_frame_are_refused(data):
    with contextlib.suppress(FrameError):
        assert list(unpack(data)) == [] or len(data) >= 24


@pytest.mark.parametrize("at", range(0, 56, 3))
def test_a_frame_cut_short_is_refused(at):
    data = pack(FrameKind.TICK, 2, 3, {Tag.STEPS: b"12345", Tag.SAID: b"[]"})
    with pytest.raises(FrameError):
        list(unpack(data[: at or 1]))


def test_a_frame_of_another_version_says_so():
    with pytest.raises(FrameError, match="version 9"):
        list(unpack(b"\x09" + pack(FrameKind.TICK, 2, 3, {})[1:]))


def test_lists_are_as_long_as_a_live_world_sends_them():
    assert MAX_EVENTS.maximum == MOST_ENTRIES
    assert MAX_FRAME_BYTES.maximum > 0

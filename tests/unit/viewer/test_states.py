"""Which state agents are in at a tick, told live and read from a record."""

import orjson
import pytest

from tickmind.protocol import AgentState, AgentStatus
from tickmind.record import RunStore
from tickmind.server.testing import meadow
from tickmind.viewer.frames import FrameKind, Tag, unpack
from tickmind.viewer.sources.history import FrameHistory
from tickmind.viewer.sources.replay import RunFrames
from tickmind.viewer.sources.source import LATE_TICKS, window_ticks
from tickmind.viewer.sources.states import MAX_HOLDING, MAX_KEPT, AgentStates, RecordedStates
from tickmind.world import TileWorld

ROWS = {"entity:1": 0, "entity:2": 1, "entity:3": 2}


def said(name, tick, state=AgentState.DELIBERATING, detail=""):
    return AgentStatus(name, tick, state, detail)


def held(frames):
    """Tick -> the states that hold after it, of all frames that tell some."""
    return {
        frame.tick_id: orjson.loads(frame.sections[Tag.HOLDING])
        for frame in unpack(frames)
        if frame.kind is FrameKind.NOTES and Tag.HOLDING in frame.sections
    }


def test_the_last_thing_that_an_agent_told_is_its_state():
    states = AgentStates(ROWS)
    states.take([said("entity:2", 4), said("entity:1", 5), said("entity:1", 6, AgentState.DEGRADED, "no model")])
    states.take([said("nobody", 7)])
    assert held(states.frame(9, 900)) == {9: [[4, 1, "deliberating", ""], [6, 0, "degraded", "no model"]]}


def test_that_all_run_as_usual_is_told_as_well():
    states = AgentStates(ROWS)
    states.take([said("entity:1", 5), said("entity:1", 6, AgentState.RUNNING)])
    assert held(states.frame(9, 900)) == {9: []}


def test_a_frame_tells_a_limited_number_of_states_and_first_those_who_ask_a_model():
    most = int(MAX_HOLDING.maximum)
    rows = {f"entity:{number}": number for number in range(most + 10)}
    states = AgentStates(rows)
    states.take(said(name, 1, AgentState.DEGRADED) for name in rows)
    states.take([said(f"entity:{most + 5}", 2)])
    found = held(states.frame(9, 900))[9]
    assert len(found) == most
    assert found[0][1:3] == [most + 5, "deliberating"]


def test_a_window_of_a_live_world_has_what_was_told_of_it_a_little_later():
    history = FrameHistory(8)
    for tick in range(30):
        if history.wants_keyframe():
            history.begin(tick, b"K%d " % tick)
        history.add(tick + 1, b"T%d " % (tick + 1))
        if tick + 1 in (3, 9, 30):
            history.add_reports(tick + 1, b"N%d " % (tick + 1))
    assert history.window(1, 8) == b"K0 T1 T2 T3 T4 T5 T6 T7 T8 N3 N9 "
    assert history.window(9, 12) == b"K8 T9 T10 T11 T12 N9 "


@pytest.fixture
def thoughtful(tmp_path):
    """A run of 300 ticks, still open: one agent asked a model for 150 ticks, of another it was told late."""
    world = TileWorld.from_scenario(meadow(actors=3))
    first, second, third = (actor.entity_id for actor in world.info.actors)
    told = {
        21: [said(first, 20)],
        101: [said(second, 100)],
        110: [said(second, 109, AgentState.RUNNING)],
        171: [said(first, 170, AgentState.RUNNING)],
        257: [said(third, 256)],
    }
    store = RunStore(tmp_path)
    log = store.create(world.info, "thoughtful")
    for tick in range(1, 301):
        for status in told.get(tick, ()):
            log.status(status)
        log.publish(world.step({}))
    yield store, log
    log.close(seal=False)


def states_at(store, first, last):
    with store.open("thoughtful") as reader:
        return held(b"".join(RunFrames(reader).frames(first, last)))


@pytest.mark.parametrize("finished", [False, True])
def test_a_window_of_a_record_begins_with_the_states_that_held_however_long_ago_they_were_told(thoughtful, finished):
    store, log = thoughtful
    if finished:
        log.close()
    asking = [20, 0, "deliberating", ""]
    assert states_at(store, 20, 25) == {19: []}
    assert states_at(store, 21, 25) == {20: [asking]}
    assert states_at(store, 101, 110) == {100: [asking, [100, 1, "deliberating", ""]]}
    assert states_at(store, 165, 180) == {164: [asking]}
    assert states_at(store, 171, 180) == {170: []}


@pytest.mark.parametrize("finished", [False, True])
def test_many_ticks_of_a_record_tell_the_states_before_each_window(thoughtful, finished):
    store, log = thoughtful
    if finished:
        log.close()
    assert window_ticks(3) == 256
    assert states_at(store, 160, 300) == {159: [[20, 0, "deliberating", ""]], 256: [[256, 2, "deliberating", ""]]}


def test_states_are_the_same_whatever_was_looked_at_before(thoughtful):
    store, log = thoughtful
    log.close()
    with store.open("thoughtful") as reader:
        frames = RunFrames(reader)
        there = {tick: held(b"".join(frames.frames(tick, tick))) for tick in (290, 22, 171, 105, 257, 110)}
    for tick, found in there.items():
        assert found == states_at(store, tick, tick)


def test_many_states_that_were_looked_at_are_kept_and_not_more(thoughtful):
    store, log = thoughtful
    log.close()
    with store.open("thoughtful") as reader:
        states = RecordedStates(reader, {actor.entity_id: row for row, actor in enumerate(reader.info.actors)})
        found = {tick: held(states.after(tick).frame(tick, 0))[tick] for tick in range(1, 290)}
        assert len(states) <= MAX_KEPT.maximum
    assert [tick for tick, told in found.items() if told] == [*range(20, 170), *range(256, 290)]


def test_what_was_told_of_the_last_tick_of_a_window_comes_with_it(thoughtful):
    store, _ = thoughtful
    with store.open("thoughtful") as reader:
        frames = list(unpack(b"".join(RunFrames(reader).frames(90, 100))))
    told = [orjson.loads(frame.sections[Tag.STATES]) for frame in frames if Tag.STATES in frame.sections]
    assert told == [[[100, 1, "deliberating", ""]]]
    assert LATE_TICKS > 1

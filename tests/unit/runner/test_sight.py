"""What a runner sees of the world through its streams."""

import asyncio
from typing import Any

import numpy as np
import pytest

from tickmind.protocol import (
    ACTION_CODES,
    ActionType,
    ActorColumns,
    AgentState,
    AgentStatus,
    EntityInfo,
    LifecycleEvent,
    LifecycleKind,
    ResultColumns,
    Thought,
    ThoughtReport,
)
from tickmind.runner import Runner, WorldWatcher, load_mapping
from tickmind.server.testing import meadow
from tickmind.wire import MessageError, UnreachableError, ViewerEvent
from tickmind.world import TileWorld

NOBODY = np.zeros(0, dtype=np.int32)
NOTHING = ActorColumns(NOBODY, NOBODY, NOBODY, np.zeros(0, dtype=np.int8))


@pytest.fixture
def sight():
    found = WorldWatcher()
    found.enter(TileWorld.from_scenario(meadow(3)).info)
    return found


def tick(number, *rows, **given):
    results = ResultColumns(
        np.array(rows, dtype=np.int32),
        np.array([ACTION_CODES[ActionType.WAIT]] * len(rows), dtype=np.uint8),
        np.zeros(len(rows), dtype=np.uint8),
    )
    return ViewerEvent(number, 0, NOBODY, NOTHING, results, **given)


def names(sight):
    return sight._names


def happened(name, kind):
    return LifecycleEvent(1, kind, EntityInfo(name, "x"))


def test_only_who_is_controlled_can_miss_an_intent(sight):
    first, second, third = names(sight)
    sight.lifecycle(happened(first, LifecycleKind.CONTROLLED))
    sight.lifecycle(happened(second, LifecycleKind.CONTROLLED))
    sight.tick(tick(1), 0.0)
    for number in (2, 3, 4):
        sight.tick(tick(number, 1), 1.0)
    assert (sight.of(first).missed, sight.of(second).missed, sight.of(third).missed) == (4, 0, 0)
    assert (sight.of(second).last_action, sight.of(second).last_tick) == ("Wait", 4)
    sight.lifecycle(happened(first, LifecycleKind.UNCONTROLLED))
    assert sight.of(first).missed == 0


def test_a_person_who_plays_may_stand_still_and_the_agent_has_missed_nothing(sight):
    first = names(sight)[0]
    sight.control(first, controlled=True)
    sight.tick(tick(1), 0.0)
    sight.lifecycle(happened(first, LifecycleKind.PLAYED))
    for number in (2, 3, 4):
        sight.tick(tick(number), 1.0)
    assert sight.of(first).missed == 0
    sight.lifecycle(happened(first, LifecycleKind.UNPLAYED))
    sight.tick(tick(5), 1.0)
    assert sight.of(first).missed == 1


def test_ticks_that_were_not_seen_count_for_nothing(sight):
    first = names(sight)[0]
    sight.control(first, controlled=True)
    sight.tick(tick(10), 0.0)
    sight.tick(tick(20), 0.0)
    assert sight.of(first).missed == 0


def test_thinking_begins_and_ends(sight):
    first = names(sight)[0]
    sight.control(first, controlled=True)
    sight.tick(tick(1, statuses=(AgentStatus(first, 1, AgentState.DELIBERATING),)), 0.0)
    assert sight.of(first).thinking
    sight.tick(tick(2, thoughts=(ThoughtReport(first, 2, Thought(0, 1, 2, "", "")),)), 0.0)
    assert not sight.of(first).thinking


def test_a_world_that_does_not_tick_is_noticed(sight):
    assert not sight.is_ticking(0.0)
    sight.tick(tick(1), 10.0)
    assert sight.is_ticking(10.5)
    assert not sight.is_ticking(10.0 + max(1.0, 3 * sight.tick_s))


def test_who_is_gone_is_forgotten(sight):
    first = names(sight)[0]
    sight.control(first, controlled=True)
    sight.lifecycle(happened(first, LifecycleKind.DESPAWNED))
    assert not sight.of(first).controlled


def test_the_last_error_that_an_agent_tells_is_seen_until_it_is_over(sight):
    wrong = AgentStatus("entity:1", 1, AgentState.DEGRADED, "KeyError: 'hp' (my.py:7)")
    sight.tick(tick(1, 0, statuses=(wrong,)), 1.0)
    assert sight.of("entity:1").last_error == "KeyError: 'hp' (my.py:7)"
    sight.tick(tick(2, 0, statuses=(AgentStatus("entity:1", 2, AgentState.RUNNING),)), 2.0)
    assert sight.of("entity:1").last_error == ""
    sight.tick(tick(3, 0, statuses=(wrong,)), 3.0)
    sight.control("entity:1", controlled=False)
    assert sight.of("entity:1").last_error == ""


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("error", "refused"),
    [
        (MessageError("floors", "set"), "floors must be set; it may be of another version"),
        (UnreachableError("gone"), ""),
    ],
)
async def test_a_world_that_can_not_be_read_is_told_from_one_that_is_not_there(error, refused, tmp_path):
    asked = asyncio.Event()

    class Client:
        async def world(self):
            asked.set()
            raise error

    file = tmp_path / "agents.yaml"
    file.write_text("agents: {a: {cmd: [python]}}\nassignments: [{match: {}, use: a}]\n")
    launcher: Any = object()
    client: Any = Client()
    runner = Runner(load_mapping(file), tmp_path, launcher=launcher)
    watching = asyncio.create_task(runner._watch(client))
    await asked.wait()
    await asyncio.sleep(0)
    assert runner.sight.refused == refused
    watching.cancel()

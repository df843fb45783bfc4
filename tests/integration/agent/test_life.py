"""Lives in a real world: control, turns, breaks and the end."""

import asyncio
import os
import threading
import time
from typing import Any

import pytest

from tickmind.agent import AgentError, ControlLostError, Heartbeat
from tickmind.agent.process.agent_process import ERROR_TICKS, MAX_FAILED_TICKS, MAX_STUCK_S, STUCK_TICKS
from tickmind.base import Secret
from tickmind.protocol import (
    ActionType,
    AgentState,
    AgentStatus,
    Direction,
    Drop,
    Move,
    Say,
    Thought,
    ThoughtReport,
    Wait,
)
from tickmind.wire import WorldClient

ALL = ("entity:1", "entity:2", "entity:3")
pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(180)]


async def test_an_agent_answers_every_tick(serve, live, eventually, host_of):
    ticks = []

    def act(observation):
        ticks.append(observation.tick_id)
        return Say(f"tick {observation.tick_id}")

    async with serve(lockstep=True) as world, live(world, host_of(act)):
        await eventually(lambda: len(world.records) > 20)
    assert ticks == list(range(ticks[0], ticks[0] + len(ticks)))
    assert world.said()[:5] == [f"tick {tick}" for tick in ticks[:5]]


async def test_in_lockstep_a_slow_act_counts_and_is_reported_soon(serve, live, eventually, host_of):
    def act(observation):
        if observation.tick_id == 3:
            time.sleep(0.2)  # longer than a tick is
        return Say(f"tick {observation.tick_id}")

    async with serve(lockstep=True, tick_s=0.01) as world, live(world, host_of(act)):
        await eventually(lambda: len(world.records) > 10)
        await eventually(lambda: world.reports)
    assert {one.action_type for one in world.results("entity:1")} == {ActionType.SAY}


@pytest.mark.slow
@pytest.mark.realtime  # a lease of 2 s is kept
async def test_a_slow_act_becomes_wait_with_a_warning_and_keeps_control(serve, live, eventually, host_of, caplog):
    go_on = threading.Event()
    answered: list[int] = []

    def act(observation):
        if len(answered) == 2:
            go_on.wait(120)
        answered.append(observation.tick_id)
        return Say("here")

    async with serve(ttl_ms=2000) as world, live(world, host_of(act)) as life:
        await eventually(lambda: len(answered) == 2)
        stuck_since = life.tick_id
        await eventually(lambda: life.tick_id > stuck_since + 15)  # longer than a lease lasts
        assert world.controlled("entity:1")
        assert str(life.state) == "degraded"
        said = len(world.said())
        waits = [one for one in world.results("entity:1") if one.action_type is ActionType.WAIT]
        assert len(waits) > 5
        go_on.set()
        await eventually(lambda: len(world.said()) > said)
        await eventually(lambda: life.state is AgentState.RUNNING)
    assert "act missed the deadline" in caplog.text


async def test_a_host_answers_for_all_of_its_entities(serve, live, eventually, host_of):
    def act(observation):
        return Say(observation.me.entity_id)

    async with serve(lockstep=True, controllers=3) as world, live(world, host_of(act), ALL):
        await eventually(lambda: len(world.records) > 10)
    assert sorted(world.said()[:3]) == list(ALL)
    assert len(world.said()) >= 3 * 10


@pytest.mark.slow
async def test_an_act_that_never_returns_stops_only_its_own_entity(serve, live, eventually, host_of):
    go_on = threading.Event()

    def act(observation):
        if observation.me.entity_id == "entity:2":
            go_on.wait(120)
        return Say(observation.me.entity_id)

    async with serve(tick_s=0.4) as world, live(world, host_of(act), ALL):
        await eventually(lambda: world.said().count("entity:1") > 5 and world.said().count("entity:3") > 5)
        assert "entity:2" not in world.said()
        assert all(world.controlled(one) for one in ALL)
        go_on.set()
        await eventually(lambda: "entity:2" in world.said())


async def test_stopping_gives_the_entity_up_at_once(serve, live, eventually, host_of, tmp_path):
    async with serve() as world:
        async with live(world, host_of(lambda _: Wait()), state_dir=tmp_path / "state") as life:
            await eventually(lambda: world.controlled("entity:1") and life.tick_id)
            assert (tmp_path / "state" / "lease.json").stat().st_mode & 0o777 == 0o600
            assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
        assert not world.controlled("entity:1")
        assert life.state is AgentState.STOPPING
        assert list((tmp_path / "state").iterdir()) == []
    states = [one.state for one in world.reports if isinstance(one, AgentStatus)]
    assert states[-1] is AgentState.STOPPING
    assert AgentState.RUNNING in states


async def test_a_second_process_with_the_secret_takes_over_and_the_first_one_ends(
    serve, live, eventually, host_of, tmp_path
):
    state = tmp_path / "state"
    async with serve() as world, live(world, host_of(lambda _: Say("first")), state_dir=state) as first:
        await eventually(lambda: "first" in world.said())
        async with live(world, host_of(lambda _: Say("second")), state_dir=state):
            await eventually(lambda: "second" in world.said())
            with pytest.raises(ControlLostError, match="taken control"):
                await first.task
            said = len(world.said())
            await eventually(lambda: len(world.said()) > said + 3)
            assert set(world.said()[said:]) == {"second"}


async def test_without_the_secret_nobody_takes_over(serve, live, eventually, host_of):
    async with serve() as world, live(world, host_of(lambda _: Say("first"))):
        await eventually(lambda: "first" in world.said())
        async with live(world, host_of(lambda _: Say("second"))) as second:
            said = len(world.said())
            await eventually(lambda: len(world.said()) > said + 5)
            assert second.state is AgentState.STARTING
    assert "second" not in world.said()


def begun(world):
    """The entities whose process has reported that it began."""
    statuses = [one for one in world.reports if isinstance(one, AgentStatus)]
    return {one.entity_id for one in statuses if one.turns.startswith("b1")}


@pytest.mark.slow
@pytest.mark.parametrize("entities", [("entity:1",), ALL])
async def test_an_agent_comes_back_when_the_world_does(serve, live, eventually, host_of, tmp_path, entities):
    address = f"unix:{tmp_path / 'world.sock'}"
    entered: list[str] = []
    host = host_of(lambda _: Say("here"))
    host.enter = lambda run: entered.append(run.run_id)
    async with serve(address=address, run_id="the first") as world, live(world, host, entities) as life:
        await eventually(lambda: "here" in world.said())
        await eventually(lambda: begun(world) == set(entities))
        world.server.stop()
        await world.server.close()
        await eventually(lambda: life.state is AgentState.DEGRADED)
        async with serve(address=address, run_id="the second") as again:
            await eventually(lambda: again.said().count("here") >= len(entities))
            await eventually(lambda: begun(again) == set(entities))  # the turns of each run are its own
            assert life.state is AgentState.RUNNING
    assert entered == ["the first", "the second"]


async def test_an_entity_that_does_not_exist_is_a_clear_error(serve, live, host_of):
    async with serve() as world, live(world, host_of(lambda _: Wait()), ("nobody",)) as life:
        with pytest.raises(AgentError, match="no entity nobody; set ENTITY_ID"):
            await life.task
    async with serve() as world, live(world, host_of(lambda _: Wait()), ("entity:1", "nobody")) as life:
        with pytest.raises(AgentError, match="no entity nobody"):
            await life.task


async def test_a_missing_token_is_a_clear_error(serve, live, host_of):
    tokens = (Secret("a-token-of-some-length"),)
    async with serve(tokens=tokens) as world, live(world, host_of(lambda _: Wait())) as life:
        with pytest.raises(AgentError, match="requires a valid token"):
            await life.task


@pytest.mark.parametrize("entities", [("entity:1",), ALL[:2]])
async def test_acts_that_fail_become_wait_and_end_the_process_if_all_of_them_do(
    serve, live, eventually, host_of, entities
):
    async with serve(lockstep=True, controllers=len(entities)) as world:

        def act(observation):
            raise ValueError("a mistake in act")

        async with live(world, host_of(act), entities) as life:
            with pytest.raises(AgentError, match="every act failed"):
                await life.task
        assert len(world.records) >= MAX_FAILED_TICKS.maximum - 1  # the last one is still open


MISTAKES: dict[str, Any] = {
    "raises": lambda _: int("hp"),
    "wrong field": lambda _: Move("east"),  # type: ignore[arg-type]  # the mistake
    "no intent": lambda _: None,
    "coroutine": lambda _: asyncio.sleep(0),
    "unsendable": lambda _: Say("x" * 100_000),
}


@pytest.mark.parametrize("entities", [("entity:1",), ALL[:2]], ids=["one", "two"])
@pytest.mark.parametrize("act", MISTAKES.values(), ids=list(MISTAKES))
async def test_an_agent_that_always_fails_ends_after_20_ticks_and_says_why_on_the_way(
    serve, live, host_of, caplog, act, entities
):
    async with serve(lockstep=True, controllers=len(entities)) as world:
        async with live(world, host_of(act), entities) as life:
            with pytest.raises(AgentError, match="every act failed in 20 ticks in a row; the last error: ") as ended:
                await life.task
        why = str(ended.value).split("the last error: ")[1]
        told = [one for one in world.reports if isinstance(one, AgentStatus)]
        assert {one.entity_id for one in told if (one.state, one.detail) == (AgentState.DEGRADED, why)} == {*entities}
        assert not any(world.controlled(one) for one in entities)  # so that a successor need not wait for the lease
        ours = [record for record in caplog.records if record.name.startswith("tickmind.")]  # gRPC's poller logs, too
        assert sum(bool(record.exc_info) for record in ours) <= 1
        assert len(ours) < 20


async def test_the_last_error_is_told_for_a_while_after_an_agent_acts_well_again(serve, live, eventually, host_of):
    def act(observation):
        if observation.tick_id == 5:
            raise KeyError("hp")
        return Wait()

    def is_told(state, error):
        return any(one.state is state and error in one.detail for one in world.reports)

    async with serve(lockstep=True) as world, live(world, host_of(act)):
        await eventually(lambda: is_told(AgentState.RUNNING, "KeyError: 'hp' (test_life.py:"))
        await eventually(lambda: world.reports[-1].detail == "" and world.reports[-1].tick_id > 5 + ERROR_TICKS)


@pytest.mark.parametrize("entities", [("entity:1",), ALL])
async def test_when_no_act_ever_returns_the_process_ends(serve, live, host_of, entities):
    go_on = threading.Event()
    limits = {"max_stuck_s": MAX_STUCK_S.at(0.2)}
    async with serve(tick_s=0.04) as world:
        try:
            async with live(world, host_of(lambda _: go_on.wait(120)), entities, limits=limits) as life:
                with pytest.raises(AgentError, match="no act has returned"):
                    await life.task
            assert len(world.records) >= STUCK_TICKS
        finally:
            go_on.set()


async def test_a_first_act_may_take_many_ticks(serve, live, eventually, host_of):
    go_on = threading.Event()

    def act(observation):
        assert go_on.wait(120)
        return Say("here")

    async with serve(tick_s=0.04) as world, live(world, host_of(act)) as life:
        await eventually(lambda: life.tick_id > 2 * STUCK_TICKS or life.task.done())
        go_on.set()
        await eventually(lambda: "here" in world.said() or life.task.done())
        assert not life.task.done()


async def test_acts_that_are_always_late_but_come_back_end_nothing(serve, live, eventually, host_of):
    acts = []

    def act(observation):
        acts.append(observation.tick_id)
        threading.Event().wait(0.1)
        return Say("late")

    async with (
        serve(tick_s=0.06) as world,
        live(world, host_of(act), limits={"max_stuck_s": MAX_STUCK_S.at(0.5)}) as life,
    ):
        await eventually(lambda: len(acts) > 5 and life.tick_id > 2 * STUCK_TICKS)
        assert not life.task.done()


@pytest.mark.parametrize("wrong", [None, "Move", Say("x" * 501), Drop("berries", 2**70), Drop("")])
async def test_what_is_no_intent_becomes_wait_and_harms_nobody_else(serve, live, eventually, host_of, wrong):
    def act(observation):
        return wrong if observation.me.entity_id == "entity:2" else Say("fine")

    async with serve(lockstep=True, controllers=2) as world:
        async with live(world, host_of(act), ALL[:2]):
            await eventually(lambda: len(world.records) > 4)
        assert world.said().count("fine") >= 4
    async with serve(lockstep=True) as world:
        async with live(world, host_of(lambda observation: wrong if observation.tick_id % 2 else Say("fine"))):
            await eventually(lambda: len(world.records) > 6)
        assert world.said().count("fine") >= 2


async def test_heartbeats_tell_of_every_tick_and_the_end_of_the_reader_ends_the_life(serve, live, eventually, host_of):
    reader, writer = os.pipe()
    async with serve(lockstep=True) as world:
        async with live(world, host_of(lambda _: Move(Direction.E)), heartbeat_fd=writer) as life:
            await eventually(lambda: life.tick_id >= 10)
            beats = [Heartbeat.decode(line + b"\n") for line in os.read(reader, 65536).splitlines()]
            os.close(reader)
            async with asyncio.timeout(60):
                await life.task
        assert not world.controlled("entity:1")
    assert beats[0] == Heartbeat(0, AgentState.STARTING, 0, 0)
    assert beats[1].state is AgentState.RUNNING
    ticks = [beat.tick for beat in beats if beat.tick]
    assert ticks[:5] == list(range(ticks[0], ticks[0] + 5))
    assert beats[-1].entities == 1
    assert beats[-1].acted == 1


class Thinker:
    """A host that has one thought, which takes two ticks."""

    def __init__(self):
        self.reflected = 0
        self.left = [("entity:1", Thought(1, 1, 2, "system", "user", reply="{}"))]

    def enter(self, run):
        pass

    def begin(self, tick_id, observations):
        pass

    def perceive(self, observation):
        pass

    def act(self, observation):
        return Wait()

    def reflect(self, tick_id):
        self.reflected += 1

    def take_thoughts(self):
        if self.reflected < 2:
            return []
        left, self.left = self.left, []
        return left

    def take_insights(self):
        return []

    def deliberating(self, entity_id):
        return bool(self.left)

    def close(self):
        pass


@pytest.mark.parametrize("entities", [("entity:1",), ALL[:2]])
async def test_thoughts_reach_the_record(serve, live, eventually, entities):
    async with serve(lockstep=True) as world, live(world, Thinker(), entities):
        await eventually(lambda: any(isinstance(one, ThoughtReport) for one in world.reports))
    (report,) = [one for one in world.reports if isinstance(one, ThoughtReport)]
    assert report.entity_id == "entity:1"
    assert report.thought.reply == "{}"
    assert AgentState.DELIBERATING in [one.state for one in world.reports if isinstance(one, AgentStatus)]


@pytest.mark.slow
async def test_a_host_takes_entities_that_become_free_later(serve, live, eventually, host_of, monkeypatch):
    monkeypatch.setattr("tickmind.agent.control.streams.RETRY_MISSING_S", 0.5)
    # The other lease is not renewed, and must not run out by itself meanwhile.
    async with serve(ttl_ms=60_000) as world, WorldClient(world.address) as client:
        lease = await client.acquire("entity:2", "somebody else")
        async with live(world, host_of(lambda observation: Say(observation.me.entity_id)), ALL):
            await eventually(lambda: {"entity:1", "entity:3"} <= set(world.said()))
            assert "entity:2" not in world.said()
            await client.release(lease)
            await eventually(lambda: "entity:2" in world.said())

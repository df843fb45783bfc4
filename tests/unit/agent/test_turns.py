"""Acts beside the event loop."""

import asyncio
import threading

import pytest

from tickmind.agent import Start
from tickmind.agent.control.turns import MAX_STUCK, TurnPlayer
from tickmind.agent.errors import AgentError
from tickmind.agent.minds import PlainMindHost
from tickmind.agent.testing import observe
from tickmind.protocol import Say, Wait

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(120)]
LONG_S = 60.0


class Minds(PlainMindHost):
    def __init__(self, act):
        super().__init__(lambda _start: self, Start)
        self._function = act

    def act(self, observation):
        return self._function(observation.me.entity_id)


def everybody(*names, tick=1):
    return [observe("@", entity_id=name, tick=tick) for name in names]


async def until(condition):
    async with asyncio.timeout(LONG_S):
        while not condition():  # noqa: ASYNC110  threads tell nobody when they are done
            await asyncio.sleep(0.01)


async def test_everybody_acts():
    turns = TurnPlayer(Minds(Say))
    played = await turns.play(1, everybody("a", "b"), LONG_S)
    assert played.intents == {"a": Say("a"), "b": Say("b")}
    assert not played.failed
    assert not played.late
    turns.close()


async def test_an_act_that_raises_fails_alone():
    def act(name):
        if name == "a":
            raise ValueError("oh")
        return None if name == "b" else Wait()

    turns = TurnPlayer(Minds(act))
    played = await turns.play(1, everybody("a", "b", "c"), LONG_S)
    assert played.intents == {"c": Wait()}
    assert played.failed.keys() == {"a", "b"}
    turns.close()


async def test_a_stuck_act_is_passed_over_until_it_returns_and_others_go_on():
    go_on, entered = threading.Event(), threading.Event()

    def act(name):
        if name == "a" and not go_on.is_set():
            entered.set()
            go_on.wait(100)
        return Say(name)

    turns = TurnPlayer(Minds(act))
    first = await turns.play(1, everybody("a", "b"), 0.05)
    assert "a" in first.late
    assert await asyncio.to_thread(entered.wait, 60)
    for tick in (2, 3):
        played = await turns.play(tick, everybody("a", "b", tick=tick), LONG_S)
        assert played.intents == {"b": Say("b")}
        assert played.late == {"a"}
    assert turns.stuck == 1
    go_on.set()
    tick = 4
    await until(lambda: not turns.stuck)
    played = await turns.play(tick, everybody("a", "b", tick=tick), LONG_S)
    assert played.intents == {"a": Say("a"), "b": Say("b")}
    turns.close()


async def test_a_bound_on_stuck_acts_is_kept():
    go_on = threading.Event()

    def act(name):
        go_on.wait(100)
        return Say(name)

    turns = TurnPlayer(Minds(act), max_stuck=MAX_STUCK.at(2))
    threads = threading.active_count()
    for tick in range(1, 8):
        played = await turns.play(tick, everybody("a", "b", "c", "d", tick=tick), 0.1)
        assert played.intents == {}
        assert played.late == {"a", "b", "c", "d"}
    assert turns.stuck <= 2
    assert threading.active_count() <= threads + 3
    go_on.set()
    turns.close()


async def test_those_who_had_no_turn_come_first_in_the_next():
    begun = []
    go_on = threading.Event()

    def act(name):
        begun.append(name)
        if len(begun) == 2:
            go_on.wait(100)
        return Say(name)

    turns = TurnPlayer(Minds(act))
    first = await turns.play(1, everybody("a", "b", "c", "d"), 0.2)
    assert "c" in first.late
    assert "d" in first.late
    go_on.set()
    await until(lambda: turns.idle)
    begun.clear()
    await turns.play(2, everybody("a", "b", "c", "d", tick=2), LONG_S)
    assert begun[:2] == ["c", "d"]
    turns.close()


async def test_a_tick_that_can_not_begin_fails_everybody():
    class Broken(Minds):
        def begin(self, tick_id, observations):
            raise ValueError("oh")

    turns = TurnPlayer(Broken(Say))
    played = await turns.play(1, everybody("a", "b"), LONG_S)
    assert played.failed.keys() == {"a", "b"}
    turns.close()


async def test_perceiving_that_fails_fails_alone():
    class Broken(Minds):
        def perceive(self, observation):
            if observation.me.entity_id == "a":
                raise ValueError("oh")

    turns = TurnPlayer(Broken(Say))
    played = await turns.play(1, everybody("a", "b"), LONG_S)
    assert played.failed.keys() == {"a"}
    assert played.intents == {"b": Say("b")}
    turns.close()


async def test_whoever_is_stuck_in_perceiving_is_passed_over_until_it_returns_and_others_go_on():
    go_on, entered = threading.Event(), threading.Event()

    class Brooding(Minds):
        def perceive(self, observation):
            if observation.me.entity_id == "a" and not go_on.is_set():
                entered.set()
                go_on.wait(100)

    turns = TurnPlayer(Brooding(Say))
    first = await turns.play(1, everybody("a", "b"), 0.05)
    assert first.late == {"a", "b"}
    assert await asyncio.to_thread(entered.wait, 60)
    for tick in (2, 3):
        played = await turns.play(tick, everybody("a", "b", tick=tick), LONG_S)
        assert played.intents == {"b": Say("b")}
        assert played.late == {"a"}
    assert turns.stuck == 1
    go_on.set()
    await until(lambda: not turns.stuck)
    played = await turns.play(4, everybody("a", "b", tick=4), LONG_S)
    assert played.intents == {"a": Say("a"), "b": Say("b")}
    turns.close()


async def test_reflecting_that_does_not_return_stops_thoughts_and_not_acts():
    go_on, entered, reflected = threading.Event(), threading.Event(), []

    class Brooding(Minds):
        def reflect(self, tick_id):
            reflected.append(tick_id)
            if not go_on.is_set():
                entered.set()
                go_on.wait(100)

    turns = TurnPlayer(Brooding(Say))
    await turns.play(1, everybody("a", "b"), 0.2)
    assert await asyncio.to_thread(entered.wait, 60)
    held_up = await turns.play(2, everybody("a", "b", tick=2), 0.05)
    assert held_up.late == {"a", "b"}
    for tick in (3, 4, 5):
        played = await turns.play(tick, everybody("a", "b", tick=tick), LONG_S)
        assert played.intents == {"a": Say("a"), "b": Say("b")}
        assert not turns.thinking
    assert len(reflected) == 1
    go_on.set()
    await until(lambda: turns.thinking)
    await turns.play(6, everybody("a", tick=6), 0.1)
    await until(lambda: 6 in reflected)
    turns.close()


async def test_whoever_perceives_slowly_is_not_stuck_and_nobody_misses_what_happened():
    gates = {name: threading.Event() for name in "abc"}
    entered: list[str] = []

    class Slow(Minds):
        def perceive(self, observation):
            entered.append(observation.me.entity_id)
            gates[observation.me.entity_id].wait(100)

    turns = TurnPlayer(Slow(Say))
    assert (await turns.play(1, everybody("a", "b", "c"), 0.05)).late == {"a", "b", "c"}
    for gate, following in (("a", ["a", "b"]), ("b", ["a", "b", "c"])):
        gates[gate].set()
        await until(lambda following=following: entered == following)
        played = await turns.play(2, everybody("a", "b", "c", tick=2), 0.05)
        assert played.late == {"a", "b", "c"}
        assert turns.stuck == 0
    gates["c"].set()
    await until(lambda: turns.idle)
    played = await turns.play(3, everybody("a", "b", "c", tick=3), LONG_S)
    assert played.intents == {name: Say(name) for name in "abc"}
    assert (entered[:3], sorted(entered[3:])) == (list("abc"), list("abc"))
    turns.close()


async def test_in_lockstep_a_turn_is_over_when_all_have_reflected():
    class Reflecting(Minds):
        reflected: tuple[int, ...] = ()

        def reflect(self, tick_id):
            self.reflected += (tick_id,)

    minds = Reflecting(Say)
    turns = TurnPlayer(minds)
    for tick in (1, 2):
        played = await turns.play(tick, everybody("a", tick=tick), LONG_S, lockstep=True)
        assert played.intents == {"a": Say("a")}
        assert minds.reflected == tuple(range(1, tick + 1))
    turns.close()


async def test_a_host_that_cannot_go_on_ends_the_process():
    class Broken(Minds):
        def begin(self, tick_id, observations):
            raise AgentError("no past")

    turns = TurnPlayer(Broken(Say))
    with pytest.raises(AgentError, match="no past"):
        await turns.play(1, everybody("a"), LONG_S)
    turns.close()


async def test_what_each_did_in_a_turn_that_was_too_short(loop_clock):
    go_on, entered = threading.Event(), threading.Event()

    def act(name):
        if name == "b":
            entered.set()
            go_on.wait()
        return Wait()

    turns = TurnPlayer(Minds(act))
    playing = asyncio.create_task(turns.play(1, everybody("a", "b", "c"), LONG_S))
    await asyncio.to_thread(entered.wait)
    loop_clock.skip(LONG_S)
    played = await playing
    assert {name: played.turn(name).name for name in "abc"} == {"a": "ACTED", "b": "LATE", "c": "PERCEIVED"}
    next_one = await turns.play(2, everybody("b", tick=2), LONG_S)  # it is stuck, so nothing is waited for
    assert next_one.turn("b").name == "MISSED"
    go_on.set()
    turns.close()

"""One agent whose fields are of no use, or whose code raises, fails nobody else."""

import asyncio
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import pytest

from tickmind.ai import Blackboard
from tickmind.base import ConfigError
from tickmind.strategy import LLMAgent, MockClient
from tickmind.strategy.clients.client import Deliberation
from tickmind.tick import BlueprintRegistry, World

GOAL = '{"goal": "hunt"}'
FLAWS: dict[str, Any] = {
    "query_interval": "5 s",
    "priority": None,
    "role": ["wolf"],
    "parser": {},
    "client": [],
    "trigger": ["x"],
    "max_retries": None,
    "cooldown_until": "later",
    "deferred_until": None,
    "consecutive_errors": "none",
    "last_query_tick": 1.5,
}


@pytest.mark.parametrize(("name", "value"), [*FLAWS.items(), ("priority", True), ("query_interval", -1), ("turns", ())])
def test_an_agent_is_checked_when_it_is_made(name, value):
    with pytest.raises(ConfigError, match=name):
        LLMAgent(**{"role": "wolf", "personality": "sly", "context": "plain", name: value})


def test_a_blueprint_with_a_wrong_field_makes_nobody():
    world, blueprints = World(), BlueprintRegistry()
    world.register_component(LLMAgent)
    recipe = {"role": "wolf", "personality": "sly", "context": "plain", "query_interval": "5 s"}
    blueprints.define("wolf", {"LLMAgent": recipe})
    with pytest.raises(ConfigError, match="query_interval must be a whole number, not '5 s'"):
        blueprints.spawn(world, "wolf")
    assert not world.entities()


def test_numbers_with_names_are_numbers():
    class Priority(IntEnum):
        HIGH = 2

    assert LLMAgent("wolf", "sly", "plain", priority=Priority.HIGH).priority == 2


@pytest.mark.parametrize("name", [name for name in FLAWS if name != "consecutive_errors"])  # an answer mends that
def test_a_field_that_is_changed_by_hand_fails_its_own_agent_only(stage, name):
    s = stage(MockClient(lambda *_: GOAL))
    bad, good = s.spawn(), s.spawn()
    s.step()
    was = getattr(s.agent(bad), name)
    setattr(s.agent(bad), name, FLAWS[name])
    s.step(5)
    assert s.data(good) == {"goal": "hunt"}
    assert len([eid for eid, _ in s.queries if eid == good]) == 6
    assert {eid for eid, _, _ in s.errors} == {bad}
    told = [message for message, (_, kind, _) in zip(s.messages, s.errors, strict=True) if kind == "malformed_agent"]
    assert len(told) == 1
    assert name in told[0]
    assert not s.agent(bad).pending
    asked = len(s.queries)
    setattr(s.agent(bad), name, was)
    s.step(3)
    assert bad in [eid for eid, _ in s.queries[asked:]]
    assert s.system.statistics().agents == 2


@pytest.mark.parametrize("name", FLAWS)
def test_a_malformed_agent_that_is_attached_fails_its_own_agent_only(stage, name):
    s = stage(MockClient(lambda *_: GOAL), stagger=True)
    s.tick()
    agent = LLMAgent("wolf", "sly", "plain", query_interval=1)
    setattr(agent, name, FLAWS[name])
    bad, good = s.world.spawn(agent, Blackboard()), s.spawn()
    s.manager.ask_soon(bad)
    s.manager.ask_now(bad)
    s.step(4)
    assert s.data(good) == {"goal": "hunt"}
    assert {(eid, kind) for eid, kind, _ in s.errors} == {(bad, "malformed_agent")}


def test_a_malformed_agent_in_a_snapshot_fails_its_own_agent_only(stage):
    s = stage(MockClient(lambda *_: GOAL))
    bad, good = s.spawn(), s.spawn()
    saved = s.engine.snapshot()
    table = saved["world"]["components"]["LLMAgent"]
    table["rows"][table["ids"].index(bad)][table["fields"].index("priority")] = None
    s.engine.restore(saved)
    s.step(3)
    assert s.data(good) == {"goal": "hunt"}
    assert [(eid, kind) for eid, kind, _ in s.errors] == [(bad, "malformed_agent")]


def cancelled(*_):
    raise asyncio.CancelledError


@pytest.mark.parametrize("what", ["context", "parser", "trigger", "router", "counter", "callback", "sink"])
def test_a_cancellation_that_user_code_raises_ends_no_tick(stage, what):
    s = stage(MockClient(lambda *_: GOAL), token_budget=1000 if what == "counter" else None)
    eid, other = s.spawn(query_interval=2, trigger="now"), s.spawn(context="other")
    s.manager.define_context("other", lambda *_: "x")
    s.manager.define_trigger("now", cancelled if what == "trigger" else lambda *_: False)
    s.manager.define_parser("mine", cancelled)
    if what == "context":
        s.manager.define_context("plain", cancelled)
    elif what == "parser":
        s.agent(eid).parser = "mine"
    elif what == "router":
        s.manager.define_router(lambda _world, who, _agent: cancelled() if who == eid else "")
    elif what == "counter":
        s.manager.count_tokens_with(cancelled)
    elif what == "callback":
        s.manager.on_query(cancelled)
    elif what == "sink":
        s.manager.record_thoughts(cancelled)
    s.step(3)
    assert what == "counter" or s.data(other) == {"goal": "hunt"}
    kinds = {"parser": "parse_error", "callback": "callback_error", "sink": "callback_error"}
    told = [(who, kind) for who, kind, _ in s.errors]
    assert (0 if what in ("callback", "sink") else eid, kinds.get(what, "context_error")) in told


class Hostile(Mapping[str, Any]):
    """An object that a client claims to have read."""

    def __init__(self, error):
        self.error = error

    def __getitem__(self, key):
        raise self.error

    def __iter__(self):
        raise self.error

    def __len__(self):
        return 1

    def __contains__(self, key):
        raise self.error


@pytest.mark.parametrize("error", [ValueError("no"), asyncio.CancelledError()])
@pytest.mark.parametrize("batch_size", [1, 2])
def test_a_hostile_object_in_a_reply_is_a_parse_error_of_those_who_got_it(stage, error, batch_size):
    class Client:
        async def answer(self, question):
            return Deliberation("{}", data=Hostile(error) if question.entity_id == 1 else {"goal": "hunt"})

    s = stage(Client(), batch_size=batch_size)
    s.manager.define_role("bear", "You are a bear.")
    group = [s.spawn() for _ in range(batch_size)]
    other = s.spawn(role="bear")
    s.step(2)
    assert s.data(other) == {"goal": "hunt"}
    assert [(eid, kind) for eid, kind, _ in s.errors] == [(eid, "parse_error") for eid in group]


def test_a_wait_that_is_no_number_is_none(stage):
    class NoBool:
        def __bool__(self):
            raise ValueError("no")

    class Client:
        async def answer(self, _question):
            return Deliberation(GOAL, wait_s=NoBool())  # type: ignore[arg-type]  # on purpose

    s = stage(Client())
    eid = s.spawn()
    s.step(2)
    assert s.data(eid) == {"goal": "hunt"}

"""From the first tick to the end: starting, stopping, starting again, and one world for one system."""

import ast
import json
import threading
from pathlib import Path

import pytest

import tickmind.strategy
from tickmind.ai import AIManager, BehaviorTree, Blackboard, Condition, Status, make_bt_system
from tickmind.strategy import LLMAgent, LLMManager, MockClient, make_llm_system
from tickmind.tick import BlueprintRegistry, Engine, SystemFailedError

GOAL = '{"goal": "hunt"}'


def hunting():
    return MockClient(lambda *_: GOAL)


def workers():
    return [thread for thread in threading.enumerate() if thread.name.startswith("tickmind-strategy")]


def test_shutdown_is_a_stop_hook_of_the_engine(stage):
    s = stage(hunting())
    eid = s.spawn()
    s.engine.on_stop(s.system.shutdown)
    s.engine.run(5)
    assert not s.agent(eid).pending
    assert s.system.statistics().in_flight == 0
    assert s.system.statistics().workers.threads == 0


def test_an_engine_that_runs_again_after_its_end_asks_again(stage):
    s = stage(hunting())
    eid = s.spawn()
    s.engine.on_stop(s.system.shutdown)
    s.engine.run(2)
    s.data(eid).clear()
    s.queries.clear()
    s.step(2)
    assert s.queries
    assert s.data(eid) == {"goal": "hunt"}


def test_shutdown_may_be_called_twice_and_before_the_first_tick(stage):
    s = stage(hunting())
    s.system.shutdown()
    s.spawn()
    s.step()
    s.system.shutdown()
    s.system.shutdown()


def test_a_with_block_ends_it():
    manager = LLMManager()
    manager.define_role("r", "x")
    manager.define_personality("p", "x")
    manager.define_context("c", lambda *_: "x")
    hold = threading.Event()

    def wait(_system, _user):
        hold.wait(60)
        return "{}"

    manager.register_client(MockClient(wait))
    engine = Engine(seed=1)
    with make_llm_system(manager) as system:
        engine.add_system(system)
        eid = engine.world.spawn(LLMAgent("r", "p", "c", query_interval=1), Blackboard())
        engine.step()
        assert engine.world.get(eid, LLMAgent).pending
    assert not engine.world.get(eid, LLMAgent).pending
    hold.set()


def test_idle_threads_end_with_it(stage, until):
    before = set(workers())
    s = stage(hunting(), thread_pool_size=3)
    for _ in range(3):
        s.spawn()
    s.step(2)
    assert set(workers()) - before
    s.system.shutdown()
    until(lambda: not set(workers()) - before)


def test_a_second_world_is_refused_clearly(stage):
    s = stage(hunting())
    s.spawn()
    s.step()
    other = Engine(seed=1)
    other.add_system(s.system)
    with pytest.raises(SystemFailedError, match="an LLM system serves a single world; make another"):
        other.step()
    s.step()
    assert s.responses


def test_agents_go_through_a_snapshot_with_all_that_they_know(stage):
    s = stage(MockClient(error_rate=1.0), conversation_turns=2, skip_unchanged=True)
    eid = s.spawn(max_retries=2, cooldown_ticks=50, turns=[("a", "b")], prompt_hash="abc", deferred_until=1)
    s.step(3)
    before = s.agent(eid)
    assert before.cooldown_until
    s.engine.restore(json.loads(json.dumps(s.engine.snapshot())))
    assert s.agent(eid) == before
    assert s.agent(eid) is not before


def test_a_blueprint_makes_agents(stage):
    s = stage(hunting())
    recipes = BlueprintRegistry()
    recipes.define(
        "wolf",
        {
            "LLMAgent": {"role": "wolf", "personality": "sly", "context": "plain", "query_interval": 2},
            "Blackboard": {},
        },
    )
    for kind in (LLMAgent, Blackboard):
        s.world.register_component(kind)
    eids = [recipes.spawn(s.world, "wolf") for _ in range(2)]
    s.step(3)
    assert [s.data(eid) for eid in eids] == [{"goal": "hunt"}] * 2


def test_a_behaviour_tree_reads_the_answer_in_the_tick_in_which_it_arrives(stage):
    s = stage(hunting())
    minds = AIManager()
    minds.register_condition("hunts", lambda world, eid: world.get(eid, Blackboard).data.get("goal") == "hunt")
    minds.define_tree("life", Condition("hunts"))
    eid = s.spawn(query_interval=2)
    s.world.attach(eid, BehaviorTree("life"))
    seen = []
    s.engine.add_system(make_bt_system(minds))
    s.engine.add_system(lambda world, _ctx: seen.append(world.get(eid, BehaviorTree).status))
    s.step(3)
    assert [status is Status.SUCCESS for status in seen] == [False, False, True]


def test_callbacks_hear_sizes_and_ticks(stage):
    s = stage(hunting())
    heard = []
    s.manager.on_query(lambda *told: heard.append(("query", *told)))
    s.manager.on_response(lambda *told: heard.append(("response", *told)))
    s.manager.on_error(lambda *told: heard.append(("error", *told)))
    eid = s.spawn(query_interval=3)
    s.step(3)
    s.clock.advance(1)
    s.step()
    size = len("You are a wolf.\n\nYou are sly.") + len("You are 1.")
    assert heard == [("query", eid, size, 3), ("response", eid, 0.0, len(GOAL), 4)]


def test_statistics_tell_what_is_going_on(stage, hanging):
    s = stage(hanging, max_queries_per_tick=2, thread_pool_size=1)
    for _ in range(5):
        s.spawn(query_interval=100, last_query_tick=-99)
    s.tick()
    hanging.wait_for_calls()
    now = s.system.statistics()
    assert (now.agents, now.ready, now.in_flight, now.asked, now.answered) == (5, 3, 2, 2, 0)
    assert (now.workers.threads, now.workers.waiting) == (1, 1)
    assert s.system.thinking() == {1: 1, 2: 1}


def test_there_is_nothing_to_await_in_the_strategic_layer():
    folder = Path(tickmind.strategy.__file__).parent
    waiting = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)
    for file in folder.glob("*.py"):
        assert not [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, waiting)], file.name

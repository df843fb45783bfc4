import json

import pytest

from tickmind.ai import Blackboard
from tickmind.base import ConfigError
from tickmind.strategy import LLMAgent, LLMConfig, LLMError, MockClient, make_directive_parser

GOAL = '{"goal": "hunt"}'


def answering(text=GOAL):
    return MockClient(lambda _system, _user: text)


def test_the_fields_and_defaults_are_as_documented():
    agent = LLMAgent("r", "p", "c")
    assert (agent.parser, agent.query_interval, agent.priority, agent.last_query_tick) == ("", 100, 0, 0)
    assert (agent.pending, agent.consecutive_errors, agent.max_retries) == (False, 0, 3)
    assert (agent.cooldown_ticks, agent.cooldown_until) == (200, 0)
    config = LLMConfig()
    assert (config.max_queries_per_tick, config.max_queries_per_second) == (1, 5)
    assert (config.thread_pool_size, config.query_timeout) == (4, 30.0)


@pytest.mark.parametrize("wrong", [{"max_queries_per_tick": 0}, {"query_timeout": 0}, {"token_budget": 0}])
def test_a_config_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(ConfigError):
        LLMConfig(**wrong)


def test_a_reply_is_on_the_blackboard_in_the_tick_after_it_is_complete(stage):
    s = stage(answering())
    eid = s.spawn(query_interval=3)
    s.step(2)
    assert s.queries == []
    s.step()
    assert s.queries == [(eid, 3)]
    assert s.agent(eid).pending
    assert s.data(eid) == {}
    s.step()
    assert s.data(eid) == {"goal": "hunt"}
    assert not s.agent(eid).pending
    assert s.responses == [(eid, 4)]


def test_the_next_query_waits_for_the_interval_from_the_last_one(stage):
    s = stage(answering())
    s.spawn(query_interval=4)
    s.step(13)
    assert [tick for _, tick in s.queries] == [4, 8, 12]


def test_an_interval_of_zero_asks_every_tick(stage):
    s = stage(answering())
    s.spawn(query_interval=0)
    s.step(4)
    assert [tick for _, tick in s.queries] == [1, 2, 3, 4]


def test_the_prompt_is_role_and_personality_and_the_context_is_the_message(stage):
    seen = []

    def reply(system, user):
        seen.append((system, user))
        return "{}"

    s = stage(MockClient(reply))
    s.spawn()
    s.step()
    assert seen == [("You are a wolf.\n\nYou are sly.", "You are 1.")]
    assert s.manager.assemble_prompt(s.world, 1, s.agent(1)) == ("You are a wolf.\n\nYou are sly.", "You are 1.")


def test_no_more_than_the_limit_go_out_in_a_tick_and_none_is_dropped(stage):
    s = stage(answering(), max_queries_per_tick=2)
    eids = [s.spawn(query_interval=100, last_query_tick=-99) for _ in range(5)]
    s.step(3)
    assert s.queries == [(eids[0], 1), (eids[1], 1), (eids[2], 2), (eids[3], 2), (eids[4], 3)]


def test_no_more_than_the_limit_go_out_in_any_second(stage):
    s = stage(answering(), max_queries_per_second=3)
    for _ in range(5):
        s.spawn(query_interval=1000, last_query_tick=-999)
    for _ in range(4):
        s.step()
        s.clock.advance(0.3)
    assert [tick for _, tick in s.queries] == [1, 1, 1]
    s.step()
    assert [tick for _, tick in s.queries] == [1, 1, 1, 5, 5]


def test_higher_priority_is_asked_first_and_ties_go_by_age_and_id(stage):
    s = stage(answering(), max_queries_per_tick=1)
    old = {"query_interval": 1000, "last_query_tick": -999}
    low, high, other = s.spawn(**old), s.spawn(priority=5, **old), s.spawn(**old)
    s.step(3)
    assert [eid for eid, _ in s.queries] == [high, low, other]
    late_high = s.spawn(priority=5, query_interval=1000, last_query_tick=-997)
    s.step()
    assert s.queries[-1][0] == late_high


def test_a_failed_query_counts_and_after_too_many_the_agent_waits(stage):
    s = stage(MockClient(error_rate=1.0))
    eid = s.spawn(max_retries=3, cooldown_ticks=5)
    s.step(21)
    ticks = [tick for _, tick in s.queries]
    assert ticks[:6] == [1, 2, 3, 9, 10, 11]  # after a cooldown it has all its tries again
    assert ticks[6:9] == [17, 18, 19]
    assert {kind for _, kind, _ in s.errors} == {"api_error"}
    assert s.data(eid) == {}


def test_a_success_resets_the_count(stage):
    replies = iter(["no json", "no json", GOAL, "no json", "no json", GOAL])
    s = stage(MockClient(lambda _s, _u: next(replies)))
    eid = s.spawn(max_retries=3)
    s.step(7)
    assert s.agent(eid).consecutive_errors == 0
    assert s.agent(eid).cooldown_until == 0
    assert [kind for _, kind, _ in s.errors] == ["parse_error"] * 4


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ConnectionError("x"), "network_error"),
        (TimeoutError("x"), "network_error"),
        (LLMError("x"), "api_error"),
        (KeyError("x"), "api_error"),
    ],
)
def test_errors_have_a_kind(stage, error, kind):
    s = stage(MockClient(error_rate=1.0, error_exception=error))
    s.spawn()
    s.step(2)
    assert s.errors[0][1] == kind


def test_missing_definitions_are_told_and_nothing_is_asked(stage):
    s = stage(answering())
    wrong = [s.spawn(**{what: "nowhere"}) for what in ("role", "personality", "context", "client", "trigger")]
    fine = s.spawn()
    s.step()
    assert [eid for eid, _ in s.queries] == [fine]
    assert [(eid, kind) for eid, kind, _ in s.errors] == [(eid, "missing_definition") for eid in wrong]
    assert not any(s.agent(eid).pending or s.agent(eid).consecutive_errors for eid in wrong)
    assert "define_role()" in s.messages[0]


def test_a_definition_that_comes_later_is_used(stage):
    s = stage(answering())
    eid = s.spawn(role="bear")
    s.step(2)
    s.manager.define_role("bear", "You are a bear.")
    s.step(2)
    assert (eid, "missing_definition", 1) in s.errors
    assert s.queries
    assert s.data(eid) == {"goal": "hunt"} or s.agent(eid).pending


def test_without_a_client_it_is_told_once_a_tick_and_only_if_somebody_is_due(stage):
    s = stage()
    s.spawn(query_interval=3)
    s.spawn(query_interval=3)
    s.step(4)
    assert s.errors == [(0, "no_client", 3), (0, "no_client", 4)]
    s.manager.register_client(answering())
    s.step()
    assert [tick for _, tick in s.queries] == [5, 5]


def test_an_agent_without_a_blackboard_is_left_alone_until_it_has_one(stage):
    s = stage(answering())
    eid = s.spawn(board=False)
    s.step(3)
    assert (s.queries, s.errors) == ([], [])
    s.world.attach(eid, Blackboard())
    s.step()
    assert s.queries == [(eid, 4)]


def test_agents_with_the_same_words_may_have_different_parsers(stage):
    s = stage(answering())
    s.manager.define_parser("upper", lambda text, board: board.data.update(goal=json.loads(text)["goal"].upper()))
    plain, upper = s.spawn(), s.spawn(parser="upper")
    s.step(2)
    assert (s.data(plain)["goal"], s.data(upper)["goal"]) == ("hunt", "HUNT")


def test_behaviour_goes_on_with_the_old_strategy_while_a_query_is_pending(stage, hanging):
    s = stage(hanging)
    eid = s.spawn()
    s.data(eid)["goal"] = "rest"
    seen = []
    s.engine.add_system(lambda world, _ctx: seen.append(world.get(eid, Blackboard).data["goal"]))
    s.tick(5)
    assert seen == ["rest"] * 5


def test_an_agent_that_is_changed_by_hand_is_noticed(stage):
    s = stage(answering())
    eid = s.spawn(query_interval=1000)
    s.step(2)
    s.agent(eid).query_interval = 3
    s.step(2)
    assert [tick for _, tick in s.queries] == [3]


@pytest.mark.parametrize("pending", [False, True])
def test_a_pending_flag_set_by_hand_asks_nobody_twice_and_nobody_never(stage, hanging, pending):
    s = stage(hanging)
    eid = s.spawn(query_interval=2)
    s.agent(eid).pending = pending
    s.tick(2)
    hanging.wait_for_calls()
    s.agent(eid).pending = False
    s.manager.ask_soon(eid)
    s.tick(5)
    assert s.queries == [(eid, 2)]
    assert s.system.statistics().in_flight == 1


def test_directives_land_under_their_namespace_and_nothing_else_does(stage):
    s = stage(MockClient(lambda *_: 'Sure: {"goal": "hunt", "stance": "AGGRESSIVE", "hp": 9000}'))
    fields = {
        "type": "object",
        "properties": {"goal": {"type": "string"}, "stance": {"enum": ["aggressive", "calm"]}},
        "required": ["goal", "stance"],
    }
    s.manager.define_parser("directives", make_directive_parser(fields))
    eid = s.spawn(parser="directives")
    s.step(2)
    assert s.data(eid) == {"strategy": {"goal": "hunt", "stance": "aggressive"}}

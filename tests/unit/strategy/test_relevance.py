"""A late answer is taken if it still fits, by a rule that the agent names."""

import pytest

from tickmind.strategy import MockClient

GOAL = '{"goal": "hunt", "target": 7}'


def watched(stage, rule, **agent):
    s = stage(MockClient(lambda *_: GOAL))
    s.manager.define_relevance("still", rule)
    s.manager.record_thoughts(s.thoughts.append)
    return s, s.spawn(relevance="still", **agent)


def test_a_directive_carries_the_tick_of_its_question(stage):
    s = stage(MockClient(lambda *_: GOAL))
    eid = s.spawn(query_interval=5)
    s.step(5)
    s.tick(3)
    assert s.data(eid)["goal"] == "hunt"
    assert s.agent(eid).directive_tick == 5


def test_the_rule_hears_what_would_change_and_when_it_was_asked(stage):
    heard = []

    def rule(world, eid, directives, asked_tick):
        heard.append((eid, dict(directives), asked_tick, dict(s.data(eid))))
        return True

    s, eid = watched(stage, rule, query_interval=4)
    s.step(5)
    assert heard == [(eid, {"goal": "hunt", "target": 7}, 4, {})]
    assert s.data(eid) == {"goal": "hunt", "target": 7}


def test_what_the_rule_refuses_changes_nothing_and_is_no_failure(stage):
    s, eid = watched(stage, lambda *_: False)
    s.step(3)
    assert s.data(eid) == {}
    assert s.agent(eid).consecutive_errors == 0
    assert s.agent(eid).directive_tick == 0
    assert {kind for _, kind, _ in s.errors} == {"outdated"}
    assert "ticks after the question" in s.messages[0]
    counted = s.system.statistics()
    assert (counted.failed, counted.answered, counted.outdated) == (0, 0, 2)
    assert [thought.error_type for thought in s.thoughts] == ["outdated", "outdated"]
    assert s.thoughts[0].reply == GOAL
    assert s.thoughts[0].directives == {}


def test_a_rule_that_raises_is_a_failure_that_names_it(stage):
    def rule(*_):
        raise KeyError("target")

    s, eid = watched(stage, rule)
    s.step(2)
    assert s.errors == [(eid, "context_error", 2)]
    assert "relevance 'still' raised" in s.messages[0]
    assert s.data(eid) == {}


def test_a_rule_that_is_not_defined_is_told_and_nothing_is_asked(stage):
    s = stage(MockClient())
    eid = s.spawn(relevance="missing")
    s.step(1)
    assert s.errors == [(eid, "missing_definition", 1)]
    assert "define_relevance" in s.messages[0]


def test_a_rule_works_as_a_decorator_and_is_a_plain_function(stage):
    s = stage(MockClient())

    @s.manager.define_relevance("always")
    def always(world, eid, directives, asked_tick):
        return True

    assert s.manager.relevance("always") is always
    with pytest.raises(Exception, match="async def"):

        @s.manager.define_relevance("never")
        async def never(world, eid, directives, asked_tick):
            return False

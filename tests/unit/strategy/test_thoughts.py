"""Each deliberation is a thought, whatever came of it; unrecorded ones are never made."""

import pytest

from tickmind.llm import ThinkingBlock
from tickmind.llm.testing import ScriptedTransport
from tickmind.llm.transport import ModelReply, Usage
from tickmind.protocol import Thought
from tickmind.strategy import MockClient
from tickmind.strategy.queries import answers

GOAL = '{"goal": "hunt"}'


def thinking(stage, client, **config):
    s = stage(client, **config)
    s.manager.record_thoughts(s.thoughts.append)
    return s


def test_a_thought_tells_what_was_asked_said_and_done(stage):
    s = thinking(stage, MockClient(lambda *_: '{"goal": "hunt", "hp": 3}'))
    s.manager.register_client(MockClient(lambda *_: '{"goal": "hunt", "hp": 3}'), "smart")
    eid = s.spawn(client="smart", query_interval=2)
    s.data(eid)["hp"] = 3
    s.step(3)
    assert s.thoughts == [
        Thought(
            entity_id=eid,
            asked_tick=2,
            answered_tick=3,
            system_prompt="You are a wolf.\n\nYou are sly.",
            user_message=f"You are {eid}.",
            reply='{"goal": "hunt", "hp": 3}',
            directives={"goal": "hunt"},  # what was so already is no news
            client="smart",
        )
    ]


def test_a_thought_tells_what_the_model_thought_and_what_it_cost(stage):
    reply = ModelReply(
        GOAL, "stop", thinking=(ThinkingBlock("The deer is near."),), usage=Usage(1000, 500), model="gpt-4o-mini"
    )
    s = thinking(stage, ScriptedTransport(reply))
    s.spawn()
    s.step(2)
    thought = s.thoughts[0]
    assert thought.thinking == "The deer is near."
    assert (thought.model, thought.prompt_tokens, thought.completion_tokens) == ("gpt-4o-mini", 1000, 500)
    assert thought.cost_usd is None or thought.cost_usd > 0


def test_a_reply_that_can_not_be_used_is_a_thought_with_the_reply_and_its_cost(stage):
    reply = ModelReply("no json", "stop", thinking=(ThinkingBlock("Hm."),), usage=Usage(10, 5), model="double")
    s = thinking(stage, ScriptedTransport(reply))
    s.spawn()
    s.step(2)
    thought = s.thoughts[0]
    assert (thought.error_type, thought.reply, thought.thinking) == ("parse_error", "no json", "Hm.")
    assert thought.completion_tokens == 5
    assert "not JSON" in thought.error
    assert thought.directives == {}


@pytest.mark.parametrize(
    ("error", "kind"), [(ConnectionError("gone"), "network_error"), (ValueError("no"), "api_error")]
)
def test_a_call_that_fails_is_a_thought_with_its_error(stage, error, kind):
    s = thinking(stage, MockClient(error_rate=1.0, error_exception=error))
    eid = s.spawn()
    s.step(2)
    thought = s.thoughts[0]
    assert (thought.entity_id, thought.error_type, thought.reply) == (eid, kind, "")
    assert str(error) in thought.error
    assert (thought.asked_tick, thought.answered_tick) == (1, 2)


def test_a_call_that_could_not_even_begin_is_a_thought(stage):
    class Broken:
        def answer(self, question):
            raise ValueError("no such model")

    s = thinking(stage, Broken())
    s.spawn()
    s.step()
    assert [(thought.error_type, thought.answered_tick) for thought in s.thoughts] == [("api_error", 1)]


def test_a_timeout_is_a_thought(stage, hanging):
    s = thinking(stage, hanging, query_timeout=2.0)
    s.spawn()
    s.tick()
    s.clock.advance(3)
    s.tick()
    assert [(t.error_type, t.latency_s, t.answered_tick) for t in s.thoughts] == [("timeout", 2.0, 2)]


def test_what_a_thought_holds_does_not_change_with_the_blackboard(stage):
    s = thinking(stage, MockClient(lambda *_: '{"plan": ["a"]}'))
    eid = s.spawn(query_interval=10, last_query_tick=-9)
    s.step(2)
    s.data(eid)["plan"].append("b")
    assert s.thoughts[0].directives == {"plan": ["a"]}


def test_without_a_sink_no_thought_is_made(stage, monkeypatch):
    def refuse(**_):
        raise AssertionError("a thought was made")

    monkeypatch.setattr(answers, "Thought", refuse)
    replies = iter([GOAL, "no json"])
    s = stage(MockClient(lambda *_: next(replies, GOAL)))
    s.spawn()
    s.step(4)
    assert s.responses


def test_recording_can_be_switched_off_again(stage):
    s = thinking(stage, MockClient())
    s.spawn()
    s.step(2)
    s.manager.record_thoughts(None)
    s.step(2)
    assert len(s.thoughts) == 1

"""Who is asked: the mock, the clients of `tickmind.llm`, several by name, and what they are told of earlier turns."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tickmind.base import ConfigError
from tickmind.llm import LLMError, ModelClient, ModelConfig, SyncModelClient, ToolCall
from tickmind.llm.testing import FaultyTransport, ScriptedTransport
from tickmind.llm.transport import ModelReply, Usage
from tickmind.strategy import (
    AsyncLLMClient,
    LLMClient,
    MockClient,
    ModelAdapter,
    Question,
    ToolAgentAdapter,
    make_directive_parser,
)
from tickmind.tools import ToolAgent

GOAL = '{"goal": "hunt"}'


# The mock


def test_a_mock_is_a_client():
    assert isinstance(MockClient(), LLMClient)
    assert not isinstance(MockClient(), AsyncLLMClient)


def test_a_mock_answers_from_a_mapping_or_a_function_and_else_with_an_empty_object():
    assert MockClient({("s", "u"): "yes"}).query("s", "u") == "yes"
    assert MockClient({("s", "u"): "yes"}).query("s", "other") == "{}"
    assert MockClient().query("s", "u") == "{}"
    assert MockClient(lambda system, user: system + user).query("a", "b") == "ab"


def failures(client, number=200):
    failed = []
    for place in range(number):
        try:
            client.query("s", "u")
        except LLMError:
            failed.append(place)
    return failed


def test_a_mock_fails_by_its_seed():
    assert failures(MockClient(error_rate=0.3, seed=7)) == failures(MockClient(error_rate=0.3, seed=7))
    assert failures(MockClient(error_rate=0.3, seed=7)) != failures(MockClient(error_rate=0.3, seed=8))
    assert 30 < len(failures(MockClient(error_rate=0.3))) < 90
    assert failures(MockClient(error_rate=0.0)) == []
    assert len(failures(MockClient(error_rate=1.0))) == 200


def test_a_mock_takes_a_random_time_within_a_range_by_its_seed():
    def slept(latency, seed=1):
        times: list[float] = []
        client = MockClient(latency=latency, seed=seed, sleep=times.append)
        for _ in range(50):
            client.query("s", "u")
        return times

    assert slept((0.1, 0.5)) == slept((0.1, 0.5))
    assert slept((0.1, 0.5)) != slept((0.1, 0.5), seed=2)
    assert all(0.1 <= time <= 0.5 for time in slept((0.1, 0.5)))
    assert max(slept((0.1, 0.5))) > 0.4
    assert slept(0.2) == [0.2] * 50
    assert slept((0.0, 0.0)) == []
    for wrong in (-1.0, (0.5, 0.1)):
        with pytest.raises(ConfigError, match="latency"):
            MockClient(latency=wrong)


@pytest.mark.parametrize("error", [ValueError, ValueError("mine")])
def test_a_mock_raises_the_error_that_it_is_given(error):
    with pytest.raises(ValueError, match=r"mine|the mock failed"):
        MockClient(error_rate=1.0, error_exception=error).query("s", "u")


def test_a_mock_waits_as_long_as_it_is_told():
    waits: list[float] = []
    MockClient(latency=0.5, sleep=waits.append).query("s", "u")
    MockClient(latency=0.0, sleep=waits.append).query("s", "u")
    assert waits == [0.5]


def test_threads_may_share_a_mock():
    client = MockClient(error_rate=0.5, seed=3)
    together = threading.Barrier(8)

    def ask(_):
        together.wait(60)
        return len(failures(client, 100))

    with ThreadPoolExecutor(8) as pool:
        failed = sum(pool.map(ask, range(8)))
    assert client.calls == 800
    assert failed == len(failures(MockClient(error_rate=0.5, seed=3), 800))


# Clients of tickmind.llm


def test_a_model_client_is_asked_with_messages_and_the_deadline(stage):
    transport = ScriptedTransport(GOAL)
    s = stage(transport, query_timeout=7.0)
    eid = s.spawn()
    s.step(2)
    assert s.data(eid) == {"goal": "hunt"}
    call = transport.calls[0]
    assert [(m.role, m.text) for m in call.request.messages] == [
        ("system", "You are a wolf.\n\nYou are sly."),
        ("user", "You are 1."),
    ]
    assert call.timeout_s == 7.0


def test_a_declared_form_is_asked_of_the_model_and_a_reply_that_misses_it_is_asked_for_again(stage):
    transport = ScriptedTransport(["I would hunt.", GOAL, GOAL])
    s = stage(transport)
    s.manager.define_parser("directives", make_directive_parser(["goal"]))
    eid = s.spawn(parser="directives", query_interval=2)
    s.step(3)
    assert s.data(eid) == {"strategy": {"goal": "hunt"}}
    assert s.errors == []
    assert len(transport.requests) == 2
    asked = transport.requests[0].output
    assert asked is not None
    assert asked.schema["required"] == ["goal"]


@pytest.mark.parametrize(("fault", "kind"), [("refused", "network_error"), ("server_error", "api_error")])
def test_a_model_that_fails_is_told_by_its_kind(stage, fault, kind):
    s = stage(FaultyTransport(ScriptedTransport(GOAL), plan=[fault]))
    eid = s.spawn()
    s.step(3)
    assert [one[:2] for one in s.errors] == [(eid, kind)]
    assert s.data(eid) == {"goal": "hunt"}


def test_a_blocking_model_client_is_a_client(stage):
    config = ModelConfig(model="double", base_url="http://127.0.0.1:9/v1")
    with SyncModelClient(config, ScriptedTransport(GOAL)) as client:
        s = stage(client)
        eid = s.spawn()
        s.step(2)
        assert s.data(eid) == {"goal": "hunt"}


def looks(transport):
    def look(what: str) -> str:
        """Look at something."""
        return f"the {what} is near"

    return ToolAgent(transport, [look], model="double")


def looking_first():
    call = ToolCall("c1", "look", '{"what": "deer"}')
    return ScriptedTransport([ModelReply("", "tool_calls", tool_calls=(call,)), GOAL, GOAL, GOAL])


def test_a_tool_agent_is_a_client_and_may_look_things_up(stage):
    transport = looking_first()
    s = stage(looks(transport))
    eid = s.spawn()
    s.step(2)
    assert s.data(eid) == {"goal": "hunt"}
    assert any("the deer is near" in m.text for m in transport.requests[1].messages)


def test_each_entity_may_have_a_tool_agent_of_its_own_and_the_silent_ones_are_let_go(stage):
    made = []

    def make(eid):
        made.append(eid)
        return looks(ScriptedTransport([GOAL] * 9))

    s = stage(ToolAgentAdapter(make, most_agents=2), conversation_turns=3)
    first, second = s.spawn(), s.spawn()
    s.step(3)
    assert made == [first, second]
    third = s.spawn()
    s.step(2)
    assert made[:3] == [first, second, third]
    assert len(made) > 3
    assert s.errors == []


def test_a_tool_agent_that_fails_is_an_error(stage):
    s = stage(looks(FaultyTransport(ScriptedTransport(GOAL), plan=["refused"])))
    eid = s.spawn(query_interval=5, last_query_tick=-4)
    s.step(2)
    assert s.errors[0][0] == eid


def test_fields_of_an_entity_go_along_with_its_calls(stage):
    transport = ScriptedTransport(GOAL)
    client = ModelClient(ModelConfig(model="double", base_url="http://127.0.0.1:9/v1"), transport)
    s = stage(ModelAdapter(client, extra_for=lambda eid: {"id_slot": eid}))
    eid = s.spawn()
    s.step()
    assert transport.requests[0].extra == {"id_slot": eid}


# Several clients


def test_an_agent_may_name_its_client(stage):
    s = stage(MockClient(lambda *_: '{"by": "default"}'))
    s.manager.register_client(MockClient(lambda *_: '{"by": "smart"}'), "smart")
    plain, smart = s.spawn(), s.spawn(client="smart")
    s.step(2)
    assert (s.data(plain)["by"], s.data(smart)["by"]) == ("default", "smart")


def test_a_router_chooses_for_agents_that_name_no_client(stage):
    s = stage()
    for name in ("fast", "smart"):
        s.manager.register_client(MockClient(lambda *_, name=name: json.dumps({"by": name})), name)
    s.manager.define_router(lambda _world, _eid, agent: "smart" if agent.priority > 5 else "fast")
    routine, critical, stubborn = s.spawn(), s.spawn(priority=9), s.spawn(priority=9, client="fast")
    s.step(2)
    assert [s.data(eid)["by"] for eid in (routine, critical, stubborn)] == ["fast", "smart", "fast"]
    s.manager.define_router(None)
    s.step(2)
    assert (routine, "missing_definition") in [one[:2] for one in s.errors]


# Conversations


def counting():
    """Answers with a number that grows, and remembers what it was told."""
    told = []

    def reply(_system, user):
        told.append(user)
        return json.dumps({"n": len(told)})

    return MockClient(reply), told


def test_without_a_window_every_query_stands_alone(stage):
    client, told = counting()
    s = stage(client)
    eid = s.spawn()
    s.step(3)
    assert told == ["You are 1."] * 3
    assert s.agent(eid).turns == []


def test_a_plain_client_gets_earlier_turns_folded_into_the_message(stage):
    client, told = counting()
    s = stage(client, conversation_turns=2)
    s.spawn()
    s.step(2)
    assert told[0] == "You are 1."
    assert told[1] == 'Earlier you were told:\nYou are 1.\n\nYou answered:\n{"n": 1}\n\nNow:\nYou are 1.'


def test_the_window_is_bounded_and_slides(stage):
    client, told = counting()
    s = stage(client, conversation_turns=2)
    eid = s.spawn()
    s.step(6)
    assert s.agent(eid).turns == [("You are 1.", '{"n": 4}'), ("You are 1.", '{"n": 5}')]
    assert '{"n": 4}' in told[5]
    assert '{"n": 3}' not in told[5]


def test_a_model_gets_earlier_turns_as_messages(stage):
    transport = ScriptedTransport(['{"n": 1}', '{"n": 2}', '{"n": 3}'])
    s = stage(transport, conversation_turns=5)
    s.spawn()
    s.step(3)
    assert [(m.role, m.text) for m in transport.requests[2].messages[1:]] == [
        ("user", "You are 1."),
        ("assistant", '{"n": 1}'),
        ("user", "You are 1."),
        ("assistant", '{"n": 2}'),
        ("user", "You are 1."),
    ]


def test_the_window_survives_a_snapshot(stage):
    client, told = counting()
    s = stage(client, conversation_turns=2)
    eid = s.spawn()
    s.step(3)
    kept = list(s.agent(eid).turns)
    saved = json.loads(json.dumps(s.engine.snapshot()))
    s.step(3)
    s.engine.restore(saved)
    assert s.agent(eid).turns == kept
    s.step()
    assert kept[1][1] in told[-1]


def test_replies_that_could_not_be_used_are_not_remembered(stage):
    s = stage(MockClient(lambda *_: "no json"), conversation_turns=2)
    eid = s.spawn()
    s.step(3)
    assert s.agent(eid).turns == []


def test_a_question_knows_its_own_conversation():
    question = Question("s", "u", (("a", "b"),))
    assert [m.role for m in question.messages()] == ["system", "user", "assistant", "user"]
    assert question.folded().endswith("Now:\nu")


def test_what_a_model_reports_is_in_the_thought(stage):
    reply = ModelReply(GOAL, "stop", usage=Usage(11, 5), model="double-2")
    s = stage(ScriptedTransport(reply))
    s.manager.record_thoughts(s.thoughts.append)
    s.spawn()
    s.step(2)
    thought = s.thoughts[0]
    assert (thought.model, thought.prompt_tokens, thought.completion_tokens) == ("double-2", 11, 5)

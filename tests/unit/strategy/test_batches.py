"""One call that answers for several entities."""

import json

import pytest

from tickmind.llm import estimate_tokens
from tickmind.llm.testing import ScriptedTransport
from tickmind.llm.transport import ModelReply, Usage
from tickmind.strategy import MockClient, make_directive_parser
from tickmind.strategy.queries.batches import share


def deciding(leave_out=()):
    """A client that decides for every character that a message names, and remembers the messages."""
    told = []

    def reply(_system, user):
        told.append(user)
        numbers = [int(line.split()[1][:-1]) for line in user.splitlines() if line.startswith("Character ")]
        if not numbers:
            return '{"goal": "alone"}'
        return json.dumps({str(n): {"goal": f"goal {n}"} for n in numbers if n not in leave_out})

    return MockClient(reply), told


def test_one_call_answers_for_several(stage):
    client, told = deciding()
    s = stage(client, batch_size=3)
    eids = [s.spawn(query_interval=100, last_query_tick=-99) for _ in range(3)]
    s.step(2)
    assert client.calls == 1
    assert [s.data(eid)["goal"] for eid in eids] == [f"goal {eid}" for eid in eids]
    assert s.queries == [(eid, 1) for eid in eids]
    assert s.responses == [(eid, 2) for eid in eids]
    assert all(f"You are {eid}." in told[0] for eid in eids)


def test_one_alone_is_asked_as_ever(stage):
    client, told = deciding()
    s = stage(client, batch_size=3)
    eid = s.spawn()
    s.step(2)
    assert told[0] == "You are 1."
    assert s.data(eid) == {"goal": "alone"}


def test_whom_the_reply_leaves_out_fails_alone(stage):
    client, _ = deciding(leave_out={2})
    s = stage(client, batch_size=3)
    first, second, third = (s.spawn(query_interval=100, last_query_tick=-99) for _ in range(3))
    s.step(2)
    assert s.errors == [(second, "parse_error", 2)]
    assert "character 2" in s.messages[0]
    assert [s.agent(eid).consecutive_errors for eid in (first, second, third)] == [0, 1, 0]
    assert s.data(second) == {}
    assert s.data(third) == {"goal": "goal 3"}


@pytest.mark.parametrize("reply", ["no json", '{"1": {"goal": "x"}, "2": 7}'])
def test_what_can_not_be_used_fails_for_whom_it_concerns(stage, reply):
    s = stage(MockClient(lambda *_: reply), batch_size=2)
    first, second = (s.spawn(query_interval=100, last_query_tick=-99) for _ in range(2))
    s.step(2)
    failed = {eid for eid, _, _ in s.errors}
    assert failed == ({first, second} if reply == "no json" else {second})


def test_an_error_or_a_timeout_of_the_call_is_everybodys(stage, hanging):
    s = stage(hanging, batch_size=2, query_timeout=1.0)
    eids = [s.spawn(query_interval=100, last_query_tick=-99) for _ in range(2)]
    s.tick()
    s.clock.advance(1)
    s.tick()
    assert s.errors == [(eid, "timeout", 2) for eid in eids]


def test_different_roles_personalities_parsers_and_clients_do_not_mix(stage):
    client, told = deciding()
    s = stage(client, batch_size=10)
    s.manager.register_client(client, "other")
    s.manager.define_role("bear", "You are a bear.")
    s.manager.define_personality("kind", "You are kind.")
    s.manager.define_parser("mine", lambda _text, board: board.set("goal", "mine"))
    changes = [{}, {"role": "bear"}, {"personality": "kind"}, {"parser": "mine"}, {"client": "other"}]
    for change in changes:
        for _ in range(2):
            s.spawn(query_interval=100, last_query_tick=-99, **change)
    s.step(2)
    assert client.calls == 5
    assert sorted(text.count("Character") for text in told) == [2] * 5
    assert len(s.responses) == 10


def test_a_router_keeps_its_clients_apart_and_each_context_is_made_once(stage):
    client, _ = deciding()
    s = stage(batch_size=3)
    for name in ("fast", "smart"):
        s.manager.register_client(client, name)
    s.manager.define_router(lambda _world, eid, _agent: "fast" if eid % 2 else "smart")
    made = []

    def context(_world, eid):
        made.append(eid)
        return f"You are {eid}."

    s.manager.define_context("plain", context)
    for _ in range(6):
        s.spawn(query_interval=100, last_query_tick=-99)
    s.step(2)
    assert client.calls == 2
    assert sorted(made) == [1, 2, 3, 4, 5, 6]


def test_limits_count_calls(stage):
    client, _ = deciding()
    s = stage(client, batch_size=4, max_queries_per_tick=2, max_queries_per_second=3)
    for _ in range(20):
        s.spawn(query_interval=100, last_query_tick=-99)
    s.step()
    assert client.calls == 2
    assert len(s.queries) == 8
    s.step()
    assert client.calls == 3
    s.clock.advance(1)
    s.step(2)
    assert client.calls == 5
    assert len(s.queries) == 20


def test_a_batch_is_no_longer_than_the_token_budget_allows(stage):
    client, told = deciding()
    s = stage(client, batch_size=5, token_budget=120, conversation_turns=2)
    s.manager.define_context("plain", lambda _world, eid: f"You are {eid}. " + "It is dark. " * 10)
    for _ in range(10):
        s.spawn(query_interval=2, last_query_tick=-1)
    s.step(5)
    assert s.errors == []
    assert {eid for eid, _ in s.responses} == set(range(1, 11))
    sizes = [estimate_tokens("You are a wolf.\n\nYou are sly.") + estimate_tokens(text) for text in told]
    assert max(sizes) <= 120
    assert any(text.count("Character") > 1 for text in told)


def test_a_token_counter_that_fails_on_long_texts_costs_only_the_batch(stage):
    client, told = deciding()

    def count(text):
        if "Character" in text:
            raise ValueError("too long for me")
        return len(text) // 4

    s = stage(client, batch_size=5, token_budget=1000)
    s.manager.count_tokens_with(count)
    eids = [s.spawn(query_interval=100, last_query_tick=-99) for _ in range(4)]
    s.step(2)
    assert s.errors == []
    assert told == [f"You are {eid}." for eid in eids]


def test_the_form_that_is_asked_for_holds_one_object_for_each(stage):
    transport = ScriptedTransport('{"1": {"goal": "a"}, "2": {"goal": "b"}}')
    s = stage(transport, batch_size=2)
    s.manager.define_parser("directives", make_directive_parser(["goal"]))
    first, second = (s.spawn(parser="directives", query_interval=100, last_query_tick=-99) for _ in range(2))
    s.step(2)
    asked = transport.requests[0].output
    assert asked is not None
    assert asked.schema["required"] == ["1", "2"]
    assert s.data(first) == {"strategy": {"goal": "a"}}
    assert s.data(second) == {"strategy": {"goal": "b"}}


def test_each_keeps_its_own_conversation(stage):
    client, told = deciding()
    s = stage(client, batch_size=2, conversation_turns=2)
    first, second = s.spawn(), s.spawn()
    s.step(2)
    assert s.agent(first).turns == [("You are 1.", '{"goal": "goal 1"}')]
    assert s.agent(second).turns == [("You are 2.", '{"goal": "goal 2"}')]
    assert told[1].count("goal 1") == told[1].count("goal 2") == 1
    assert told[1].index("goal 1") < told[1].index("Character 2")


def test_thoughts_of_a_batch_share_its_cost(stage):
    reply = ModelReply('{"1": {}, "2": {}, "3": {}}', "stop", usage=Usage(10, 7))
    s = stage(ScriptedTransport(reply), batch_size=3)
    s.manager.record_thoughts(s.thoughts.append)
    for _ in range(3):
        s.spawn(query_interval=100, last_query_tick=-99)
    s.step(2)
    assert [thought.prompt_tokens for thought in s.thoughts] == [4, 3, 3]
    assert sum(thought.completion_tokens for thought in s.thoughts) == 7
    assert [thought.user_message for thought in s.thoughts] == ["You are 1.", "You are 2.", "You are 3."]


def test_shares_add_up():
    assert [share(10, 3, place) for place in range(3)] == [4, 3, 3]
    assert share(None, 3, 0) is None

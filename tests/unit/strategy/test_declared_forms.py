"""A declared form: what the client found, repaired and converted is what counts, whatever the reply looked like."""

import json
from typing import Any

import pytest

from tickmind.llm.testing import ScriptedTransport
from tickmind.strategy import make_directive_parser
from tickmind.strategy.clients.client import Deliberation, Question
from tickmind.strategy.clients.deliberation import deliberate

FORM = {
    "type": "object",
    "properties": {"goal": {"enum": ["hunt", "rest"]}, "target": {"type": "integer"}},
    "required": ["goal"],
}
UNTIDY = 'I choose: {"goal": "Hunt", "target": "5",}'


@pytest.mark.parametrize("reply", [UNTIDY, "```yaml\ngoal: hunt\ntarget: 5\n```"])
def test_a_reply_that_the_client_could_read_reaches_the_blackboard(stage, reply):
    transport = ScriptedTransport([reply] * 3)
    s = stage(transport, conversation_turns=1)
    s.manager.record_thoughts(s.thoughts.append)
    s.manager.define_role("wolf", "You are a wolf.", schema=FORM)
    eid = s.spawn(query_interval=10, last_query_tick=-9)
    s.step(2)
    assert s.errors == []
    assert s.data(eid) == {"goal": "hunt", "target": 5}
    assert len(transport.requests) == 1
    assert [(thought.reply, thought.directives) for thought in s.thoughts] == [(reply, {"goal": "hunt", "target": 5})]
    assert s.agent(eid).turns == [("You are 1.", reply)]


def test_it_does_so_for_each_of_a_batch(stage):
    reply = 'Well: {"1": {"goal": "hunt", "target": "7"}, "2": {"goal": "REST",},}'
    s = stage(ScriptedTransport([reply] * 3), batch_size=2)
    s.manager.define_role("wolf", "You are a wolf.", schema=FORM)
    first, second = (s.spawn(query_interval=10, last_query_tick=-9) for _ in range(2))
    s.step(2)
    assert s.errors == []
    assert (s.data(first), s.data(second)) == ({"goal": "hunt", "target": 7}, {"goal": "rest"})


def test_a_form_with_references_holds_for_each_of_a_batch(stage):
    form = {
        "type": "object",
        "properties": {"goal": {"$ref": "#/$defs/goal"}, "plan": {"$ref": "#/$defs/plan"}},
        "required": ["goal"],
        "$defs": {
            "goal": {"enum": ["hunt", "rest"]},
            "plan": {"type": "object", "properties": {"then": {"$ref": "#/$defs/plan"}}},
        },
    }
    replies = ['{"1": {"goal": "dance"}, "2": {"goal": "hunt"}}', '{"1": {"goal": "rest"}, "2": {"goal": "hunt"}}']
    transport = ScriptedTransport(replies)
    s = stage(transport, batch_size=2)
    s.manager.define_role("wolf", "You are a wolf.", schema=form)
    first, second = (s.spawn(query_interval=10, last_query_tick=-9) for _ in range(2))
    s.step(2)
    assert s.errors == []
    assert (s.data(first), s.data(second)) == ({"goal": "rest"}, {"goal": "hunt"})
    assert len(transport.requests) == 2


def test_what_a_client_of_ones_own_read_for_a_batch_is_checked_too(stage):
    answers: Any = iter([[1], {"1": {"goal": object()}, "2": {"goal": "rest"}}])

    class Claims:
        async def answer(self, _question):
            return Deliberation("whatever", data=next(answers))

    s = stage(Claims(), batch_size=2)
    s.manager.define_role("wolf", "You are a wolf.", schema=FORM)
    first, second = s.spawn(), s.spawn()
    s.step(3)
    assert s.errors == [(first, "parse_error", 2), (second, "parse_error", 2), (first, "parse_error", 3)]
    assert s.data(second) == {"goal": "rest"}


def test_a_parser_of_ones_own_gets_it_as_plain_json(stage):
    heard = []
    s = stage(ScriptedTransport(UNTIDY))
    s.manager.define_parser("mine", lambda text, board: heard.append(json.loads(text)), schema=FORM)
    s.spawn(parser="mine")
    s.step(2)
    assert s.errors == []
    assert heard == [{"goal": "hunt", "target": 5}]


def test_directives_take_it_too_and_their_handlers_and_checks_still_count(stage):
    def refuse(value, _board):
        raise ValueError(f"there is no {value}")

    s = stage(ScriptedTransport([UNTIDY] * 9))
    s.manager.define_parser("plain", make_directive_parser(FORM))
    s.manager.define_parser("strict", make_directive_parser(FORM, handlers={"target": refuse}))
    fine, refused = s.spawn(parser="plain"), s.spawn(parser="strict")
    s.step(2)
    assert s.data(fine) == {"strategy": {"goal": "hunt", "target": 5}}
    assert s.data(refused) == {}
    assert s.errors == [(refused, "parse_error", 2)]


@pytest.mark.parametrize(
    "data",
    [["goal"], {"goal": "dance"}, {"target": 1}, {"goal": "hunt", "target": object()}, 7],
    ids=["a list", "a wrong value", "a field missing", "no JSON", "a number"],
)
def test_what_a_client_of_ones_own_claims_to_have_read_is_checked(stage, data):
    class Claims:
        async def answer(self, _question):
            return Deliberation("whatever", data=data)

    s = stage(Claims())
    s.manager.define_role("wolf", "You are a wolf.", schema=FORM)
    s.manager.define_parser("mine", lambda *_: None, schema=FORM)
    s.manager.define_parser("directives", make_directive_parser(FORM))
    eids = [s.spawn(), s.spawn(parser="mine"), s.spawn(parser="directives")]
    s.step(2)
    assert s.errors == [(eid, "parse_error", 2) for eid in eids]
    assert [s.data(eid) for eid in eids] == [{}] * 3


def test_two_that_get_the_same_answer_do_not_share_it(stage):
    answer = Deliberation("whatever", data={"plan": ["a"]})

    class Same:
        async def answer(self, _question):
            return answer

    s = stage(Same())
    s.manager.define_role("wolf", "x", schema={"type": "object", "properties": {"plan": {"type": "array"}}})
    first, second = s.spawn(query_interval=10, last_query_tick=-9), s.spawn(query_interval=10, last_query_tick=-9)
    s.step(2)
    s.data(first)["plan"].append("b")
    assert s.data(second) == {"plan": ["a"]} == answer.data


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.asyncio
async def test_a_deliberation_carries_the_object_and_the_words(make_model, streamed):
    client = make_model(ScriptedTransport(UNTIDY))
    hear = (lambda *_: None) if streamed else None
    found = await deliberate(client, Question("", "What now?", schema=FORM, on_field=hear))
    assert (found.data, found.text) == ({"goal": "hunt", "target": 5}, UNTIDY)

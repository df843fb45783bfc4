"""Replies that are JSON and still do harm: towers of brackets, half letters. None of them gets into a world."""

import json

import orjson
import pytest

from tickmind.ai import Blackboard
from tickmind.llm import Message, ModelClient, ModelConfig
from tickmind.llm.testing import FakeProvider
from tickmind.strategy import MockClient, ParseError, default_json_parser, make_directive_parser
from tickmind.strategy.clients.client import Deliberation
from tickmind.strategy.replies.drafts import MAX_DEPTH
from tickmind.strategy.replies.parsers import Declared, parse_into

HALF = "\ud83d"  # the first half of a letter beyond the 16 bits


def tower(levels):
    return '{"a": ' + "[" * (levels - 1) + "1" + "]" * (levels - 1) + "}"


@pytest.mark.parametrize(
    "reply",
    [tower(49), tower(65), tower(500), '{"goal": "\\ud83d"}', '{"goal": "' + HALF + '"}'],
    ids=["tower of 49", "tower of 65", "tower of 500", "escaped half letter", "half letter"],
)
def test_towers_and_half_letters_are_refused_and_the_world_goes_on(stage, reply):
    s = stage(MockClient(lambda *_: reply))
    s.manager.record_thoughts(s.thoughts.append)
    eid = s.spawn()
    s.step(2)
    assert s.errors == [(eid, "parse_error", 2)]
    assert s.data(eid) == {}
    assert [thought.reply for thought in s.thoughts] == [reply]
    s.engine.snapshot()


def test_the_deepest_reply_that_is_taken_can_be_saved_and_recorded(stage):
    s = stage(MockClient(lambda *_: tower(48)))
    s.manager.record_thoughts(s.thoughts.append)
    eid = s.spawn()
    s.step(2)
    assert s.errors == []
    saved = json.loads(json.dumps(s.engine.snapshot()))
    before = s.data(eid)
    s.engine.restore(saved)
    assert s.data(eid) == before == s.thoughts[0].directives


@pytest.mark.parametrize("levels", [MAX_DEPTH.maximum + 1, 500, 5000])
def test_a_parser_of_ones_own_puts_no_tower_on_the_blackboard(stage, levels):
    def build(_reply, board):
        value: list[object] = []
        board.data["tower"] = value
        for _ in range(levels):
            inner: list[object] = []
            value.append(inner)
            value = inner

    s = stage(MockClient())
    s.manager.record_thoughts(s.thoughts.append)
    s.manager.define_parser("builder", build)
    eid = s.spawn(parser="builder")
    s.step(2)
    assert s.errors == [(eid, "parse_error", 2)]
    assert s.data(eid) == {}


def test_a_value_that_holds_itself_is_refused():
    def build(_reply, board):
        board.data["self"] = board.data

    board = Blackboard()
    with pytest.raises(ParseError, match="nested"):
        parse_into("{}", board, build, Declared())
    assert board.data == {}


def test_the_error_says_where_the_json_ends():
    with pytest.raises(ParseError, match="line 1 column"):
        default_json_parser('{"goal": }', Blackboard())
    with pytest.raises(ParseError, match="nested"):
        default_json_parser(tower(49), Blackboard())


def test_a_thought_that_can_not_be_made_is_told_and_ends_nothing(stage):
    class Careless:
        async def answer(self, _question):
            return Deliberation('{"goal": "hunt"}', prompt_tokens="many")  # type: ignore[arg-type]  # on purpose

    s = stage(Careless())
    s.manager.record_thoughts(s.thoughts.append)
    eid = s.spawn()
    s.step(2)
    assert s.data(eid) == {"goal": "hunt"}
    assert s.errors == [(0, "callback_error", 2)]
    assert "thought" in s.messages[0]
    assert s.thoughts == []


def test_half_letters_become_the_mark_for_such_in_every_message():
    for message in (Message.system(HALF), Message.user([HALF, "ok"]), Message.assistant(f"a{HALF}b")):
        orjson.dumps(message.text)
        assert "\ufffd" in message.text
    assert Message.user("\U0001f43a and é").text == "\U0001f43a and é"


def test_a_half_letter_on_a_blackboard_keeps_nobody_from_being_asked(stage):
    with FakeProvider.in_thread(['{"goal": "hunt"}']) as double:
        s = stage(ModelClient(ModelConfig(model="double", base_url=double.base_url)))
        s.manager.define_context("plain", lambda _world, _eid: f"Somebody said: {HALF}")
        s.manager.define_parser("directives", make_directive_parser(["goal"]))
        eid = s.spawn(parser="directives", query_interval=10, last_query_tick=-9)
        s.step(2)
    assert s.errors == []
    assert s.data(eid) == {"strategy": {"goal": "hunt"}}

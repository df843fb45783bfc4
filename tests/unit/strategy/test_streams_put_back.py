"""A streamed field is what its own schema wants, and it is gone again if nothing comes of the reply."""

import asyncio
import threading
from contextlib import suppress

import pytest

from tickmind.ai import Blackboard
from tickmind.llm import CallConfig, LLMConnectionError, LLMCooldownError, StructuredOutputError
from tickmind.llm.testing import ScriptedTransport
from tickmind.strategy import make_directive_parser
from tickmind.strategy.clients.client import Deliberation, Question
from tickmind.strategy.clients.deliberation import deliberate

FORM = {
    "type": "object",
    "properties": {
        "speed": {"type": "integer", "maximum": 9},
        "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
        "place": {"$ref": "#/$defs/place"},
        "mood": {"enum": ["calm", "wild"]},
        "plan": {"type": "string"},
    },
    "required": ["plan"],
    "$defs": {"place": {"type": "object", "properties": {"x": {"type": "integer", "minimum": 0}}, "required": ["x"]}},
}
OLD = {"plan": "old", "speed": 1}


class Telling:
    """Tells of fields as the test says, then answers, or raises, as it says."""

    def __init__(self, fields):
        self.fields = fields
        self.outcome: str | Exception = ""
        self.heard = threading.Event()

    async def answer(self, question):
        self.loop, self.finished = asyncio.get_running_loop(), asyncio.Event()
        for field in self.fields:
            if field is None:
                question.on_retry()
            else:
                question.on_field(*field)
        self.heard.set()
        await self.finished.wait()
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return Deliberation(self.outcome)

    def finish(self, outcome):
        self.outcome = outcome
        self.loop.call_soon_threadsafe(self.finished.set)


def telling(stage, fields, *, parser=False, board=None, **config):
    client = Telling(fields)
    s = stage(client, stream_fields=True, query_timeout=30.0, **config)
    s.manager.define_role("wolf", "You are a wolf.", schema=FORM)
    s.manager.define_parser("directives", make_directive_parser(FORM))
    eid = s.spawn(parser="directives" if parser else "", query_interval=100, last_query_tick=-99)
    s.data(eid).update(dict(OLD) if board is None else board)
    s.tick()
    assert client.heard.wait(60)
    s.tick()
    return s, eid, client


def finish(s, client, outcome):
    client.finish(outcome)
    s.settle()
    s.tick()


@pytest.mark.parametrize(
    "field",
    [
        ("speed", 10),
        ("speed", "5"),
        ("name", "Rex"),
        ("name", "abcdef"),
        ("place", {"x": -1}),
        ("place", {}),
        ("mood", "odd"),
        ("unknown", 1),
    ],
    ids=lambda field: f"{field[0]} {field[1]}",
)
@pytest.mark.parametrize("parser", [False, True])
def test_a_field_that_does_not_fit_its_own_schema_is_not_taken(stage, field, parser):
    s, eid, client = telling(stage, [field], parser=parser)
    assert s.data(eid) == OLD
    finish(s, client, "no json")


@pytest.mark.parametrize(("speed", "given_out"), [(99, ["plan"]), (3, ["speed", "plan"])])
@pytest.mark.asyncio
async def test_a_model_client_gives_out_fitting_fields_only(make_model, speed, given_out):
    heard: list[str] = []
    client = make_model(ScriptedTransport(['{"speed": ' + str(speed) + ', "plan": "x", "mood": "calm"}'] * 9, cut=1))
    call = CallConfig(max_retries=0)
    with suppress(StructuredOutputError):
        question = Question("", "?", schema=FORM, on_field=lambda name, _value: heard.append(name))
        await deliberate(client, question, call)
    assert heard[: len(given_out)] == given_out


@pytest.mark.parametrize(
    "outcome",
    ["no json", '{"speed": 3}', LLMConnectionError("gone"), LLMCooldownError("later", retry_after_s=5.0)],
    ids=["no JSON", "not whole", "no way", "not our turn"],
)
@pytest.mark.parametrize("parser", [False, True])
def test_what_was_streamed_is_put_back_if_the_reply_fails(stage, outcome, parser):
    strategy = {"plan": "old"}
    board = {"strategy": strategy} if parser else dict(OLD)
    s, eid, client = telling(stage, [("speed", 3), ("mood", "calm")], parser=parser, board=board)
    now = s.data(eid)["strategy"] if parser else s.data(eid)
    assert (now["speed"], now["mood"]) == (3, "calm")
    finish(s, client, outcome)
    assert s.data(eid) == board
    assert not parser or s.data(eid)["strategy"] is strategy
    assert s.responses == []


def test_it_is_put_back_at_a_timeout_and_when_the_agent_leaves(stage):
    s, eid, _ = telling(stage, [("speed", 3)])
    s.clock.advance(30)
    s.tick()
    assert s.data(eid) == OLD
    s, eid, _ = telling(stage, [("speed", 3), ("mood", "wild")])
    s.world.detach(eid, type(s.agent(eid)))
    assert s.data(eid) == OLD
    s, eid, _ = telling(stage, [("speed", 3)])
    s.system.shutdown()
    assert s.data(eid) == OLD


def test_it_is_put_back_when_the_reply_is_asked_for_again(stage):
    s, eid, client = telling(stage, [("speed", 3), ("mood", "wild"), None, ("speed", 4)])
    assert s.data(eid) == {"plan": "old", "speed": 4}
    finish(s, client, '{"plan": "new"}')
    assert s.data(eid) == {"plan": "new", "speed": 1}


def test_a_model_that_is_asked_again_leaves_nothing_of_its_first_try(stage):
    replies = ['{"mood": "wild", "speed": 3, "place": 5, "plan": 7}', '{"plan": "new", "speed": 2}']
    transport = ScriptedTransport(replies, cut=1)
    s = stage(transport, stream_fields=True)
    s.manager.define_role("wolf", "You are a wolf.", schema=FORM)
    s.manager.record_thoughts(s.thoughts.append)
    eid = s.spawn(query_interval=100, last_query_tick=-99)
    s.step()
    s.tick()
    assert len(transport.requests) == 2
    assert s.data(eid) == {"plan": "new", "speed": 2}
    assert s.thoughts[0].directives == {"plan": "new", "speed": 2}


def test_what_was_streamed_is_among_what_the_thought_says_has_changed(stage):
    s, eid, client = telling(stage, [("speed", 3)])
    s.manager.record_thoughts(s.thoughts.append)
    finish(s, client, '{"plan": "new", "speed": 3}')
    assert s.data(eid) == {"plan": "new", "speed": 3}
    assert s.thoughts[0].directives == {"plan": "new", "speed": 3}


def test_what_somebody_else_has_changed_meanwhile_is_left_alone(stage):
    s, eid, client = telling(stage, [("speed", 3), ("place", {"x": 1}), ("mood", "wild")])
    s.data(eid)["speed"] = 8
    s.data(eid)["place"]["seen"] = True
    finish(s, client, "no json")
    assert s.data(eid) == {"plan": "old", "speed": 8, "place": {"x": 1, "seen": True}}


def test_a_handler_that_deletes_is_undone_too(stage):
    client = Telling([("speed", 3)])
    s = stage(client, stream_fields=True)
    parser = make_directive_parser(FORM, handlers={"speed": lambda _value, board: board.delete("rest")})
    s.manager.define_parser("directives", parser)
    eid = s.spawn(parser="directives", query_interval=100, last_query_tick=-99)
    s.data(eid).update(rest="now")
    s.tick()
    assert client.heard.wait(60)
    s.tick()
    assert s.data(eid) == {}
    finish(s, client, "no json")
    assert s.data(eid) == {"rest": "now"}


def test_a_blackboard_that_takes_the_place_of_another_gets_back_only_its_own(stage):
    s, eid, _ = telling(stage, [("speed", 3)])
    s.world.detach(eid, Blackboard)
    s.world.attach(eid, Blackboard({"speed": 3}))
    s.tick()
    assert s.data(eid) == {"speed": 3}

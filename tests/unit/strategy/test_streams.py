"""Fields reach the Blackboard while the rest of the reply is still coming."""

import asyncio
import threading

from tickmind.llm.testing import ScriptedTransport
from tickmind.strategy import MockClient, make_directive_parser

REPLY = '{"goal": "hunt", "stance": "calm", "hp": 9000, "plan": "wait by the water"}'
FIELDS = {
    "type": "object",
    "properties": {"goal": {"type": "string"}, "stance": {"enum": ["calm", "wild"]}, "plan": {"type": "string"}},
    "required": ["goal", "stance", "plan"],
}


class Paused(ScriptedTransport):
    """Streams a reply up to a certain text, and the rest when it is let go."""

    def __init__(self, reply, stop_at):
        super().__init__(reply, cut=1)
        self.stop_at = stop_at
        self.paused, self.released = threading.Event(), threading.Event()

    async def _pieces(self, reply, budget):
        seen = ""
        async for piece in super()._pieces(reply, budget):
            seen += piece.content
            yield piece
            if seen.endswith(self.stop_at):
                self.paused.set()
                await asyncio.to_thread(self.released.wait, 60)


def streaming(stage, reply=REPLY, stop_at='"plan"', **config):
    transport = Paused(reply, stop_at)
    s = stage(transport, stream_fields=True, **config)
    s.transport = transport
    return s


def pause(s):
    s.tick()
    assert s.transport.paused.wait(60)
    s.tick()


def finish(s):
    s.transport.released.set()
    s.settle()
    s.tick()


def test_directives_arrive_as_they_are_complete_and_the_whole_reply_ends_it(stage):
    s = streaming(stage)
    s.manager.define_parser("directives", make_directive_parser(FIELDS))
    eid = s.spawn(parser="directives", query_interval=10, last_query_tick=-9)
    pause(s)
    assert s.data(eid) == {"strategy": {"goal": "hunt", "stance": "calm"}}
    assert s.agent(eid).pending
    finish(s)
    assert s.data(eid) == {"strategy": {"goal": "hunt", "stance": "calm", "plan": "wait by the water"}}
    assert s.responses == [(eid, 3)]


def test_the_default_parser_takes_fields_that_a_schema_declares(stage):
    s = streaming(stage)
    s.manager.define_role("wolf", "x", schema=FIELDS, keys=["goal", "plan"])
    eid = s.spawn(query_interval=10, last_query_tick=-9)
    pause(s)
    assert s.data(eid) == {"goal": "hunt"}
    finish(s)
    assert s.data(eid) == {"goal": "hunt", "plan": "wait by the water"}


def test_streamed_fields_are_bound_by_declared_keys_and_touch_nothing_else(stage):
    s = streaming(stage)
    s.manager.define_parser("directives", make_directive_parser(FIELDS), keys=["other"])
    eid = s.spawn(parser="directives", query_interval=10, last_query_tick=-9)
    path = s.data(eid)["path"] = [1, 2]
    pause(s)
    assert s.data(eid) == {"path": [1, 2]}
    assert s.data(eid)["path"] is path
    finish(s)


def test_a_handler_that_refuses_a_streamed_field_costs_that_field_only(stage):
    def refuse(_value, board):
        board.data["half"] = True
        raise ValueError("no")

    s = streaming(stage)
    s.manager.define_parser("directives", make_directive_parser(FIELDS, handlers={"goal": refuse}))
    eid = s.spawn(parser="directives", query_interval=10, last_query_tick=-9)
    pause(s)
    assert s.data(eid) == {"strategy": {"stance": "calm"}}
    assert s.errors == []
    finish(s)
    assert [kind for _, kind, _ in s.errors] == ["parse_error"]


def test_fields_that_come_after_the_timeout_are_not_heard(stage):
    s = streaming(stage, stop_at='"stance"', query_timeout=5.0)
    s.manager.define_parser("directives", make_directive_parser(FIELDS))
    eid = s.spawn(parser="directives", query_interval=10, last_query_tick=-9)
    pause(s)
    s.clock.advance(5)
    s.tick()
    assert s.errors == [(eid, "timeout", 3)]
    s.transport.released.set()
    s.tick(3)
    assert s.data(eid) == {}


def test_fields_for_somebody_who_left_are_not_heard(stage):
    s = streaming(stage)
    s.manager.define_parser("directives", make_directive_parser(FIELDS))
    eid = s.spawn(parser="directives")
    s.tick()
    assert s.transport.paused.wait(60)
    s.world.despawn(eid)
    s.tick()
    s.transport.released.set()
    s.tick()
    assert s.responses == []


def test_fields_are_not_streamed_unless_that_is_switched_on(stage):
    transport = ScriptedTransport(REPLY)
    s = stage(transport)
    s.manager.define_parser("directives", make_directive_parser(FIELDS))
    s.spawn(parser="directives")
    s.step(2)
    assert not transport.calls[0].streamed


def test_a_stream_that_is_cut_anywhere_ends_in_the_same_blackboard(stage):
    for cut in (1, 7, 50):
        s = stage(ScriptedTransport(REPLY, cut=cut), stream_fields=True)
        s.manager.define_parser("directives", make_directive_parser(FIELDS))
        eid = s.spawn(parser="directives", query_interval=10, last_query_tick=-9)
        s.step(2)
        assert s.data(eid)["strategy"]["plan"] == "wait by the water"


def test_a_plain_client_does_not_mind_streaming(stage):
    s = stage(MockClient(lambda *_: '{"goal": "hunt"}'), stream_fields=True)
    eid = s.spawn()
    s.step(2)
    assert s.data(eid) == {"goal": "hunt"}


def test_fields_from_many_threads_are_all_heard(stage, until):
    class Chatty:
        """Reports each field many times while the tick takes them in."""

        async def answer(self, question):
            for number in range(2000):
                question.on_field("goal", number)
                if number % 50 == 0:
                    await asyncio.sleep(0)
            return '{"goal": "done"}'

    heard = []
    parser = make_directive_parser(["goal"], handlers={"goal": lambda value, board: heard.append(value)})
    s = stage(Chatty(), stream_fields=True)
    s.manager.define_parser("directives", parser)
    eid = s.spawn(parser="directives", query_interval=100_000, last_query_tick=-99_999)
    s.tick()
    until(lambda: s.tick() or s.responses)
    assert heard == [*range(2000), "done"]
    assert not s.agent(eid).pending

"""What is registered: checked at once, by decorator or call, and removed again."""

import asyncio
from typing import Any
from unittest.mock import Mock

import pytest

import tickmind.strategy
from tickmind.base import ConfigError
from tickmind.strategy import LLMManager, MockClient
from tickmind.strategy.functions import refuse_coroutine

GOAL = '{"goal": "hunt"}'


async def nothing(*_):
    return None


class Callable:
    async def __call__(self, *_):
        return None


# Clients


def test_a_class_in_the_place_of_a_client_is_refused():
    with pytest.raises(ConfigError, match=r"register MockClient\(...\)"):
        LLMManager().register_client(MockClient)  # type: ignore[arg-type]  # on purpose


@pytest.mark.parametrize("method", ["query", "answer"])
def test_a_method_that_does_not_take_what_it_is_given_is_refused(method):
    client = type("Client", (), {method: lambda self: "x"})()
    with pytest.raises(ConfigError, match="a Client does not qualify"):
        LLMManager().register_client(client)


def test_an_async_query_works(stage):
    class Client:
        closed = False

        async def query(self, _system, user):
            await asyncio.sleep(0)
            return f'{{"heard": "{user}"}}'

        async def aclose(self):
            Client.closed = True

    s = stage(Client())
    eid = s.spawn()
    s.step(2)
    assert s.data(eid) == {"heard": f"You are {eid}."}
    s.system.shutdown()
    assert Client.closed


@pytest.mark.parametrize("answer", ["42", lambda _question: "42"])
def test_an_answer_that_has_another_meaning_is_left_alone(stage, answer):
    client = MockClient(lambda *_: GOAL)
    client.answer = answer  # type: ignore[attr-defined]  # the client's own business
    s = stage(client)
    eid = s.spawn()
    s.step(2)
    assert s.data(eid) == {"goal": "hunt"}


def test_a_mock_of_the_standard_library_is_asked_by_query(stage):
    client = Mock()
    client.query.return_value = GOAL
    s = stage()
    s.manager.register_client(client)
    eid = s.spawn()
    s.step(2)
    assert s.data(eid) == {"goal": "hunt"}


def test_a_query_that_gives_a_coroutine_is_an_error_that_says_so(stage):
    s = stage(MockClient(lambda *_: nothing()))  # type: ignore[arg-type]  # on purpose
    eid = s.spawn(query_interval=1000, last_query_tick=-999)
    s.step(2)
    assert s.errors[0][:2] == (eid, "api_error")
    assert "async def" in s.messages[0]


def test_an_answer_that_gives_no_coroutine_is_an_error_that_says_so(stage):
    class Client:
        def answer(self, _question):
            return GOAL

    s = stage(Client())
    eid = s.spawn()
    s.step(1)
    assert s.errors[0][:2] == (eid, "api_error")
    assert "must return a coroutine, not a str" in s.messages[0]


# Functions

REGISTRATIONS = {
    "context": lambda m, fn: m.define_context("x", fn),
    "parser": lambda m, fn: m.define_parser("x", fn),
    "trigger": lambda m, fn: m.define_trigger("x", fn),
    "router": lambda m, fn: m.define_router(fn),
    "counter": lambda m, fn: m.count_tokens_with(fn),
    "on_query": lambda m, fn: m.on_query(fn),
    "on_response": lambda m, fn: m.on_response(fn),
    "on_error": lambda m, fn: m.on_error(fn),
    "on_estimate": lambda m, fn: m.on_estimate(fn),
    "on_deferred": lambda m, fn: m.on_deferred(fn),
    "sink": lambda m, fn: m.record_thoughts(fn),
}


@pytest.mark.parametrize("register", REGISTRATIONS.values(), ids=REGISTRATIONS)
def test_what_the_tick_would_have_to_await_is_refused(register):
    for fn in (nothing, Callable()):
        with pytest.raises(ConfigError, match="async def"):
            register(LLMManager(), fn)


@pytest.mark.parametrize("register", REGISTRATIONS.values(), ids=REGISTRATIONS)
def test_a_class_in_the_place_of_a_function_is_refused(register):
    with pytest.raises(ConfigError, match="not the class Callable"):
        register(LLMManager(), Callable)


@pytest.mark.parametrize("register", REGISTRATIONS.values(), ids=REGISTRATIONS)
def test_what_is_registered_is_given_back(register):
    def function(*_):
        return None

    assert register(LLMManager(), function) is function


def test_every_registration_is_a_decorator(stage):
    s = stage(MockClient(lambda *_: GOAL))
    m, heard = s.manager, []

    @m.define_context("den")
    def den(_world, eid):
        return f"You are in a den, {eid}."

    @m.define_parser("mine", keys=["goal"])
    def mine(_text, board):
        board.data.update(goal="rest", hp=1)

    @m.define_trigger("always")
    def always(_world, _eid):
        return True

    @m.define_router
    def route(_world, _eid, _agent):
        return ""

    @m.on_response
    def note(eid, _latency, _size, tick):
        heard.append((eid, tick))

    eid = s.spawn(context="den", parser="mine", trigger="always", query_interval=1000)
    s.step(2)
    assert (m.context("den"), m.parser("mine"), m.trigger("always")) == (den, mine, always)
    assert s.data(eid) == {"goal": "rest"}
    assert heard == [(eid, 2)]
    m.unsubscribe(note)
    m.unsubscribe(note)
    s.manager.ask_now(eid)
    s.step(2)
    assert s.data(eid) == {"goal": "rest"}
    assert len(s.responses) > 1
    assert heard == [(eid, 2)]


@pytest.mark.parametrize("what", ["trigger", "context", "parser"])
def test_a_function_that_gives_a_coroutine_is_an_error_and_means_nothing(stage, what):
    s = stage(MockClient(lambda *_: GOAL))
    s.manager.define_trigger("now", lambda *_: nothing())
    s.manager.define_parser("mine", lambda *_: nothing())
    s.manager.define_context("later", lambda *_: nothing())
    chosen: dict[str, dict[str, Any]] = {
        "trigger": {"trigger": "now", "query_interval": 50},
        "context": {"context": "later"},
    }
    eid = s.spawn(**chosen.get(what, {"parser": "mine"}))
    s.step(2)
    assert s.errors[0][:2] == (eid, "parse_error" if what == "parser" else "context_error")
    assert "coroutine" in s.messages[0]
    assert s.data(eid) == {}


def test_a_coroutine_that_is_refused_is_closed():
    waiting: Any = nothing()
    with pytest.raises(TypeError, match="never awaits"):
        refuse_coroutine("it", waiting)
    assert waiting.cr_frame is None


# Ask at once


def test_one_that_is_to_be_asked_at_once_goes_before_all_others(stage):
    s = stage(MockClient(lambda *_: GOAL), max_queries_per_tick=1)
    others = [s.spawn(priority=9, query_interval=1000, last_query_tick=-999) for _ in range(5)]
    late = s.spawn(query_interval=1000)
    s.manager.defer(late, 500)
    s.step()
    s.manager.ask_now(late)
    s.step(2)
    assert s.queries == [(others[0], 1), (late, 2), (others[1], 3)]


def test_asking_at_once_ends_a_cooldown_after_failures(stage):
    replies = iter(["no", "no", GOAL])
    s = stage(MockClient(lambda *_: next(replies)))
    eid = s.spawn(max_retries=2, cooldown_ticks=500)
    s.step(3)
    assert s.agent(eid).cooldown_until > 400
    s.manager.ask_now(eid)
    s.step(2)
    assert s.data(eid) == {"goal": "hunt"}
    assert s.agent(eid).cooldown_until == 0


def test_asking_at_once_keeps_a_wait_that_a_client_asked_for(stage):
    s = stage(MockClient(lambda *_: GOAL))
    eid = s.spawn(cooldown_until=50)
    s.manager.ask_now(eid)
    s.step(5)
    assert s.queries == []


def test_one_that_waits_for_an_answer_is_asked_again_when_it_has_it(stage, hanging_once):
    s = stage(hanging_once)
    eid = s.spawn(query_interval=1000, last_query_tick=-999)
    s.tick()
    s.manager.ask_now(eid)
    s.tick(2)
    hanging_once.released.set()
    s.settle()
    s.tick()
    assert s.queries == [(eid, 1), (eid, 4)]


# Exports


@pytest.mark.parametrize(
    "name",
    [
        "AnyClient",
        "Context",
        "ContextFn",
        "Deliberation",
        "OnDeferred",
        "OnError",
        "OnEstimate",
        "OnQuery",
        "OnResponse",
        "ParserFn",
        "PromptTooLongError",
        "Responses",
        "Router",
        "TokenCount",
        "TriggerFn",
        "WorkerStatistics",
    ],
)
def test_types_in_public_signatures_are_public(name):
    assert name in tickmind.strategy.__all__

"""Nothing that a user supplies can raise out of a tick; each failure is told under its own word."""

import logging

import pytest

from tickmind.ai import Blackboard
from tickmind.strategy import MockClient, make_directive_parser

GOAL = '{"goal": "hunt"}'


class UnspeakableError(Exception):
    """An error that can't even be shown."""

    def __str__(self):
        raise RuntimeError("no words")

    __repr__ = __str__


def fails(*_args):
    raise UnspeakableError


def hunting():
    return MockClient(lambda *_: GOAL)


def test_an_exception_in_a_context_function_is_told_counted_and_stays_in_the_tick(stage):
    s = stage(hunting())
    s.manager.define_context("broken", fails)
    broken, fine = s.spawn(context="broken", max_retries=2, cooldown_ticks=5), s.spawn()
    s.step(9)
    assert [tick for eid, kind, tick in s.errors if (eid, kind) == (broken, "context_error")] == [1, 2, 7, 8]
    assert "UnspeakableError" in s.messages[0]
    assert not s.agent(broken).pending
    assert len([eid for eid, _ in s.queries if eid == fine]) == 9


@pytest.mark.parametrize("context", [None, 7, [1, 2], lambda: "x"])
def test_a_context_that_is_no_text_is_told(stage, context):
    s = stage(hunting(), token_budget=100)
    s.manager.define_context("plain", lambda *_: context)
    s.spawn()
    s.step(2)
    assert s.errors[0][1] == "context_error"


@pytest.mark.parametrize("router", [fails, lambda *_: None, lambda *_: ["unhashable"], lambda *_: UnspeakableError()])
def test_a_router_that_fails_is_told(stage, router):
    s = stage(hunting())
    s.manager.define_router(router)
    eid = s.spawn()
    s.step(2)
    assert (eid, "context_error", 1) in s.errors
    assert "router" in s.messages[0]


def test_a_router_that_names_nobody_is_told_as_a_missing_definition(stage):
    s = stage(hunting())
    s.manager.define_router(lambda *_: "nobody")
    eid = s.spawn()
    s.step()
    assert s.errors == [(eid, "missing_definition", 1)]


@pytest.mark.parametrize("budget", [None, 50])
def test_a_token_counter_that_fails_is_told(stage, budget):
    s = stage(hunting(), token_budget=budget)
    s.manager.count_tokens_with(fails)
    s.manager.on_estimate(lambda *_: None)
    s.spawn()
    s.step(2)
    assert s.errors[0][1] == "context_error"


class Ambiguous:
    def __bool__(self):
        raise ValueError("both")


@pytest.mark.parametrize("trigger", [fails, lambda *_: Ambiguous()])
def test_a_trigger_that_fails_is_told_and_the_agent_is_asked_by_its_interval_all_the_same(stage, trigger):
    s = stage(hunting())
    s.manager.define_trigger("panic", trigger)
    eid = s.spawn(trigger="panic", query_interval=30)
    s.step(61)
    assert s.queries == [(eid, 30), (eid, 60)]
    assert [(kind, tick) for _, kind, tick in s.errors] == [("context_error", 1), ("context_error", 50)]
    assert s.agent(eid).cooldown_until == 0


@pytest.mark.parametrize("error", [UnspeakableError(), KeyboardInterrupt(), SystemExit(1), ConnectionError("x")])
def test_whatever_a_blocking_client_raises_is_an_answer(stage, error):
    s = stage(MockClient(error_rate=1.0, error_exception=error))
    eid = s.spawn()
    s.step(2)
    assert s.errors[0][0] == eid
    assert s.agent(eid).consecutive_errors == 1


@pytest.mark.parametrize("value", [None, b"{}", 7, {"goal": "hunt"}])
def test_a_client_that_returns_no_text_is_told(stage, value):
    s = stage(MockClient(lambda *_: value))
    s.manager.define_parser("any", lambda text, board: board.set("said", text))
    eid = s.spawn(parser="any")
    s.step(2)
    assert s.errors == [(eid, "api_error", 2)]
    assert type(value).__name__ in s.messages[0]
    assert s.data(eid) == {}


class Async:
    """An async client made of a function."""

    def __init__(self, answer):
        self.answer = answer


async def coroutine_raising(error):
    raise error


async def coroutine_giving(value):
    return value


@pytest.mark.parametrize(
    "answer",
    [
        fails,
        lambda _question: "no coroutine",
        lambda _question: coroutine_raising(UnspeakableError()),
        lambda _question: coroutine_raising(SystemExit(1)),
        lambda _question: coroutine_raising(KeyboardInterrupt()),
        lambda _question: coroutine_giving(None),
    ],
)
def test_whatever_an_async_client_does_is_an_answer_and_the_next_is_heard(stage, answer):
    s = stage(Async(answer))
    eid = s.spawn()
    s.step(2)
    assert s.errors[0][0] == eid
    s.manager.register_client(Async(lambda _question: coroutine_giving(GOAL)))
    s.step(2)
    assert s.data(eid) == {"goal": "hunt"}


def test_a_parser_or_handler_that_fails_is_told_and_counts_as_a_failed_query(stage):
    s = stage(hunting())
    s.manager.define_parser("broken", fails)
    s.manager.define_parser("handled", make_directive_parser(["goal"], handlers={"goal": fails}))
    eids = [s.spawn(parser="broken"), s.spawn(parser="handled")]
    s.step(2)
    assert [(eid, kind) for eid, kind, _ in s.errors] == [(eid, "parse_error") for eid in eids]
    assert [s.agent(eid).consecutive_errors for eid in eids] == [1, 1]
    assert [s.data(eid) for eid in eids] == [{}, {}]


def test_callbacks_that_fail_are_told_and_keep_nobody_from_hearing(stage):
    s = stage(hunting())
    for register in (s.manager.on_query, s.manager.on_response, s.manager.on_error, s.manager.on_estimate):
        register(fails)
    s.manager.record_thoughts(fails)
    heard = []
    s.manager.on_response(lambda *told: heard.append(told))
    eid = s.spawn()
    s.step(2)
    assert s.data(eid) == {"goal": "hunt"}
    assert len(heard) == 1
    assert {kind for _, kind, _ in s.errors} == {"callback_error"}
    assert s.manager.callback_errors > 4


def test_a_callback_whose_own_name_raises_is_told_all_the_same(stage):
    class Odd:
        def __call__(self, *_):
            raise UnspeakableError

        def __repr__(self):
            raise RuntimeError("no name")

    s = stage(hunting())
    s.manager.on_query(Odd())
    s.spawn()
    s.step()
    assert s.errors == [(0, "callback_error", 1)]


@pytest.mark.parametrize("skip_unchanged", [False, True])
def test_half_a_character_in_a_prompt_does_no_harm(stage, skip_unchanged):
    s = stage(MockClient(), skip_unchanged=skip_unchanged)
    s.manager.define_context("plain", lambda world, eid: str(world.get(eid, Blackboard).data.get("said", "")))
    s.manager.define_parser("careless", lambda _reply, board: board.set("said", "\ud800"))
    eid = s.spawn(parser="careless")
    s.step(4)
    assert s.data(eid) == {"said": "\ud800"}
    assert s.errors == []


def test_an_error_of_any_length_is_told_in_short(stage):
    s = stage(MockClient(error_rate=1.0, error_exception=ValueError("x" * 1_000_000)))
    s.spawn()
    s.step(2)
    assert len(s.messages[0]) < 3000


def test_a_schema_that_is_wrong_is_refused_where_it_is_declared(stage):
    s = stage(hunting())
    for define in (
        lambda schema: s.manager.define_role("bad", "x", schema=schema),
        lambda schema: s.manager.define_parser("bad", lambda *_: None, schema=schema),
    ):
        with pytest.raises(ValueError, match="schema"):
            define({"type": "object", "properties": {"goal": {"type": "no such type"}}})


def test_a_client_that_is_none_is_refused_when_it_is_registered(stage):
    with pytest.raises(ValueError, match="query"):
        stage().manager.register_client(UnspeakableError())


def test_what_is_not_set_up_is_in_the_log_once(stage, caplog):
    s = stage()
    s.spawn(role="bear")
    with caplog.at_level(logging.WARNING):
        s.step(3)
        s.manager.register_client(hunting())
        s.step(10)
    assert [record.message for record in caplog.records] == [
        "no entity is asked: no client is registered; call register_client()",
        "entity 1 is not asked: there is no role 'bear'; define it with define_role()",
    ]


def test_an_agent_without_a_blackboard_is_in_the_log_once(stage, caplog):
    s = stage(hunting())
    eid = s.spawn(board=False)
    with caplog.at_level(logging.WARNING):
        s.step(5)
        s.world.attach(eid, Blackboard())
        s.step()
        s.world.detach(eid, Blackboard)
        s.step(5)
    assert [f"entity {eid} has an LLMAgent but no Blackboard" in record.message for record in caplog.records] == [
        True,
        True,
    ]
    assert s.errors == []

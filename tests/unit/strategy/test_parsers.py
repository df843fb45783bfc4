"""From a reply to the Blackboard: only what is declared, all of it or nothing."""

import json
import subprocess
import sys
from collections import deque
from dataclasses import dataclass, field

import pytest

from tickmind.ai import Blackboard
from tickmind.base import LimitExceededError
from tickmind.strategy import MockClient, ParseError, default_json_parser, make_directive_parser
from tickmind.strategy.replies.parsers import MAX_REPLY_CHARS, Declared, parse_into

PLAIN = Declared()  # nothing is declared

GOAL = {
    "type": "object",
    "properties": {"goal": {"enum": ["hunt", "rest"]}, "target": {"type": "integer"}},
    "required": ["goal"],
}


def saying(text):
    return MockClient(lambda *_: text)


@pytest.mark.parametrize(
    "reply",
    [
        '{"goal": "hunt"}',
        '  {"goal": "hunt"}\n',
        '```json\n{"goal": "hunt"}\n```',
        '```\n{"goal": "hunt"}\n```',
        '```JSON {"goal": "hunt"}```',
        '```json\n{"goal": "hunt"}',
        'Here you are:\n```json\n{"goal": "hunt"}\n```\nGood luck!',
    ],
)
def test_the_default_parser_reads_json_with_and_without_fences(reply):
    board = Blackboard({"hp": 3})
    default_json_parser(reply, board)
    assert board.data == {"hp": 3, "goal": "hunt"}


def test_fences_inside_a_value_are_part_of_it():
    board = Blackboard()
    default_json_parser('{"note": "use ``` here"}', board)
    assert board.data == {"note": "use ``` here"}


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "no json",
        "[1, 2]",
        '"text"',
        "null",
        '{"a": NaN}',
        '{"a": -Infinity}',
        '{"a": 1e999}',
        '{"a": ',
        "[" * 100_000,
    ],
)
def test_what_is_no_json_object_is_refused_and_changes_nothing(stage, reply):
    s = stage(saying(reply))
    eid = s.spawn()
    s.data(eid)["hp"] = 3
    s.step(2)
    assert s.errors == [(eid, "parse_error", 2)]
    assert s.data(eid) == {"hp": 3}


def test_a_merge_is_shallow():
    board = Blackboard({"strategy": {"goal": "rest", "stance": "calm"}})
    default_json_parser('{"strategy": {"goal": "hunt"}}', board)
    assert board.data == {"strategy": {"goal": "hunt"}}


def test_a_reply_that_is_too_long_is_refused(stage):
    s = stage(saying(json.dumps({"goal": "x" * int(MAX_REPLY_CHARS.maximum)})))
    s.manager.define_parser("any", lambda text, board: board.set("said", text))
    eids = [s.spawn(), s.spawn(parser="any")]
    s.step(2)
    assert [kind for _, kind, _ in s.errors] == ["parse_error"] * 2
    assert [s.data(eid) for eid in eids] == [{}, {}]
    with pytest.raises(ParseError, match="limit"):
        default_json_parser("x" * 1_000_000, Blackboard())


# What is declared


def test_without_declarations_the_default_parser_merges_all(stage):
    s = stage(saying('{"goal": "hunt", "hp": 9000}'))
    eid = s.spawn()
    s.step(2)
    assert s.data(eid) == {"goal": "hunt", "hp": 9000}


def test_keys_declared_by_a_role_are_all_that_gets_through(stage):
    s = stage(saying('{"goal": "hunt", "hp": 9000}'))
    s.manager.define_role("wolf", "You are a wolf.", keys=["goal"])
    eid = s.spawn()
    s.data(eid)["hp"] = 3
    s.step(2)
    assert s.data(eid) == {"goal": "hunt", "hp": 3}
    assert s.errors == []


def test_a_schema_declared_by_a_role_refuses_what_does_not_fit_and_drops_what_it_does_not_name(stage):
    replies = iter(['{"goal": "dance"}', '{"target": 3}', '{"goal": "hunt", "target": 3, "hp": 9000}'])
    s = stage(MockClient(lambda *_: next(replies, "{}")))
    s.manager.define_role("wolf", "You are a wolf.", schema=GOAL)
    eid = s.spawn()
    s.step(3)
    assert [kind for _, kind, _ in s.errors] == ["parse_error"] * 2
    assert "goal" in s.messages[0]
    assert s.data(eid) == {}
    s.step()
    assert s.data(eid) == {"goal": "hunt", "target": 3}


def test_keys_declared_by_a_parser_bind_that_parser(stage):
    s = stage(saying("{}"))

    def greedy(_text, board):
        board.data.update(goal="hunt", hp=9000)
        del board.data["name"]

    s.manager.define_parser("greedy", greedy, keys=["goal"])
    eid = s.spawn(parser="greedy")
    s.data(eid).update(hp=3, name="Rex")
    s.step(2)
    assert s.data(eid) == {"goal": "hunt", "hp": 3, "name": "Rex"}


def test_a_schema_declared_by_a_parser_is_checked_before_the_parser_runs(stage):
    s = stage(saying('{"goal": "dance"}'))
    ran = []
    s.manager.define_parser("mine", lambda *_: ran.append(1), schema=GOAL)
    eid = s.spawn(parser="mine")
    s.step(2)
    assert s.errors == [(eid, "parse_error", 2)]
    assert ran == []


def test_what_a_parser_does_not_declare_its_role_may(stage):
    s = stage(saying('{"goal": "hunt"}'))
    s.manager.define_role("wolf", "x", keys=["goal"])
    s.manager.define_parser("all", lambda _text, board: board.data.update(goal="rest", hp=1), schema=GOAL)
    eid = s.spawn(parser="all")
    s.step(2)
    assert s.data(eid) == {"goal": "rest"}
    s.manager.define_role("wolf", "x", schema={"type": "object", "properties": {"x": {}}, "required": ["x"]})
    s.manager.define_parser("all", lambda _text, board: board.data.update(goal="rest", hp=1), keys=["hp"])
    s.step(2)
    assert s.errors[-1][1] == "parse_error"


def test_a_schema_never_fetches_what_it_refers_to(stage):
    s = stage(saying('{"goal": "hunt"}'))
    s.manager.define_role(
        "wolf", "x", schema={"type": "object", "properties": {"goal": {"$ref": "http://127.0.0.1:9/goal.json"}}}
    )
    eid = s.spawn()
    s.step(2)
    assert s.errors == [(eid, "parse_error", 2)]
    assert s.data(eid) == {}


# All or nothing


@dataclass
class Plan:
    steps: list[str] = field(default_factory=list)


def test_a_failing_parser_leaves_the_blackboard_untouched_at_any_depth(stage):
    s = stage(saying("{}"))

    def half(_text, board):
        board.data["goal"] = "hunt"
        board.data["plan"]["steps"].append("x")
        board.data["pair"][0].append("x")
        board.data["seen"].add("x")
        board.data["news"].append("x")
        board.data["made"].steps.append("x")
        del board.data["name"]
        raise ValueError("half way")

    s.manager.define_parser("half", half)
    eid = s.spawn(parser="half")
    before = {
        "plan": {"steps": ["a"]},
        "pair": (["a"], 1),
        "seen": {"a"},
        "news": deque(["a"], 3),
        "made": Plan(["a"]),
        "name": "Rex",
    }
    s.data(eid).update(before)
    s.step(2)
    assert s.errors == [(eid, "parse_error", 2)]
    assert s.data(eid) == {
        "plan": {"steps": ["a"]},
        "pair": (["a"], 1),
        "seen": {"a"},
        "news": deque(["a"]),
        "made": Plan(["a"]),
        "name": "Rex",
    }


def test_what_a_parser_leaves_alone_stays_the_very_same_object():
    class Array:
        """Compares like an array: element by element, which is no answer to a question."""

        def __ne__(self, other):
            raise ValueError("which one?")

    kept, array = ["a"], Array()
    board = Blackboard({"kept": kept, "array": array, "old": 1})
    changed = parse_into("{}", board, lambda _text, copy: copy.data.update(new=2, old=None), PLAIN)
    assert changed == {"new": 2, "old": None}
    assert board.data["kept"] is kept
    assert board.data["array"] is array


def test_a_parser_may_delete_and_replace():
    board = Blackboard({"goal": "rest", "old": 1})

    def replace(_text, copy):
        copy.data.clear()
        copy.data["goal"] = "hunt"

    assert parse_into("{}", board, replace, PLAIN) == {"goal": "hunt"}
    assert board.data == {"goal": "hunt"}


def test_one_is_not_true():
    board = Blackboard({"ready": 1})
    assert parse_into('{"ready": true}', board, default_json_parser, PLAIN) == {"ready": True}
    assert board.data["ready"] is True


def test_writes_are_noted_in_the_activity_of_the_blackboard(stage):
    s = stage(saying('{"goal": "hunt"}'))
    eid = s.spawn()
    board = s.world.get(eid, Blackboard)
    board.record_activity()
    s.step(2)
    assert [(one.who, one.what, one.key) for one in board.activity] == [("strategy", "write", "goal")]


# Directives


def test_a_directive_parser_reads_tolerantly_and_writes_under_its_namespace(stage):
    s = stage(saying("Thinking aloud...\n{goal: 'hunt', target: '7', hp: 9000,}"))
    s.manager.define_parser("directives", make_directive_parser(GOAL))
    eid = s.spawn(parser="directives")
    s.data(eid)["strategy"] = {"stance": "calm"}
    s.step(2)
    assert s.data(eid) == {"strategy": {"stance": "calm", "goal": "hunt", "target": 7}}


LOADS_NOTHING = """
import sys
from tickmind.ai import Blackboard
from tickmind.strategy import LLMManager, make_directive_parser
from tickmind.strategy.replies.parsers import Declared, declare, default_json_parser, parse_into
schema = {"type": "object", "properties": {"goal": {"type": "string"}}}
parser, declared = make_directive_parser(schema), declare(["goal"], schema)
before = set(sys.modules)
for reply in ('{"goal": "x"}', "goal: x", "no", "{goal: 'x',}"):
    for one, by in ((parser, Declared()), (default_json_parser, declared)):
        try:
            parse_into(reply, Blackboard(), one, by)
        except ValueError:
            pass
print(sorted(name for name in set(sys.modules) - before if name.split(".")[0] not in ("encodings", "tickmind")))
"""


def test_no_tick_has_to_wait_while_a_parser_loads_what_it_needs():
    done = subprocess.run(
        [sys.executable, "-c", LOADS_NOTHING], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout == "[]\n"


def test_a_handler_gets_its_field_instead_and_may_refuse_it(stage):
    def set_target(value, board):
        if value > 100:
            raise ValueError(f"there is no {value}")
        board.data["target"] = value

    parser = make_directive_parser(GOAL, namespace="plan", handlers={"target": set_target})
    board = Blackboard()
    parse_into('{"goal": "hunt", "target": 7}', board, parser, PLAIN)
    assert board.data == {"plan": {"goal": "hunt"}, "target": 7}
    with pytest.raises(ValueError, match="there is no 900"):
        parse_into('{"goal": "rest", "target": 900}', board, parser, PLAIN)
    assert board.data == {"plan": {"goal": "hunt"}, "target": 7}


def test_directives_are_bound_by_declared_keys_too(stage):
    s = stage(saying('{"goal": "hunt"}'))
    s.manager.define_parser("directives", make_directive_parser(GOAL), keys=["plan"])
    eid = s.spawn(parser="directives")
    s.step(2)
    assert s.data(eid) == {}


def test_an_unusable_directive_is_a_parse_error():
    with pytest.raises(ParseError):
        parse_into("I would rather not.", Blackboard(), make_directive_parser(GOAL), PLAIN)


def test_a_parser_of_ones_own_is_protected_from_long_replies():
    with pytest.raises(LimitExceededError):
        parse_into("x" * 1_000_000, Blackboard(), lambda *_: None, PLAIN)

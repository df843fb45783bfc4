"""The default parser reads what a client of `tickmind.llm` would read, and makes nothing up."""

import pytest

from tickmind.ai import Blackboard
from tickmind.strategy import MockClient, ParseError, default_json_parser


@pytest.mark.parametrize(
    "reply",
    [
        'Sure! {"goal": "hunt"} That is my plan.',
        '<think>Maybe {"goal": "rest"}?</think>{"goal": "hunt"}',
        'so I go... </think>\n{"goal": "hunt"}',
        '{"goal": "hunt",}',
        "{'goal': 'hunt'}",
        "{goal: 'hunt'}",
        '"{\\"goal\\": \\"hunt\\"}"',
        'First I thought of ```{"goal": "rest"}```\nbut:\n```json\n{"goal": "hunt",}\n```',
    ],
)
def test_an_untidy_reply_is_as_good_as_a_tidy_one(reply):
    board = Blackboard()
    default_json_parser(reply, board)
    assert board.data == {"goal": "hunt"}


@pytest.mark.parametrize(
    "reply",
    ['{"goal": "hu', 'Sure! {"speed": 12', '{"goal": "hunt", "speed": NaN,}', '{"goal": , "speed": 1}', "I rest."],
)
def test_a_reply_that_was_cut_or_has_no_value_is_refused(reply):
    board = Blackboard()
    with pytest.raises(ParseError):
        default_json_parser(reply, board)
    assert board.data == {}


def test_a_parser_that_nobody_registered_is_the_default_one(stage, caplog):
    s = stage(MockClient(lambda *_: 'Well: {"goal": "hunt",}'))
    s.manager.define_role("wolf", "You are a wolf.", keys=["goal"])
    eid = s.spawn(parser="strategi")
    s.step(4)
    assert s.data(eid) == {"goal": "hunt"}
    assert s.errors == []
    assert s.manager.parser("strategi") is None
    assert [record.message for record in caplog.records] == [
        "no parser 'strategi'; the default JSON parser reads the replies instead"
    ]

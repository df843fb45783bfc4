"""What a person who started a world reads of goals and rules."""

import pytest

from tickmind.cli.world.rule_news import MOST_LINES, RuleNews, rule_event_line
from tickmind.protocol import Effect, RuleEvent


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (
            RuleEvent("both_out", ("mira", "tomas"), 10, ends=True),
            "Goal both_out reached in tick 37 by mira, tomas (score 10 each): the run is over.",
        ),
        (RuleEvent("bread", ("ada",), 1), "Goal bread reached in tick 37 by ada (score 1)."),
        (RuleEvent("night", ends=True), "Goal night reached in tick 37: the run is over."),
        (
            RuleEvent("west", tuple("abcdefg")),
            "Goal west reached in tick 37 by a, b, c, d, e and 2 more.",
        ),
        (
            RuleEvent("fair", ("bo",), 3, own=True, text="best cake"),
            "Rule fair in tick 37 for bo: best cake (score 3).",
        ),
        (RuleEvent("fair", own=True, text="sold out", ends=True), "Rule fair in tick 37: sold out: the run is over."),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_event_is_a_sentence(event, line):
    assert rule_event_line(37, event) == line


def test_items_that_a_rule_hands_out_are_no_news():
    event = RuleEvent("fair", ("bo",), own=True, effects=(Effect("inventory.cake", 1),))
    assert list(RuleNews().lines(1, [event])) == []


def test_many_goals_are_cut_short_but_not_their_ends():
    news = RuleNews()
    lines = [line for tick_id in range(MOST_LINES + 50) for line in news.lines(tick_id, [RuleEvent("one", ("a",))])]
    assert len(lines) == MOST_LINES + 1
    assert lines[-1] == "Further goals and scores are in the record only."
    error = RuleEvent("fair", own=True, text="switched off: KeyError")
    assert len(list(news.lines(999, [RuleEvent("over", ends=True), error]))) == 2


def test_what_a_damaged_record_says_does_not_reach_the_terminal_as_it_is():
    assert "\x1b" not in rule_event_line(1, RuleEvent("\x1b[2J", ("\x1b]0;x",), own=True, text="\x1b[31m"))

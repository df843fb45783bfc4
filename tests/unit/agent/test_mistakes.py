"""Errors in a character's code: told once with where they are, then counted."""

import logging

import pytest

from tickmind.agent.mistakes import MAX_KINDS, MAX_LINE_CHARS, Mistakes, one_line
from tickmind.ai import AIError
from tickmind.base import Secret
from tickmind.protocol import Move


def failing(text="oh"):
    raise ValueError(text)


def go(direction):
    return Move(direction)


def noted(mistakes, function, *arguments):
    try:
        function(*arguments)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is noted
        return mistakes.note("act failed", error, tick=7)
    return pytest.fail("it did not fail")


def test_the_same_traceback_is_shown_once_and_then_counted(caplog):
    mistakes = Mistakes()
    with caplog.at_level(logging.INFO):
        for number in range(1, 101):
            assert noted(mistakes, failing, f"oh {number}").startswith(f"ValueError: oh {number} (test_mistakes.py:")
    assert [bool(record.exc_info) for record in caplog.records] == [True, *[False] * 6]
    assert [record.msg.fields["times"] for record in caplog.records[1:]] == [2, 4, 8, 16, 32, 64]
    assert all("as above" in record.getMessage() for record in caplog.records[1:])


def test_another_place_or_type_is_another_mistake(caplog):
    mistakes = Mistakes()
    for function, arguments in ((failing, ()), (go, ("east",)), (failing, ()), (go, ("west",))):
        noted(mistakes, function, *arguments)
    assert sum(bool(record.exc_info) for record in caplog.records) == 2


def test_a_line_names_the_error_and_the_users_own_line():
    line = noted(Mistakes(), go, "east")
    number = go.__code__.co_firstlineno + 1
    said = "IntentError: Move.direction must be a Direction such as Direction.E, not 'east'"
    assert line == f"{said} (test_mistakes.py:{number})"


def test_lines_are_short_and_without_secrets_and_the_kinds_are_bounded(caplog):
    key = Secret("plain-canary-8a7b6c5d4e")
    mistakes = Mistakes(max_kinds=MAX_KINDS.at(3))
    line = noted(mistakes, failing, f"can't use {key.reveal()}: {'x' * 1000}")
    assert "can't use ***" in line
    assert "(test_mistakes.py:" in line
    assert len(line) <= MAX_LINE_CHARS
    for number in range(50):
        mistakes.note_text("act failed", f"it returned {number}", tick=number)
    assert len(mistakes._counts) <= 4
    assert len(caplog.records) < 12


def test_what_a_tree_wraps_is_told_by_its_cause():
    def act():
        try:
            failing()
        except ValueError as cause:
            raise AIError("the action 'eat' failed") from cause

    with pytest.raises(AIError) as wrapped:
        act()
    assert one_line(wrapped.value).startswith("ValueError: oh (test_mistakes.py:")

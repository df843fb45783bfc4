"""Intents are checked when they are made, so that a mistake is raised at the line that has it."""

import traceback
from typing import Any

import pytest

from tickmind.base import TickmindError
from tickmind.protocol import Direction, Drop, Give, IntentError, Interact, Move, Pickup, Say, Use

HALF = "Say.text must be a text of whole characters, without half a surrogate pair, not 'half \\ud83d'"
WRONG: list[tuple[Any, tuple[Any, ...], str]] = [
    (Move, ("east",), "Move.direction must be a Direction such as Direction.E, not 'east'"),
    (Move, ("North-West",), "Move.direction must be a Direction such as Direction.NW, not 'North-West'"),
    (Move, ("north",), "Move.direction must be a Direction such as Direction.N, not 'north'"),
    (Move, ("se",), "Move.direction must be a Direction such as Direction.SE, not 'se'"),
    (Move, (2,), "Move.direction must be a Direction such as Direction.E, not 2"),
    (Move, ((1, 0),), "Move.direction must be a Direction such as Direction.E, not a tuple"),
    (Say, (None,), "Say.text must be a text, not None"),
    (Say, (b"hello",), "Say.text must be a text, not a bytes"),
    (Say, ("half \ud83d",), HALF),
    (Say, ("hello", 7), "Say.channel must be a text, not 7"),
    (Pickup, (None,), "Pickup.kind must be a text, not None"),
    (Pickup, ("berries", "2"), "Pickup.amount must be a whole number, not '2'"),
    (Use, ("berries", 1.5), "Use.amount must be a whole number, not 1.5"),
    (Drop, ("berries", True), "Drop.amount must be a whole number, not True"),
    (Drop, ("berries", 1, None), "Drop.item_id must be a text, not None"),
    (Give, (3, "berries"), "Give.target_id must be a text, not 3"),
    (Give, ("entity:1", ["x" * 100]), "Give.kind must be a text, not a list"),
    (Interact, (None,), "Interact.target_id must be a text, not None"),
    (Interact, ("door:1", 1), "Interact.verb must be a text, not 1"),
]


@pytest.mark.parametrize(("kind", "arguments", "message"), WRONG)
def test_a_field_of_the_wrong_type_is_named(kind: Any, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(IntentError) as raised:
        kind(*arguments)
    assert str(raised.value) == message
    assert isinstance(raised.value, TypeError)
    assert isinstance(raised.value, TickmindError)


def test_the_line_that_made_it_is_in_the_traceback() -> None:
    with pytest.raises(IntentError) as raised:
        Move("east")  # type: ignore[arg-type]  # the mistake
    lines = [frame.line for frame in traceback.extract_tb(raised.value.__traceback__) if frame.filename == __file__]
    assert lines[-1] is not None
    assert lines[-1].startswith('Move("east")')


def test_a_long_value_is_cut() -> None:
    with pytest.raises(IntentError) as raised:
        Move("x" * 5000)  # type: ignore[arg-type]  # the mistake
    assert len(str(raised.value)) < 200


def test_what_only_a_world_can_judge_is_left_to_it() -> None:
    assert (Say("").text, Pickup("berries", 0).amount, Say("\U0001f600").text) == ("", 0, "\U0001f600")
    assert Move(Direction.E).direction is Direction.E

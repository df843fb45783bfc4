"""A few harmless tools, to try out whether a model uses them."""

import random
from datetime import UTC, datetime, timedelta, timezone
from typing import Annotated, Any

from tickmind.base import Clock, ConfigError, SystemClock
from tickmind.cli.ask.calculator import calculate as value_of
from tickmind.tools import Tool

MOST_DICE = 100
MOST_SIDES = 1_000_000
MOST_HOURS = 14.0


def builtin_tools(*, clock: Clock | None = None, rng: random.Random | None = None) -> list[Tool]:
    """Return `current_time`, `calculate` and `roll_dice`; each returns at once and changes nothing."""
    clock = clock or SystemClock()
    rng = rng or random.Random()

    def current_time(utc_offset_hours: Annotated[float, "Hours east of UTC, -14 to 14"] = 0.0) -> str:
        """Return the current date and time."""
        if not abs(utc_offset_hours) <= MOST_HOURS:
            raise ConfigError("utc_offset_hours is from -14 to 14")
        there = timezone(timedelta(hours=utc_offset_hours)) if utc_offset_hours else UTC
        return datetime.fromtimestamp(clock.wall(), there).strftime("%A, %Y-%m-%d %H:%M:%S (UTC%z)")

    def calculate(expression: Annotated[str, "Numbers, + - * / // % ** and brackets, such as 2*(3+4)**2"]) -> str:
        """Evaluate an arithmetic expression."""
        return str(value_of(expression))

    def roll_dice(
        sides: Annotated[int, "Sides of each die"] = 6, count: Annotated[int, "How many dice, 1 to 100"] = 1
    ) -> dict[str, Any]:
        """Roll dice and add them up."""
        if not (1 <= count <= MOST_DICE and 2 <= sides <= MOST_SIDES):
            raise ConfigError(f"roll 1 to {MOST_DICE} dice of 2 to {MOST_SIDES:,} sides")
        rolls = [rng.randint(1, sides) for _ in range(count)]
        return {"rolls": rolls, "total": sum(rolls)}

    return [Tool.from_function(function, inline=True) for function in (current_time, calculate, roll_dice)]

"""`WorldSetting` and `Persona`: the places, the calendar and the people of a world, which are data and no rules."""

import re
from dataclasses import dataclass, field
from typing import TypeAlias

DAY_MINUTES = 1440
MAX_AGE = 1_000_000
_CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")
Hours: TypeAlias = tuple[int, int]
"""Two minutes of the day; the second is not in it, and may be on the next day."""
Area: TypeAlias = tuple[int, int, int, int]
"""The westernmost, northernmost, easternmost and southernmost tiles of a rectangle, all of them in it."""
AgentSetting: TypeAlias = bool | int | float | str | tuple[str, ...]
"""What a scenario sets for the program of one character."""


@dataclass(frozen=True, slots=True)
class ZoneInfo:
    """A named place: one rectangle or several."""

    name: str
    areas: tuple[Area, ...]
    owner: str = ""  # the id of an actor
    purpose: str = ""

    def holds(self, x: int, y: int) -> bool:
        """Return whether a tile is in it."""
        return any(west <= x <= east and north <= y <= south for west, north, east, south in self.areas)

    @property
    def size(self) -> int:
        """The number of its tiles; where its rectangles overlap, tiles count more than once."""
        return sum((east - west + 1) * (south - north + 1) for west, north, east, south in self.areas)


def minute_of(clock: str) -> int:
    """Return the minute of a time of the day such as `07:00`; raises `ValueError` for another text."""
    found = _CLOCK.fullmatch(clock)
    if found is None:
        raise ValueError(f"expected a time of the day as 07:00, found {clock[:20]!r}")
    return int(found[1]) * 60 + int(found[2])


def in_hours(minute: int, hours: Hours) -> bool:
    """Return whether a minute of the day is between two others, of which the second is not in it.

    >>> in_hours(23 * 60, (21 * 60, 6 * 60))
    True
    """
    first, last = hours
    return first <= minute < last if first <= last else minute >= first or minute < last


@dataclass(frozen=True, slots=True)
class WorldTime:
    """A day of the world, from 1, and a minute of it."""

    day: int
    minute: int

    @property
    def hour(self) -> int:
        """The hour of the day, from 0 to 23."""
        return self.minute // 60

    @property
    def clock(self) -> str:
        """The time of the day as a clock shows it: `14:05`."""
        return f"{self.minute // 60:02}:{self.minute % 60:02}"

    def is_between(self, start: str, end: str) -> bool:
        """Return whether it is between two times of the day, of which the second is not in it.

        >>> WorldTime(day=2, minute=23 * 60).is_between("21:00", "06:00")
        True
        """
        return in_hours(self.minute, (minute_of(start), minute_of(end)))

    def __str__(self) -> str:
        return f"day {self.day}, {self.clock}"


@dataclass(frozen=True, slots=True)
class CalendarInfo:
    """How ticks make days.

    >>> str(CalendarInfo(day_ticks=48, first_minute=8 * 60).at(1))
    'day 1, 08:30'
    """

    day_ticks: int = 600
    first_minute: int = 7 * 60  # of the first day, when the world begins

    def at(self, tick_id: int) -> WorldTime:
        """Return the time in a tick."""
        minutes = self.first_minute + tick_id * DAY_MINUTES // self.day_ticks
        return WorldTime(minutes // DAY_MINUTES + 1, minutes % DAY_MINUTES)


@dataclass(frozen=True, slots=True)
class Persona:
    """Who an actor is: for its mind, and for those who watch.

    `home` and `work` name zones, `relations` other actors. `colour`, `team` and `sprite` are for viewers, `agent` is
    for the program that controls it; none of them is part of `description`.
    """

    name: str = ""
    age: int = 0  # 0: not known
    traits: tuple[str, ...] = ()
    backstory: str = ""
    voice: str = ""
    goals: tuple[str, ...] = ()
    fears: tuple[str, ...] = ()
    knows: tuple[str, ...] = ()
    home: str = ""
    work: str = ""
    relations: tuple[tuple[str, str], ...] = ()  # id of an actor -> what it is to this one
    habits: tuple[str, ...] = ()
    colour: str = ""  # as `#rrggbb`
    team: str = ""
    sprite: str = ""  # a letter or an emoji, drawn in place of a small person
    agent: tuple[tuple[str, AgentSetting], ...] = ()  # name of a setting -> its value

    def description(self) -> str:
        """Describe the person to itself, in a few sentences; empty if nothing but its name is known."""
        parts = [
            f"You are {self.age} years old." if self.age else "",
            f"You are {_listed(self.traits)}." if self.traits else "",
            _sentence(self.backstory),
            f"You live in {zone_phrase(self.home)}." if self.home else "",
            f"You work in {zone_phrase(self.work)}." if self.work else "",
            _sentence(f"You speak like this: {self.voice}") if self.voice else "",
            f"You want: {'; '.join(self.goals)}." if self.goals else "",
            f"You fear: {'; '.join(self.fears)}." if self.fears else "",
            f"You know: {'; '.join(self.knows)}." if self.knows else "",
            f"Your people: {'; '.join(f'{who} is {what}' for who, what in self.relations)}." if self.relations else "",
            f"Your days: {'; '.join(self.habits)}." if self.habits else "",
        ]
        return " ".join(part for part in parts if part)


NO_PERSONA = Persona()


@dataclass(frozen=True, slots=True)
class WorldSetting:
    """The places and the calendar of a world."""

    zones: tuple[ZoneInfo, ...] = ()
    calendar: CalendarInfo = field(default_factory=CalendarInfo)

    def zone_at(self, x: int, y: int) -> ZoneInfo | None:
        """Return the smallest zone that holds a tile; None outside of all."""
        return min((zone for zone in self.zones if zone.holds(x, y)), key=lambda zone: zone.size, default=None)

    def zone(self, name: str) -> ZoneInfo | None:
        """Return the zone of a name."""
        return next((zone for zone in self.zones if zone.name == name), None)


def zone_phrase(name: str) -> str:
    """Return the name of a zone as it stands in a sentence.

    >>> zone_phrase("old_mill"), zone_phrase("Ada's house")
    ('the old mill', "Ada's house")
    """
    words = name.replace("_", " ")
    return words if words[:1].isupper() else f"the {words}"


def _sentence(text: str) -> str:
    return f"{text}." if text and text[-1] not in ".!?" else text


def _listed(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"

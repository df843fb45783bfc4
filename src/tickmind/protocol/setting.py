"""`WorldSetting` and `Persona`: the places, the calendar and the people of a world, which are data and no rules."""

import re
from collections.abc import Collection
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
        for west, north, east, south in self.areas:  # noqa: SIM110  `any` takes three times as long
            if west <= x <= east and north <= y <= south:
                return True
        return False

    @property
    def centre(self) -> tuple[int, int]:
        """The tile in the middle of its first rectangle."""
        west, north, east, south = self.areas[0]
        return (west + east) // 2, (north + south) // 2

    @property
    def size(self) -> int:
        """The number of its tiles; where its rectangles overlap, tiles count more than once."""
        return sum((east - west + 1) * (south - north + 1) for west, north, east, south in self.areas)


def minute_of(clock: str) -> int:
    """Return the minute of a time of the day such as `07:00`; raises `ValueError` for another text."""
    match = _CLOCK.fullmatch(clock)
    if match is None:
        raise ValueError(f"expected a time of the day as 07:00, found {clock[:20]!r}")
    return int(match[1]) * 60 + int(match[2])


def clock_of(minute: int) -> str:
    """Return a minute of the day as a clock shows it: `14:05`."""
    return f"{minute // 60:02}:{minute % 60:02}"


def in_hours(minute: int, hours: Hours) -> bool:
    """Return whether a minute of the day is between two others, of which the second is not in it.

    >>> in_hours(23 * 60, (21 * 60, 6 * 60))
    True
    """
    first, last = hours
    return first <= minute < last if first <= last else minute >= first or minute < last


Weights: TypeAlias = tuple[tuple[str, int], ...]
"""Names with weights; the chance of a name is its share of all weights."""


@dataclass(frozen=True, slots=True)
class SeasonInfo:
    """A season: so many days, and its own weather if that differs from the calendar's."""

    name: str
    days: int
    weather: Weights = ()  # empty: that of the calendar


@dataclass(frozen=True, slots=True)
class FestivalInfo:
    """A festival: it begins on `day`, and again every so many days."""

    name: str
    day: int  # the first one, from 1
    every: int = 0  # days until the next one; 0: it comes once
    hours: Hours | None = None  # None: the whole day
    where: str = ""  # a zone
    purpose: str = ""

    def begins_on(self, day: int) -> bool:
        """Return whether it begins on a day."""
        later = day - self.day
        return later == 0 or (self.every > 0 and later > 0 and later % self.every == 0)

    def is_on(self, day: int, minute: int) -> bool:
        """Return whether it is on in a minute of a day; one with hours past midnight ends on the next day.

        >>> FestivalInfo("new year", day=1, every=40, hours=(22 * 60, 2 * 60)).is_on(day=42, minute=60)
        True
        """
        first, end = self.hours or (0, DAY_MINUTES)
        if first < end:
            return first <= minute < end and self.begins_on(day)
        return (minute >= first and self.begins_on(day)) or (minute < end and self.begins_on(day - 1))

    def __str__(self) -> str:
        """Say that it is on: `the harvest is on in the square until 16:00: music and bread for all`."""
        where = f" in {zone_phrase(self.where)}" if self.where else ""
        until = f" until {clock_of(self.hours[1])}" if self.hours else ""
        purpose = f": {self.purpose.rstrip('.')}" if self.purpose else ""
        return f"{zone_phrase(self.name)} is on{where}{until}{purpose}"


@dataclass(frozen=True, slots=True)
class WorldTime:
    """A day of the world, from 1, a minute of it, and what the calendar says of them."""

    day: int
    minute: int
    season: str = ""  # empty: the world has none
    weather: str = ""  # empty: the world has none
    festivals: tuple[FestivalInfo, ...] = ()  # that are on
    night: bool = False

    @property
    def hour(self) -> int:
        """The hour of the day, from 0 to 23."""
        return self.minute // 60

    @property
    def clock(self) -> str:
        """The time of the day as a clock shows it: `14:05`."""
        return clock_of(self.minute)

    @property
    def conditions(self) -> str:
        """Night, season and weather, as `night, summer, rain`; empty if there is nothing to say."""
        return ", ".join(filter(None, ("night" if self.night else "", self.season, self.weather)))

    def description(self) -> str:
        """Describe the time of the day: `14:05, summer, rain; the harvest is on in the square until 16:00`."""
        now = ", ".join(filter(None, (self.clock, self.conditions)))
        return "; ".join((now, *map(str, self.festivals)))

    def allows(self, hours: Hours | None, seasons: Collection[str] = (), weather: Collection[str] = ()) -> bool:
        """Return whether what has these hours, seasons and kinds of weather can be done now; empty: always."""
        if (seasons and self.season not in seasons) or (weather and self.weather not in weather):
            return False
        return hours is None or in_hours(self.minute, hours)

    def is_between(self, start: str, end: str) -> bool:
        """Return whether it is between two times of the day, of which the second is not in it.

        >>> WorldTime(day=2, minute=23 * 60).is_between("21:00", "06:00")
        True
        """
        return in_hours(self.minute, (minute_of(start), minute_of(end)))

    def __str__(self) -> str:
        return f"day {self.day}, {self.description()}"


@dataclass(frozen=True, slots=True)
class CalendarInfo:
    """How ticks make days, and what season, weather and festivals the days have.

    >>> str(CalendarInfo(day_ticks=48, first_minute=8 * 60).at(1))
    'day 1, 08:30'
    >>> str(CalendarInfo(day_ticks=48, seasons=(SeasonInfo("spring", 2), SeasonInfo("summer", 3))).at(96))
    'day 3, 07:00, summer'

    The weather of a day depends on nothing but the calendar. Its key is derived from the run's seed, which it does not
    give away.
    """

    day_ticks: int = 600
    first_minute: int = 7 * 60  # of the first day, when the world begins
    seasons: tuple[SeasonInfo, ...] = field(default=(), repr=False)  # so other scenarios keep their digest
    weather: Weights = field(default=(), repr=False)
    weather_key: int = field(default=0, repr=False)  # of 32 bits
    festivals: tuple[FestivalInfo, ...] = field(default=(), repr=False)
    night: Hours | None = field(default=None, repr=False)  # None: the world has none

    def at(self, tick_id: int) -> WorldTime:
        """Return the time in a tick."""
        minutes = self.first_minute + tick_id * DAY_MINUTES // self.day_ticks
        day, minute = minutes // DAY_MINUTES + 1, minutes % DAY_MINUTES
        if not (self.seasons or self.weather or self.festivals or self.night):
            return WorldTime(day, minute)
        season = self.season_of(day)
        on = tuple(festival for festival in self.festivals if festival.is_on(day, minute))
        night = self.night is not None and in_hours(minute, self.night)
        return WorldTime(day, minute, season.name if season else "", self.weather_of(day), on, night)

    def next_tick(self, tick_id: int, minute: int) -> int:
        """Return the first tick from another on in which a minute of the day has come."""
        ahead = (minute - self.at(tick_id).minute) % DAY_MINUTES
        return tick_id + -(-ahead * self.day_ticks // DAY_MINUTES)

    def season_of(self, day: int) -> SeasonInfo | None:
        """Return the season of a day; the seasons come in their order, again and again."""
        if not self.seasons:
            return None
        left = (day - 1) % sum(season.days for season in self.seasons)
        for season in self.seasons:
            left -= season.days
            if left < 0:
                return season
        raise AssertionError("the day is in a season")

    def weather_of(self, day: int) -> str:
        """Return the weather of a day; empty if it has none."""
        season = self.season_of(day)
        weights = season.weather if season and season.weather else self.weather
        if not weights:
            return ""
        left = _mixed(self.weather_key ^ _mixed(day)) % sum(weight for _, weight in weights)
        for kind, weight in weights:
            left -= weight
            if left < 0:
                return kind
        raise AssertionError("the number is below the sum of all weights")


def _mixed(value: int) -> int:
    """Mix a number of 32 bits; viewers in other languages do the same."""
    value &= 0xFFFFFFFF
    value = (value ^ value >> 16) * 0x7FEB352D & 0xFFFFFFFF
    value = (value ^ value >> 15) * 0x846CA68B & 0xFFFFFFFF
    return value ^ value >> 16


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
    secret: str = ""  # which it tells none but close friends

    def manner(self) -> str:
        """Describe to the person how it speaks, in a sentence or two; empty if that is not known."""
        parts = [
            f"You are {_listed(self.traits)}." if self.traits else "",
            _sentence(f"You speak like this: {self.voice}") if self.voice else "",
        ]
        return " ".join(part for part in parts if part)

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
            _sentence(f"You tell none but close friends: {self.secret}") if self.secret else "",
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


_UNCOUNTED_GOODS = (  # bread, not a bread
    "ale beer bread butter cake cheese clay cloth coal copper corn dough fish flour food gold grain gravel hay honey",
    "ice ink iron leather lumber meat medicine milk money moss oil ore paper porridge rice salt sand silk silver soup",
    "stew straw sugar tea thread timber tin water wax wheat wine wood wool yarn",
)
_UNCOUNTED = frozenset(word for line in _UNCOUNTED_GOODS for word in line.split())


def item_words(name: str) -> tuple[str, str]:
    """Return an item as it stands in a sentence, one of it and several.

    >>> item_words("axe"), item_words("berries"), item_words("dry_wood")
    (('an axe', 'axes'), ('berries', 'berries'), ('dry wood', 'dry wood'))
    """
    words = name.replace("_", " ").strip()
    last = words.rpartition(" ")[2].lower()
    if not last[-1:].isalpha() or last in _UNCOUNTED or last.endswith("s"):
        return words, words
    return with_article(words), plural(words)


def with_article(words: str) -> str:
    """Return the name of one thing with its article: `an oven`."""
    return f"{'an' if words[:1].lower() in tuple('aeiou') else 'a'} {words}"


def plural(words: str) -> str:
    """Return the name of several things: `ovens`, `bushes`, `berries`."""
    if words.endswith(("s", "sh", "ch", "x", "z")):
        return f"{words}es"
    if words.endswith("y") and words[-2:-1] not in tuple("aeiou"):
        return f"{words[:-1]}ies"
    return f"{words}s"


def _sentence(text: str) -> str:
    return f"{text}." if text and text[-1] not in ".!?" else text


def _listed(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"

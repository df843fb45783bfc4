"""The section `calendar` of a scenario: days, nights, seasons, weather and festivals."""

import hashlib
from collections.abc import Collection, Iterator

from tickmind.base import Limit
from tickmind.protocol.setting import DAY_MINUTES, CalendarInfo, FestivalInfo, SeasonInfo, Weights
from tickmind.world.scenario.limits import (
    MAX_DAYS,
    MAX_FESTIVALS,
    MAX_SEASONS,
    MAX_TICKS,
    MAX_WEATHERS,
    MAX_WEIGHT,
)
from tickmind.world.scenario.readers.kind_reader import known, read_hours, read_minute
from tickmind.world.scenario.readers.setting_reader import read_prose
from tickmind.world.scenario.yaml_nodes import Leaf, Many, Node, NodePosition, YamlMapping, leaf, many, table


def read_calendar(node: Node | None, seed: int) -> CalendarInfo:
    """The section `calendar`; the weather is by a key that is derived from the seed."""
    if node is None:
        return CalendarInfo()
    given, usual = table(node), CalendarInfo()
    given.nothing_but("day_ticks", "begins", "night", "seasons", "weather", "festivals")
    read, begins, night = given.place.source, given.get("begins"), given.get("night")
    seasons = read.part((), _read_seasons, given.get("seasons"))
    weather = read.part((), _read_weather, given.get("weather"))
    has_weather = weather or any(season.weather for season in seasons)
    return CalendarInfo(
        day_ticks=given.integer("day_ticks", usual.day_ticks, 1, MAX_TICKS),
        first_minute=usual.first_minute if begins is None else read_minute(leaf(begins)),
        seasons=seasons,
        weather=weather,
        weather_key=weather_key(seed) if has_weather else 0,
        festivals=read.part((), _read_festivals, given.get("festivals")),
        night=None if night is None else read.part(None, read_hours, many(night)),
    )


def weather_key(seed: int) -> int:
    """Return the key of all weather; it does not give away the seed."""
    return int.from_bytes(hashlib.blake2b(b"weather:%d" % seed, digest_size=4).digest())


def _read_seasons(node: Node | None) -> tuple[SeasonInfo, ...]:
    """Seasons in their order: `{summer: 10, winter: {days: 10, weather: {snow: 1}}}`."""
    seasons = []
    for name, place, entry in _few(node, MAX_SEASONS, "seasons"):
        with place.source.noting():
            if isinstance(entry, Leaf):
                seasons.append(SeasonInfo(name, entry.integer(1, MAX_DAYS)))
                continue
            given = table(entry)
            given.nothing_but("days", "weather")
            days = leaf(given.need("days")).integer(1, MAX_DAYS)
            seasons.append(SeasonInfo(name, days, _read_weather(given.get("weather"))))
    return tuple(seasons)


def _read_weather(node: Node | None) -> Weights:
    """Kinds of weather with their weights: `{sun: 5, rain: 2}`."""
    kinds = []
    for name, place, entry in _few(node, MAX_WEATHERS, "kinds of weather"):
        with place.source.noting():
            kinds.append((name, leaf(entry).integer(1, MAX_WEIGHT)))
    return tuple(kinds)


def _read_festivals(node: Node | None) -> tuple[FestivalInfo, ...]:
    festivals = []
    for name, place, entry in _few(node, MAX_FESTIVALS, "festivals"):
        with place.source.noting():
            given = table(entry)
            given.nothing_but("day", "every", "hours", "where", "purpose")
            hours = given.get("hours")
            festivals.append(
                FestivalInfo(
                    name=name,
                    day=leaf(given.need("day")).integer(1, MAX_DAYS),
                    every=given.integer("every", 0, 1, MAX_DAYS),
                    hours=None if hours is None else read_hours(many(hours)),
                    where=given.name("where", ""),
                    purpose=read_prose(given.get("purpose")),
                )
            )
    return tuple(festivals)


def _few(node: Node | None, limit: Limit, what: str) -> Iterator[tuple[str, NodePosition, Node]]:
    if node is None:
        return
    given = table(node)
    if not given.entries or not limit.allows(len(given.entries)):
        given.place.fail(f"expected 1 to {limit.maximum} {what}")
    yield from given.named()


def check_festival_places(node: Node | None, zones: Collection[str]) -> None:
    """Note each festival that is in no zone of the world."""
    for festival in _entries(_entry(node, "festivals")).values():
        where = _entry(festival, "where")
        if where is not None:
            with where.place.source.noting():
                known(where, zones, "zone")


def check_kind_times(kinds: Node | None, calendar: Node | None) -> None:
    """Note each season and each weather in the section `kinds` that the section `calendar` does not name."""
    seasons = _entries(_entry(calendar, "seasons"))
    weather = _weather_names(calendar)
    for action in _actions(kinds):
        for key, what, there in (("seasons", "season", seasons), ("weather", "kind of weather", weather)):
            names = _entry(action, key)
            for name in names.items if isinstance(names, Many) else ():
                with name.place.source.noting():
                    known(name, there, what)


def check_rule_times(rules: Node | None, calendar: Node | None) -> None:
    """Note nights and weather in the section `rules` that the section `calendar` does not name."""
    weather, needs = _weather_names(calendar), _entries(_entry(_entry(rules, "needs"), "own")).values()
    for node, key in ((rules, "night_sight_radius"), *((need, "at_night") for need in needs)):
        if isinstance(node, YamlMapping) and key in node.keys and _entry(calendar, "night") is None:
            node.keys[key].note('the calendar has no night; say when it is with `night: ["21:00", "06:00"]`')
    for need in needs:
        kinds = _entry(need, "in_weather")
        for name, place in kinds.keys.items() if isinstance(kinds, YamlMapping) else ():
            with place.source.noting():
                known(Leaf(place, name, plain=True), weather, "kind of weather")


def _weather_names(calendar: Node | None) -> set[str]:
    seasons = _entries(_entry(calendar, "seasons"))
    return {name for node in (calendar, *seasons.values()) for name in _entries(_entry(node, "weather"))}


def _actions(kinds: Node | None) -> Iterator[Node]:
    """Yield all actions of the section `kinds`; what is malformed is noted elsewhere."""
    for kind in _entries(kinds).values():
        build = _entry(kind, "build")
        if build is not None:
            yield build
        for state in (kind, *_entries(_entry(kind, "states")).values()):
            yield from _entries(_entry(state, "actions")).values()


def _entries(node: Node | None) -> dict[str, Node]:
    """Return the entries of a mapping; none of anything else."""
    return node.entries if isinstance(node, YamlMapping) else {}


def _entry(node: Node | None, key: str) -> Node | None:
    return _entries(node).get(key)


def read_tick(given: YamlMapping, calendar: CalendarInfo) -> int:
    """The first tick of a time, by its number (`tick: 100`) or by the calendar (`day: 2, clock: "08:00"`); 0: none."""
    number, day = given.get("tick"), given.get("day")
    if number is not None:
        return leaf(number).integer(1, MAX_TICKS)
    if day is None:
        return 0
    days = leaf(day).integer(1, 1_000_000)
    clock = given.get("clock")
    minute = read_minute(leaf(clock)) if clock is not None else 0
    minutes = (days - 1) * DAY_MINUTES + minute - calendar.first_minute
    if minutes <= 0:
        day.place.fail(f"this time is not after the beginning of the world, which is {calendar.at(0)}")
    tick_id = -(-minutes * calendar.day_ticks // DAY_MINUTES)
    if not MAX_TICKS.allows(tick_id):
        day.place.fail(f"this time is after tick {MAX_TICKS.maximum}")
    return tick_id

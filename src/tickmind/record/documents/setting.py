"""Places, calendar and people of a world, as they are recorded. Callers make `DamagedRunError` of errors in them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tickmind.protocol import CalendarInfo, FestivalInfo, Persona, SeasonInfo, WorldSetting, ZoneInfo
from tickmind.protocol.setting import AgentSetting, Area, Hours, Weights


def setting_of(document: Mapping[str, Any] | None) -> WorldSetting:
    """Return the places and the calendar; a run of an earlier version has none."""
    if document is None:
        return WorldSetting()
    zones = tuple(
        ZoneInfo(str(zone["name"]), tuple(map(_read_area, zone["areas"])), str(zone["owner"]), str(zone["purpose"]))
        for zone in document["zones"]
    )
    return WorldSetting(zones, _read_calendar(document["calendar"]))


def _read_calendar(document: Mapping[str, Any]) -> CalendarInfo:
    """Return the calendar; a run of an earlier version has only days."""
    return CalendarInfo(
        day_ticks=max(1, int(document["day_ticks"])),
        first_minute=int(document["first_minute"]),
        seasons=tuple(
            SeasonInfo(str(one["name"]), max(1, int(one["days"])), _read_weather(one["weather"]))
            for one in document.get("seasons", ())
        ),
        weather=_read_weather(document.get("weather", ())),
        weather_key=int(document.get("weather_key", 0)),
        festivals=tuple(map(_read_festival, document.get("festivals", ()))),
        night=read_hours(document.get("night")),
    )


def _read_weather(document: Sequence[Any]) -> Weights:
    return tuple((str(kind), max(1, int(weight))) for kind, weight in document)


def _read_festival(document: Mapping[str, Any]) -> FestivalInfo:
    name, where, purpose = (str(document[key]) for key in ("name", "where", "purpose"))
    day, every = int(document["day"]), max(0, int(document["every"]))
    return FestivalInfo(name, day, every, read_hours(document["hours"]), where, purpose)


def read_hours(document: Sequence[Any] | None) -> Hours | None:
    """Return hours of the day; None if there are none."""
    return None if document is None else (int(document[0]), int(document[1]))


def _read_area(corners: Sequence[Any]) -> Area:
    west, north, east, south = map(int, corners)
    return west, north, east, south


def persona_of(text: str | None) -> Persona | None:
    """Return who an actor is; None if that is not known."""
    if text is None:
        return None
    document = json.loads(text)
    values: dict[str, Any] = {"age": int(document.pop("age", 0))}
    values["agent"] = tuple(map(_read_agent_setting, document.pop("agent", ())))
    values["relations"] = tuple((str(who), str(what)) for who, what in document.pop("relations", ()))
    for name, value in document.items():
        values[name] = tuple(map(str, value)) if isinstance(value, list) else str(value)
    return Persona(**values)


def _read_agent_setting(document: Sequence[Any]) -> tuple[str, AgentSetting]:
    name, value = document
    if isinstance(value, list):
        return str(name), tuple(map(str, value))
    if not isinstance(value, bool | int | float | str):
        raise TypeError("a setting of an agent is of an unknown kind")
    return str(name), value

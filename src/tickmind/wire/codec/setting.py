"""Codec of the setting of a world: its zones, its calendar and its people."""

import math
from collections.abc import Sequence
from typing import Any

from tickmind.protocol.setting import (
    DAY_MINUTES,
    MAX_AGE,
    AgentSetting,
    Area,
    CalendarInfo,
    FestivalInfo,
    Hours,
    Persona,
    SeasonInfo,
    Weights,
    WorldSetting,
    ZoneInfo,
)
from tickmind.wire.codec.values import INT32_MAX, SIDE, chosen, count, encoder, name, number, optional_name, text
from tickmind.wire.errors import MessageError
from tickmind.wire.messages.limits import (
    MAX_AGENT_SETTING_CHARS,
    MAX_AGENT_SETTINGS,
    MAX_AREAS,
    MAX_FESTIVALS,
    MAX_PERSONA_CHARS,
    MAX_PERSONA_LINES,
    MAX_SEASONS,
    MAX_SPRITE_CHARS,
    MAX_WEATHERS,
    MAX_ZONES,
)
from tickmind.wire.v1 import entity_pb2 as pb

_TEXTS = ("backstory", "voice", "home", "work", "colour", "team", "name", "secret")
_LISTS = ("traits", "goals", "fears", "knows", "habits")


@encoder
def encode_setting(setting: WorldSetting) -> pb.WorldSetting:
    """Encode the places and the calendar of a world."""
    return pb.WorldSetting(
        zones=[
            pb.ZoneInfo(
                name=zone.name,
                areas=[
                    pb.Area(west=west, north=north, east=east, south=south) for west, north, east, south in zone.areas
                ],
                owner=zone.owner,
                purpose=zone.purpose,
            )
            for zone in setting.zones
        ],
        calendar=_encode_calendar(setting.calendar),
    )


def _encode_calendar(calendar: CalendarInfo) -> pb.CalendarInfo:
    return pb.CalendarInfo(
        day_ticks=calendar.day_ticks,
        first_minute=calendar.first_minute,
        seasons=[
            pb.SeasonInfo(name=season.name, days=season.days, weather=_encode_weather(season.weather))
            for season in calendar.seasons
        ],
        weather=_encode_weather(calendar.weather),
        weather_key=calendar.weather_key,
        festivals=[
            pb.FestivalInfo(
                name=festival.name,
                day=festival.day,
                every=festival.every,
                hours=encode_hours(festival.hours),
                where=festival.where,
                purpose=festival.purpose,
            )
            for festival in calendar.festivals
        ],
        night=encode_hours(calendar.night),
    )


def _encode_weather(weights: Weights) -> list[pb.WeatherWeight]:
    return [pb.WeatherWeight(weather=weather, weight=weight) for weather, weight in weights]


def encode_hours(hours: Hours | None) -> pb.Hours | None:
    """Encode hours of the day."""
    return None if hours is None else pb.Hours(first=hours[0], end=hours[1])


def decode_hours(message: pb.ActionInfo | pb.ContainerInfo | pb.FestivalInfo) -> Hours | None:
    """Decode the hours of a message; None if it has none."""
    return _decode_hours(message.hours) if message.HasField("hours") else None


def _decode_hours(message: pb.Hours) -> Hours:
    first, end = message.first, message.end
    return number(first, "hours.first", 0, DAY_MINUTES - 1), number(end, "hours.end", 0, DAY_MINUTES - 1)


def decode_setting(message: pb.WorldSetting) -> WorldSetting:
    """Decode the places and the calendar of a world; an empty message is a world without places."""
    count(message.zones, "setting.zones", MAX_ZONES)
    zones = tuple(
        ZoneInfo(
            name(zone.name, "setting.zones.name"),
            _areas(zone.areas),
            optional_name(zone.owner, "setting.zones.owner"),
            text(zone.purpose, "setting.zones.purpose", MAX_PERSONA_CHARS),
        )
        for zone in message.zones
    )
    return (
        WorldSetting(zones, _decode_calendar(message.calendar)) if message.HasField("calendar") else WorldSetting(zones)
    )


def _decode_calendar(message: pb.CalendarInfo) -> CalendarInfo:
    count(message.seasons, "setting.calendar.seasons", MAX_SEASONS)
    count(message.festivals, "setting.calendar.festivals", MAX_FESTIVALS)
    return CalendarInfo(
        day_ticks=number(message.day_ticks, "setting.calendar.day_ticks", 1, INT32_MAX),
        first_minute=number(message.first_minute, "setting.calendar.first_minute", 0, DAY_MINUTES - 1),
        seasons=tuple(
            SeasonInfo(
                name(season.name, "setting.calendar.seasons.name"),
                number(season.days, "setting.calendar.seasons.days", 1, INT32_MAX),
                _decode_weather(season.weather),
            )
            for season in message.seasons
        ),
        weather=_decode_weather(message.weather),
        weather_key=message.weather_key,
        festivals=tuple(map(_decode_festival, message.festivals)),
        night=_decode_hours(message.night) if message.HasField("night") else None,
    )


def _decode_weather(messages: Sequence[pb.WeatherWeight]) -> Weights:
    count(messages, "setting.calendar.weather", MAX_WEATHERS)
    return tuple(
        (
            name(one.weather, "setting.calendar.weather.weather"),
            number(one.weight, "setting.calendar.weather.weight", 1, INT32_MAX),
        )
        for one in messages
    )


def _decode_festival(message: pb.FestivalInfo) -> FestivalInfo:
    return FestivalInfo(
        name=name(message.name, "setting.calendar.festivals.name"),
        day=number(message.day, "setting.calendar.festivals.day", 1, INT32_MAX),
        every=number(message.every, "setting.calendar.festivals.every", 0, INT32_MAX),
        hours=decode_hours(message),
        where=optional_name(message.where, "setting.calendar.festivals.where"),
        purpose=text(message.purpose, "setting.calendar.festivals.purpose", MAX_PERSONA_CHARS),
    )


def _areas(messages: Sequence[pb.Area]) -> tuple[Area, ...]:
    count(messages, "setting.zones.areas", MAX_AREAS)
    areas = tuple((area.west, area.north, area.east, area.south) for area in messages)
    for west, north, east, south in areas:
        if not (0 <= west <= east < SIDE and 0 <= north <= south < SIDE):
            raise MessageError("setting.zones.areas", "rectangles on a map")
    if not areas:
        raise MessageError("setting.zones.areas", "at least one")
    return areas


@encoder
def encode_persona(persona: Persona) -> pb.Persona:
    """Encode a person."""
    return pb.Persona(
        age=persona.age,
        sprite=persona.sprite,
        relations=[pb.Relation(entity_id=who, relation=what) for who, what in persona.relations],
        agent=[_encode_agent_setting(key, value) for key, value in persona.agent],
        **{field: getattr(persona, field) for field in (*_TEXTS, *_LISTS)},
    )


def decode_persona(message: pb.Persona) -> Persona:
    """Decode a person."""
    count(message.relations, "persona.relations", MAX_PERSONA_LINES)
    rest: dict[str, Any] = {
        **{field: text(getattr(message, field), f"persona.{field}", MAX_PERSONA_CHARS) for field in _TEXTS},
        **{field: _lines(getattr(message, field), field) for field in _LISTS},
    }
    return Persona(
        age=number(message.age, "persona.age", 0, MAX_AGE),
        relations=tuple(
            (
                name(relation.entity_id, "persona.relations"),
                text(relation.relation, "persona.relations", MAX_PERSONA_CHARS),
            )
            for relation in message.relations
        ),
        agent=_agent_settings(message.agent),
        sprite=text(message.sprite, "persona.sprite", MAX_SPRITE_CHARS),
        **rest,
    )


def _lines(lines: Sequence[str], field: str) -> tuple[str, ...]:
    count(lines, f"persona.{field}", MAX_PERSONA_LINES)
    return tuple(text(line, f"persona.{field}", MAX_PERSONA_CHARS) for line in lines)


def _encode_agent_setting(key: str, value: AgentSetting) -> pb.AgentSetting:
    if isinstance(value, bool):
        return pb.AgentSetting(name=key, flag=value)
    if isinstance(value, int):
        return pb.AgentSetting(name=key, whole=value)
    if isinstance(value, float):
        return pb.AgentSetting(name=key, number=value)
    if isinstance(value, str):
        return pb.AgentSetting(name=key, text=value)
    return pb.AgentSetting(name=key, texts=pb.AgentSettingTexts(items=value))


def _agent_settings(messages: Sequence[pb.AgentSetting]) -> tuple[tuple[str, AgentSetting], ...]:
    count(messages, "persona.agent", MAX_AGENT_SETTINGS)
    return tuple((name(one.name, "persona.agent.name"), _agent_setting(one)) for one in messages)


def _agent_setting(message: pb.AgentSetting) -> AgentSetting:
    kind = chosen(message, "value", "persona.agent")
    if kind == "texts":
        count(message.texts.items, "persona.agent.texts", MAX_PERSONA_LINES)
        return tuple(text(item, "persona.agent.texts", MAX_AGENT_SETTING_CHARS) for item in message.texts.items)
    if kind == "text":
        return text(message.text, "persona.agent.text", MAX_AGENT_SETTING_CHARS)
    if kind == "number" and not math.isfinite(message.number):
        raise MessageError("persona.agent.number", "a finite number")
    value: bool | int | float = getattr(message, kind)
    return value

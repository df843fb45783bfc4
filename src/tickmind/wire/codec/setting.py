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
    Persona,
    WorldSetting,
    ZoneInfo,
)
from tickmind.wire.codec.values import INT32_MAX, SIDE, chosen, count, encoder, name, number, optional_name, text
from tickmind.wire.errors import MessageError
from tickmind.wire.messages.limits import (
    MAX_AGENT_SETTING_CHARS,
    MAX_AGENT_SETTINGS,
    MAX_AREAS,
    MAX_PERSONA_CHARS,
    MAX_PERSONA_LINES,
    MAX_SPRITE_CHARS,
    MAX_ZONES,
)
from tickmind.wire.v1 import entity_pb2 as pb

_TEXTS = ("backstory", "voice", "home", "work", "colour", "team", "name")
_LISTS = ("traits", "goals", "fears", "knows", "habits")


@encoder
def encode_setting(setting: WorldSetting) -> pb.WorldSetting:
    """Encode the places and the calendar of a world."""
    calendar = setting.calendar
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
        calendar=pb.CalendarInfo(day_ticks=calendar.day_ticks, first_minute=calendar.first_minute),
    )


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
    if not message.HasField("calendar"):
        return WorldSetting(zones)
    calendar = CalendarInfo(
        number(message.calendar.day_ticks, "setting.calendar.day_ticks", 1, INT32_MAX),
        number(message.calendar.first_minute, "setting.calendar.first_minute", 0, DAY_MINUTES - 1),
    )
    return WorldSetting(zones, calendar)


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
            (name(one.entity_id, "persona.relations"), text(one.relation, "persona.relations", MAX_PERSONA_CHARS))
            for one in message.relations
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

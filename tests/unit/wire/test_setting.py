"""Who actors are is no part of their identity, so it is compared by itself."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kits.wire_samples import Samples

from tickmind.wire import MessageError
from tickmind.wire.codec.entities import WorldReader, decode_entity, encode_entity, encode_world
from tickmind.wire.codec.setting import decode_persona, decode_setting, encode_persona, encode_setting
from tickmind.wire.v1 import entity_pb2 as pb

SEEDS = st.integers(0, 2**64 - 1)


@settings(deadline=None)
@given(seed=SEEDS)
def test_people_and_places_are_read_as_they_were_written(seed):
    samples = Samples(seed)
    persona, setting, entity, world = samples.persona(), samples.setting(), samples.entity(), samples.world()
    assert decode_persona(encode_persona(persona)) == persona
    assert decode_setting(encode_setting(setting)) == setting
    assert decode_entity(encode_entity(entity)).persona == entity.persona
    reader = WorldReader()
    for part in encode_world(world):
        reader.add(part)
    read = reader.finish()
    assert [actor.persona for actor in read.actors] == [actor.persona for actor in world.actors]
    assert read.setting == world.setting


@pytest.mark.parametrize(
    "message",
    [
        pb.WorldSetting(zones=[pb.ZoneInfo(name="mill")]),
        pb.WorldSetting(zones=[pb.ZoneInfo(name="", areas=[pb.Area()])]),
        pb.WorldSetting(zones=[pb.ZoneInfo(name="mill", areas=[pb.Area(west=3, east=2)])]),
        pb.WorldSetting(zones=[pb.ZoneInfo(name="mill", areas=[pb.Area(west=-1)])]),
        pb.WorldSetting(zones=[pb.ZoneInfo(name="mill", areas=[pb.Area()] * 65)]),
        pb.WorldSetting(zones=[pb.ZoneInfo(name="mill", areas=[pb.Area()])] * 1001),
        pb.WorldSetting(calendar=pb.CalendarInfo(day_ticks=0)),
        pb.WorldSetting(calendar=pb.CalendarInfo(day_ticks=9, first_minute=1440)),
    ],
)
def test_places_that_cannot_be_are_refused(message):
    with pytest.raises(MessageError):
        decode_setting(message)


@pytest.mark.parametrize(
    "message",
    [
        pb.Persona(age=-1),
        pb.Persona(backstory="x" * 2001),
        pb.Persona(traits=["x"] * 33),
        pb.Persona(relations=[pb.Relation(entity_id="", relation="friend")]),
        pb.Persona(sprite="x" * 13),
        pb.Persona(agent=[pb.AgentSetting(name="greed")]),
        pb.Persona(agent=[pb.AgentSetting(name="", flag=True)]),
        pb.Persona(agent=[pb.AgentSetting(name="greed", number=math.inf)]),
        pb.Persona(agent=[pb.AgentSetting(name="motto", text="x" * 201)]),
        pb.Persona(agent=[pb.AgentSetting(name="makes", texts=pb.AgentSettingTexts(items=["x" * 201]))]),
        pb.Persona(agent=[pb.AgentSetting(name="makes", texts=pb.AgentSettingTexts(items=["x"] * 33))]),
        pb.Persona(agent=[pb.AgentSetting(name="greed", whole=1)] * 33),
    ],
)
def test_people_who_cannot_be_are_refused(message):
    with pytest.raises(MessageError):
        decode_persona(message)

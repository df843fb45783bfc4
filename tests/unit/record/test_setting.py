"""Places, calendar and people are on record with a run, before and after it is finished."""

import pytest
from tests.unit.world.test_setting import VILLAGE

from tickmind.record import DamagedRunError, RunStore
from tickmind.record.tables import world_files
from tickmind.world import TileWorld, parse_scenario


def recorded(folder):
    world = TileWorld.from_scenario(parse_scenario(VILLAGE))
    store = RunStore(folder)
    log = store.create(world.info, "hamlet")
    log.publish(world.step({}))
    return world.info, store, log


def test_a_run_says_who_lived_where(tmp_path):
    info, store, log = recorded(tmp_path)
    for finish in (lambda: None, log.close):
        finish()
        with store.open("hamlet") as run:
            assert run.info.setting == info.setting
            assert [actor.persona for actor in run.info.actors] == [actor.persona for actor in info.actors]


BAD_PEOPLE = [
    "[]",
    "3",
    "{",
    '{"age": "old"}',
    '{"wings": 2}',
    '{"age": 1e999}',
    '{"relations": [1]}',
    '{"agent": [1]}',
    '{"agent": [["a", {}]]}',
]


@pytest.mark.parametrize("text", BAD_PEOPLE)
def test_a_malformed_person_is_damage(tmp_path, monkeypatch, text):
    monkeypatch.setattr(world_files, "_persona_json", lambda _actor: text)
    _, store, log = recorded(tmp_path)
    log.close(seal=False)
    with pytest.raises(DamagedRunError):
        store.open("hamlet")


@pytest.mark.parametrize(
    "setting",
    [[], {}, {"zones": [{}], "calendar": {}}, {"zones": [], "calendar": {"day_ticks": "x", "first_minute": 0}}],
)
def test_malformed_places_are_damage(tmp_path, monkeypatch, setting):
    monkeypatch.setattr(world_files, "_persona_json", lambda _actor: None)
    monkeypatch.setattr(world_files, "asdict", lambda _value: setting)
    _, store, log = recorded(tmp_path)
    log.close(seal=False)
    with pytest.raises(DamagedRunError):
        store.open("hamlet")

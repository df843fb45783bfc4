"""The villagers of a benchmark whose minds are full from the beginning."""

from collections import Counter

import pytest
from benchmarks.full_villager import FullVillager, name_of, peopled_village

from tickmind.agent import Start
from tickmind.mind.memory import EntryKind
from tickmind.mind.memory.memory import MAX_ENTRIES
from tickmind.protocol import RunInfo
from tickmind.world import TileWorld, parse_scenario


@pytest.fixture(scope="module")
def start():
    world = TileWorld.from_scenario(parse_scenario(peopled_village(30)))
    run = world.info.describe(RunInfo("run", 1, 1), ["entity:3"])
    return Start("entity:3").in_run(run)


def test_each_villager_of_the_benchmark_has_a_name_of_its_own():
    assert len({name_of(number) for number in range(500)}) == 500


def test_a_villager_of_the_benchmark_has_a_persona_with_relations_home_and_work(start):
    persona, zones = start.persona, {zone.name for zone in start.setting.zones}
    assert persona.name == name_of(2)
    assert {persona.home, persona.work} <= zones
    assert len(persona.relations) >= 2
    assert persona.secret


def test_a_full_villager_begins_at_the_budget_of_its_memory_and_stays_there_over_night(start):
    villager = FullVillager(start)
    begun = len(villager.memory)
    assert MAX_ENTRIES.maximum * 0.9 < begun <= MAX_ENTRIES.maximum
    villager.memory.tidy(5000)
    assert len(villager.memory) == begun
    kinds = Counter(entry.kind for entry in villager.memory)
    assert min(kinds[kind] for kind in (EntryKind.GAVE, EntryKind.HEARD, EntryKind.INSIGHT)) >= 40
    assert len(list(villager.talker.people)) > 12

"""People and places in the report of a run, against counting by hand."""

import json
import random
from collections import Counter
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from tickmind.cli.app import app
from tickmind.protocol import (
    CalendarInfo,
    Direction,
    FestivalInfo,
    Intent,
    Move,
    Persona,
    Say,
    SeasonInfo,
    WorldSetting,
    ZoneInfo,
)
from tickmind.record import RunStore
from tickmind.record.documents.places import display_names, zone_tiles
from tickmind.record.errors import DamagedRunError
from tickmind.record.report import page, read_figures, where_and_when
from tickmind.record.report.figures import Conversation, ConversationLine
from tickmind.server.testing import meadow
from tickmind.world import TileWorld, parse_scenario

NASTY = "<b>Cleo</b>"
VILLAGE = f"""\
world: hamlet
seed: 4
floors: {{grass: {{}}}}
map: {{width: 12, height: 8, floor: grass}}
calendar: {{day_ticks: 96, begins: "06:30"}}
zones:
  square: {{within: [2, 2, 9, 5], purpose: where people meet}}
  well: {{within: [[4, 3, 5, 4], [8, 3, 8, 3]], owner: bo}}
  ada_house: {{within: [0, 0, 1, 1], owner: ada}}
personas:
  ada: {{name: Ada, age: 41, home: ada_house, work: square}}
  bo: {{name: Bo}}
  twin: {{name: Bo, age: 9}}
  cleo: {{name: "{NASTY}", home: square}}
actors:
  - {{id: ada, at: [0, 0]}}
  - {{id: bo, at: [3, 3]}}
  - {{id: cleo, at: [4, 4]}}
  - {{id: dov, at: [11, 7]}}
  - {{id: eve, at: [7, 3], persona: twin}}
"""
TICKS = 60


def recorded(store, scenario, run_id, *, seed=5):
    """Record a run in which all actors walk about and talk; return its records."""
    world, chance, records = TileWorld.from_scenario(scenario), random.Random(seed), []
    with store.create(world.info, run_id) as log:
        for _tick in range(TICKS):
            intents: dict[int, Intent] = {
                row: Say(text=f"Hm {chance.random()}")
                if chance.random() < 0.1
                else Move(Direction(chance.randrange(8)))
                for row in range(len(world.info.actors))
            }
            record = world.step(intents)
            log.publish(record)
            records.append(record)
    return records


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    store, scenario = RunStore(tmp_path_factory.mktemp("runs")), parse_scenario(VILLAGE)
    records = recorded(store, scenario, "hamlet")
    return store, scenario, records, read_figures(store.folder("hamlet"))


def stood(scenario, records):
    """Count by hand: (actor, zone) -> ticks, with no zone as an empty name."""
    counts: Counter[tuple[str, str]] = Counter()
    for record in records:
        state = record.actor_state
        for actor_id, x, y in zip(record.actor_ids, state.x.tolist(), state.y.tolist(), strict=True):
            zone = scenario.setting.zone_at(x, y)
            counts[actor_id, zone.name if zone else ""] += 1
    return counts


def test_shares_of_people_are_the_ticks_they_stood_in_each_zone(run):
    _, scenario, records, figures = run
    counts = stood(scenario, records)
    assert [stay.actor_id for stay in figures.stays] == [
        "ada",
        "bo",
        "cleo",
        "eve",
        "dov",
    ]  # those with a persona first
    found = {(stay.actor_id, zone): share for stay in figures.stays for zone, share in stay.shares}
    assert found == pytest.approx({key: count / TICKS for key, count in counts.items()})
    for stay in figures.stays:
        assert [share for _, share in stay.shares] == sorted((share for _, share in stay.shares), reverse=True)


def test_zones_have_their_visitors(run):
    _, scenario, records, figures = run
    counts = stood(scenario, records)
    zones = {zone.name: zone for zone in figures.zones}
    assert set(zones) == {"square", "well", "ada_house"}
    for name, zone in zones.items():
        there = {actor_id: count for (actor_id, place), count in counts.items() if place == name}
        assert (zone.visitors, zone.actor_ticks) == (len(there), sum(there.values()))
        assert dict(zone.regulars) == pytest.approx({who: count / zone.actor_ticks for who, count in there.items()})
    assert (zones["well"].owner, zones["square"].purpose) == ("bo", "where people meet")
    assert [zone.actor_ticks for zone in figures.zones] == sorted(
        (zone.actor_ticks for zone in figures.zones), reverse=True
    )
    assert figures.actor_ticks == TICKS * 5


def test_a_zone_without_visitors_is_named_too(tmp_path):
    text = VILLAGE.replace("  ada_house: {", "  island: {within: [11, 0, 11, 0]}\n  ada_house: {")
    store, world = RunStore(tmp_path), TileWorld.from_scenario(parse_scenario(text))
    with store.create(world.info, "still") as log:
        log.publish(world.step({}))
    zones = {zone.name: zone for zone in read_figures(store.folder("still")).zones}
    assert (zones["island"].visitors, zones["island"].actor_ticks, zones["island"].regulars) == (0, 0, ())


def test_the_page_says_who_is_who_by_name(run):
    _, _, _, figures = run
    shown = page(figures)
    assert [(one.actor_id, one.name, one.age, one.work, one.home) for one in figures.people] == [
        ("ada", "Ada", 41, "square", "ada_house"),
        ("bo", "Bo", 0, "", ""),
        ("cleo", NASTY, 0, "", "square"),
        ("eve", "Bo", 9, "", ""),
    ]
    assert "<tr><td>Ada</td><td>ada</td><td>41</td><td>square</td><td>ada_house</td></tr>" in shown
    assert "<td>Bo (bo)</td>" in shown
    assert "<td>Bo (eve)</td>" in shown
    assert NASTY not in shown
    assert "Who spent time where" in shown


def test_a_conversation_has_its_zone_and_its_time(run):
    _, scenario, _, figures = run
    shown = page(figures)
    assert figures.conversations
    for talk in figures.conversations:
        zone = scenario.setting.zone_at(talk.x, talk.y)
        began = scenario.setting.calendar.at(talk.first_tick_id)
        assert f"{f'in the {zone.name}, ' if zone else ''}{began}".replace("_", " ") in shown
    assert ", day 1, " in shown
    assert "<small>1</small>" in shown or "<li><small>" in shown
    assert "<b>Ada</b> Hm" in shown


def test_a_conversation_has_its_season_its_weather_and_the_festivals_that_were_on(run):
    _, _, _, figures = run
    calendar = CalendarInfo(
        96,
        390,
        seasons=(SeasonInfo("summer", 2),),
        weather=(("rain", 1),),
        festivals=(FestivalInfo("long_feast", 1, hours=(0, 12 * 60)), FestivalInfo("harvest", 2)),
    )
    figures = replace(figures, setting=replace(figures.setting, calendar=calendar))
    lines = tuple(ConversationLine(tick_id, "ada", "Hm") for tick_id in (4, 5))
    assert where_and_when(figures, Conversation(("ada",), lines, 2, 2)) == (
        "in the square, day 1, 07:30 to 07:45, summer, rain, during the long feast"
    )
    over_night = tuple(ConversationLine(tick_id, "ada", "Hm") for tick_id in (69, 70))
    assert where_and_when(figures, Conversation(("ada",), over_night, 11, 7)) == (
        "day 1, 23:45 to day 2, 00:00, summer, rain"
    )
    assert where_and_when(figures, Conversation(("ada",), over_night[:1], 11, 7)) == "day 1, 23:45, summer, rain"


def test_the_command_names_people_and_places(run):
    store, _, _, figures = run
    done = CliRunner().invoke(
        app, ["report", "hamlet", "--runs", str(store.folder("hamlet").parent)], env={"COLUMNS": "200"}
    )
    assert done.exit_code == 0, done.output
    assert "Ada, 41 years old, works in square, lives in ada_house, was in " in done.stdout
    assert "Bo (eve), 9 years old, was in " in done.stdout
    assert "\nPlaces" in done.stdout
    assert ": in the " in done.stdout
    assert figures.name_of("dov") == "dov"


def test_a_run_without_people_and_places_has_none_of_it(tmp_path):
    store = RunStore(tmp_path)
    recorded(store, meadow(6), "plain")
    figures = read_figures(store.folder("plain"))
    assert not figures.has_setting
    assert (figures.people, figures.zones, figures.stays, dict(figures.names)) == ((), (), (), {})
    shown = page(figures)
    assert "Who is who" not in shown
    assert "Who spent time where" not in shown
    assert "day 1" not in shown


def test_malformed_places_are_damage(tmp_path):
    store = RunStore(tmp_path)
    recorded(store, parse_scenario(VILLAGE), "spoilt")
    file = store.folder("spoilt") / "meta.json"
    meta = json.loads(file.read_text())
    meta["world"]["setting"] = {"zones": [{"name": "x"}]}
    file.write_text(json.dumps(meta))
    with pytest.raises(DamagedRunError, match="places"):
        read_figures(store.folder("spoilt"))


def test_tiles_belong_to_the_smallest_zone_as_for_characters():
    chance = random.Random(2)
    for _case in range(30):
        zones = []
        for number in range(chance.randrange(1, 8)):
            areas = []
            for _area in range(chance.randrange(1, 3)):
                west, north = chance.randrange(9), chance.randrange(7)
                areas.append((west, north, chance.randrange(west, 9), chance.randrange(north, 7)))
            zones.append(ZoneInfo(f"zone:{number}", tuple(areas)))
        setting = WorldSetting(tuple(zones))
        tiles, numbers = zone_tiles(setting, 9, 7)
        found = {
            (tile % 9, tile // 9): zones[number] for tile, number in zip(tiles.tolist(), numbers.tolist(), strict=True)
        }
        assert found == {(x, y): zone for y in range(7) for x in range(9) if (zone := setting.zone_at(x, y))}


def test_a_zone_beyond_the_map_of_a_damaged_run_is_cut():
    tiles, _ = zone_tiles(WorldSetting((ZoneInfo("far", ((-5, -5, 1, 0), (8, 6, 99, 99))),)), 9, 7)
    assert tiles.tolist() == [0, 1, 62]


def test_a_name_that_is_the_id_of_another_gets_its_own_id():
    assert display_names([("ada", Persona("bo")), ("bo", None), ("cleo", Persona())]) == {"ada": "bo (ada)"}

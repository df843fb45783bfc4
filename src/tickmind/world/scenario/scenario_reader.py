"""Scenario files: YAML and a text map, turned into a checked `Scenario`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tickmind.base import ConfigError
from tickmind.base.problems import Problem, in_order
from tickmind.protocol import GoalInfo
from tickmind.protocol.setting import CalendarInfo, WorldSetting, ZoneInfo
from tickmind.world.errors import ScenarioError
from tickmind.world.scenario.kinds import FloorKind, ItemKind, ObjectKind
from tickmind.world.scenario.limits import MAX_SCENARIO_BYTES, MAX_SEED, MAX_THINKING_TICKS
from tickmind.world.scenario.persona_files import read_persona_files, with_persona_files
from tickmind.world.scenario.readers.calendar_reader import (
    check_festival_places,
    check_kind_times,
    check_rule_times,
    read_calendar,
)
from tickmind.world.scenario.readers.goal_reader import GoalReader, read_own_rules
from tickmind.world.scenario.readers.intervention_reader import InterventionReader, interventions_text
from tickmind.world.scenario.readers.kind_reader import read_floors, read_items, read_kinds, read_rules
from tickmind.world.scenario.readers.map_reader import Land, read_map
from tickmind.world.scenario.readers.need_reader import WorldNeeds, own_need_names
from tickmind.world.scenario.readers.setting_reader import PersonaReader, check_owners, check_size, read_zones
from tickmind.world.scenario.readers.spawn_reader import Spawns
from tickmind.world.scenario.scenario import ActorSpawn, Intervention, Scenario
from tickmind.world.scenario.settings import Rules
from tickmind.world.scenario.tiled.sections import TiledSections, tiled_sections, with_map_inside, with_sections
from tickmind.world.scenario.yaml_nodes import Node, YamlMapping, leaf, read_tree, table, with_value

SECTIONS = (
    "world",
    "seed",
    "thinking",
    "rules",
    "floors",
    "items",
    "kinds",
    "map",
    "legend",
    "objects",
    "ground",
    "zones",
    "calendar",
    "persona_files",
    "personas",
    "actors",
    "goals",
    "own_rules",
    "interventions",
)
OTHER_SECTIONS = ("agents", "assignments", "defaults")  # of a runner's mapping in the same file


def load_scenario(path: Path | str, *, seed: int | None = None) -> Scenario:
    """Read a scenario file; `seed` goes before that of the file.

    Raises `ScenarioError` with file, line and column of all that is wrong.
    """
    return parse_scenario(scenario_text(path), source=str(path), seed=seed, folder=Path(path).parent)


def scenario_text(path: Path | str) -> str:
    """Return the text of a scenario file, to keep it beside a run. Raises `ScenarioError` if it can't be read."""
    file = Path(path)
    try:
        with file.open(encoding="utf-8") as opened:  # it may be a pipe or a device: neither says how large it is
            text = opened.read(int(MAX_SCENARIO_BYTES.maximum) + 1)
    except OSError as error:
        raise ScenarioError(str(file), [Problem((), f"can't be read: {error.strerror or error}")]) from error
    except UnicodeDecodeError as error:
        raise ScenarioError(str(file), [Problem((), "is not UTF-8 text")]) from error
    if not MAX_SCENARIO_BYTES.allows(len(text)):
        raise ScenarioError(str(file), [Problem((), f"larger than {MAX_SCENARIO_BYTES.maximum} bytes")])
    return text


def parse_scenario(
    text: str, source: str = "scenario", *, seed: int | None = None, folder: Path | None = None
) -> Scenario:
    """Make a scenario from its text; `seed` goes before that of the text.

    `folder` is where the files are that the text names; without it a text that names any can't be read.
    Raises `ScenarioError` with all that is wrong, by `source`, line and column.
    A part that can't be read is noted, and the rest is read with something simple in its place.
    """
    return _parse(text, source, seed, folder)[0]


@dataclass(frozen=True, slots=True)
class KeptScenario:
    """A scenario with a text that gives the same one without any other file."""

    scenario: Scenario
    text: str
    tile_art: bytes | None = None  # the picture of its Tiled map for viewers, as JSON


def parse_to_keep(
    text: str, source: str = "scenario", *, seed: int | None = None, folder: Path | None = None
) -> KeptScenario:
    """Make a scenario that is kept beside a run.

    Its text is the given one, unless that names persona files or a Tiled map: then what they hold is in it.
    """
    scenario, tiled = _parse(text, source, seed, folder)
    kept = with_persona_files(text, source, folder)
    from_file = tiled is not None and tiled.from_file
    if tiled is not None and from_file:
        kept = with_map_inside(kept, tiled.given)
        if not MAX_SCENARIO_BYTES.allows(len(kept.encode())):
            message = (
                f"with its Tiled map in it, it is larger than {MAX_SCENARIO_BYTES.maximum} bytes; draw a smaller map"
            )
            raise ScenarioError(source, [Problem((), message)])
    if kept == text:
        return KeptScenario(scenario, text)
    again = parse_scenario(kept, source, seed=seed)
    if from_file and again != scenario:
        message = "its Tiled map can't be kept beside a run; write the name of its file in quotes"
        raise ScenarioError(source, [Problem((), message)])
    return KeptScenario(again, kept, tiled.art() if tiled is not None else None)


def _parse(text: str, source: str, seed: int | None, folder: Path | None) -> tuple[Scenario, TiledSections | None]:
    """Make a scenario, and return it with the sections of its Tiled map, if it has one."""
    if seed is not None and not 0 <= seed <= MAX_SEED:
        raise ConfigError(f"a seed must be from 0 to {MAX_SEED}, not {seed}")
    given = read_tree(text, source)
    read = given.place.source
    given.nothing_but(*SECTIONS, *OTHER_SECTIONS)
    name = read.part("", lambda: leaf(given.need("world")).name())
    own_seed = given.integer("seed", 0, 0, MAX_SEED)
    seed = own_seed if seed is None else seed
    thinking_ticks = read.part(0, _read_thinking, given.get("thinking"))
    rules = read.part(Rules(), read_rules, given.get("rules"))
    floors: tuple[FloorKind, ...] = ()
    # What is wrong with `rules` is noted already.
    needs = WorldNeeds(rules.needs is not None or bool(read.problems), own_need_names(given.get("rules")))
    with read.noting():
        floors = read_floors(table(given.need("floors")), needs)
    items: tuple[ItemKind, ...] = read.part((), read_items, given.get("items"), needs)
    item_names = tuple(item.name for item in items)
    kinds: tuple[ObjectKind, ...] = read.part(
        (), read_kinds, given.get("kinds"), item_names, rules.inventory_limit, needs
    )
    land: Land | None = None
    spawns: Spawns | None = None
    actors: tuple[ActorSpawn, ...] = ()
    tiled: TiledSections | None = None
    with read.noting():
        tiled = tiled_sections(given, [floor.name for floor in floors], [kind.name for kind in kinds], folder)
        given = given if tiled is None else with_sections(given, tiled.given)
        land = read_map(given, floors, text.split("\n")) if floors else None
    calendar = read.part(CalendarInfo(), read_calendar, given.get("calendar"), seed)
    check_kind_times(given.get("kinds"), given.get("calendar"))
    check_rule_times(given.get("rules"), given.get("calendar"))
    zones: tuple[ZoneInfo, ...] = ()
    coming = _Coming()
    if land is not None:
        zones = read.part((), read_zones, given.get("zones"), land)
        check_festival_places(given.get("calendar"), [zone.name for zone in zones])
        shared = read.part([], read_persona_files, given.get("persona_files"), folder)
        people = PersonaReader(given.get("personas"), [zone.name for zone in zones], shared)
        spawns = Spawns(seed, rules, floors, item_names, kinds, land, people, calendar, needs.own)
        spawns.read(given)
        actors = spawns.actors()
        actor_ids = {actor.entity_id for actor in actors}
        check_owners(given.get("zones"), actor_ids)
        people.check_relations(actor_ids, is_kept=folder is None)
        check_size(given, [actor.persona for actor in actors])
        goal_reader = GoalReader(zones, calendar, item_names, rules.inventory_limit, kinds, spawns.objects(), actors)
        changer = InterventionReader(item_names, rules.inventory_limit, kinds, spawns.objects(), actor_ids)
        coming = _read_coming(given, goal_reader, changer)
    own_rules = read.part((), read_own_rules, given.get("own_rules"), coming.goals)
    if read.problems or land is None or spawns is None:
        raise ScenarioError(source, in_order(read.problems))
    scenario = Scenario(
        name=name,
        seed=seed,
        rules=rules,
        width=land.width,
        height=land.height,
        floors=floors,
        floor_codes=land.floor_codes,
        items=items,
        kinds=kinds,
        objects=spawns.objects(),
        actors=actors,
        ground=spawns.ground(),
        thinking_ticks=thinking_ticks,
        setting=WorldSetting(zones, calendar),
        goals=coming.goals,
        own_rules=own_rules,
        scatters=spawns.scatters,
        interventions=coming.interventions,
    )
    return scenario, tiled


class _Coming(NamedTuple):
    """What may come about in a world, and what is changed from outside."""

    goals: tuple[GoalInfo, ...] = ()
    interventions: tuple[Intervention, ...] = ()


def _read_coming(given: YamlMapping, goal_reader: GoalReader, changer: InterventionReader) -> _Coming:
    read, goals, interventions = given.place.source, given.get("goals"), given.get("interventions")
    return _Coming(
        () if goals is None else read.part((), goal_reader.read, goals),
        () if interventions is None else read.part((), changer.read, interventions),
    )


def _read_thinking(node: Node | None) -> int:
    """After how many ticks a reply of a model takes effect: `thinking: {ticks: 4}`."""
    if node is None:
        return 0
    given = table(node)
    given.nothing_but("ticks")
    return leaf(given.need("ticks")).integer(1, MAX_THINKING_TICKS)


def with_interventions(text: str, interventions: Sequence[Intervention]) -> str:
    """Return the text of a scenario with these interventions, in place of those that are in it."""
    value = interventions_text(interventions)
    if "interventions" in read_tree(text, "scenario").entries:
        return with_value(text, ("interventions",), value)
    return f"{text.rstrip()}\n\ninterventions: {value}\n"

"""`tickmind check`: finds errors in scenarios, mappings, gateway settings and experiments before anything starts."""

import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tickmind.base import ConfigError, redact
from tickmind.base.shipped import find_scenario
from tickmind.cli.screen import harmless

if TYPE_CHECKING:
    from tickmind.base.problems import Problem
    from tickmind.protocol import EntityInfo
    from tickmind.world import Scenario

EXIT_FAILED = 1
MOST_SHOWN = 5  # habits in a note
WHAT_IT_MAY_BE = (
    "a scenario begins with `world: NAME`, a mapping has `agents` and `assignments`, "
    "the settings of a gateway have `providers` or `listen`, and an experiment begins with `experiment: NAME`"
)


def check(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Scenarios (also by name), mappings, gateway settings and experiments, recognised by content. "
            "Mappings must also fit the scenarios beside them."
        ),
    ],
    show_map: Annotated[
        bool | None,
        typer.Option("--map/--no-map", help="Draw the maps of scenarios; by default on a terminal where they fit."),
    ] = None,
) -> None:
    """Report the errors in files, by line, or what they contain."""
    failed = False
    entities = _everybody(files) if len(files) > 1 else None
    for file in files:
        try:
            typer.echo(f"{file}: {check_file(find_scenario(file), entities)}")
            _draw(find_scenario(file), show_map)
        except ConfigError as error:
            failed = True
            typer.echo(harmless(redact(str(error))), err=True)
    if failed:
        raise typer.Exit(EXIT_FAILED)


def _draw(file: Path, wanted: bool | None) -> None:
    """Draw the map of a scenario, if that is wanted, or if there is a terminal that is wide enough."""
    if wanted is False:
        return
    from rich.console import Console

    console = Console()
    if wanted is None and not console.is_terminal:
        return
    from tickmind.base.problems import read_config
    from tickmind.runner.mapping import is_scenario

    if not is_scenario(read_config(file, hint="").value):
        return
    from tickmind.cli.world.map_drawing import draw_map, legend_of
    from tickmind.world import load_scenario

    scenario = load_scenario(file)
    if wanted or scenario.width <= console.width:
        console.print(draw_map(scenario), soft_wrap=True, end="")
        typer.echo(legend_of(scenario))


def check_file(file: Path, entities: "Collection[EntityInfo] | None" = None) -> str:
    """Describe a file; raises `ConfigError` with all its errors.

    A mapping is checked against `entities`, if they are given.
    """
    from tickmind.base.problems import ConfigFileError, Problem, read_config

    said = read_config(file, hint="check its name").value
    if not said:
        raise ConfigFileError(str(file), [Problem((), f"the file is empty; {WHAT_IT_MAY_BE}")])
    kind = _kind(said)
    if kind == "scenario":
        return _scenario(file, said)
    if kind == "mapping":
        return _mapping(file, entities)
    if kind == "gateway":
        return _gateway(file)
    if kind == "experiment":
        return _experiment(file)
    raise ConfigFileError(str(file), [Problem((), f"the kind of this file is unknown; {WHAT_IT_MAY_BE}")])


def _kind(said: object) -> str:
    """Return the kind of a file by its keys, exact or similar; empty if unknown."""
    import difflib
    import json

    from tickmind.gateway.settings.form import config_form
    from tickmind.runner import mapping_schema_text
    from tickmind.world.scenario.scenario_reader import SECTIONS

    keys = list(map(str, said)) if isinstance(said, Mapping) else []
    if "world" in keys:
        return "scenario"
    if "experiment" in keys:
        return "experiment"
    known = {
        "scenario": SECTIONS,
        "mapping": tuple(json.loads(mapping_schema_text())["properties"]),
        "gateway": tuple(config_form().schema["properties"]),
    }
    fitting = {kind: sum(key in names for key in keys) for kind, names in known.items()}
    if not any(fitting.values()):
        like = difflib.get_close_matches
        fitting = {kind: sum(bool(like(key[:100], names, n=1)) for key in keys) for kind, names in known.items()}
    best = max(fitting, key=lambda kind: fitting[kind])
    return best if fitting[best] else ""


def _everybody(files: Iterable[Path]) -> "list[EntityInfo] | None":
    """Return all characters of the scenarios among some files; None if no scenario is readable."""
    from tickmind.base.problems import read_config
    from tickmind.runner.mapping import is_scenario
    from tickmind.world import load_scenario

    entities: list[EntityInfo] | None = None
    for file in files:
        try:
            path = find_scenario(file)
            if is_scenario(read_config(path, hint="").value):
                entities = [*(entities or ()), *_entities(load_scenario(path))]
        except ConfigError:
            continue  # reported when the file itself is checked
    return entities


def _entities(scenario: "Scenario") -> "list[EntityInfo]":
    from tickmind.protocol import EntityInfo

    return [EntityInfo(actor.entity_id, actor.type, actor.tags) for actor in scenario.actors]


def _scenario(file: Path, said: Mapping[str, object]) -> str:
    """Describe the world of a file and the mapping in it; errors of both are reported at once."""
    from tickmind.base.problems import ConfigFileError, Problem, in_order
    from tickmind.world import load_scenario
    from tickmind.world.scenario.scenario_reader import OTHER_SECTIONS

    problems: list[Problem] = []
    words: list[str] = []
    entities: list[EntityInfo] | None = None
    try:
        scenario = load_scenario(file)
        entities = _entities(scenario)
        size = f"{scenario.width} x {scenario.height} tiles"
        words.append(f"the world {scenario.name}, {size}, {len(scenario.actors):,} characters")
        problems += _own_rule_problems(scenario)
        problems += _embedding_problems(scenario)
        words += _unread_habits(scenario)
    except ConfigFileError as error:
        problems += error.problems
    if any(section in said for section in OTHER_SECTIONS) and "world" in said:
        try:
            words.append(_mapping(file, entities))
        except ConfigFileError as error:
            problems += error.problems
    if problems:
        raise ConfigFileError(str(file), in_order(problems))
    return "; ".join(words)


def _own_rule_problems(scenario: "Scenario") -> "list[Problem]":
    """Return which of the user's own rules can't be found; none of them is imported."""
    from tickmind.base import problems
    from tickmind.cli.world.own_rules import find_own_rules

    try:
        find_own_rules(scenario.own_rules)
    except ConfigError as error:
        return [problems.Problem(("own_rules",), str(error))]
    return []


def _embedding_problems(scenario: "Scenario") -> "list[Problem]":
    """Return the actors whose own embeddings there are not; else their first tick would say so."""
    from tickmind.base import problems
    from tickmind.mind.embeddings import EMBEDDING_NAMES

    named = (
        (actor.entity_id, dict(actor.persona.agent).get("embeddings"))
        for actor in scenario.actors
        if actor.persona is not None
    )
    known = ", ".join(EMBEDDING_NAMES)
    return [
        problems.Problem(("actors",), f"{who}: there are no embeddings {name!r}; known: {known}")
        for who, name in named
        if name and name not in EMBEDDING_NAMES
    ]


def _unread_habits(scenario: "Scenario") -> list[str]:
    """Return a note on habits that begin with a time and mean nothing to a day of errands."""
    from tickmind.mind.plans import SKILLS, unread_habits

    places = [zone.name for zone in scenario.setting.zones]
    people = ((actor.entity_id, actor.persona) for actor in scenario.actors if actor.persona is not None)
    unread = [f"{who}: {habit!r}" for who, persona in people for habit in unread_habits(persona.habits, places)]
    if not unread:
        return []
    more = f" and {len(unread) - MOST_SHOWN:,} more" if len(unread) > MOST_SHOWN else ""
    shown = ", ".join(unread[:MOST_SHOWN])
    return [f"habits that a villager reads as no errand ({', '.join(SKILLS)}, or to be in a zone): {shown}{more}"]


def _mapping(file: Path, entities: "Collection[EntityInfo] | None") -> str:
    from tickmind.runner import check_mapping

    mapping = check_mapping(file, os.environ, entities)
    words = f"a mapping with {_counted(len(mapping.agents), 'agent')} and {_counted(len(mapping.rules), 'assignment')}"
    if entities is None:
        return words
    with_agent = sum(mapping.spec_for(each) is not None for each in entities)
    return f"{words} for {with_agent:,} of {len(entities):,} characters"


def _gateway(file: Path) -> str:
    from tickmind.gateway.settings.file import load_config

    return f"settings of a gateway with {len(load_config(file).providers):,} providers"


def _experiment(file: Path) -> str:
    from tickmind.lab.experiments.experiment_file import read_experiment

    read = read_experiment(file, find_scenario)
    return f"the experiment {read.name}, {_counted(len(read.conditions), 'condition')}, {read.trials:,} trials"


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"

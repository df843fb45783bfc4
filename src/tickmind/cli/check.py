"""`tickmind check`: what is wrong with a scenario, a mapping or a gateway's settings, before anything starts."""

import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tickmind.base import ConfigError, redact
from tickmind.cli.scenarios import find_scenario

if TYPE_CHECKING:
    from tickmind.protocol import EntityInfo
    from tickmind.world import Scenario

EXIT_FAILED = 1


def check(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Scenarios (also by name), mappings and gateway settings, told apart by content. Mappings must also "
            "fit the scenarios beside them."
        ),
    ],
) -> None:
    """Say what is wrong with files, by line, or what is in them."""
    failed = False
    entities = _everybody(files) if len(files) > 1 else None
    for file in files:
        try:
            typer.echo(f"{file}: {check_file(find_scenario(file), entities)}")
        except ConfigError as error:
            failed = True
            typer.echo(redact(str(error)), err=True)
    if failed:
        raise typer.Exit(EXIT_FAILED)


def check_file(file: Path, entities: "Collection[EntityInfo] | None" = None) -> str:
    """What a file is, in words; raises `ConfigError` with all that is wrong with it.

    A mapping of its own is for `entities`, if they are given.
    """
    from tickmind.base.problems import read_config
    from tickmind.runner.mapping import is_scenario

    said = read_config(file, hint="check its name").value
    if is_scenario(said):
        return _scenario(file, said)
    if isinstance(said, Mapping) and ("assignments" in said or "agents" in said):
        return _mapping(file, entities)
    return _gateway(file)


def _everybody(files: Iterable[Path]) -> "list[EntityInfo] | None":
    """All characters of the scenarios among some files; None if there is no scenario that can be read."""
    from tickmind.base.problems import read_config
    from tickmind.runner.mapping import is_scenario
    from tickmind.world import load_scenario

    found: list[EntityInfo] | None = None
    for file in files:
        try:
            path = find_scenario(file)
            if is_scenario(read_config(path, hint="").value):
                found = [*(found or ()), *_entities(load_scenario(path))]
        except ConfigError:
            continue  # it is told when the file itself is checked
    return found


def _entities(scenario: "Scenario") -> "list[EntityInfo]":
    from tickmind.protocol import EntityInfo

    return [EntityInfo(actor.entity_id, actor.type, actor.tags) for actor in scenario.actors]


def _scenario(file: Path, said: Mapping[str, object]) -> str:
    from tickmind.world import load_scenario

    found = load_scenario(file)
    words = f"the world {found.name}, {found.width} x {found.height} tiles, {len(found.actors):,} characters"
    return f"{words}; {_mapping(file, _entities(found))}" if "agents" in said else words


def _mapping(file: Path, entities: "Collection[EntityInfo] | None") -> str:
    from tickmind.runner import check_mapping

    found = check_mapping(file, os.environ, entities)
    words = f"a mapping with {len(found.agents):,} agents and {len(found.rules):,} assignments"
    if entities is None:
        return words
    return f"{words} for {sum(found.spec_for(each) is not None for each in entities):,} of {len(entities):,} characters"


def _gateway(file: Path) -> str:
    from tickmind.gateway.settings.file import load_config

    return f"settings of a gateway with {len(load_config(file).providers):,} providers"

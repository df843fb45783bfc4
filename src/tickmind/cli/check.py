"""`tickmind check`: what is wrong with a scenario, a mapping or a gateway's settings, before anything starts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from tickmind.base import ConfigError, redact
from tickmind.cli.scenarios import find_scenario

EXIT_FAILED = 1


def check(
    files: Annotated[
        list[Path],
        typer.Argument(help="Scenarios (also by name), mappings and gateway settings, told apart by content."),
    ],
) -> None:
    """Say what is wrong with files, by line, or what is in them."""
    failed = False
    for file in files:
        try:
            typer.echo(f"{file}: {check_file(find_scenario(file))}")
        except ConfigError as error:
            failed = True
            typer.echo(redact(str(error)), err=True)
    if failed:
        raise typer.Exit(EXIT_FAILED)


def check_file(file: Path) -> str:
    """What a file is, in words; raises `ConfigError` with all that is wrong with it."""
    from tickmind.base.problems import read_config
    from tickmind.runner.mapping import is_scenario

    said = read_config(file, hint="check its name").value
    if is_scenario(said):
        return _scenario(file, said)
    if isinstance(said, Mapping) and ("assignments" in said or "agents" in said):
        return _mapping(file)
    return _gateway(file)


def _scenario(file: Path, said: Mapping[str, object]) -> str:
    from tickmind.world import load_scenario

    found = load_scenario(file)
    words = f"the world {found.name}, {found.width} x {found.height} tiles, {len(found.actors):,} characters"
    return f"{words}; {_mapping(file, {actor.entity_id for actor in found.actors})}" if "agents" in said else words


def _mapping(file: Path, there: set[str] | None = None) -> str:
    from tickmind.runner import load_mapping

    found = load_mapping(file)
    named = {entity_id for rule in found.rules for entity_id in rule.match.ids}
    strangers = sorted(named - there) if there is not None else []
    more = f"; nobody there is called {', '.join(strangers)}" if strangers else ""
    return f"a mapping with {len(found.agents):,} agents and {len(found.rules):,} assignments{more}"


def _gateway(file: Path) -> str:
    from tickmind.gateway.settings.file import load_config

    return f"settings of a gateway with {len(load_config(file).providers):,} providers"

"""`tickmind new`: writes first files for the user, which run and are tested as they are."""

import keyword
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from tickmind.base import ConfigError
from tickmind.cli.new_scenario import SCENARIO
from tickmind.cli.outputs import write_output

_NAME = re.compile(r"[a-z][a-z0-9_]{0,60}")
_PYTESTS_OWN = ("pytest", "conftest")  # which the agent's test needs, wherever it is run
new_app = typer.Typer(name="new", help="Write first files to start from.", no_args_is_help=True, rich_markup_mode=None)

AGENT = '''\
"""{title}: walks about, picks berries, eats when hungry, and says hello.

ENTITY_ID=entity:1 python {name}.py
"""

from tickmind.agent import agent
from tickmind.agent.knowledge import direction_to, find_path
from tickmind.protocol import (
    ActorStatus,
    Direction,
    Entered,
    Intent,
    Move,
    Observation,
    Pickup,
    Say,
    Use,
    Wait,
    Wake,
)

HUNGRY = 50  # of 1000
ENOUGH = 5  # berries to carry


@agent
def {name}(observation: Observation) -> Intent:
    """Decide what to do in this tick, by what is perceived at its start."""
    me, tiles = observation.me, observation.visible_tiles
    taken = {{(other.x, other.y) for other in observation.visible_entities}}
    berries = sum(stack.quantity for stack in me.inventory if stack.kind == "berries")

    if me.status & ActorStatus.ASLEEP:  # an exhausted character falls asleep, and gets up by this intent
        return Wake()

    if any(isinstance(event, Entered) for event in observation.events):
        return Say("Hello there!")

    if me.hunger >= HUNGRY and berries:
        return Use("berries")

    for thing in observation.visible_objects:
        if berries < ENOUGH and any(stack.kind == "berries" for stack in thing.items):
            if (thing.x, thing.y) == (me.x, me.y):
                return Pickup("berries")
            way = find_path(tiles, (me.x, me.y), (thing.x, thing.y), avoid=taken)
            if way:
                return Move(direction_to((me.x, me.y), way[0]))

    for turn in (0, 1, 7, 2, 6, 3, 5, 4):  # straight on, else as little to the side as can be
        heading = Direction((me.facing + turn) % 8)
        step = (me.x + heading.dx, me.y + heading.dy)
        if not heading.diagonal and tiles.can_walk(*step) and step not in taken:
            return Move(heading)
    return Wait()


if __name__ == "__main__":
    {name}.run()
'''

AGENT_TEST = '''\
"""{title} without a server: a drawing is its world, and @ is where it stands."""

from tickmind.agent.testing import SmallWorld, observe
from tickmind.protocol import Entered, Say, Use

from {name} import {name}


def test_it_walks_to_the_bush_and_eats():
    world = SmallWorld("@...b", hunger=300)
    done = world.play({name}, ticks=6)
    assert Use("berries") in done
    assert world.hunger < 300


def test_it_greets_whoever_comes_by():
    assert {name}(observe("@.1", events=[Entered("entity:1", 2, 0)])) == Say("Hello there!")
'''


@new_app.command("agent")
def new_agent(
    name: Annotated[str, typer.Argument(help="The agent's name, such as gatherer.")],
    folder: Annotated[Path, typer.Option(help="Where to write it.")] = Path(),
) -> None:
    """Write a first agent, NAME.py, and its test, test_NAME.py."""
    if not name.isidentifier() or not name.isascii() or name != name.lower() or keyword.iskeyword(name):
        raise ConfigError(f"{name!r} is no valid file name; use lower-case letters, digits and _, as in berry_picker")
    if name in sys.stdlib_module_names:
        raise ConfigError(f"{name}.py would shadow Python's own {name}; choose another name, such as my_{name}")
    files = {folder / f"{name}.py": AGENT, folder / f"test_{name}.py": AGENT_TEST}
    for path in files:
        if path.exists() or path.is_symlink():
            raise ConfigError(f"{path} exists already; choose another name or --folder")
    if name in _PYTESTS_OWN or find_spec(name) is not None:
        raise ConfigError(f"{name}.py would shadow the installed {name}; choose another name, such as my_{name}")
    for path, text in files.items():
        write_output(path, text.format(name=name, title=name.replace("_", " ").capitalize()).encode())
        typer.echo(f"Wrote {path}")
    typer.echo(f"Test it with: pytest {folder / f'test_{name}.py'}")
    typer.echo(f"Let it live in a world with: ENTITY_ID=entity:1 python {folder / f'{name}.py'}")


@new_app.command("scenario")
def new_scenario(
    name: Annotated[str, typer.Argument(help="The world's name, such as my_village.")],
    folder: Annotated[Path, typer.Option(help="Where to write it.")] = Path(),
) -> None:
    """Write a first scenario, NAME.yaml, with comments.

    It is a small world with people, places and recipes, and its characters live by them.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{name!r} is no valid name; use lower-case letters, digits and _, as in my_village")
    path = folder / f"{name}.yaml"
    if path.exists() or path.is_symlink():
        raise ConfigError(f"{path} exists already; choose another name or --folder")
    write_output(path, SCENARIO.format(name=name, title=name.replace("_", " ").capitalize()).encode())
    typer.echo(f"Wrote {path}")
    typer.echo(f"Check it with: tickmind check {path}")
    typer.echo(f"Live in it with: tickmind up {path}")

"""Explorers on maps without a wall around them, by the real rules."""

from collections import Counter

import pytest

from tickmind.agent import Character, CharacterHost, Start
from tickmind.ai import Action
from tickmind.world import TileWorld, parse_scenario

OPEN = "world: open\nfloors: {{g: {{}}}}\nmap: {{width: {0}, height: {1}, floor: g}}\nactors: [{{at: [{2}, {3}]}}]\n"


class Explorer(Character):
    """Goes where it has never been."""

    tree = Action("explore")


@pytest.mark.slow
@pytest.mark.parametrize(("width", "height", "x", "y"), [(50, 50, 20, 30), (9, 30, 8, 0)])
def test_all_of_a_map_with_an_open_border_is_explored_and_then_it_is_enough(width, height, x, y):
    world = TileWorld.from_scenario(parse_scenario(OPEN.format(width, height, x, y)))
    company = CharacterHost(Explorer, Start)
    (name,) = (actor.entity_id for actor in world.info.actors)
    visits: Counter[tuple[int, int]] = Counter()
    for _ in range(400):
        (seen,) = world.observe([0])
        company.begin(world.tick_id, [seen])
        company.perceive(seen)
        visits[seen.me.x, seen.me.y] += 1
        world.step({0: company.act(seen)})
        if not company.character(name).decided:  # all is known, and there is nowhere to go
            break
    explorer = company.character(name)
    assert len(explorer.surroundings.tiles) == width * height
    assert explorer.surroundings.tiles.nearest_frontier(explorer.at) is None
    assert max(visits.values()) < 5, "it swings to and fro"

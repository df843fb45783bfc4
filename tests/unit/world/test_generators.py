from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tickmind.base import ConfigError
from tickmind.world import (
    TileWorld,
    generate_caves,
    generate_island,
    generate_village,
    load_scenario,
    parse_scenario,
)

SCENARIOS = Path(__file__).parents[3] / "scenarios"


def reachable(world, *, through_doors):
    """Tiles that can be reached by sides from the first actor, on which one can walk."""
    info = world.info
    floors = np.frombuffer(info.floor_codes, dtype=np.uint8).reshape(info.height, info.width)
    free = np.array([floor.walkable for floor in info.floors])[floors]
    kinds = {kind.name: kind for kind in info.kinds}
    for found in info.objects:
        kind = kinds[found.kind]
        states = kind.walkable if through_doors and kind.name == "door" else (kind.walkable[0],)
        free[found.y, found.x] &= any(states)
    me = world.observe([0])[0].me
    seen = {(me.x, me.y)}
    border = [(me.x, me.y)]
    for x, y in border:
        for near in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
            if near not in seen and 0 <= near[0] < info.width and 0 <= near[1] < info.height and free[near[1], near[0]]:
                seen.add(near)
                border.append(near)
    return seen, int(free.sum())


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**63 - 1), width=st.integers(16, 60), height=st.integers(16, 60))
def test_every_house_of_a_village_can_be_reached(seed, width, height):
    text = generate_village(seed, width=width, height=height, actors=3)
    assert text == generate_village(seed, width=width, height=height, actors=3)
    seen, free = reachable(TileWorld.from_scenario(parse_scenario(text)), through_doors=True)
    assert len(seen) == free


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**63 - 1), width=st.integers(12, 60), height=st.integers(12, 60))
def test_caves_are_one_hollow(seed, width, height):
    text = generate_caves(seed, width=width, height=height, actors=2)
    assert text == generate_caves(seed, width=width, height=height, actors=2)
    seen, free = reachable(TileWorld.from_scenario(parse_scenario(text)), through_doors=False)
    assert len(seen) == free


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**63 - 1), width=st.integers(24, 80), height=st.integers(24, 60))
def test_an_island_is_one_piece_of_land_in_the_sea(seed, width, height):
    text = generate_island(seed, width=width, height=height, actors=2)
    assert text == generate_island(seed, width=width, height=height, actors=2)
    assert set(text.splitlines()[-1]) == {" ", "~"}
    seen, free = reachable(
        TileWorld.from_scenario(parse_scenario(text.replace("tree: {walkable: false,", "tree: {"))), through_doors=False
    )
    assert len(seen) == free > 50


@pytest.mark.parametrize("generate", [generate_village, generate_caves, generate_island])
def test_a_map_that_is_too_small_is_refused(generate):
    with pytest.raises(ConfigError, match="can't draw a map of 4 x 4"):
        generate(1, width=4, height=4)


def test_scenarios_in_the_repository_are_those_that_their_seeds_draw():
    assert load_scenario(SCENARIOS / "village.yaml").digest == parse_scenario(generate_village(7)).digest
    assert (SCENARIOS / "island.yaml").read_text() == generate_island(8)


@pytest.mark.parametrize("file", sorted(SCENARIOS.glob("*.yaml")), ids=lambda file: file.name)
def test_every_scenario_in_the_repository_runs(file):
    world = TileWorld.from_scenario(load_scenario(file))
    assert world.step({}).tick_id == 1

"""Caves from a seed: one connected hollow in the rock, with mushrooms and chests."""

from typing import TYPE_CHECKING

import numpy as np

from tickmind.world.chance import Dice, scatter
from tickmind.world.generators.canvas import Canvas
from tickmind.world.generators.shapes import largest_part, smoothed

if TYPE_CHECKING:
    from tickmind.protocol.columns import Bool

_HEAD = """\
# Caves, drawn from seed {seed}.
world: caves-{seed}
seed: {seed}

rules:
  world_version: "1.0.0"
  sight_radius: 8
  hearing_radius: 12
  inventory_limit: 20

floors:
  stone: {{}}
  rock: {{walkable: false, opaque: true}}
  lava: {{walkable: false, hazards: [fire]}}

items:
  gem: {{}}
  mushroom: {{use: {{hunger: -100}}}}

kinds:
  mushrooms:
    stock: {{item: mushroom, most: 2, ticks: 40, spread: 40}}
  chest:
    states:
      closed: {{walkable: false, actions: {{open: {{to: open, work: 4, yields: {{gem: 3}}}}}}}}
      open: {{walkable: false}}

legend:
  ".": stone
  "#": rock
  "~": lava
  "m": {{floor: stone, object: mushrooms}}
  "x": {{floor: stone, object: chest}}

actors:
  - {{id: "entity:{{n}}", type: explorer, tags: [npc], count: {actors}}}

map: |
"""
_LEAST_SIDE = 12
_HOLLOWING = 4  # purpose of the random numbers
_ROCK_PERCENT = 44


def generate_caves(seed: int, *, width: int = 64, height: int = 48, actors: int = 8) -> str:
    """Draw caves and return them as the text of a scenario file; the same arguments draw the same ones."""
    dice = Dice(seed)
    canvas = Canvas(width, height, "#", least_side=_LEAST_SIDE)
    hollow = largest_part(_hollow(seed, width, height))
    for y, x in np.argwhere(hollow).tolist():
        canvas[x, y] = "."
    for y, x in np.argwhere(hollow).tolist():
        chance = dice.below(1000)
        if chance < 30:
            canvas[x, y] = "m"
        elif chance < 40 and canvas.only(".", x - 1, y - 1, 3, 3):  # in the open, where it blocks no passage
            canvas[x, y] = "x"
    for _ in range(width * height // 200):
        x, y = dice.below(width), dice.below(height)
        if canvas[x, y] == "#":
            canvas[x, y] = "~"
    return _HEAD.format(seed=seed, actors=actors) + canvas.text()


def _hollow(seed: int, width: int, height: int) -> "Bool":
    """Return random rock, smoothed: a tile becomes what most tiles around it are."""
    keys = np.arange(width * height, dtype=np.int64)
    rock = (scatter(seed, _HOLLOWING, 0, keys) % np.uint64(100) < _ROCK_PERCENT).reshape(height, width)
    rock = smoothed(rock, edge=True)
    rock[[0, -1], :] = True
    rock[:, [0, -1]] = True
    rock[height // 2 - 2 : height // 2 + 3, width // 2 - 2 : width // 2 + 3] = False  # so that there is always a hollow
    return ~rock

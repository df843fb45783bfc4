"""An island from a seed: beaches, woods and berries, with the sea around it."""

from typing import TYPE_CHECKING

import numpy as np

from tickmind.world.chance import Dice, scatter
from tickmind.world.generators.canvas import Canvas
from tickmind.world.generators.shapes import largest_part, smoothed

if TYPE_CHECKING:
    from tickmind.protocol.columns import Bool

_HEAD = """\
# An island, drawn from seed {seed}: {actors} foragers live on its berries, which grow back.
world: island-{seed}
seed: {seed}

rules:
  world_version: "1.1.0"
  tick_duration_ms: 500
  intent_deadline_ms: 350
  sight_radius: 6
  hearing_radius: 5
  inventory_limit: 8
  needs: {{hunger_per_tick: 1, energy_per_tick: 1, rest_per_tick: 8, wake_energy: 200}}

floors:
  grass: {{}}
  sand: {{}}
  water: {{walkable: false, hazards: [deep]}}

items:
  berries: {{use: {{hunger: -150}}}}

kinds:
  tree: {{walkable: false, opaque: true}}
  berry_bush:
    stock: {{item: berries, most: 3, ticks: 30, spread: 20}}

legend:
  ".": grass
  ",": sand
  "~": water
  "T": {{floor: grass, object: tree}}
  "b": {{floor: grass, object: berry_bush}}

agents:
  forager:
    cmd: [python, -m, tickmind.characters.forager_bt]
    per_process: 50

assignments:
  - match: {{type: forager}}
    use: forager

actors:
  - {{id: "entity:{{n}}", type: forager, tags: [npc], count: {actors}, inventory: {{berries: 1}}}}

map: |
"""
_LEAST_SIDE = 24
_GROWING, _WOODS = 6, 7  # purposes of the random numbers
_TREES_PERMILLE, _BUSHES_PERMILLE = 25, 60
_WOOD_PERCENT = 30  # trees in a wood
_SHORE = ((-1, 0), (1, 0), (0, -1), (0, 1))


def generate_island(seed: int, *, width: int = 128, height: int = 80, actors: int = 500) -> str:
    """Draw an island and return it as the text of a scenario file; the same arguments draw the same one."""
    dice = Dice(seed)
    canvas = Canvas(width, height, "~", least_side=_LEAST_SIDE)
    land = largest_part(_land(seed, width, height))
    woods = _patches(seed, width, height)
    for y, x in np.argwhere(land).tolist():
        if not all(land[y + dy, x + dx] for dx, dy in _SHORE):
            canvas[x, y] = ","
            continue
        chance = dice.below(1000)
        trees = 10 * _WOOD_PERCENT if woods[y, x] else _TREES_PERMILLE
        canvas[x, y] = "T" if chance < trees else "b" if chance < trees + _BUSHES_PERMILLE else "."
    return _HEAD.format(seed=seed, actors=actors) + canvas.text()


def _land(seed: int, width: int, height: int) -> "Bool":
    """Return random land, more likely near the middle, smoothed; none at the edge of the map."""
    keys = np.arange(width * height, dtype=np.int64)
    chance = (scatter(seed, _GROWING, 0, keys) % np.uint64(1000)).astype(np.float64).reshape(height, width) / 1000
    y, x = np.mgrid[0:height, 0:width]
    far = np.hypot((x - width / 2 + 0.5) / (width / 2), (y - height / 2 + 0.5) / (height / 2))
    land = smoothed(far + 0.6 * (chance - 0.5) < 0.85, edge=False)
    land[[0, -1], :] = False
    land[:, [0, -1]] = False
    return land


def _patches(seed: int, width: int, height: int) -> "Bool":
    keys = np.arange(width * height, dtype=np.int64)
    return smoothed((scatter(seed, _WOODS, 0, keys) % np.uint64(100) < 46).reshape(height, width), edge=False)

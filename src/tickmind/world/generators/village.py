"""Villages from a seed: houses with beds and chests, paths, ponds, trees and berry bushes."""

from tickmind.world.chance import Dice
from tickmind.world.generators.canvas import Canvas

_HEAD = """\
# A village, drawn from seed {seed}.
world: village-{seed}
seed: {seed}

rules:
  world_version: "1.0.0"
  sight_radius: 10
  hearing_radius: 8
  inventory_limit: 20
  needs: {{hunger_per_tick: 2, energy_per_tick: 1, rest_per_tick: 6, wake_energy: 200}}

floors:
  grass: {{}}
  path: {{}}
  planks: {{}}
  water: {{walkable: false, hazards: [deep]}}

items:
  berries: {{use: {{hunger: -150}}}}
  coin: {{}}
  wood: {{}}

kinds:
  bed: {{tags: [furniture]}}
  chair: {{tags: [furniture]}}
  wall: {{walkable: false, opaque: true}}
  berry_bush:
    stock: {{item: berries, most: 3, ticks: 30, spread: 20}}
  door:
    states:
      closed: {{walkable: false, opaque: true, actions: {{open: {{to: open}}}}}}
      open: {{actions: {{close: {{to: closed}}}}}}
  tree:
    states:
      standing: {{walkable: false, opaque: true, actions: {{chop: {{to: stump, work: 5, yields: {{wood: 2}}}}}}}}
      stump: {{change: {{to: standing, ticks: 300, spread: 100}}}}
  chest:
    states:
      closed: {{walkable: false, actions: {{open: {{to: open, work: 3, yields: {{coin: 5}}}}}}}}
      open: {{walkable: false}}

legend:
  ".": grass
  ":": path
  "_": planks
  "~": water
  "T": {{floor: grass, object: tree}}
  "b": {{floor: grass, object: berry_bush}}
  "w": {{floor: planks, object: wall}}
  "+": {{floor: planks, object: door}}
  "B": {{floor: planks, object: bed}}
  "c": {{floor: planks, object: chair}}
  "x": {{floor: planks, object: chest}}

actors:
  - {{id: "entity:{{n}}", type: villager, tags: [npc], count: {actors}, inventory: {{berries: 1}}}}

map: |
"""
_LEAST_SIDE = 16
_TRIES = 40  # for each house or pond; then the village is full


def generate_village(seed: int, *, width: int = 64, height: int = 48, houses: int = 8, actors: int = 12) -> str:
    """Draw a village and return it as the text of a scenario file; the same arguments draw the same one.

    Every house can be reached: nothing else is built around houses and ponds, and trees stand alone.
    """
    dice = Dice(seed)
    canvas = Canvas(width, height, ".", least_side=_LEAST_SIDE)
    canvas.frame("T")
    doors = [door for _ in range(houses) if (door := _build_house(canvas, dice)) is not None]
    for _ in range(max(1, width * height // 2000)):
        _dig_pond(canvas, dice)
    for x, y in doors:
        _lay_path(canvas, x, y, width // 2, height // 2)
    for y in range(3, height - 3, 3):
        for x in range(3, width - 3, 3):
            chance = dice.below(100)
            if canvas.only(".", x - 1, y - 1, 3, 3) and chance < 30:
                canvas[x, y] = "T" if chance < 20 else "b"
    return _HEAD.format(seed=seed, actors=actors) + canvas.text()


def _build_house(canvas: Canvas, dice: Dice) -> tuple[int, int] | None:
    """Build a house where there is room, and return its doorstep."""
    for _ in range(_TRIES):
        wide, high = dice.between(5, 8), dice.between(5, 7)
        x, y = dice.between(2, canvas.width - wide - 2), dice.between(2, canvas.height - high - 3)
        if not canvas.only(".", x - 1, y - 1, wide + 2, high + 3):
            continue
        for row in range(y, y + high):
            for column in range(x, x + wide):
                edge = row in (y, y + high - 1) or column in (x, x + wide - 1)
                canvas[column, row] = "w" if edge else "_"
        canvas[x + 1, y + 1] = "B"
        canvas[x + wide - 2, y + 1] = "x" if dice.below(2) else "B"
        canvas[x + wide - 2, y + high - 2] = "c"
        door = x + dice.between(1, wide - 3)
        canvas[door, y + high - 1] = "+"
        return door, y + high
    return None


def _dig_pond(canvas: Canvas, dice: Dice) -> None:
    """Dig a pond where there is room."""
    for _ in range(_TRIES):
        wide, high = dice.between(3, 6), dice.between(2, 4)
        x, y = dice.between(2, canvas.width - wide - 2), dice.between(2, canvas.height - high - 2)
        if canvas.only(".", x - 1, y - 1, wide + 2, high + 2):
            for row in range(y, y + high):
                for column in range(x, x + wide):
                    canvas[column, row] = "~"
            return


def _lay_path(canvas: Canvas, x: int, y: int, to_x: int, to_y: int) -> None:
    """Draw a path over the grass, first along the street, then towards the middle."""
    across = [(column, y) for column in range(min(x, to_x), max(x, to_x) + 1)]
    along = [(to_x, row) for row in range(min(y, to_y), max(y, to_y) + 1)]
    for at in across + along:
        if canvas[at] == ".":
            canvas[at] = ":"

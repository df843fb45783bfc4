"""The land and the bodies: positions, energy, thirst, grass, water. Rules only; minds are elsewhere."""

import math
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from tickmind.tick import SignalBus, TickContext, World

WIDTH, HEIGHT = 72, 26
PREDATOR, PREY = "predator", "prey"
OLDEST = {PREDATOR: 3000, PREY: 2000}  # ticks
FEWEST = {PREDATOR: 2, PREY: 8}  # with fewer, others come from outside


@dataclass
class Body:
    """Where a creature is, and how it fares. Energy and water run from 0 to 100; at 0 it dies."""

    kind: str
    x: float
    y: float
    energy: float = 60.0
    water: float = 60.0
    age: int = 0
    doing: str = ""
    goal_x: float = 0.0  # where it wanders to
    goal_y: float = 0.0


@dataclass
class Land:
    """The map: grass from 0 to 1 on each field, and ponds."""

    ponds: list[tuple[float, float, float]]  # x, y, radius
    wet: list[list[bool]] = field(default_factory=list)  # row, column
    grass: list[list[float]] = field(default_factory=list)  # row, column


def make_land(chance: random.Random) -> Land:
    """A land with some ponds, and grass everywhere else."""
    ponds = [
        (WIDTH * (n + 0.5) / 4 + chance.uniform(-5, 5), chance.uniform(4, HEIGHT - 4), chance.uniform(2, 3.5))
        for n in range(4)
    ]
    land = Land(ponds)
    land.wet = [[in_water(land, column, row) for column in range(WIDTH)] for row in range(HEIGHT)]
    land.grass = [[0.0 if wet else chance.uniform(0.8, 1.0) for wet in row] for row in land.wet]
    return land


def in_water(land: Land, x: float, y: float, margin: float = 0.0) -> bool:
    """Tell whether a place lies in a pond, or within a margin of one."""
    return any(math.hypot((x - px), (y - py) * 1.6) <= radius + margin for px, py, radius in land.ponds)


def distance(a: Body, b: Body) -> float:
    """How far two creatures are apart."""
    return math.hypot(a.x - b.x, a.y - b.y)


def step_towards(land: Land, body: Body, x: float, y: float, speed: float) -> bool:
    """Walk towards a place, round the water; tells whether it is reached."""
    gap = math.hypot(x - body.x, y - body.y)
    speed = min(gap, speed)
    if gap < 0.3:
        return True
    heading = math.atan2(y - body.y, x - body.x)
    for turn in (0.0, 0.6, -0.6, 1.2, -1.2, 1.9, -1.9):
        nx = min(max(body.x + speed * math.cos(heading + turn), 0), WIDTH - 1)
        ny = min(max(body.y + speed * math.sin(heading + turn), 0), HEIGHT - 1)
        if not in_water(land, nx, ny):
            body.x, body.y = nx, ny
            break
    return False


def spawn(world: World, kind: str, x: float, y: float, *extra: object) -> int:
    """Put a creature into the world."""
    return world.spawn(Body(kind, x, y, goal_x=x, goal_y=y), *extra)


class LifeSystem:
    """The reactive layer, what nature does each tick: metabolism, ageing, deaths, grass that grows back, newcomers."""

    def __init__(self, land: Land, bus: SignalBus, add: Callable[[World, str, float, float], int]) -> None:
        self.land = land
        self.bus = bus
        self.add = add

    def __call__(self, world: World, ctx: TickContext) -> None:
        """Let a tick pass."""
        self._grow(ctx.tick_number % HEIGHT)
        alive = Counter[str]()
        for eid, (body,) in world.query(Body):
            alive[body.kind] += 1
            body.age += 1
            body.energy -= 0.12 if body.kind == PREDATOR else 0.08
            body.water -= 0.10
            if body.energy <= 0 or body.water <= 0 or body.age > OLDEST[body.kind]:
                world.despawn(eid)
                why = "hunger" if body.energy <= 0 else "thirst" if body.water <= 0 else "old age"
                self.bus.publish("died", who=eid, kind=body.kind, why=why)
        for kind, least in FEWEST.items():
            if alive[kind] < least:
                newcomer = self.add(
                    world, kind, ctx.random.choice((0.0, WIDTH - 1.0)), ctx.random.uniform(0, HEIGHT - 1)
                )
                self.bus.publish("came", who=newcomer, kind=kind)

    def _grow(self, row: int) -> None:
        for column, amount in enumerate(self.land.grass[row]):
            if not self.land.wet[row][column]:
                self.land.grass[row][column] = min(1.0, amount + 0.08)

"""The tile world's inner loops beside Mesa: moving everybody, and a whole tick with sight."""

import time
from collections.abc import Callable

import mesa
import numpy as np
from mesa.space import SingleGrid
from numpy.typing import NDArray

from benchmarks.harness import Result, compare, paired
from tickmind.world.kernels import MoveScratch, Placed, Sight, resolve_moves, visible_pairs, warm_up

ACTORS = 100_000
SIDE = 1_000
DENSITY = ACTORS / SIDE**2
OPAQUE_SHARE = 0.12
MOVING_SHARE = 0.8
RADIUS = 12
WARM_UP = 30  # ticks after which masks of most tiles are known, as in a world that runs for long
PLANS = 16  # directions are drawn beforehand
PEER = "Mesa SingleGrid, one move"
TICK_LIMIT_MS = {10_000: 6.0, 100_000: 67.0}
GROWTH_BAR = 0.5  # our own: a large world no longer fits into the processor's caches
STEPS = [(0, -1), (1, -1), (1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1)]


class Crowd:
    """Actors at random places of a map with random walls, who walk at random."""

    def __init__(self, actors: int) -> None:
        side = round((actors / DENSITY) ** 0.5)
        rng = np.random.default_rng(1)
        opaque = rng.random((side, side)) < OPAQUE_SHARE
        tiles = rng.choice(np.flatnonzero(~opaque.ravel()), actors, replace=False)
        self.x, self.y = (tiles % side).astype(np.int32), (tiles // side).astype(np.int32)
        self.walkable = ~opaque
        self.occupancy = np.full((side, side), -1, dtype=np.int32)
        self.occupancy[self.y, self.x] = np.arange(actors)
        self.scratch = MoveScratch(side, side)
        self.sight = Sight(opaque, radius=RADIUS)
        self.placed = Placed(self.occupancy)
        self.plans = [self._plan(rng, actors) for _ in range(PLANS)]
        self.ticks = 0
        warm_up()

    @staticmethod
    def _plan(rng: np.random.Generator, actors: int) -> NDArray[np.int8]:
        directions = rng.integers(0, 8, actors).astype(np.int8)
        directions[rng.random(actors) >= MOVING_SHARE] = -1
        return directions

    def move(self) -> None:
        """Claims, conflicts and new places."""
        plan = self.plans[self.ticks % PLANS]
        self.ticks += 1
        resolve_moves(self.x, self.y, plan, self.walkable, self.occupancy, self.scratch)

    def tick(self) -> None:
        """The move, what everybody sees, and who sees whom."""
        self.move()
        masks = self.sight.look(self.x, self.y)
        self.placed.update(self.x, self.y)
        visible_pairs(self.x, self.y, masks, RADIUS, self.placed, own_tile=False)


class Walker(mesa.Agent):  # type: ignore[misc]  # Mesa has no types here
    """The peer's actor: one random step, if the tile is free."""

    def step(self) -> None:
        """Take it."""
        (x, y), (dx, dy) = self.pos, self.random.choice(STEPS)
        grid, to = self.model.grid, (x + dx, y + dy)
        if not grid.out_of_bounds(to) and grid.is_cell_empty(to):
            grid.move_agent(self, to)


def our_move() -> Callable[[], None]:
    """Our crowd, and its movement."""
    return Crowd(ACTORS).move


def our_tick() -> Callable[[], None]:
    """Our crowd, and its whole tick."""
    return Crowd(ACTORS).tick


def their_move() -> Callable[[], None]:
    """The same number of agents in Mesa, without walls, moved in random order as is customary there."""
    model = mesa.Model(seed=1)
    model.grid = SingleGrid(SIDE, SIDE, torus=False)
    for tile in model.random.sample(range(SIDE * SIDE), ACTORS):
        model.grid.place_agent(Walker(model), (tile % SIDE, tile // SIDE))
    return lambda: model.agents.shuffle_do("step")


def beside_mesa() -> list[Result]:
    """100,000 actors on 1000 x 1000 tiles: our move, and our tick with sight, beside Mesa's move alone."""
    return [
        compare("world/move", our_move, their_move, peer_name=PEER, bar=50.0, rounds=5),
        compare("world/tick", our_tick, their_move, peer_name=PEER, bar=8.0, rounds=5, warm_up=WARM_UP // 3),
    ]


def _tick_ms(crowd: Crowd, ticks: int, *, after: int) -> list[float]:
    """CPU time of each of some ticks after some others."""
    for _ in range(after):
        crowd.tick()
    times = []
    for _ in range(ticks):
        began = time.process_time()
        crowd.tick()
        times.append((time.process_time() - began) * 1e3)
    return times


def sizes() -> list[Result]:
    """A whole tick of 10,000 and of 100,000 actors within its limit, and what an actor costs among a million."""
    results = []
    for actors, limit_ms in TICK_LIMIT_MS.items():
        times = _tick_ms(Crowd(actors), 15, after=WARM_UP)
        limits = [limit_ms] * len(times)
        results.append(
            paired(f"world/tick-{actors // 1000}k", times, limits, unit="ms", peer_name="the limit", bar=1.0)
        )
    many = [took / 1e3 for took in _tick_ms(Crowd(1_000_000), 5, after=2)]
    few = _tick_ms(Crowd(1_000), 5, after=2)
    growth = paired("world/growth", many, few, unit="us/actor", peer_name="among 1,000", bar=GROWTH_BAR)
    return [*results, growth]


BENCHMARKS = (beside_mesa, sizes)

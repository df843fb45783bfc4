"""The tile world's inner loops beside Mesa: moving everybody, and a whole tick with sight."""

import time
from collections.abc import Callable

import mesa
import numpy as np
from mesa.space import SingleGrid
from numpy.typing import NDArray

from benchmarks.bakery import bakery
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
FEW, MANY = 1_000, 1_000_000
GROWTH_BAR = 0.5  # our own: a large world no longer fits into the processor's caches, and fewer stand near its edge
GROWTH_ROUNDS = 5
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

    def settle(self) -> None:
        """See from every tile once, so that all masks are known, as in a world that has run for very long."""
        tiles, step = self.occupancy.size, len(self.x)
        self.sight.look(self.x, self.y)
        for start in range(0, tiles, step):
            y, x = np.divmod(np.arange(start, start + step) % tiles, self.occupancy.shape[1])
            self.sight.look(x.astype(np.int32), y.astype(np.int32))

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
    """A whole tick of 10,000 and of 100,000 actors within its limit."""
    results = []
    for actors, limit_ms in TICK_LIMIT_MS.items():
        times = _tick_ms(Crowd(actors), 15, after=WARM_UP)
        limits = [limit_ms] * len(times)
        results.append(
            paired(f"world/tick-{actors // 1000}k", times, limits, unit="ms", peer_name="the limit", bar=1.0)
        )
    return results


def growth() -> list[Result]:
    """What an actor costs among a million and among a thousand, by turns; both worlds have run for long."""
    few, many = Crowd(FEW), Crowd(MANY)
    few.settle()
    many.settle()
    _tick_ms(few, 0, after=WARM_UP)
    _tick_ms(many, 0, after=2)
    costs: tuple[list[float], list[float]] = ([], [])  # microseconds for each actor: among many, among few
    for _ in range(GROWTH_ROUNDS):
        costs[0].extend(took * 1e3 / MANY for took in _tick_ms(many, 1, after=0))
        costs[1].append(sum(_tick_ms(few, 300, after=0)) / 300 * 1e3 / FEW)
    return [paired("world/growth", *costs, unit="us/actor", peer_name="among 1,000", bar=GROWTH_BAR)]


BENCHMARKS = (beside_mesa, sizes, growth, bakery)

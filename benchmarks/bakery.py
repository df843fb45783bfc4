"""A bakery for everybody: 10,000 actors gather, grind, bake, fill stalls, buy and eat, by the world's own rules."""

import gc
import time

from benchmarks.harness import Result, paired
from tickmind.protocol import Buy, Direction, Intent, Interact, Move, Pickup, Put, Use, Wait
from tickmind.world import TileWorld, parse_scenario

ACTORS = 10_000
LIMITS_MS = {"rules": 10.0, "sight": 20.0}
TICKS = 53
WARM_UP = 106
ACROSS = 100  # plots in a row

HEAD = """\
world: bakeries
rules: {inventory_limit: 40, sight_radius: 8, needs: {starvation: false}}
floors: {grass: {}}
items: {grain: {}, flour: {}, bread: {use: {hunger: -300}}, coin: {}}
kinds:
  field: {stock: {item: grain, most: 9, ticks: 8, spread: 4}}
  mill: {walkable: false, actions: {grind: {work: 2, consumes: {grain: 2}, yields: {flour: 1}}}}
  oven: {walkable: false, actions: {bake: {work: 3, consumes: {flour: 1}, yields: {bread: 2}}}}
  stall: {walkable: false, holds: 60, sells: {bread: {coin: 1}}, buys: {bread: {coin: 1}}}
legend:
  ".": grass
  "f": {floor: grass, object: field, actor: {type: baker, inventory: {coin: 10, grain: 4}}}
  "M": {floor: grass, object: mill}
  "O": {floor: grass, object: oven}
  "S": {floor: grass, object: stall, contents: {bread: 10}}
map: |
"""
PLOT = ("M.O.....", ".f......", "S.......", *["........"] * 5)  # an actor stands beside all that it works with
WAY = [way for way in (Direction.E, Direction.S, Direction.W, Direction.N) for _ in range(5)]  # around its plot


def scenario_text(actors: int) -> str:
    """A map of equal plots, one for each actor."""
    rows = ["  " + line * ACROSS for _ in range(actors // ACROSS) for line in PLOT]
    return HEAD + "\n".join(rows) + "\n"


def round_of(number: int) -> list[Intent]:
    """What an actor does over and over: work, trade, eat, and a walk between them."""
    mill, oven, stall = f"mill:{number}", f"oven:{number}", f"stall:{number}"
    return [
        Pickup("grain", 2),
        *[Interact(mill, "grind")] * 2,
        *map(Move, WAY),
        *[Interact(oven, "bake")] * 3,
        Put(stall, "bread"),
        Wait(),
        *map(Move, WAY),
        Buy(stall, "bread"),
        Use("bread"),
        Wait(),
    ]


class Bakeries:
    """The world with its actors, each some steps behind the one before in its round."""

    def __init__(self, actors: int) -> None:
        self.world = TileWorld.from_scenario(parse_scenario(scenario_text(actors)))
        rounds = [round_of(number + 1) for number in range(actors)]
        self.length = len(rounds[0])
        self.plans = [self.world.compile(_plan(rounds, tick)) for tick in range(2 * self.length)]
        self.done = self.tried = 0

    def tick(self) -> tuple[float, float]:
        """Resolve a tick, and return the CPU times of its rules and of what all perceive then, in milliseconds."""
        number = self.world.tick_id - 1
        plan = self.plans[number if number < self.length else self.length + number % self.length]
        began = time.process_time()
        record = self.world.step(plan)
        resolved = time.process_time()
        self.world.observe_columns()
        seen = time.process_time()
        self.tried += len(record.results)
        self.done += int((record.results.reason == 0).sum())
        return (resolved - began) * 1e3, (seen - resolved) * 1e3


def _plan(rounds: list[list[Intent]], tick: int) -> dict[int, Intent]:
    """What all do in a tick; an actor waits until it is its turn to begin its first round."""
    length = len(rounds[0])
    return {row: steps[(tick - row) % length] if tick >= row % length else Wait() for row, steps in enumerate(rounds)}


def bakery() -> list[Result]:
    """The rules of a tick of 10,000 bakers, and the sight of all of them, each within its limit."""
    bakeries = Bakeries(ACTORS)
    for _ in range(WARM_UP):
        bakeries.tick()
    bakeries.done = bakeries.tried = 0
    gc.collect()
    gc.disable()  # a served world, too, collects between its ticks
    try:
        times = [bakeries.tick() for _ in range(TICKS)]
    finally:
        gc.enable()
    if bakeries.done < 0.9 * bakeries.tried:
        raise RuntimeError(f"only {bakeries.done:,} of {bakeries.tried:,} actions worked; the scenario is broken")
    return [
        paired(f"world/bakery-{part}-10k", took, [limit_ms] * TICKS, unit="ms", peer_name="the limit", bar=1.0)
        for (part, limit_ms), took in zip(LIMITS_MS.items(), map(list, zip(*times, strict=True)), strict=True)
    ]

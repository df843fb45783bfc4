"""The smallest world: two things that move, ten times a second.

python examples/01_first_tick.py
"""

import argparse
from dataclasses import dataclass

from tickmind.tick import Engine, TickContext, World


@dataclass
class Position:
    """Where a thing is."""

    x: float
    y: float


@dataclass
class Velocity:
    """How far it moves in a second."""

    dx: float
    dy: float


def move(world: World, ctx: TickContext) -> None:
    """Let everything that has a velocity move for one tick."""
    for _, (position, velocity) in world.query(Position, Velocity):
        position.x += velocity.dx * ctx.dt
        position.y += velocity.dy * ctx.dt


def report(world: World, ctx: TickContext) -> None:
    """Say once a second where everything is."""
    if ctx.tick_number % 10 == 0:
        where = ", ".join(f"{eid}: ({p.x:.1f}, {p.y:.1f})" for eid, (p,) in world.query(Position))
        print(f"tick {ctx.tick_number:3}  {where}")


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ticks", type=int, default=50, help="how many ticks to run (default: 50)")
    options = parser.parse_args()

    engine = Engine(tps=10, seed=1)
    engine.world.spawn(Position(0, 0), Velocity(1, 0.5))
    engine.world.spawn(Position(9, 9), Velocity(-2, 0))
    engine.world.spawn(Position(5, 5))  # no velocity: it stays
    engine.add_system(move)
    engine.add_system(report)
    engine.run(options.ticks)

    saved = engine.snapshot()
    print(f"A snapshot of tick {saved['tick']} holds {len(saved['world']['entities'])} entities.")


if __name__ == "__main__":
    main()

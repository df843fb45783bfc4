"""The arena: predators, prey, water and energy, live in the terminal, with tactical AI alone.

python examples/04_arena.py            watch it until Ctrl-C
python examples/04_arena.py --ticks 600 --seed 7
python examples/04_arena.py --ticks 900 --picture arena.svg
"""

import argparse
import contextlib
import time
from pathlib import Path

from arena.land import HEIGHT, PREDATOR, PREY, WIDTH, LifeSystem, make_land
from arena.minds import add, minds
from arena.screen import Screen, save_picture
from rich.console import Console
from rich.live import Live

from tickmind.ai import make_bt_system
from tickmind.tick import Engine, SignalBus, TickContext, World, make_signal_system


def build(seed: int, tps: float) -> tuple[Engine, Screen]:
    """Put the arena together: signals first, then minds, then nature."""
    engine = Engine(tps=tps, seed=seed)
    bus = SignalBus()
    land = make_land(engine.random)
    ai = minds(land, bus)
    engine.add_system(make_signal_system(bus))
    engine.add_system(make_bt_system(ai))
    engine.add_system(LifeSystem(land, bus, add))
    for kind, number in ((PREDATOR, 5), (PREY, 40)):
        for _ in range(number):
            add(engine.world, kind, engine.random.uniform(0, WIDTH - 1), engine.random.uniform(0, HEIGHT - 1))
    screen = Screen(engine, land, ai, bus)
    engine.add_system(screen.remember)
    return engine, screen


def main() -> None:
    """Run it: live on a terminal, otherwise as fast as possible with a picture at the end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ticks", type=int, help="stop after so many ticks (default: run until Ctrl-C)")
    parser.add_argument("--seed", type=int, default=11, help="the same seed gives the same arena (default: 11)")
    parser.add_argument("--picture", type=Path, help="draw no screen, but write the last one to this SVG file")
    parser.add_argument("--tps", type=float, default=20, help="ticks per second (default: 20)")
    options = parser.parse_args()
    console = Console()
    engine, screen = build(options.seed, options.tps)
    if options.picture or not console.is_terminal:
        began = time.perf_counter()
        ticks = options.ticks or 600
        engine.run(ticks)
        spent = time.perf_counter() - began
        if options.picture:
            save_picture(screen.draw(), "tickmind: the arena", options.picture)
            print(f"The screen of tick {ticks} is in {options.picture}.")
            return
        console.print(screen.draw_land())
        console.print(screen.draw_figures())
        print(f"{ticks} ticks in {spent:.1f} s; seed {engine.seed}")
        return

    live = Live(console=console, screen=True, auto_refresh=False)

    def show(_world: World, ctx: TickContext) -> None:
        if ctx.tick_number % 3 == 0:
            live.update(screen.draw(), refresh=True)
        if ctx.tick_number == options.ticks:
            ctx.request_stop()

    engine.add_system(show)
    with contextlib.suppress(KeyboardInterrupt), live:  # Ctrl-C is how one leaves
        engine.run_forever()
    now = screen.population()
    print(f"After {engine.tick_number} ticks: {now[PREY]} prey, {now[PREDATOR]} predators; seed {engine.seed}.")


if __name__ == "__main__":
    main()

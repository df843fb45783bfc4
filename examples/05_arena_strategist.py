"""The arena with predators that deliberate: a model decides now and then, behaviour trees act every tick.

python examples/05_arena_strategist.py                     watch it until Ctrl-C; a mock answers
python examples/05_arena_strategist.py --outage 100:200    pull the plug on the model: the hunt goes on
python examples/05_arena_strategist.py --model             ask the model of LLM_BASE_URL, LLM_API_KEY, LLM_MODEL
python examples/05_arena_strategist.py --local             ask the model on this machine
python examples/05_arena_strategist.py --ticks 900 --picture strategist.svg
"""

import argparse
import contextlib
import logging
import sys
import time
from pathlib import Path

from arena.land import HEIGHT, PREDATOR, PREY, WIDTH, LifeSystem, make_land
from arena.models import Answers, chosen_model
from arena.oracle import Plug, PluggedAsyncClient, PluggedClient, mock_model
from arena.screen import save_picture
from arena.strategist import Pack, strategist_minds
from arena.strategist_screen import StrategistScreen
from rich.console import Console
from rich.live import Live

from tickmind.ai import make_bt_system
from tickmind.base import SystemClock, TickmindError
from tickmind.strategy import LLMConfig, LLMSystem, make_llm_system
from tickmind.strategy.testing import SimulatedClock, make_simulated_system
from tickmind.tick import Engine, SignalBus, TickContext, World, make_signal_system

MOCK_LIMITS = LLMConfig(
    max_queries_per_tick=12, max_queries_per_second=12, thread_pool_size=12, query_timeout=2.5, token_budget=1500
)


def build(
    seed: int, tps: float, outage: range, model: Answers | None = None, *, simulated: bool = False
) -> tuple[Engine, StrategistScreen]:
    """Put the arena together: signals first, then strategy, then tactics, then nature."""
    engine = Engine(tps=tps, seed=seed)
    clock = SimulatedClock() if simulated else SystemClock()
    bus, plug = SignalBus(), Plug(outage)
    land = make_land(engine.random)
    pack = Pack(land, bus, model.limits if model else MOCK_LIMITS, query_interval=100 if model else 40)
    pack.count_catches(engine.world)
    if model:
        pack.manager.register_client(PluggedAsyncClient(model.client, plug))
    else:
        pack.manager.register_client(PluggedClient(mock_model(seed, clock), plug, clock))
    ai = strategist_minds(land, bus, pack)
    system: LLMSystem = (
        make_simulated_system(pack.manager, clock)
        if isinstance(clock, SimulatedClock)
        else make_llm_system(pack.manager, clock=clock)
    )
    for part in (
        plug,
        make_signal_system(bus),
        pack,
        system,
        make_bt_system(ai),
        LifeSystem(land, bus, pack.add),
    ):
        engine.add_system(part)
    engine.on_stop(system.shutdown)
    for kind, number in ((PREDATOR, 5), (PREY, 40)):
        for _ in range(number):
            pack.add(engine.world, kind, engine.random.uniform(0, WIDTH - 1), engine.random.uniform(0, HEIGHT - 1))
    screen = StrategistScreen(engine, land, ai, bus, pack, system, plug)
    if model:
        screen.model = model.name
    engine.add_system(screen.remember)
    return engine, screen


def read_outage(text: str) -> range:
    """Read FROM:TO, in ticks."""
    first, _, last = text.partition(":")
    try:
        return range(int(first), int(last))
    except ValueError:
        raise argparse.ArgumentTypeError(f"an outage is FROM:TO in ticks, such as 100:200, not {text!r}") from None


def main() -> None:
    """Run it: live on a terminal, otherwise without a screen and with a summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ticks", type=int, help="stop after so many ticks (default: run until Ctrl-C)")
    parser.add_argument("--seed", type=int, default=11, help="the same seed gives the same arena (default: 11)")
    parser.add_argument("--picture", type=Path, help="draw no screen, but write the last one to this SVG file")
    parser.add_argument("--tps", type=float, default=20, help="ticks per second (default: 20)")
    parser.add_argument("--outage", type=read_outage, default=range(0), help="no model from tick FROM until TO")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--model", action="store_true", help="ask the configured endpoint instead of the mock")
    which.add_argument("--local", action="store_true", help="ask the model on this machine instead of the mock")
    options = parser.parse_args()
    try:
        with chosen_model(endpoint=options.model, local=options.local) as model:
            run(options, model)
    except TickmindError as error:
        sys.exit(f"{error}")


def run(options: argparse.Namespace, model: Answers | None) -> None:
    """Run the arena as the options say."""
    logging.getLogger("tickmind.strategy").setLevel(logging.ERROR)  # what goes wrong is on the screen
    console = Console()
    live = console.is_terminal and not options.picture
    engine, screen = build(options.seed, options.tps, options.outage, model, simulated=not live and model is None)
    if live:
        screen.width = max(40, console.width - WIDTH - 8)
    ticks = options.ticks if live else options.ticks or 600
    display = Live(console=console, screen=True, auto_refresh=False) if live else contextlib.nullcontext()

    def after_tick(_world: World, ctx: TickContext) -> None:
        if isinstance(display, Live) and ctx.tick_number % 3 == 0:
            display.update(screen.draw(), refresh=True)
        if ctx.tick_number == ticks:
            if options.picture:
                save_picture(screen.draw(), "tickmind: predators that deliberate", options.picture, height=36)
            ctx.request_stop()

    engine.add_system(after_tick)
    began = time.perf_counter()
    with contextlib.suppress(KeyboardInterrupt), display:  # Ctrl-C is how one leaves
        if live or model:
            engine.run_forever()  # a model answers in real time, so the world runs in it too
        else:
            engine.run(ticks)
    spent = time.perf_counter() - began
    if options.picture:
        print(f"The screen of tick {engine.tick_number} is in {options.picture}.")
    print(screen.summary())
    print(f"{engine.tick_number} ticks in {spent:.1f} s; seed {engine.seed}")


if __name__ == "__main__":
    main()

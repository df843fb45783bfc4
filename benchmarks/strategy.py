"""What the strategic layer adds to a tick: with nobody due, with many due, and with every client hung.

There is no peer to compare with, so each figure stands beside the limit that the project sets itself.
"""

import gc
import logging
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.harness import Result, paired
from tickmind.ai import Blackboard
from tickmind.strategy import LLMAgent, LLMConfig, LLMManager, LLMSystem, make_directive_parser, make_llm_system
from tickmind.tick import Engine, TickContext, World

FEW_AGENTS, MANY_AGENTS = 1_000, 100_000
IDLE_TICKS = 2_000  # for each number of agents, by turns
IDLE_LIMIT_MS = 0.1
GROWTH_BAR = 0.8  # a hundred times the agents may cost a quarter more, because they don't fit the processor's cache
DUE = 100
DUE_TICKS = 200
DUE_LIMIT_MS = 1.0
HUNG_TICKS = 10_000
HUNG_TPS = 1_000
HUNG_LIMIT_MS = 1.0
BACK_LIMIT_S = 1.0


class Switchable:
    """A client that answers at once, or not until the provider is back."""

    def __init__(self) -> None:
        self.back = threading.Event()
        self.back.set()

    def query(self, _system_prompt: str, _user_message: str) -> str:
        """Answer when that is possible."""
        self.back.wait()
        return '{"goal": "hunt", "stance": "calm"}'


class Timed:
    """A system and how long it took in each tick, in milliseconds."""

    def __init__(self, system: LLMSystem) -> None:
        self.system = system
        self.took_ms: list[float] = []

    def __call__(self, world: World, ctx: TickContext) -> None:
        """Let one tick pass."""
        began = time.perf_counter()
        self.system(world, ctx)
        self.took_ms.append((time.perf_counter() - began) * 1e3)


@contextmanager
def _arena(
    client: Switchable, agents: int, *, interval: int, tps: float = 20, config: LLMConfig | None = None
) -> Iterator[tuple[Engine, Timed]]:
    manager = LLMManager(config)
    manager.define_role("wolf", "You are a wolf. " * 20)
    manager.define_personality("sly", "You are sly. " * 20)
    manager.define_context("here", lambda _world, eid: f"You are {eid}. " * 20)
    manager.define_parser("directives", make_directive_parser(["goal", "stance"]))
    manager.register_client(client)
    engine = Engine(tps=tps, seed=1)
    with make_llm_system(manager) as system:
        timed = Timed(system)
        engine.add_system(timed)
        for _ in range(agents):
            agent = LLMAgent("wolf", "sly", "here", "directives", query_interval=interval, max_retries=1_000_000)
            engine.world.spawn(agent, Blackboard())
        engine.step()
        timed.took_ms.clear()
        yield engine, timed


def idle() -> list[Result]:
    """100,000 agents of which none is due."""
    with (
        _arena(Switchable(), FEW_AGENTS, interval=10_000_000) as (few, few_timed),
        _arena(Switchable(), MANY_AGENTS, interval=10_000_000) as (many, many_timed),
    ):
        gc.collect()
        for _ in range(IDLE_TICKS):
            few.step()
            many.step()
    small, large = few_timed.took_ms, many_timed.took_ms
    return [
        _within("strategy/idle", large, IDLE_LIMIT_MS),
        paired("strategy/idle-growth", large, small, unit="ms", peer_name="1,000 agents", bar=GROWTH_BAR),
    ]


def due() -> list[Result]:
    """100 agents due in each tick: assembly, dispatch and harvest of all, for each of them."""
    config = LLMConfig(max_queries_per_tick=DUE, max_queries_per_second=1_000_000)
    with _arena(Switchable(), DUE, interval=1, config=config) as (engine, timed):
        for _ in range(DUE_TICKS):
            _until_all_are_in(timed.system)
            engine.step()
        assert timed.system.statistics().answered >= DUE * DUE_TICKS
    return [_within("strategy/due", [took_ms / DUE for took_ms in timed.took_ms], DUE_LIMIT_MS)]


def hung() -> list[Result]:
    """Every client hung for 10,000 ticks at 1,000 ticks per second, and then back."""
    logging.getLogger("tickmind.strategy").setLevel(logging.ERROR)  # each thread that hangs is a warning
    client = Switchable()
    client.back.clear()
    config = LLMConfig(max_queries_per_tick=2, max_queries_per_second=2 * HUNG_TPS, query_timeout=0.5)
    with _arena(client, FEW_AGENTS, interval=20, tps=HUNG_TPS, config=config) as (engine, timed):
        engine.add_system(lambda _world, ctx: ctx.request_stop() if ctx.tick_number >= HUNG_TICKS else None)
        engine.run_forever()
        p99 = statistics.quantiles(timed.took_ms, n=100)[98]
        assert timed.system.statistics().answered == 0
        client.back.set()
        back_s = _seconds_to_an_answer(engine)
    return [
        _within("strategy/hung-p99", [p99], HUNG_LIMIT_MS),
        _within("strategy/back", [back_s], BACK_LIMIT_S, "s"),
    ]


def _until_all_are_in(system: LLMSystem) -> None:
    while len(system._workers._done) < len(system._flights):  # noqa: SLF001  the time between ticks is not measured
        time.sleep(0.0005)


def _seconds_to_an_answer(engine: Engine) -> float:
    began = time.perf_counter()
    while not any(board.data for _, (board,) in engine.world.query(Blackboard)):
        time.sleep(engine.dt)
        engine.step()
    return time.perf_counter() - began


def _within(name: str, figures: list[float], limit: float, unit: str = "ms") -> Result:
    return paired(name, figures, [limit] * len(figures), unit=unit, peer_name="the limit", bar=1.0)


BENCHMARKS = (idle, due, hung)

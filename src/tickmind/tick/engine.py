"""`Engine`: runs systems in order, once per tick, on time."""

import os
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from tickmind.base import Clock, ConfigError, SystemClock
from tickmind.tick.context import System, TickContext
from tickmind.tick.errors import SnapshotError, SystemFailedError, TickError
from tickmind.tick.hooks import call_all, checked, raise_first, without
from tickmind.tick.snapshot import check_format
from tickmind.tick.world import World

ENGINE_FORMAT = 1
EngineHook = Callable[[World, TickContext], None]
OverrunHook = Callable[[int, float], None]

S = TypeVar("S", bound=System)
H = TypeVar("H", bound=EngineHook)
LateHook = TypeVar("LateHook", bound=OverrunHook)


@dataclass(frozen=True, slots=True)
class EngineStatistics:
    """The timing of `run_forever`."""

    overruns: int = 0  # ticks that ended after the next one was due
    worst_overrun_s: float = 0.0  # how long after
    slipped_s: float = 0.0  # time dropped because catching up would have taken too many ticks


class Engine:
    """Run systems over a world, `tps` times a second or as fast as possible.

    `seed` makes random numbers repeat; without one it is drawn and shown as `engine.seed`. After an overrun
    `run_forever` catches up by not sleeping; if it is more than `max_catch_up_ticks` behind it drops the rest of the
    time, so a long stall is not followed by a burst of ticks. No tick number is ever skipped. Raises `ConfigError`
    unless `tps` is more than 0 and at most 1,000,000.

        >>> engine = Engine(tps=20, seed=7)
        >>> _ = engine.add_system(lambda world, ctx: print(f"tick {ctx.tick_number}, {ctx.dt} s long"))
        >>> engine.run(2)
        tick 1, 0.05 s long
        tick 2, 0.05 s long
    """

    def __init__(
        self, tps: float = 20, seed: int | None = None, *, clock: Clock | None = None, max_catch_up_ticks: int = 10
    ) -> None:
        if not 0 < tps <= 1_000_000:
            raise ConfigError(f"tps (ticks per second) must be more than 0 and at most 1,000,000, not {tps!r}")
        self.world = World()
        self.tps = tps
        self.dt = 1.0 / tps
        self.seed = int.from_bytes(os.urandom(8), "big") if seed is None else seed
        self.random = random.Random(self.seed)
        self._clock = clock or SystemClock()
        self._max_catch_up_s = max_catch_up_ticks * self.dt
        self._tick_number = 0
        self._ticking = False
        self._stop_requested = False
        self._systems: list[System] = []
        self._start_hooks: list[EngineHook] = []
        self._stop_hooks: list[EngineHook] = []
        self._overrun_hooks: list[OverrunHook] = []
        self._statistics = EngineStatistics()

    def __repr__(self) -> str:
        return f"<Engine at tick {self._tick_number}, {self.tps:g} ticks per second, {len(self._systems)} systems>"

    @property
    def tick_number(self) -> int:
        """The number of the last tick that was begun; 0 before the first."""
        return self._tick_number

    def statistics(self) -> EngineStatistics:
        """Return how well `run_forever` has kept time so far."""
        return self._statistics

    # Systems and hooks; each of these methods returns its argument, so that it works as a decorator

    def add_system(self, system: S) -> S:
        """Add a system; they run in the order in which they were added, a new one from the next tick on.

        Raises `ConfigError` for an `async def`, a class, or anything not callable.
        """
        self._systems.append(checked(system, "the system"))
        return system

    def remove_system(self, system: System) -> None:
        """Undo `add_system` from the next tick on; ignores an unknown system."""
        if system in self._systems:
            self._systems.remove(system)

    def on_start(self, hook: H) -> H:
        """Call `hook(world, ctx)` when `run` or `run_forever` begins."""
        self._start_hooks.append(checked(hook, "the start hook"))
        return hook

    def off_start(self, hook: EngineHook) -> None:
        """Undo `on_start`; ignores an unknown hook."""
        self._start_hooks = without(self._start_hooks, hook)

    def on_stop(self, hook: H) -> H:
        """Call `hook(world, ctx)` when `run` or `run_forever` ends, also when it ends with an error.

        All stop hooks run, also after one has raised. The first error of the run is raised, with a note for each of
        the others. The engine can run again afterwards.
        """
        self._stop_hooks.append(checked(hook, "the stop hook"))
        return hook

    def off_stop(self, hook: EngineHook) -> None:
        """Undo `on_stop`; ignores an unknown hook."""
        self._stop_hooks = without(self._stop_hooks, hook)

    def on_overrun(self, hook: LateHook) -> LateHook:
        """Call `hook(tick_number, late_s)` when a tick of `run_forever` took longer than there was time."""
        self._overrun_hooks.append(checked(hook, "the overrun hook"))
        return hook

    def off_overrun(self, hook: OverrunHook) -> None:
        """Undo `on_overrun`; ignores an unknown hook."""
        self._overrun_hooks = without(self._overrun_hooks, hook)

    # Running

    def step(self) -> None:
        """Run one tick, without the start and stop hooks."""
        self._stop_requested = False
        self._tick()

    def run(self, n: int) -> None:
        """Run n ticks as fast as possible, or fewer if a system requests a stop."""
        self._run(range(n))

    def run_forever(self) -> None:
        """Run on time until a system requests a stop; Ctrl-C stops it too, after the stop hooks."""
        self._run(self._due_ticks())

    def _run(self, turns: Iterable[object]) -> None:
        self._stop_requested = False
        errors: list[BaseException] = []
        try:
            for hook in tuple(self._start_hooks):
                hook(self.world, self._context())
            for _ in turns if not self._stop_requested else ():
                self._tick()
                if self._stop_requested:
                    break
        except BaseException as error:  # noqa: BLE001  raised below, after the stop hooks
            errors.append(error)
        errors.extend(call_all(self._stop_hooks, self.world, self._context()))
        raise_first(errors)

    def _due_ticks(self) -> Iterator[None]:
        """Yield when the next tick is due. The time table is fixed at the start, so lateness does not add up."""
        due = self._clock.monotonic()
        while True:
            yield
            due += self.dt
            late = self._clock.monotonic() - due
            if late <= 0:
                self._clock.sleep(-late)
            else:
                due += self._overrun(late)

    def _overrun(self, late: float) -> float:
        """Report a tick that took too long; return by how much the time table slips."""
        slip = max(0.0, late - self._max_catch_up_s)
        known = self._statistics
        self._statistics = EngineStatistics(
            known.overruns + 1, max(known.worst_overrun_s, late), known.slipped_s + slip
        )
        raise_first(call_all(self._overrun_hooks, self._tick_number, late))
        return slip

    def _tick(self) -> None:
        if self._ticking:
            raise TickError("a system must not step the engine that runs it; leave the next tick to the caller")
        self._ticking = True
        self._tick_number += 1
        context = self._context()
        try:
            for system in tuple(self._systems):
                try:
                    system(self.world, context)
                except Exception as error:
                    name = getattr(system, "__name__", type(system).__name__)
                    raise SystemFailedError(self._tick_number, name, error) from error
        finally:
            self._ticking = False

    def _context(self) -> TickContext:
        return TickContext(self._tick_number, self.dt, self._tick_number * self.dt, self._request_stop, self.random)

    def _request_stop(self) -> None:
        self._stop_requested = True

    def snapshot(self) -> dict[str, Any]:
        """Return the tick, the random generator and the world as plain data; systems and hooks are not in it."""
        version, state, gauss_next = self.random.getstate()
        return {
            "format": ENGINE_FORMAT,
            "tick": self._tick_number,
            "tps": self.tps,
            "seed": self.seed,
            "random": [version, list(state), gauss_next],
            "world": self.world.snapshot(),
        }

    def restore(self, data: dict[str, Any]) -> None:
        """Continue from a snapshot; on an error, also of a restore hook, the engine stays as it was.

        Raises `SnapshotError` if the snapshot is damaged or was made at another `tps`.
        """
        check_format(data, "engine", ENGINE_FORMAT)
        if data.get("tps") != self.tps:
            raise SnapshotError(
                f"the snapshot was made at {data.get('tps')} ticks per second and this engine runs at {self.tps}; "
                "make the engine with the same tps"
            )
        chance = random.Random()
        try:
            tick, seed = int(data["tick"]), int(data["seed"])
            version, state, gauss_next = data["random"]
            chance.setstate((version, tuple(state), gauss_next))
            world = data["world"]
        except (KeyError, TypeError, ValueError) as error:
            raise SnapshotError(f"the snapshot is damaged: {type(error).__name__}: {error}") from error
        before = self._tick_number, self.seed, self.random.getstate()
        try:
            self._tick_number, self.seed = tick, seed
            self.random.setstate(chance.getstate())
            self.world.restore(world)
        except BaseException:
            self._tick_number, self.seed = before[:2]
            self.random.setstate(before[2])
            raise

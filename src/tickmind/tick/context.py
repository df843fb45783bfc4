"""`TickContext`: what a system knows about the tick that it runs in."""

import random as _random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tickmind.tick.world import World


@dataclass(frozen=True, slots=True)
class TickContext:
    """The current tick. `elapsed` is simulated time, `random` the engine's own seeded generator."""

    tick_number: int  # the first tick is 1
    dt: float  # seconds per tick
    elapsed: float  # tick_number * dt
    request_stop: Callable[[], None]  # the engine stops after this tick
    random: _random.Random


System = Callable[["World", TickContext], None]

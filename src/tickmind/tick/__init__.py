"""A small tick engine: entities, components, systems, on time and repeatable."""

from tickmind.tick.blueprints import BlueprintRegistry, Recipe
from tickmind.tick.context import System, TickContext
from tickmind.tick.engine import Engine, EngineStatistics
from tickmind.tick.errors import (
    DeadEntityError,
    MissingComponentError,
    SnapshotError,
    SystemFailedError,
    TickError,
)
from tickmind.tick.filters import AnyOf, Not
from tickmind.tick.signals import SignalBus, SignalStatistics, make_signal_system
from tickmind.tick.world import World

__all__ = [
    "AnyOf",
    "BlueprintRegistry",
    "DeadEntityError",
    "Engine",
    "EngineStatistics",
    "MissingComponentError",
    "Not",
    "Recipe",
    "SignalBus",
    "SignalStatistics",
    "SnapshotError",
    "System",
    "SystemFailedError",
    "TickContext",
    "TickError",
    "World",
    "make_signal_system",
]

"""A small tick engine: entities, components and systems, on time and reproducible."""

from tickmind.tick.blueprints import BlueprintRegistry, Recipe
from tickmind.tick.codec import Migration
from tickmind.tick.context import System, TickContext
from tickmind.tick.engine import Engine, EngineHook, EngineStatistics, OverrunHook
from tickmind.tick.errors import (
    DeadEntityError,
    MissingComponentError,
    SnapshotError,
    SystemFailedError,
    TickError,
)
from tickmind.tick.filters import AnyOf, Not, QueryTerm
from tickmind.tick.signals import SignalBus, SignalHandler, SignalStatistics, make_signal_system
from tickmind.tick.world import ComponentHook, Filter, RestoreHook, World

__all__ = [
    "AnyOf",
    "BlueprintRegistry",
    "ComponentHook",
    "DeadEntityError",
    "Engine",
    "EngineHook",
    "EngineStatistics",
    "Filter",
    "Migration",
    "MissingComponentError",
    "Not",
    "OverrunHook",
    "QueryTerm",
    "Recipe",
    "RestoreHook",
    "SignalBus",
    "SignalHandler",
    "SignalStatistics",
    "SnapshotError",
    "System",
    "SystemFailedError",
    "TickContext",
    "TickError",
    "World",
    "make_signal_system",
]

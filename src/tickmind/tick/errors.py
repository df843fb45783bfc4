"""The errors of the engine.

TickError
├── DeadEntityError         the entity is not alive (also a KeyError)
├── MissingComponentError   the entity lives but has no such component (also a KeyError)
├── SystemFailedError       a system raised; says which one and in which tick
└── SnapshotError           a world can't be written to a snapshot, or a snapshot can't be read
"""

from tickmind.base import TickmindError, error_text


class TickError(TickmindError):
    """The base of the engine's errors."""


class DeadEntityError(TickError, KeyError):
    """The entity is not alive: it was despawned, or never spawned."""

    def __init__(self, entity_id: int, wanted: str) -> None:
        self.entity_id = entity_id
        self.wanted = wanted
        super().__init__(f"entity {entity_id} is not alive, so {wanted}")

    def __str__(self) -> str:  # KeyError would show the message in quotes
        return str(self.args[0])


class MissingComponentError(TickError, KeyError):
    """The entity lives but has no component of that type; `world.has` checks without raising."""

    def __init__(self, entity_id: int, component_type: type) -> None:
        self.entity_id = entity_id
        self.component_type = component_type
        super().__init__(f"entity {entity_id} has no {component_type.__qualname__}")

    def __str__(self) -> str:  # KeyError would show the message in quotes
        return str(self.args[0])


class SystemFailedError(TickError):
    """A system raised. The tick counts as run: the next step is the one after it. `__cause__` is what was raised."""

    def __init__(self, tick_number: int, system: str, cause: BaseException) -> None:
        self.tick_number = tick_number
        self.system = system
        super().__init__(f"tick {tick_number}: system {system} raised {error_text(cause)}")


class SnapshotError(TickError):
    """A world can't be written to a snapshot, or a snapshot can't be read. The world is as it was."""

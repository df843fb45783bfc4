"""`Not` and `AnyOf`: filters that narrow a query without adding to what it yields."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Not:
    """Leave out entities that have this component."""

    component_type: type


@dataclass(frozen=True, slots=True, init=False)
class AnyOf:
    """Keep entities that have at least one of these components.

    Raises `ValueError` without a component type.

    >>> from tickmind.tick import World
    >>> class Wolf: ...
    >>> class Sheep: ...
    >>> class Asleep: ...
    >>> world = World()
    >>> for components in ([Wolf()], [Sheep(), Asleep()], [Sheep()]):
    ...     _ = world.spawn(*components)
    >>> [eid for eid, _ in world.query(AnyOf(Wolf, Sheep), Not(Asleep))]
    [1, 3]
    """

    component_types: tuple[type, ...]

    def __init__(self, *component_types: type) -> None:
        if not component_types:
            raise ValueError("AnyOf needs at least one component type, as in AnyOf(Predator, Prey)")
        object.__setattr__(self, "component_types", component_types)


QueryTerm = type | Not | AnyOf

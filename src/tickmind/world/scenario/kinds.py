"""Kinds of floors, items and objects: data of a scenario, none of which the rules know by name."""

from dataclasses import dataclass, field
from typing import TypeAlias

from tickmind.protocol.entity import ContainerInfo, NeedChanges
from tickmind.protocol.setting import Hours

Items: TypeAlias = tuple[tuple[str, int], ...]  # (item kind, amount), in ascending kinds


@dataclass(frozen=True, slots=True)
class FloorKind:
    """A kind of floor, and what standing there adds to needs in each tick.

    Hazards are tags that characters may care about; the rules don't.
    """

    name: str
    walkable: bool = True
    opaque: bool = False
    hazards: tuple[str, ...] = ()
    energy: int = field(default=0, repr=False)  # so scenarios from before this rule keep their digest
    hunger: int = field(default=0, repr=False)
    step_ticks: int = field(default=1, repr=False)  # that a step onto it takes
    own_needs: NeedChanges = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class ItemKind:
    """An item that can be carried. It can be used if using it changes a need. It may decay."""

    name: str
    hunger: int = 0  # what using one adds; food has a negative number
    energy: int = 0
    own_needs: NeedChanges = field(default=(), repr=False)  # so other scenarios keep their digest
    lasts: int = field(default=0, repr=False)  # in each tick one of so many decays, on average; 0: never
    becomes: Items = field(default=(), repr=False)  # what is there instead of one that has decayed

    @property
    def usable(self) -> bool:
        """Whether `Use` does anything."""
        return bool(self.changes)

    @property
    def changes(self) -> NeedChanges:
        """What using one adds to all needs."""
        named = (("hunger", self.hunger), ("energy", self.energy), *self.own_needs)
        return tuple((need, by) for need, by in named if by)


@dataclass(frozen=True, slots=True)
class ObjectAction:
    """The effect of `Interact` with this verb: after `work` interactions the object goes to another state.

    The items that it yields go to the actor that did the last of the work; what that actor can't carry falls to the
    ground there. What it needs and what it consumes must be in the inventory for each step of the work. What it needs
    stays there, what it consumes is used up by the last step.
    """

    verb: str
    to: str
    work: int = 1
    needs: Items = ()
    yields: Items = ()
    consumes: Items = field(default=(), repr=False)  # so scenarios from before this rule keep their digest
    hours: Hours | None = field(default=None, repr=False)  # of the day, in which it can be done; None: always
    seasons: tuple[str, ...] = field(default=(), repr=False)  # in which it can be done; empty: in all
    weather: tuple[str, ...] = field(default=(), repr=False)  # in which it can be done; empty: in any
    wears: Items = field(
        default=(), repr=False
    )  # tools; of each, one breaks with the last step by a chance of 1 in so many
    removes: bool = field(default=False, repr=False)  # whether the object is gone after it

    @property
    def limited(self) -> bool:
        """Whether there are times in which it can't be done."""
        return bool(self.hours or self.seasons or self.weather)

    @property
    def takes(self) -> Items:
        """What must be in the inventory: needs, what it consumes, and tools; of each kind the larger number."""
        takes = dict(self.needs)
        for item, amount in (*self.consumes, *((tool, 1) for tool, _ in self.wears)):
            takes[item] = max(amount, takes.get(item, 0))
        return tuple(sorted(takes.items()))


@dataclass(frozen=True, slots=True)
class Change:
    """A state that does not last: after `ticks`, and by chance up to `spread` more, the object goes to another one.

    It waits while an actor stands where the object would be in the way.
    """

    to: str
    ticks: int
    spread: int = 0


@dataclass(frozen=True, slots=True)
class ObjectState:
    """One state of an object: what it blocks, its actions, and its change by itself."""

    name: str
    walkable: bool = True
    opaque: bool = False
    actions: tuple[ObjectAction, ...] = ()
    change: Change | None = None
    light: int = field(default=0, repr=False)  # how far it shines when it is dark; so other scenarios keep their digest
    each_tick: NeedChanges = field(default=(), repr=False)  # to all needs of actors on its tile and beside it


@dataclass(frozen=True, slots=True)
class Stock:
    """Items that can be picked up at an object, and grow back: one by one, or as many as are left."""

    item: str
    most: int
    ticks: int = 0  # until one more has grown, or what is left has doubled; 0: never
    spread: int = 0
    doubles: bool = field(default=False, repr=False)  # so other scenarios keep their digest


@dataclass(frozen=True, slots=True)
class ObjectKind:
    """A kind of object; its first state is the one in which objects begin."""

    name: str
    states: tuple[ObjectState, ...] = field(default=(ObjectState("plain"),))
    tags: tuple[str, ...] = ()
    stock: Stock | None = None
    container: ContainerInfo | None = field(default=None, repr=False)  # so other scenarios keep their digest
    build: ObjectAction | None = field(default=None, repr=False)  # what building one takes; None: it can't be built
    most_built: int = field(default=0, repr=False)  # how many more than at the beginning there can be
    size: tuple[int, int] = field(default=(1, 1), repr=False)  # tiles from west to east, and from north to south

    @property
    def comes_and_goes(self) -> bool:
        """Whether such objects can be built or removed in a run."""
        return self.build is not None or any(action.removes for state in self.states for action in state.actions)

    def state_code(self, name: str) -> int:
        """Return the number of a state in columns."""
        for code, state in enumerate(self.states):
            if state.name == name:
                return code
        raise KeyError(name)

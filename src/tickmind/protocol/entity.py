"""The actors, objects and kinds of a world, and `WorldInfo`, which never changes in a run."""

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias

from tickmind.protocol.setting import Hours, Persona, WorldSetting


@dataclass(frozen=True, slots=True)
class EntityInfo:
    """An actor that can be controlled. Its row in columns is its place in `WorldInfo.actors`."""

    entity_id: str
    type: str
    tags: tuple[str, ...] = ()
    spawn_tick: int = 0
    persona: Persona | None = field(default=None, compare=False)  # None: not known


class LifecycleKind(StrEnum):
    """The kinds of `LifecycleEvent`."""

    SPAWNED = "spawned"
    DESPAWNED = "despawned"
    CONTROLLED = "controlled"
    UNCONTROLLED = "uncontrolled"
    PLAYED = "played"  # a person has borrowed it from its agent, if it has one
    UNPLAYED = "unplayed"  # the person has left


@dataclass(frozen=True, slots=True)
class LifecycleEvent:
    """An actor was spawned or removed, or its control was taken or released; runners follow these."""

    tick_id: int
    kind: LifecycleKind
    entity: EntityInfo


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """An object as it stands at the beginning. Its row in columns is its place in `WorldInfo.objects`.

    x and y are those of its north-west tile, and -1 of one that may be built later.
    """

    object_id: str
    kind: str
    x: int
    y: int
    state: str
    stock: int = 0
    owner: str = ""  # the id of an actor


ItemAmounts: TypeAlias = tuple[tuple[str, int], ...]
"""Kinds of items, ascending, each with a number."""


NeedChanges: TypeAlias = tuple[tuple[str, int], ...]
"""Needs, each with a number: what is added to it."""


@dataclass(frozen=True, slots=True)
class ItemInfo:
    """A kind of item, what using one adds to needs, and how long one lasts.

    An item that changes no need can't be used.
    """

    name: str
    use: NeedChanges = ()
    lasts: int = 0  # in each tick one of so many decays, on average; 0: none does
    becomes: ItemAmounts = ()  # what is there instead of one that has decayed

    def adds_to(self, need: str) -> int:
        """Return what using one adds to a need; food adds less than nothing to hunger."""
        return next((by for name, by in self.use if name == need), 0)


@dataclass(frozen=True, slots=True)
class ActionInfo:
    """What `Interact` with a verb does: after `work` steps the object is in state `to`.

    What it needs must be carried and is kept; what it consumes must be carried and is used up by the last step; what it
    yields goes to the actor of the last step. What it wears must be carried, and one of it breaks with the last step by
    a chance of one in so many. Only the verb is known of runs of earlier versions.
    """

    verb: str
    to: str = ""
    work: int = 1
    needs: ItemAmounts = ()
    consumes: ItemAmounts = ()
    yields: ItemAmounts = ()
    hours: Hours | None = None  # of the day, in which it can be done; None: always
    seasons: tuple[str, ...] = ()  # in which it can be done; empty: in all
    weather: tuple[str, ...] = ()  # in which it can be done; empty: in any
    wears: ItemAmounts = ()  # tools, each with the number of times after which one breaks on average
    removes: bool = False  # whether the object is gone after the work, instead of in another state


Prices: TypeAlias = tuple[tuple[str, ItemAmounts], ...]
"""Kinds of items, ascending, each with the price of one."""


@dataclass(frozen=True, slots=True)
class ContainerInfo:
    """An object that holds items: `Put` and `Take` move them, `Buy` and `Sell` move them for a price.

    What it holds lies on its tile, on which no actor can stand.
    """

    holds: int  # items at most
    sells: Prices = ()  # what `Buy` puts in
    buys: Prices = ()  # what `Sell` takes out
    hours: Hours | None = None  # of the day, in which it buys and sells; None: always

    def price(self, item: str, *, sells: bool) -> ItemAmounts | None:
        """Return what one item costs when the container sells or buys it; None if it does not."""
        return next((price for name, price in (self.sells if sells else self.buys) if name == item), None)


@dataclass(frozen=True, slots=True)
class KindInfo:
    """A kind of object: its states in the order of their codes, and whether it blocks the way in each."""

    name: str
    states: tuple[str, ...]
    walkable: tuple[bool, ...]  # state code -> whether actors can step there
    opaque: tuple[bool, ...]  # state code -> whether it blocks sight
    actions: tuple[tuple[ActionInfo, ...], ...]  # state code -> what `Interact` can do
    tags: tuple[str, ...] = ()
    stock_item: str = ""  # item that can be picked up there, as long as there is stock
    container: ContainerInfo | None = None
    each_tick: tuple[NeedChanges, ...] = ()  # state code -> what actors there and beside it get; empty: never anything
    build: ActionInfo | None = None  # what `Build` takes, and the state after it; None: it can't be built
    most_built: int = 0  # how many more than at the beginning there can be at the same time
    size: tuple[int, int] = (1, 1)  # tiles from west to east, and from north to south
    doubling_ticks: int = 0  # in which what is left of its stock doubles, of nothing nothing; 0: it grows one by one

    @property
    def comes_and_goes(self) -> bool:
        """Whether such objects can be built or removed in a run."""
        return self.build is not None or any(action.removes for actions in self.actions for action in actions)

    @property
    def verbs(self) -> tuple[tuple[str, ...], ...]:
        """The verbs of each state, by its code."""
        return tuple(tuple(action.verb for action in actions) for actions in self.actions)


@dataclass(frozen=True, slots=True)
class FloorInfo:
    """A kind of floor: what standing there adds to needs in each tick, and how many ticks a step onto it takes."""

    name: str
    walkable: bool
    opaque: bool
    hazards: tuple[str, ...] = ()
    energy: int = 0
    hunger: int = 0
    step_ticks: int = 1
    own_needs: NeedChanges = ()

    @property
    def harmful(self) -> bool:
        """Whether standing there tires, makes hungry, or lowers an own need of the world."""
        return self.energy < 0 or self.hunger > 0 or any(by < 0 for _, by in self.own_needs)

    @property
    def hinders(self) -> bool:
        """Whether a way over another floor may be better: steps take longer, or it is harmful or hazardous."""
        return self.walkable and (self.step_ticks > 1 or self.harmful or bool(self.hazards))


@dataclass(frozen=True, slots=True)
class GroundInfo:
    """Items of one kind that lie on a tile at the beginning."""

    x: int
    y: int
    item: str
    amount: int


@dataclass(frozen=True, slots=True)
class InventoryInfo:
    """Items of one kind that an actor carries at the beginning."""

    entity_id: str
    item: str
    amount: int


@dataclass(frozen=True, slots=True)
class GoalInfo:
    """A goal of a world: exactly one condition, and what reaching it brings.

    `tags`, `types` and `ids` choose actors as assignments of agents do; where all are empty, all actors are meant, and
    the score of an object's state or of a time goes to the world.
    """

    name: str
    score: int = 0  # for each actor that reaches it
    ends: bool = False  # whether the run ends with the tick in which it is reached
    tags: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    all_in: str = ""  # zone in which all of them stand at the same time
    each_in: str = ""  # zone in which one stands for the first time
    carry: ItemAmounts = ()  # what one carries for the first time
    object_id: str = ""  # object that is in `state`
    state: str = ""
    tick_id: int = 0  # tick that has come

    @property
    def names_actors(self) -> bool:
        """Whether it chooses actors."""
        return bool(self.tags or self.types or self.ids)

    def fits(self, tags: Container[str], kind: str, entity_id: str) -> bool:
        """Return whether it is about an actor: all the tags, one of the types and one of the ids."""
        return (
            all(tag in tags for tag in self.tags)
            and (not self.types or kind in self.types)
            and (not self.ids or entity_id in self.ids)
        )

    @property
    def condition(self) -> str:
        """The condition in words: `prisoner: all in outside`."""
        who = ", ".join((*self.types, *self.tags, *self.ids)) or "everyone"
        if self.all_in:
            return f"{who}: all in {self.all_in}"
        if self.each_in:
            return f"{who}: in {self.each_in}"
        if self.carry:
            return f"{who}: with {', '.join(f'{amount} {item}' for item, amount in self.carry)}"
        return f"{self.object_id} is {self.state}" if self.object_id else f"tick {self.tick_id}"


@dataclass(frozen=True, slots=True)
class WorldInfo:
    """The parts of a world that never change in a run: the map, and the names behind the numbers in columns."""

    name: str
    world_version: str
    width: int
    height: int
    sight_radius: int
    hearing_radius: int
    tick_duration_ms: int
    intent_deadline_ms: int
    floors: tuple[FloorInfo, ...]  # floor code -> kind of floor
    floor_codes: bytes  # width x height codes, row by row from the north-west corner
    item_kinds: tuple[str, ...]
    verbs: tuple[str, ...]  # verb code -> verb; 0 is "", the first that the object offers
    kinds: tuple[KindInfo, ...]
    objects: tuple[ObjectInfo, ...]
    actors: tuple[EntityInfo, ...]
    ground: tuple[GroundInfo, ...] = ()  # in the order of tiles
    setting: WorldSetting = field(default_factory=WorldSetting)
    seed: int | None = field(default=None, compare=False)  # of the run; clients and older records do not know it
    inventories: tuple[InventoryInfo, ...] | None = field(default=None, compare=False)  # None: not known, as the seed
    goals: tuple[GoalInfo, ...] = field(default=(), compare=False)  # older records do not know them
    own_needs: tuple[str, ...] = ()  # that the scenario declares, in the order of their columns
    items: tuple[ItemInfo, ...] = ()  # in the order of `item_kinds`; runs of earlier versions do not know them

    def describe(self, run: "RunInfo", entity_ids: Container[str]) -> "RunInfo":
        """Return a run with what minds of some actors know of this world from the beginning."""
        floors = self.floors if any(floor.hinders for floor in self.floors) else ()
        return replace(
            run,
            setting=self.setting,
            personas=self.personas(entity_ids),
            kinds=self.kinds,
            items=self.items,
            floors=floors,
            goals=self.goals_of(entity_ids),
        )

    def goals_of(self, entity_ids: Container[str]) -> "dict[str, tuple[GoalInfo, ...]]":
        """Return the goals that are for some actors, by their ids; those that have none are left out."""
        if not self.goals:
            return {}
        own = {
            actor.entity_id: tuple(goal for goal in self.goals if goal.fits(actor.tags, actor.type, actor.entity_id))
            for actor in self.actors
            if actor.entity_id in entity_ids
        }
        return {entity_id: goals for entity_id, goals in own.items() if goals}

    def personas(self, entity_ids: Container[str]) -> dict[str, Persona]:
        """Return who some actors are, by their ids, as far as that is known."""
        people = (actor for actor in self.actors if actor.entity_id in entity_ids)
        return {actor.entity_id: actor.persona for actor in people if actor.persona is not None}


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What minds need to know of the run that a world is in."""

    run_id: str = ""  # the same after a world went on, another after it began anew; empty if it has no name
    mind_seed: int = 0  # of all chance in minds
    thinking_ticks: int = 0  # after which a reply of a model takes effect; 0: as soon as it arrives
    setting: WorldSetting = field(default_factory=WorldSetting)
    personas: Mapping[str, Persona] = field(default_factory=dict)  # entity id -> who it is, of those under control
    kinds: tuple[KindInfo, ...] = ()  # of objects, with what can be done with them
    items: tuple[ItemInfo, ...] = ()  # with what using one adds to needs, and how long one lasts
    floors: tuple[FloorInfo, ...] = ()  # floor code -> kind of floor, if ways depend on floors; else empty
    goals: Mapping[str, tuple[GoalInfo, ...]] = field(default_factory=dict)  # entity id -> goals, as personas

"""`WorldColumns`: everything in a world that changes, as columns."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tickmind.protocol.record import AWAY
from tickmind.world.kernels.digest import new_lanes, take_column
from tickmind.world.scenario.scenario import NEVER
from tickmind.world.state.tables import Tables
from tickmind.world.state.timing import change_times, stock_times

if TYPE_CHECKING:
    from tickmind.protocol.columns import Bool, Int8, Int32, Int64, UInt8, UInt16


def _empty() -> "Bool":
    return np.zeros(0, dtype=np.bool_)


def _no_needs() -> "Int32":
    return np.zeros((0, 0), dtype=np.int32)


def _no_times() -> "Int64":
    return np.zeros(0, dtype=np.int64)


class StandingOffer(NamedTuple):
    """An offer that stands; a line of the column `offers` has its fields in this order."""

    maker: int  # actor row
    taker: int  # actor row
    kind: int
    amount: int
    wanted_kind: int  # UNUSED: nothing
    wanted_amount: int
    last_tick: int


def no_offers() -> "Int64":
    """Return the column of offers of a world without any."""
    return np.zeros((0, len(StandingOffer._fields)), dtype=np.int64)


def _no_places() -> "Int32":
    return np.zeros(0, dtype=np.int32)


@dataclass(slots=True, eq=False)
class WorldColumns:
    """The columns of a world: by actor row, by object row, and for items on the ground by ascending key.

    Columns of rules that a scenario does not use are empty, and no part of its digests and snapshots; nor are offers
    while there are none.
    """

    x: "Int32"  # -1: the actor is away
    y: "Int32"
    status: "Int32"
    facing: "Int8"
    energy: "Int32"
    hunger: "Int32"
    inventory: "UInt16"  # actor row x item code -> quantity

    object_state: "UInt8"
    object_work: "Int32"
    object_stock: "Int32"
    change_due: "Int64"  # object row -> tick in which it changes by itself, or NEVER
    stock_due: "Int64"  # object row -> tick in which one more has grown, or NEVER

    ground_key: "Int64"  # tile * item kinds + item code, ascending
    ground_amount: "Int64"

    offers: "Int64" = field(default_factory=no_offers)  # lines of `StandingOffer`, in ascending rows of the makers
    arrive_due: "Int64" = field(default_factory=_no_times)  # actor row -> tick in which it comes, or NEVER
    leave_due: "Int64" = field(default_factory=_no_times)  # actor row -> tick in which it is gone, or NEVER
    object_x: "Int32" = field(default_factory=_no_places)  # object row -> its tile now; -1: it is not there
    object_y: "Int32" = field(default_factory=_no_places)
    free_at: "Int64" = field(default_factory=_no_times)  # actor row -> tick from which it can step again
    goal_reached: "Bool" = field(default_factory=_empty)  # entries of goals -> whether it was reached
    own_rule_off: "Bool" = field(default_factory=_empty)  # own rule -> whether it has failed
    own_needs: "Int32" = field(default_factory=_no_needs)  # actor row x own need -> value

    @classmethod
    def of(cls, columns: "Mapping[str, np.ndarray[Any, Any]]") -> "WorldColumns":
        """Return the state with the columns of a snapshot; those of later rules may be missing there."""
        return cls(**{name: columns[name] for name in _NAMES if name in columns or name not in _LATER})

    @property
    def some_away(self) -> bool:
        """Whether there are actors that are not in the world now."""
        return bool(len(self.x)) and int(self.x.min()) == AWAY

    def columns(self) -> "list[tuple[str, np.ndarray[Any, Any]]]":
        """Return all columns with their names, always in the same order."""
        columns = [(name, getattr(self, name)) for name in _NAMES]
        return [(name, column) for name, column in columns if name not in _LATER or len(column)]

    def digest(self, tick_id: int) -> bytes:
        """Return a hash of everything; equal worlds have equal hashes, whatever led there."""
        lanes = new_lanes()
        for _, column in self.columns():
            take_column(lanes, column)
        return hashlib.blake2b(tick_id.to_bytes(8, "little") + lanes.astype("<u8").tobytes(), digest_size=16).digest()


_NAMES = tuple(column.name for column in fields(WorldColumns))
_LATER = frozenset(  # of rules that came later
    (
        *("offers", "arrive_due", "leave_due", "object_x", "object_y"),
        *("free_at", "goal_reached", "own_rule_off", "own_needs"),
    )
)


def first_state(tables: Tables) -> WorldColumns:
    """Return the state before the first tick."""
    scenario = tables.scenario
    actors, objects, items = scenario.actors, scenario.objects, len(scenario.items)
    kinds = {kind.name: kind for kind in scenario.kinds}
    inventory = np.zeros((len(actors), items), dtype=np.uint16)
    for row, actor in enumerate(actors):
        for code, amount in tables.item_codes(actor.inventory):
            inventory[row, code] = amount
    object_state = np.array([kinds[thing.kind].state_code(thing.state) for thing in objects], dtype=np.uint8)
    stock = np.array([thing.stock for thing in objects], dtype=np.int32)
    rows = np.arange(len(objects), dtype=np.int64)
    ground = sorted(
        ((at.y * tables.width + at.x) * items + tables.item_code[at.item], at.amount) for at in scenario.ground
    )
    there = tables.object_x != AWAY
    away = [bool(actor.arrives) for actor in actors]
    some_come, some_leave = any(away), any(actor.leaves for actor in actors)
    return WorldColumns(
        x=np.where(away, AWAY, [actor.x for actor in actors]).astype(np.int32),
        y=np.where(away, AWAY, [actor.y for actor in actors]).astype(np.int32),
        status=np.zeros(len(actors), dtype=np.int32),
        facing=_column((actor.facing for actor in actors), len(actors), np.int8),
        energy=_column((actor.energy for actor in actors), len(actors), np.int32),
        hunger=_column((actor.hunger for actor in actors), len(actors), np.int32),
        inventory=inventory,
        object_state=object_state,
        object_work=tables.kind_work[tables.object_kind, object_state],
        object_stock=stock,
        change_due=np.where(there, change_times(tables, rows, object_state, 0), NEVER),
        stock_due=np.where(there, stock_times(tables, rows, stock, 0), NEVER),
        ground_key=np.array([key for key, _ in ground], dtype=np.int64),
        ground_amount=np.array([amount for _, amount in ground], dtype=np.int64),
        arrive_due=tables.actor_arrives.copy() if some_come else _no_times(),
        leave_due=tables.actor_leaves.copy() if some_leave else _no_times(),
        object_x=tables.object_x.copy() if tables.objects_move else _no_places(),
        object_y=tables.object_y.copy() if tables.objects_move else _no_places(),
        free_at=np.zeros(len(actors) if tables.some_steps_take_longer else 0, dtype=np.int64),
        goal_reached=np.zeros(tables.goals[-1].entries.stop if tables.goals else 0, dtype=np.bool_),
        own_rule_off=np.zeros(len(scenario.own_rules), dtype=np.bool_),
        own_needs=tables.needs.first_values(scenario),
    )


def _column(values: Any, count: int, dtype: Any) -> "np.ndarray[Any, Any]":
    return np.fromiter(values, dtype=dtype, count=count)

"""Inventories: how many items each actor, object and tile holds, at the beginning and after each change.

They follow from the beginning of the run and the recorded effects, so nothing is written for them during a run.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from tickmind.protocol import TickRecord, WorldInfo
from tickmind.record.columns import values_of
from tickmind.record.parquet.file import TableFile
from tickmind.record.parquet.schemas import INVENTORIES
from tickmind.record.tables.gifts import INVENTORY, handed_over

_COLUMNS = ("tick_id", "holder_id", "item", "quantity")
_GROUND = "ground:"
_STOCK = "stock"


@dataclass(frozen=True, slots=True)
class ItemQuantity:
    """How many items of one kind a holder has after a tick: an actor, an object with stock, or a tile's ground."""

    tick_id: int
    holder_id: str
    item: str
    quantity: int


class InventoryLedger:
    """Follows all inventories from the first tick on, one tick after another.

    A run of an earlier version does not say what its actors carried at the beginning. It has no quantities at all,
    because those of actors would be wrong.
    """

    def __init__(self, info: WorldInfo) -> None:
        self._known = info.inventories is not None
        self._items = frozenset(info.item_kinds)
        stocked = {kind.name: kind.stock_item for kind in info.kinds if kind.stock_item}
        self._stock_items = {one.object_id: stocked[one.kind] for one in info.objects if one.kind in stocked}
        self._quantities: dict[tuple[str, str], int] = {}  # holder and item -> quantity
        for stack in info.inventories or ():
            self._quantities[stack.entity_id, stack.item] = stack.amount
        for thing in info.objects:
            if thing.object_id in self._stock_items and thing.stock:
                self._quantities[thing.object_id, self._stock_items[thing.object_id]] = thing.stock
        for heap in info.ground:
            self._quantities[f"{_GROUND}{heap.x},{heap.y}", heap.item] = heap.amount
        self._begun = False

    def add(self, record: TickRecord) -> list[ItemQuantity]:
        """Return what changed in the next tick; before the first one, all quantities of the tick before it."""
        if not self._known:
            return []
        start = [] if self._begun else self._all(record.tick_id - 1)
        self._begun = True
        before: dict[tuple[str, str], int] = {}  # holder and item -> quantity before this tick
        for key, quantity, by in self._changes(record):
            now = self._quantities.get(key, 0)
            before.setdefault(key, now)
            self._quantities[key] = now + by if quantity is None else quantity
        changed = (key for key, quantity in before.items() if self._quantities[key] != quantity)
        return [*start, *(ItemQuantity(record.tick_id, *key, self._quantities[key]) for key in changed)]

    def _all(self, tick_id: int) -> list[ItemQuantity]:
        return [ItemQuantity(tick_id, *key, quantity) for key, quantity in self._quantities.items()]

    def _changes(self, record: TickRecord) -> Iterator[tuple[tuple[str, str], int | None, int]]:
        """Iterate over holder and item, with the new quantity if it is recorded, or the difference."""
        results = record.results
        for place, effects in results.effects.items():
            for effect in effects:
                if effect.name.startswith(INVENTORY):
                    actor_id = record.actor_ids[int(results.actor[place])]
                    yield (actor_id, effect.name.removeprefix(INVENTORY)), None, effect.value
        for _, other, item, by in handed_over(record):
            yield (other, item), None, -by
        for event in record.rule_events:
            for effect in event.effects:
                if effect.name.startswith(INVENTORY):
                    for actor_id in event.actor_ids:
                        yield (actor_id, effect.name.removeprefix(INVENTORY)), None, effect.value
        for delta in record.object_deltas:
            if not isinstance(delta.new_value, int):
                continue
            if delta.object_id.startswith(_GROUND) and delta.field in self._items:
                yield (delta.object_id, delta.field), delta.new_value, 0
            elif delta.field == _STOCK and delta.object_id in self._stock_items:
                yield (delta.object_id, self._stock_items[delta.object_id]), delta.new_value, 0


def changes_of(info: WorldInfo, records: Iterable[TickRecord], first: int, last: int) -> Iterator[ItemQuantity]:
    """Iterate over the changes from tick `first` to `last`; the records must begin with the first tick of the run."""
    ledger = InventoryLedger(info)
    for record in records:
        yield from (change for change in ledger.add(record) if first <= change.tick_id <= last)


def inventories_table(changes: Sequence[ItemQuantity], run_id: str) -> pa.Table:
    """Make the rows of `inventories`."""
    columns = [[run_id] * len(changes), *([getattr(change, name) for change in changes] for name in _COLUMNS)]
    arrays = [pa.array(column, kind) for column, kind in zip(columns, INVENTORIES.schema.types, strict=True)]
    return pa.Table.from_arrays(arrays, schema=INVENTORIES.schema).cast(INVENTORIES.written_schema)


def read_inventories(file: TableFile, first: int, last: int) -> Iterator[ItemQuantity]:
    """Iterate over the rows of the finished table from tick `first` to `last`."""
    for group in range(file.groups):
        first_of_group, last_of_group = file.ticks(group)
        if first_of_group > last or last_of_group < first:
            continue
        table = file.group(group, _COLUMNS)
        for change in map(ItemQuantity, *(values_of(table.column(name)) for name in _COLUMNS)):
            if first <= change.tick_id <= last:
                yield change

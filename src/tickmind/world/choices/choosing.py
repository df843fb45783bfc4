"""Which choices actors have now, and the intents of those that they make."""

from typing import TYPE_CHECKING

import numpy as np

from tickmind.protocol import ActionType, ActorStatus, IntentColumns
from tickmind.protocol.intent import UNUSED
from tickmind.protocol.record import AWAY
from tickmind.world.choices.action_list import NO_DEED, ActionList
from tickmind.world.kernels.learning.reach import find_targets, mark_reach
from tickmind.world.state.columns import WorldColumns
from tickmind.world.state.maps import Maps
from tickmind.world.state.tables import Tables

if TYPE_CHECKING:
    from tickmind.protocol.columns import Int8, Int32, Int64, UInt8, UInt16


class Choosing:
    """The choices of all actors of one world."""

    def __init__(self, tables: Tables) -> None:
        self.actions = ActionList(tables)
        self._tables = tables
        actions = self.actions
        self._at = {action: actions.places(action) for action in ActionType}
        self._objects: Int64 = np.flatnonzero(actions.deed > 0)
        self._give = self._at[ActionType.GIVE]

    def mask(self, tick_id: int, state: WorldColumns, maps: Maps, items: "UInt8", rows: "Int32") -> "Int8":
        """Return actors x choices: 1 for what is possible by place, state and inventory, else 0.

        What a recipe takes, prices and times of the day are not looked at: the world refuses what lacks something.
        """
        tables, at = self._tables, self._at
        x, y = state.x[rows], state.y[rows]
        ways = np.empty((len(rows), 9), dtype=np.uint8)
        deeds = np.empty((len(rows), self.actions.usable.shape[2]), dtype=np.uint8)
        mark_reach(
            x,
            y,
            maps.walkable,
            maps.occupancy,
            maps.object_at,
            tables.object_kind,
            state.object_state,
            self.actions.usable,
            ways,
            deeds,
        )
        mask = np.zeros((len(rows), len(self.actions)), dtype=np.int8)
        mask[:, 0] = 1
        if len(state.free_at):
            ways[state.free_at[rows] > tick_id, :8] = 0
        mask[:, 1:9] = ways[:, :8]
        inventory = state.inventory[rows]
        self._mask_pick_up(mask, state, maps, items, rows, inventory)
        for action in (ActionType.USE, ActionType.PUT, ActionType.SELL, ActionType.GIVE):
            if len(at[action]):
                mask[:, at[action]] = inventory[:, self.actions.kind[at[action]]] > 0
        mask[:, at[ActionType.BUILD]] = 1
        mask[:, at[ActionType.SLEEP]] = 1
        if len(self._objects):
            possible = deeds[:, self.actions.deed[self._objects]]
            carried = np.isin(self.actions.code[self._objects], self.actions.code[self._carried()])
            mask[:, self._objects] = np.where(carried, mask[:, self._objects] & possible, possible)
        if len(self._give):
            mask[:, self._give] &= ways[:, 8:].astype(np.int8)
        self._mask_unable(mask, state, rows)
        return mask

    def intents(self, state: WorldColumns, maps: Maps, rows: "Int32", numbers: "Int64") -> IntentColumns:
        """Return the intents of actors, by ascending rows, that make these choices. Waiting takes no intent."""
        acting = numbers != 0
        rows, numbers = rows[acting], numbers[acting]
        actions = self.actions
        direction, kind, deed = actions.direction[numbers], actions.kind[numbers], actions.deed[numbers]
        target: Int32 = np.full(len(rows), UNUSED, dtype=np.int32)
        wanting = np.flatnonzero(deed != NO_DEED)
        if len(wanting):
            found = np.empty(len(wanting), dtype=np.int32)
            who = rows[wanting]
            find_targets(
                state.x[who],
                state.y[who],
                deed[wanting],
                maps.occupancy,
                maps.object_at,
                self._tables.object_kind,
                state.object_state,
                actions.usable,
                found,
            )
            target[wanting] = found
        building = np.isin(numbers, self._at[ActionType.BUILD])
        if building.any():
            direction = np.where(building, state.facing[rows], direction).astype(np.int8)
        amount = np.ones(len(rows), dtype=np.int32)
        return IntentColumns(rows, actions.code[numbers], direction, kind, amount, target, {})

    def _carried(self) -> "Int64":
        """Return the choices that put in or sell what the actor carries."""
        return np.concatenate((self._at[ActionType.PUT], self._at[ActionType.SELL]))

    def _mask_pick_up(
        self, mask: "Int8", state: WorldColumns, maps: Maps, items: "UInt8", rows: "Int32", inventory: "UInt16"
    ) -> None:
        """Mark the items that lie or grow on the tiles of actors that have room for more."""
        tables, first = self._tables, int(self._at[ActionType.PICKUP][0]) if len(self._at[ActionType.PICKUP]) else 0
        if not first:
            return
        there = np.flatnonzero(state.x[rows] != AWAY)
        there = there[inventory[there].sum(axis=1, dtype=np.int64) < tables.scenario.rules.inventory_limit]
        x, y = state.x[rows[there]], state.y[rows[there]]
        objects = maps.object_at[y, x]
        stocked = np.flatnonzero(objects >= 0)
        stocked = stocked[state.object_stock[objects[stocked]] > 0]
        mask[there[stocked], first + tables.stock_item[tables.object_kind[objects[stocked]]]] = 1
        lying = np.flatnonzero(items[y, x])
        if len(lying):
            kinds = len(tables.item_names)
            tiles = y[lying].astype(np.int64) * tables.width + x[lying]
            keys = tiles[:, None] * kinds + np.arange(kinds)
            places = np.minimum(np.searchsorted(state.ground_key, keys), len(state.ground_key) - 1)
            mask[there[lying], first : first + kinds] |= state.ground_key[places] == keys

    def _mask_unable(self, mask: "Int8", state: WorldColumns, rows: "Int32") -> None:
        """Leave to those that sleep, can't act or are away what they can do."""
        status, at = state.status[rows], self._at
        wake, needs = at[ActionType.WAKE], self._tables.scenario.rules.needs
        asleep = (status & int(ActorStatus.ASLEEP)) != 0
        unable = (status & int(ActorStatus.INCAPACITATED)) != 0
        if unable.any():
            kept = np.zeros(mask.shape[1], dtype=np.int8)
            kept[np.concatenate(([0], at[ActionType.USE]))] = 1
            mask[unable] &= kept
        if asleep.any():
            mask[asleep, 1:] = 0
        if len(wake) and needs is not None:
            mask[:, wake] = (asleep & (state.energy[rows] >= needs.wake_energy))[:, None]
        away = state.x[rows] == AWAY
        if away.any():
            mask[away, 1:] = 0

"""Containers and stalls: put items in, take them out, buy and sell them, all of them or none.

What a container holds lies on its tile, where no actor can stand, so that nothing else moves it.
"""

from dataclasses import dataclass

import numpy as np

from tickmind.protocol import ActionType, ContainerInfo, Effect, Reason
from tickmind.protocol.intent import ACTION_TYPES, AT_CONTAINERS
from tickmind.protocol.setting import in_hours
from tickmind.world.rules.piles import lay
from tickmind.world.rules.turn import Turn

_Amounts = list[tuple[int, int]]  # item codes with amounts


@dataclass(frozen=True, slots=True)
class _Exchange:
    """What an actor puts into a container and what it takes out."""

    put: _Amounts
    taken: _Amounts

    @property
    def growth(self) -> int:
        """By how many items the container has more afterwards."""
        return sum(amount for _, amount in self.put) - sum(amount for _, amount in self.taken)


def use_containers(turn: Turn) -> None:
    """Let actors put items into containers near them, take them out, buy and sell, one after another."""
    places = sorted(place for action in AT_CONTAINERS for place in turn.items(action).tolist())
    if not places:
        return
    contents = _Contents(turn)
    for place in places:
        reason = _exchange_one(turn, contents, place)
        if reason:
            turn.refuse(place, reason)
    contents.store()


def _exchange_one(turn: Turn, contents: "_Contents", place: int) -> Reason:
    state, tables, intents = turn.state, turn.tables, turn.intents
    row, target = int(intents.actor[place]), int(intents.target[place])
    if not 0 <= target < len(tables.object_ids):
        return Reason.UNKNOWN_TARGET
    turn.target_ids[place] = tables.object_ids[target]
    container = tables.kind_of(target).container
    if container is None:
        return Reason.NOT_A_CONTAINER
    x, y = int(tables.object_x[target]), int(tables.object_y[target])
    if max(abs(x - int(state.x[row])), abs(y - int(state.y[row]))) > 1:
        return Reason.TOO_FAR
    action = ACTION_TYPES[intents.action[place]]
    if action is ActionType.TAKE and tables.object_owner.get(target, tables.actor_ids[row]) != tables.actor_ids[row]:
        return Reason.NOT_OWNER
    exchange = _meant(turn, place, action, container)
    if exchange is None:
        return Reason.NOT_FOR_SALE
    hours = container.hours if action in (ActionType.BUY, ActionType.SELL) else None
    if hours is not None and not in_hours(turn.minute, hours):
        turn.effects[place] = (Effect("opens_at", hours[0]),)
        return Reason.CLOSED
    return _carry_out(turn, place, exchange, contents.of(y * tables.width + x), container.holds)


def _meant(turn: Turn, place: int, action: ActionType, container: ContainerInfo) -> _Exchange | None:
    """Return what an intent exchanges; None if it has no price there."""
    kind, amount = int(turn.intents.kind[place]), int(turn.intents.amount[place])
    goods = [(kind, amount)]
    if action is ActionType.PUT:
        return _Exchange(goods, [])
    if action is ActionType.TAKE:
        return _Exchange([], goods)
    price = container.price(turn.tables.item_names[kind], sells=action is ActionType.BUY)
    if price is None:
        return None
    money = [(code, each * amount) for code, each in turn.tables.item_codes(price)]
    return _Exchange(money, goods) if action is ActionType.BUY else _Exchange(goods, money)


def _carry_out(turn: Turn, place: int, exchange: _Exchange, held: dict[int, int], holds: int) -> Reason:
    """Exchange items between an actor and what a container holds, unless one side can't."""
    row, names = int(turn.intents.actor[place]), turn.tables.item_names
    carried = turn.state.inventory[row]
    missing = [(kind, amount - int(carried[kind])) for kind, amount in exchange.put if carried[kind] < amount]
    if missing:
        turn.effects[place] = tuple(Effect(f"missing.{names[kind]}", amount) for kind, amount in missing)
        return Reason.MISSING_ITEM
    if any(held.get(kind, 0) < amount for kind, amount in exchange.taken):
        return Reason.NOTHING_HERE
    if int(turn.room(np.array([row], dtype=np.int32))[0]) + exchange.growth < 0:
        return Reason.INVENTORY_FULL
    if sum(held.values()) + exchange.growth > holds:
        return Reason.CONTAINER_FULL
    for kind, amount in exchange.put:
        carried[kind] -= amount
        held[kind] = held.get(kind, 0) + amount
    for kind, amount in exchange.taken:
        carried[kind] += amount
        held[kind] -= amount
    turn.effects[place] = (
        *(Effect(f"inventory.{names[kind]}", -amount) for kind, amount in exchange.put),
        *(Effect(f"inventory.{names[kind]}", amount) for kind, amount in exchange.taken),
    )
    return Reason.NONE


class _Contents:
    """What the containers hold that are used in this tick: read once, and written back once."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._kinds = len(turn.tables.item_names)
        self._held: dict[int, dict[int, int]] = {}  # tile -> item code -> amount
        self._before: dict[int, dict[int, int]] = {}

    def of(self, tile: int) -> dict[int, int]:
        """Return what the container on a tile holds, by item codes, to be changed in place."""
        held = self._held.get(tile)
        if held is None:
            state, first = self._turn.state, tile * self._kinds
            start, end = np.searchsorted(state.ground_key, (first, first + self._kinds)).tolist()
            codes, amounts = state.ground_key[start:end] - first, state.ground_amount[start:end]
            held = self._held[tile] = dict(zip(codes.tolist(), amounts.tolist(), strict=True))
            self._before[tile] = dict(held)
        return held

    def store(self) -> None:
        """Write the changes to the ground."""
        changes = {
            tile * self._kinds + kind: by
            for tile, held in self._held.items()
            for kind, amount in held.items()
            if (by := amount - self._before[tile].get(kind, 0))
        }
        for wanted in (1, -1):  # `lay` adds or removes
            keys = sorted(key for key, by in changes.items() if by * wanted > 0)
            if keys:
                lay(self._turn, np.array(keys, np.int64), np.array([changes[key] for key in keys], np.int64))

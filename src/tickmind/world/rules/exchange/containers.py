"""Containers and stalls: put items in, take them out, buy and sell them, all of them or none.

What a container holds lies on its tile, where no actor can stand, so that nothing else moves it. Actors at one of them
come one after another; there are few, because they stand beside it.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tickmind.protocol import ACTION_CODES, ACTION_TYPES, ActionType, ContainerInfo, Effect, Reason
from tickmind.protocol.intent import AT_CONTAINERS
from tickmind.world.rules.piles import ground_sums, lay, lying, lying_in_all
from tickmind.world.rules.turn import Turn

if TYPE_CHECKING:
    from tickmind.protocol.columns import Bool, Int64

_TRADES = (ActionType.BUY, ActionType.SELL)
_Amounts = list[tuple[int, int]]  # item codes, each with an amount


@dataclass(frozen=True, slots=True)
class _Exchange:
    """What an actor puts into a container for one item that its intent names, and what it takes out."""

    put: _Amounts
    taken: _Amounts

    @property
    def growth(self) -> int:
        """By how many items the container has more afterwards."""
        return sum(amount for _, amount in self.put) - sum(amount for _, amount in self.taken)


def use_containers(turn: Turn) -> None:
    """Let actors put items into containers near them, take them out, buy and sell."""
    parts = [places for action in AT_CONTAINERS if len(places := turn.items(action))]
    if not parts:
        return
    places = turn.with_object(np.sort(np.concatenate(parts)))
    places = turn.keep(places, turn.tables.is_container[turn.intents.target[places]], Reason.NOT_A_CONTAINER)
    places = turn.in_reach(places)
    places = turn.keep(places, _is_allowed(turn, places), Reason.NOT_OWNER)
    while len(places):
        now = turn.first_at_each(places)
        _exchange(turn, places[now])
        places = places[~now]


def _is_allowed(turn: Turn, places: "Int64") -> "Bool":
    """Return which exchanges are allowed: in a container with an owner others only buy and sell."""
    owner = turn.tables.object_owner_row[turn.intents.target[places]]
    allowed: Bool = (owner < 0) | (owner == turn.intents.actor[places])
    allowed |= np.isin(turn.intents.action[places], [ACTION_CODES[action] for action in _TRADES])
    return allowed


def _exchange(turn: Turn, places: "Int64") -> None:
    """Let actors exchange items, each with a container of its own; those that do the same thing at once."""
    moves = _Moves(turn)
    intents, kinds = turn.intents, len(turn.tables.item_names)
    container_kind = turn.tables.object_kind[intents.target[places]].astype(np.int64)
    groups = (container_kind * len(ACTION_TYPES) + intents.action[places]) * kinds + intents.kind[places]
    for group in np.unique(groups).tolist():
        rest, item = divmod(group, kinds)
        kind, action = divmod(rest, len(ACTION_TYPES))
        container = turn.tables.scenario.kinds[kind].container
        assert container is not None, "others were refused"
        _exchange_alike(turn, places[groups == group], ACTION_TYPES[action], item, container, moves)
    moves.lay()


class _Moves:
    """What is put into containers and taken out of them, all of them different, to be laid down at once."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._keys: tuple[list[Int64], list[Int64]] = [], []  # of what is put in, and of what is taken out
        self._amounts: tuple[list[Int64], list[Int64]] = [], []

    @cached_property
    def sums(self) -> "Int64":
        """The sums of items on the ground, for `lying_in_all`."""
        return ground_sums(self._turn)

    def add(self, keys: "Int64", amounts: "Int64", *, taken: bool) -> None:
        """Note items of one kind."""
        self._keys[taken].append(keys)
        self._amounts[taken].append(-amounts if taken else amounts)

    def lay(self) -> None:
        """Change what lies in the containers."""
        for keys, amounts in zip(self._keys, self._amounts, strict=True):
            if keys:
                lay(self._turn, np.concatenate(keys), np.concatenate(amounts))


def _exchange_alike(
    turn: Turn, places: "Int64", action: ActionType, item: int, container: ContainerInfo, moves: _Moves
) -> None:
    exchange = _meant(turn, action, item, container)
    if exchange is None:
        turn.refuse(places, Reason.NOT_FOR_SALE)
        return
    hours = container.hours if action in _TRADES else None
    if hours is not None and not turn.time.allows(hours):
        turn.refuse(places, Reason.CLOSED)
        turn.effects.update(dict.fromkeys(places.tolist(), (Effect("opens_at", hours[0]),)))
        return
    places = _able(turn, places, exchange)
    if action is not ActionType.BUY:  # what buyers pay always fits in, or a full stall could sell nothing
        growth = turn.intents.amount[places].astype(np.int64) * exchange.growth
        fits = lying_in_all(turn, _tiles(turn, places), moves.sums) + growth <= container.holds
        places = turn.keep(places, fits | (growth <= 0), Reason.CONTAINER_FULL)
    _carry_out(turn, places, exchange, moves)


def _meant(turn: Turn, action: ActionType, item: int, container: ContainerInfo) -> _Exchange | None:
    """Return what is exchanged for one item; None if it has no price there."""
    if action is ActionType.PUT:
        return _Exchange([(item, 1)], [])
    if action is ActionType.TAKE:
        return _Exchange([], [(item, 1)])
    price = container.price(turn.tables.item_names[item], sells=action is ActionType.BUY)
    if price is None:
        return None
    money = turn.tables.item_codes(price)
    return _Exchange(money, [(item, 1)]) if action is ActionType.BUY else _Exchange([(item, 1)], money)


def _able(turn: Turn, places: "Int64", exchange: _Exchange) -> "Int64":
    """Return the places of exchanges for which both sides have the items, and the actor has the room."""
    count = turn.intents.amount[places].astype(np.int64)
    carried = turn.state.inventory[turn.intents.actor[places]]
    short: Bool = np.zeros(len(places), dtype=np.bool_)
    for kind, amount in exchange.put:
        short |= carried[:, kind] < count * amount
    for at in np.flatnonzero(short).tolist():
        wanted = [(kind, amount * int(count[at])) for kind, amount in exchange.put]
        turn.effects[int(places[at])] = turn.missing(carried[at].tolist(), wanted)
    places, count = turn.keep(places, ~short, Reason.MISSING_ITEM), count[~short]
    there: Bool = np.ones(len(places), dtype=np.bool_)
    for kind, amount in exchange.taken:
        there &= lying(turn, _keys(turn, places, kind)) >= count * amount
    places, count = turn.keep(places, there, Reason.NOTHING_HERE), count[there]
    fits = turn.room(turn.intents.actor[places]) + count * exchange.growth >= 0
    return turn.keep(places, fits, Reason.INVENTORY_FULL)


def _carry_out(turn: Turn, places: "Int64", exchange: _Exchange, moves: _Moves) -> None:
    if not len(places):
        return
    rows, count = turn.intents.actor[places], turn.intents.amount[places].astype(np.int64)
    names, inventory = turn.tables.item_names, turn.state.inventory
    changes: list[tuple[str, Int64]] = []
    for sign, items in ((1, exchange.put), (-1, exchange.taken)):
        for kind, amount in items:
            moved = count * amount
            inventory[rows, kind] = (inventory[rows, kind] - sign * moved).astype(np.uint16)
            moves.add(_keys(turn, places, kind), moved, taken=sign < 0)
            changes.append((f"inventory.{names[kind]}", -sign * moved))
    turn.set_effects(places, (), changes)


def _tiles(turn: Turn, places: "Int64") -> "Int64":
    maps, target = turn.maps, turn.intents.target[places]
    tiles: Int64 = maps.object_y[target].astype(np.int64) * turn.tables.width + maps.object_x[target]
    return tiles


def _keys(turn: Turn, places: "Int64", kind: int) -> "Int64":
    return _tiles(turn, places) * len(turn.tables.item_names) + kind

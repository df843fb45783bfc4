"""Actions with items: use, drop, pick up, give.

Using and dropping take the whole amount or nothing. Picking up takes what is there and what the actor can carry. All
of them read the inventory as it is after those before them in this order, and gifts are handed over one after another.
"""

from typing import TYPE_CHECKING

import numpy as np

from tickmind.protocol import ActionType, Effect, ObjectDelta, Reason
from tickmind.world.rules.piles import lay, lying
from tickmind.world.rules.turn import Turn
from tickmind.world.scenario.scenario import NEVER
from tickmind.world.scenario.settings import NEED_MOST
from tickmind.world.state.timing import stock_times

if TYPE_CHECKING:
    from tickmind.protocol.columns import Int32, Int64


def use_items(turn: Turn) -> None:
    """Use up items; where there are needs, they change these."""
    places = turn.items(ActionType.USE)
    if not len(places):
        return
    places = turn.keep(places, turn.tables.item_usable[turn.intents.kind[places]], Reason.NOT_USABLE)
    places = turn.keep(places, turn.carried(places) >= turn.intents.amount[places], Reason.NOT_IN_INVENTORY)
    if not len(places):
        return
    tables, state = turn.tables, turn.state
    rows, kind, amount = turn.intents.actor[places], turn.intents.kind[places], turn.intents.amount[places]
    _change(turn, places, rows, -amount)
    if turn.rules.needs is None:
        return
    changes = [
        ("hunger", state.hunger, tables.item_hunger[kind]),
        ("energy", state.energy, tables.item_energy[kind]),
    ]
    if len(state.own_needs):
        own = tables.needs
        changes += [(name, state.own_needs[:, at], own.items[kind, at]) for at, name in enumerate(own.names)]
    for name, column, change in changes:
        before = column[rows]
        after = np.clip(before + amount * change, 0, NEED_MOST)
        column[rows] = after
        for place, by in zip(places.tolist(), (after - before).tolist(), strict=True):
            if by:
                turn.effects[place] += (Effect(name, by),)


def drop_items(turn: Turn) -> None:
    """Lay items down on the tile."""
    places = turn.items(ActionType.DROP)
    if not len(places):
        return
    places = turn.keep(places, turn.carried(places) >= turn.intents.amount[places], Reason.NOT_IN_INVENTORY)
    if not len(places):
        return
    amount = turn.intents.amount[places]
    _change(turn, places, turn.intents.actor[places], -amount)
    lay(turn, _keys(turn, places), amount.astype(np.int64))


def pick_up_items(turn: Turn) -> None:
    """Take items from the ground, then from the stock of the object on the tile."""
    places = turn.items(ActionType.PICKUP)
    if not len(places):
        return
    tables, state = turn.tables, turn.state
    rows = turn.intents.actor[places]
    ground = lying(turn, _keys(turn, places))
    objects = turn.maps.object_at[state.y[rows], state.x[rows]]
    stocked = np.zeros(len(places), dtype=np.int64)
    there = np.flatnonzero(objects >= 0)
    there = there[tables.stock_item[tables.object_kind[objects[there]]] == turn.intents.kind[places[there]]]
    stocked[there] = state.object_stock[objects[there]]
    room = turn.room(rows)
    if tables.some_are_large:
        _share_stock(turn, places, there, objects, ground, room, stocked)
    take = np.minimum(np.minimum(turn.intents.amount[places], ground + stocked), room)
    turn.refuse(places[room < 1], Reason.INVENTORY_FULL)
    turn.refuse(places[ground + stocked == 0], Reason.NOTHING_HERE)
    good = take > 0
    places, objects, take, ground = places[good], objects[good], take[good], ground[good]
    if not len(places):
        return
    _change(turn, places, turn.intents.actor[places], take)
    lifted = np.minimum(take, ground)
    if lifted.any():
        lay(turn, _keys(turn, places)[lifted > 0], -lifted[lifted > 0])
    picked = take - lifted
    _take_stock(turn, objects[picked > 0].astype(np.int64), picked[picked > 0])


def _share_stock(
    turn: Turn, places: "Int64", there: "Int64", objects: "Int32", ground: "Int64", room: "Int64", stocked: "Int64"
) -> None:
    """Let actors on one large object come one after another: each finds the stock that those before have left."""
    left: dict[int, int] = {}  # object row -> its stock after those before
    for at in there.tolist():
        row = int(objects[at])
        stock = stocked[at] = left.get(row, int(stocked[at]))
        taken = min(int(turn.intents.amount[places[at]]), int(ground[at]) + stock, max(int(room[at]), 0))
        left[row] = stock - max(0, taken - int(ground[at]))


def give_items(turn: Turn) -> None:
    """Hand items to an actor near, one gift after another; where gifts need consent, they are offers."""
    if turn.rules.gifts_need_consent:
        return
    places = turn.items(ActionType.GIVE)
    state, intents, ids = turn.state, turn.intents, turn.tables.actor_ids
    for place in places.tolist():
        giver, taker = int(intents.actor[place]), int(intents.target[place])
        kind, amount = int(intents.kind[place]), int(intents.amount[place])
        if not 0 <= taker < len(ids) or taker == giver:
            turn.refuse(place, Reason.UNKNOWN_TARGET)
            continue
        turn.target_ids[place] = ids[taker]
        if not turn.near(giver, taker):
            turn.refuse(place, Reason.TOO_FAR)
        elif state.inventory[giver, kind] < amount:
            turn.refuse(place, Reason.NOT_IN_INVENTORY)
        elif turn.room(np.array([taker], dtype=np.int32))[0] < amount:
            turn.refuse(place, Reason.INVENTORY_FULL)
        else:
            state.inventory[giver, kind] -= amount
            state.inventory[taker, kind] += amount
            turn.effects[place] = (Effect(f"inventory.{turn.tables.item_names[kind]}", -amount),)


def use_up(turn: Turn, rows: "Int32", items: list[tuple[int, int]]) -> None:
    """Take items that are there out of the inventories of actors."""
    for kind, amount in items:
        turn.state.inventory[rows, kind] -= np.uint16(amount)


def hand_over(turn: Turn, rows: "Int32", items: list[tuple[int, int]]) -> "list[tuple[int, Int64]]":
    """Put items into the inventories of actors; what they can't carry falls to the ground.

    Return for each kind of item how many each of them took.
    """
    room = turn.room(rows) if items else np.zeros(0, dtype=np.int64)
    all_taken: list[tuple[int, Int64]] = []
    for kind, amount in items:
        taken = np.minimum(amount, room)
        room -= taken
        turn.state.inventory[rows, kind] += taken.astype(np.uint16)
        falls = taken < amount
        if falls.any():
            lay(turn, turn.tile(rows[falls]) * len(turn.tables.item_names) + kind, amount - taken[falls])
        all_taken.append((kind, taken))
    return all_taken


def _change(turn: Turn, places: "Int64", rows: "Int32", by: "Int32 | Int64") -> None:
    """Change the quantity that each intent names, and record it as an effect."""
    kinds = turn.intents.kind[places]
    turn.state.inventory[rows, kinds] = (turn.state.inventory[rows, kinds].astype(np.int64) + by).astype(np.uint16)
    names = [f"inventory.{name}" for name in turn.tables.item_names]
    effects: dict[tuple[int, int], tuple[Effect, ...]] = {}  # item code and amount -> effects, which many share
    for place, change in zip(places.tolist(), zip(kinds.tolist(), by.tolist(), strict=True), strict=True):
        if change not in effects:
            effects[change] = (Effect(names[change[0]], change[1]),)
        turn.effects[place] = effects[change]


def _keys(turn: Turn, places: "Int64") -> "Int64":
    return turn.tile(turn.intents.actor[places]) * len(turn.tables.item_names) + turn.intents.kind[places]


def _take_stock(turn: Turn, rows: "Int64", amounts: "Int64") -> None:
    """Take from the stock of objects; one that was full begins to grow back, one that is used up may never."""
    if not len(rows):
        return
    state, tables = turn.state, turn.tables
    kinds = tables.object_kind[rows]
    full = state.object_stock[rows] == tables.stock_most[kinds]
    np.subtract.at(state.object_stock, rows, amounts.astype(np.int32))  # several may stand on a large object
    state.stock_due[rows[tables.stock_doubles[kinds] & (state.object_stock[rows] == 0)]] = NEVER
    state.stock_due[rows[full]] = stock_times(tables, rows[full], state.object_stock[rows[full]], turn.tick_id)
    for row in dict.fromkeys(rows.tolist()):
        turn.deltas.append(ObjectDelta(tables.object_ids[row], "stock", int(state.object_stock[row])))

"""Items on the ground: a sorted list of tiles with items, since most tiles are bare."""

from typing import TYPE_CHECKING

import numpy as np

from tickmind.protocol import ObjectDelta
from tickmind.protocol.observation import GROUND
from tickmind.world.rules.turn import Turn

if TYPE_CHECKING:
    from tickmind.protocol.columns import Int64


def ground_id(x: int, y: int) -> str:
    """Return the object id of the items on a tile."""
    return f"{GROUND}:{x},{y}"


def lying(turn: Turn, keys: "Int64") -> "Int64":
    """Return how many items lie there; a key is tile * item kinds + item code."""
    state = turn.state
    if not len(state.ground_key):
        return np.zeros(len(keys), dtype=np.int64)
    place = np.minimum(np.searchsorted(state.ground_key, keys), len(state.ground_key) - 1)
    return np.where(state.ground_key[place] == keys, state.ground_amount[place], 0)


def ground_sums(turn: Turn) -> "Int64":
    """Return the sums of all items before each place in the list of items on the ground."""
    return np.concatenate(([0], np.cumsum(turn.state.ground_amount)))


def lying_in_all(turn: Turn, tiles: "Int64", sums: "Int64") -> "Int64":
    """Return how many items of all kinds lie on tiles, by the present sums."""
    key, kinds = turn.state.ground_key, max(len(turn.tables.item_names), 1)
    first, last = (np.searchsorted(key, keys) for keys in (tiles * kinds, (tiles + 1) * kinds))
    total: Int64 = sums[last] - sums[first]
    return total


def is_bare(turn: Turn, tile: int, width: int) -> bool:
    """Return whether no items lie on a row of tiles: the given one is its first, in the west."""
    kinds = max(len(turn.tables.item_names), 1)
    first, last = np.searchsorted(turn.state.ground_key, (tile * kinds, (tile + width) * kinds)).tolist()
    return bool(first == last)


def lay(turn: Turn, keys: "Int64", amounts: "Int64") -> None:
    """Add items to the ground, or remove them: all amounts are positive, or all negative. No key is there twice."""
    state = turn.state
    order = np.argsort(keys)
    keys, amounts = keys[order], amounts[order]
    place = np.searchsorted(state.ground_key, keys)
    new = lying(turn, keys) == 0
    state.ground_amount[place[~new]] += amounts[~new]
    _tell(turn, keys[~new], state.ground_amount[place[~new]])
    _tell(turn, keys[new], amounts[new])
    empty = place[~new][state.ground_amount[place[~new]] == 0]
    if new.any():
        state.ground_key = np.insert(state.ground_key, place[new], keys[new])
        state.ground_amount = np.insert(state.ground_amount, place[new], amounts[new])
    elif len(empty):
        state.ground_key = np.delete(state.ground_key, empty)
        state.ground_amount = np.delete(state.ground_amount, empty)


def _tell(turn: Turn, keys: "Int64", amounts: "Int64") -> None:
    names, ids, width = turn.tables.item_names, turn.tables.ground_ids, turn.tables.width
    tiles, items = np.divmod(keys, max(len(names), 1))
    for tile, item, amount in zip(tiles.tolist(), items.tolist(), amounts.tolist(), strict=True):
        name = ids.get(tile)
        if name is None:
            name = ids[tile] = ground_id(tile % width, tile // width)
        turn.deltas.append(ObjectDelta(name, names[item], amount))

"""Decay: items that do not last go, or become others, where they lie and where they are carried.

Of a stack of 30 of which one in 20 decays, one goes in each tick, and a second one by a chance of 10 in 20. So a large
stack costs as much as a small one, and the number is right on average. What grows on objects, and what actors that are
away carry, does not decay.
"""

from typing import TYPE_CHECKING

import numpy as np

from tickmind.protocol import Effect, RuleEvent
from tickmind.protocol.record import AWAY
from tickmind.world.rules.piles import lay
from tickmind.world.rules.turn import Turn

if TYPE_CHECKING:
    from tickmind.protocol.columns import Int64

EVENT = "decay"  # name of the event in the record
_CARRIED, _LYING = 6, 7  # purposes of the random numbers


def decay(turn: Turn) -> None:
    """Let items decay. What they become decays from the next tick on."""
    if not turn.tables.decaying:
        return
    fallen = _Fallen(turn)
    rotten, gone = _lost_on_the_ground(turn)
    if len(rotten):
        lay(turn, rotten, -gone)
    _decay_carried(turn, fallen)
    kinds = len(turn.tables.item_names)
    tiles, items = np.divmod(rotten, kinds)
    for item in turn.tables.decaying:
        of_it = items == item
        for other, amount in turn.tables.item_codes(turn.tables.scenario.items[item].becomes):
            fallen.put(tiles[of_it] * kinds + other, gone[of_it] * amount)
    fallen.lay()


def _lost(amounts: "Int64", lasts: "Int64", chance: "Int64") -> "Int64":
    """Return how many of each stack decay in this tick; each has drawn a number below `lasts`."""
    sure, rest = np.divmod(amounts, lasts)
    lost: Int64 = sure + (chance < rest)
    return lost


def _lost_on_the_ground(turn: Turn) -> "tuple[Int64, Int64]":
    """Return the keys of stacks on the ground that lose something, and how many."""
    state, tables = turn.state, turn.tables
    lasts = tables.item_lasts[state.ground_key % len(tables.item_names)]
    some = np.flatnonzero(lasts)
    keys = state.ground_key[some]
    chance = tables.chance.for_ground(_LYING, turn.tick_id, keys, lasts[some])
    lost = _lost(state.ground_amount[some], lasts[some], chance)
    return keys[lost > 0], lost[lost > 0]


def _decay_carried(turn: Turn, fallen: "_Fallen") -> None:
    """Let items decay that actors carry; what they have no room for falls to the ground."""
    state, tables = turn.state, turn.tables
    kinds = len(tables.item_names)
    stacks = state.inventory[:, tables.decaying]
    rows, columns = np.nonzero(stacks if not state.some_away else stacks * (state.x != AWAY)[:, None])
    items = np.array(tables.decaying, dtype=np.int64)[columns]
    lasts = tables.item_lasts[items]
    chance = tables.chance.for_carried(_CARRIED, turn.tick_id, rows * kinds + items, lasts)
    lost = _lost(stacks[rows, columns].astype(np.int64), lasts, chance)
    some = lost > 0
    rows, items, lost = rows[some], items[some], lost[some]
    if not len(rows):
        return
    actors = np.unique(rows)
    changes = np.zeros((len(actors), kinds), dtype=np.int64)
    at = np.searchsorted(actors, rows)
    changes[at, items] = -lost
    room = np.maximum(turn.room(actors.astype(np.int32)) - changes.sum(axis=1), 0)
    tiles = turn.tile(actors.astype(np.int32))
    for item in np.unique(items).tolist():
        here = at[items == item]
        for other, amount in tables.item_codes(tables.scenario.items[item].becomes):
            made = lost[items == item] * amount
            taken = np.minimum(made, room[here])
            room[here] -= taken
            changes[here, other] += taken
            fallen.put(tiles[here[taken < made]] * kinds + other, (made - taken)[taken < made])
    state.inventory[actors] = (state.inventory[actors] + changes).astype(np.uint16)
    _record(turn, actors, changes)


def _record(turn: Turn, actors: "Int64", changes: "Int64") -> None:
    """Add events that say what actors have lost and got: one for all to whom the same happened."""
    names, ids = turn.tables.item_names, turn.tables.actor_ids
    different, which = np.unique(changes, axis=0, return_inverse=True)
    which = which.reshape(-1)  # its shape differs between versions of NumPy
    for number, change in enumerate(different.tolist()):
        effects = tuple(Effect(f"inventory.{name}", by) for name, by in zip(names, change, strict=True) if by)
        if effects:  # one item may have become what another one was
            same = actors[which == number].tolist()
            turn.rule_events.append(RuleEvent(EVENT, tuple(ids[row] for row in same), effects=effects))


class _Fallen:
    """Collects items that fall to the ground in this tick; one tile and kind may be added several times."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._keys: list[Int64] = []
        self._amounts: list[Int64] = []

    def put(self, keys: "Int64", amounts: "Int64") -> None:
        """Add stacks, by their keys on the ground."""
        self._keys.append(keys)
        self._amounts.append(amounts)

    def lay(self) -> None:
        """Lay the sums of all that were added."""
        if not any(map(len, self._keys)):
            return
        keys, which = np.unique(np.concatenate(self._keys), return_inverse=True)
        amounts = np.zeros(len(keys), dtype=np.int64)
        np.add.at(amounts, which, np.concatenate(self._amounts))
        lay(self._turn, keys, amounts)

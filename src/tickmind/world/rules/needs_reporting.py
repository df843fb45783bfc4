"""Reports of needs. They change a little in every tick, so only larger changes are reported."""

from typing import TYPE_CHECKING

import numpy as np

from tickmind.protocol import NeedColumns
from tickmind.world.state.columns import WorldColumns

if TYPE_CHECKING:
    from tickmind.protocol.columns import Bool, Int32

STEP = 20  # an actor is reported when one of its needs goes from one multiple of this to another
CENSUS_TICKS = 64  # in the first of so many ticks all actors are reported, so that no reader has to look back further


def all_needs(state: WorldColumns) -> NeedColumns:
    """Return the needs of all actors."""
    return _some(state, np.arange(len(state.energy), dtype=np.int32))


class NeedsBefore:
    """The needs before a tick, to find those that changed enough. It depends on state and tick alone."""

    def __init__(self, state: WorldColumns) -> None:
        self._energy: Int32 = state.energy // STEP
        self._hunger: Int32 = state.hunger // STEP
        self._own: Int32 = state.own_needs // STEP

    def moved(self, tick_id: int, state: WorldColumns) -> NeedColumns | None:
        """Return the needs to report after the tick; None if there are none."""
        if not len(state.energy):
            return None
        if tick_id % CENSUS_TICKS == 1:
            return all_needs(state)
        moved: Bool = (state.energy // STEP != self._energy) | (state.hunger // STEP != self._hunger)
        if len(state.own_needs):
            moved |= (state.own_needs // STEP != self._own).any(axis=1)
        return _some(state, np.flatnonzero(moved).astype(np.int32)) if moved.any() else None


def _some(state: WorldColumns, rows: "Int32") -> NeedColumns:
    own = state.own_needs[rows].astype(np.int16) if len(state.own_needs) else None
    return NeedColumns(rows, state.energy[rows].astype(np.int16), state.hunger[rows].astype(np.int16), own)

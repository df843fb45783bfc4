"""Parties: who was at a place when a planted fact says that something is there."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from tickmind.mind.plans import read_appointment
from tickmind.protocol.setting import ZoneInfo

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tickmind.record.reader import RunReader

NEAR_STEPS = 4  # of a place, for one that is there
PARTY_TICKS = 25  # before and after the time, in which it is


def read_parties(reader: "RunReader", facts: Iterable[str]) -> dict[str, dict[int, frozenset[str]]]:
    """Return for each fact that names a place and a time, and each tick of that time, who was there.

    Times at the end of the run to which some might still come are left out.
    """
    setting, ids = reader.info.setting, [actor.entity_id for actor in reader.info.actors]
    places = {zone.name: zone for zone in setting.zones}
    first, last = reader.first_tick_id or 0, reader.last_tick_id or 0
    parties: dict[str, dict[int, frozenset[str]]] = {}
    for fact in facts:
        errand = read_appointment(fact, places)
        if errand is None:
            continue
        begin = setting.calendar.next_tick(first, errand.minute)
        parties[fact] = {}
        for tick_id in range(begin, last - PARTY_TICKS + 1, setting.calendar.day_ticks):
            there = np.zeros(len(ids), dtype=bool)
            for near_tick in range(max(first, tick_id - PARTY_TICKS), tick_id + PARTY_TICKS + 1):
                state = reader.state_at(near_tick)
                there |= is_near(places[errand.place], state.x, state.y)
            parties[fact][tick_id] = frozenset(ids[row] for row in np.flatnonzero(there))
    return parties


def is_near(zone: ZoneInfo, x: "NDArray[np.signedinteger]", y: "NDArray[np.signedinteger]") -> "NDArray[np.bool_]":
    """Return which tiles are in a zone, or a few steps from it; none where an actor is away."""
    near = np.zeros(len(x), dtype=bool)
    for west, north, east, south in zone.areas:
        steps = np.maximum(np.maximum(west - x, x - east), np.maximum(north - y, y - south))
        near |= steps <= NEAR_STEPS
    return near & (x >= 0)

"""`ObservationColumns`: what many actors perceive at the start of a tick, as columns."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tickmind.protocol.observation import OpenOffer
from tickmind.protocol.record import Utterance
from tickmind.protocol.result import Effect

if TYPE_CHECKING:
    from tickmind.protocol.columns import Int8, Int32, Int64, UInt8, UInt16, UInt64

ENTERED = 1  # bits of `ObservationColumns.entity_flags`
MOVED = 2


@dataclass(frozen=True, slots=True)
class ResultDetail:
    """What the columns of an action have no room for: what it was done to, and what it changed."""

    actor: int  # row
    target_id: str = ""
    effects: tuple[Effect, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ObservationColumns:
    """The observations of n actors, packed: the same content as n `Observation`s, for hosts of many actors.

    Lists of different lengths are laid one after another: the entities that observer i sees are
    `entity[entity_offset[i]:entity_offset[i + 1]]`. Numbers stand for names by the world's `WorldInfo`.
    """

    tick_id: int
    deadline_ms: int
    radius: int

    actor: "Int32"  # n rows of observers
    x: "Int32"
    y: "Int32"
    status_bits: "Int32"
    facing: "Int8"
    energy: "Int32"
    hunger: "Int32"
    inventory: "UInt16"  # n x item kinds
    result_action: "UInt8"  # code of the own last action; 0 also for none
    result_reason: "UInt8"  # code of the reason for which it failed; 0 if it did not

    visible: "UInt64"  # n x words; the bits of `VisibleTiles.visible`, lowest first

    entity_offset: "Int64"  # n + 1
    entity: "Int32"  # rows, for each observer in the order of the map
    entity_dx: "Int8"  # position relative to the observer
    entity_dy: "Int8"
    entity_status: "UInt8"
    entity_facing: "Int8"
    entity_flags: "UInt8"  # ENTERED, MOVED
    entity_action: "UInt8"  # code of its action other than moving, speaking and waiting; else 0
    entity_reason: "UInt8"  # why that failed; else 0

    left_offset: "Int64"  # n + 1
    left: "Int32"  # rows of entities that went out of sight

    object_offset: "Int64"  # n + 1
    object: "Int32"  # object rows
    object_state: "UInt8"
    object_work: "Int32"
    object_stock: "Int32"

    ground_offset: "Int64"  # n + 1
    ground_dx: "Int8"
    ground_dy: "Int8"
    ground_kind: "UInt16"
    ground_amount: "Int64"

    heard_offset: "Int64"  # n + 1
    heard: "Int32"  # places in `utterances`
    utterances: tuple[Utterance, ...] = ()
    offers: tuple[tuple[int, OpenOffer], ...] = ()  # places of observers, ascending, each with an offer to it
    own_needs: "Int32 | None" = None  # n x needs that the scenario declares; None if it declares none
    placed: tuple[tuple[int, int, int], ...] = ()  # rows, x and y of objects in sight that come and go, ascending
    details: tuple[ResultDetail, ...] = ()  # of what observers and entities in sight did, by ascending rows

    def __len__(self) -> int:
        return len(self.actor)

    def offers_by_place(self) -> dict[int, tuple[OpenOffer, ...]]:
        """Return the offers to each observer that has any, by its place."""
        offers: dict[int, tuple[OpenOffer, ...]] = {}
        for place, offer in self.offers:
            offers[place] = (*offers.get(place, ()), offer)
        return offers

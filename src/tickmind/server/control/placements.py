"""`PlacementQueue`: orders of operators that wait for the end of the open tick."""

from collections.abc import Callable
from dataclasses import dataclass

from tickmind.base import Limit
from tickmind.protocol import Placement, Reason, TickRecord
from tickmind.wire.messages.placements import PlacementOutcome, PlacementRequest
from tickmind.world import TileWorld


@dataclass(frozen=True, slots=True, eq=False)
class PendingPlacement:
    """An order that is not carried out yet."""

    placement: Placement
    on_done: Callable[[PlacementOutcome], None]


class PlacementQueue:
    """Collects orders during a tick, hands them to the world at its end, and answers them once it is recorded."""

    def __init__(self, world: TileWorld, limit: Limit) -> None:
        self._world = world
        self._limit = limit
        self._waiting: list[PendingPlacement] = []
        self._taken: list[PendingPlacement] = []  # by a tick that is not recorded yet
        self._ended = False

    def add(
        self, request: PlacementRequest, on_done: Callable[[PlacementOutcome], None]
    ) -> PendingPlacement | PlacementOutcome:
        """Add an order and return it, for `withdraw`; `on_done` is called when it is decided. Or return why not."""
        row = self._world.row_of(request.entity_id)
        if self._ended:
            return PlacementOutcome(Reason.STOPPING)
        if row is None:
            return PlacementOutcome(Reason.UNKNOWN_ENTITY)
        if not self._limit.allows(len(self._waiting) + 1):
            return PlacementOutcome(Reason.OVERLOADED)
        tile = () if request.leaves else request.at or self._world.start_of(row)
        pending = PendingPlacement(Placement(request.entity_id, *tile), on_done)
        self._waiting.append(pending)
        return pending

    def withdraw(self, pending: PendingPlacement) -> None:
        """Forget an order of a client that is gone, unless its tick is over."""
        if pending in self._waiting:
            self._waiting.remove(pending)

    def take(self) -> list[Placement]:
        """Return all orders for the tick that is being resolved."""
        self._taken, self._waiting = self._waiting, []
        return [pending.placement for pending in self._taken]

    def settle(self, record: TickRecord) -> None:
        """Answer the orders of a tick that is recorded."""
        taken, self._taken = self._taken, []
        for pending, placement in zip(taken, record.placements, strict=True):
            tile = None if placement.leaves else (placement.x, placement.y)
            pending.on_done(PlacementOutcome(placement.reason, record.tick_id, tile))

    def end(self) -> None:
        """Refuse all orders that are not recorded, and all later ones."""
        self._ended = True
        for pending in (*self._taken, *self._waiting):
            pending.on_done(PlacementOutcome(Reason.STOPPING))
        self._taken, self._waiting = [], []

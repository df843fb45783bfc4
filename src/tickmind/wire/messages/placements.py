"""Orders of a world's operator: an actor comes into the world or leaves it."""

from dataclasses import dataclass

from tickmind.protocol import Reason


@dataclass(frozen=True, slots=True)
class PlacementRequest:
    """An actor is to come, to a tile or to where its scenario puts it; or it is to leave."""

    entity_id: str
    at: tuple[int, int] | None = None
    leaves: bool = False


@dataclass(frozen=True, slots=True)
class PlacementOutcome:
    """What became of an order."""

    reason: Reason = Reason.NONE  # why it was not carried out
    tick_id: int = 0  # at whose end it was decided; 0 if it was refused before
    at: tuple[int, int] | None = None  # the tile to which the actor was to come; None for one that was to leave

    @property
    def ok(self) -> bool:
        """Whether it was carried out."""
        return not self.reason

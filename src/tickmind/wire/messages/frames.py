"""Frames of control streams besides observations."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from tickmind.base import Secret
from tickmind.protocol import Ack, Intent, Lease, Observation, Reason, RunInfo

if TYPE_CHECKING:
    from tickmind.protocol import IntentColumns, ObservationColumns
    from tickmind.protocol.columns import Int32, Int64, UInt8


NO_RUN = RunInfo()


@dataclass(frozen=True, slots=True)
class KeepAlive:
    """A sign of life; it renews the lease."""


@dataclass(frozen=True, slots=True)
class Release:
    """Gives control up at once."""


@dataclass(frozen=True, slots=True)
class Closed:
    """Ends the stream, sent by the server; nothing follows."""

    reason: Reason = Reason.NONE
    retry_after_ms: int = 0


@dataclass(frozen=True, slots=True)
class ControlOpen:
    """Requests control of an entity; `previous_lease_id` takes it back after a break.

    To `play` borrows it for a person, if it has an agent.
    """

    entity_id: str
    controller_id: str
    previous_lease_id: Secret | None = None
    want_floors: bool = False
    play: bool = False


@dataclass(frozen=True, slots=True)
class ControlIntent:
    """The entity's intent for one tick."""

    tick_id: int
    intent: Intent


@dataclass(frozen=True, slots=True)
class ControlOpened:
    """Grants control of the entity."""

    lease: Lease
    run: RunInfo = NO_RUN


@dataclass(frozen=True, slots=True)
class ControlAck:
    """Acknowledges or refuses the intent of a tick."""

    tick_id: int
    ack: Ack


ControlUp: TypeAlias = ControlOpen | ControlIntent | KeepAlive | Release
ControlDown: TypeAlias = ControlOpened | Observation | ControlAck | Closed


@dataclass(frozen=True, slots=True, eq=False)
class BatchOpen:
    """A host's request to control actors."""

    controller_id: str
    actor: "Int32"  # rows, ascending, none twice
    previous_lease_id: Secret | None = None


@dataclass(frozen=True, slots=True, eq=False)
class IntentBatch:
    """Intents of one tick. Illegal ones are left out of `intents` and listed in the other two columns."""

    tick_id: int
    intents: "IntentColumns"
    refused: "Int32"  # rows, ascending
    refused_reason: "UInt8"  # codes of `REASONS`


@dataclass(frozen=True, slots=True, eq=False)
class BatchOpened:
    """Grants one lease for all actors of a host that were free."""

    lease_id: Secret
    ttl_ms: int
    granted: "Int32"  # rows, ascending
    epoch: "Int64"  # of each granted row
    refused: "Int32"  # rows, ascending
    refused_reason: "UInt8"  # codes of `REASONS`
    run: RunInfo = NO_RUN


@dataclass(frozen=True, slots=True, eq=False)
class ObservationBatch:
    """A part of a tick's observations, complete in itself."""

    part: int
    parts: int
    observations: "ObservationColumns"


@dataclass(frozen=True, slots=True, eq=False)
class AckBatch:
    """Acknowledges a batch of intents, and lists the refused ones."""

    tick_id: int
    accepted: int
    refused: "Int32"  # rows, ascending
    refused_reason: "UInt8"  # codes of `REASONS`


@dataclass(frozen=True, slots=True, eq=False)
class LeasesLost:
    """Actors that the host no longer controls."""

    actor: "Int32"  # rows, ascending
    reason: "UInt8"  # codes of `REASONS`


BatchUp: TypeAlias = BatchOpen | IntentBatch | KeepAlive | Release
BatchDown: TypeAlias = BatchOpened | ObservationBatch | AckBatch | LeasesLost | Closed

"""Requests of plain calls, decoded and checked."""

from dataclasses import dataclass

from tickmind.base import Secret
from tickmind.protocol import AgentStatus, Insight, Intent, ThoughtReport


@dataclass(frozen=True, slots=True)
class SubmitRequest:
    """An intent, with its lease."""

    lease_id: Secret
    entity_id: str
    tick_id: int
    intent: Intent


@dataclass(frozen=True, slots=True)
class AcquireRequest:
    """A request for control of an entity; `previous_lease_id` takes it back after a break."""

    entity_id: str
    controller_id: str
    previous_lease_id: Secret | None = None


@dataclass(frozen=True, slots=True)
class ObservationsRequest:
    """A request for an entity's observations, with its lease; `once` is for the newest alone."""

    lease_id: Secret
    entity_id: str
    want_floors: bool = False
    once: bool = False


@dataclass(frozen=True, slots=True)
class EntitiesRequest:
    """A request for a page of actors; a `page_size` of 0 leaves the size to the world."""

    uncontrolled_only: bool = False
    page_size: int = 0
    after_entity_id: str = ""


@dataclass(frozen=True, slots=True)
class ThoughtRequest:
    """A thought, with the lease of its entity."""

    lease_id: Secret
    report: ThoughtReport


@dataclass(frozen=True, slots=True)
class StatusRequest:
    """A status, with the lease of its entity."""

    lease_id: Secret
    status: AgentStatus


@dataclass(frozen=True, slots=True)
class InsightsRequest:
    """Insights into entities of one lease, with that lease."""

    lease_id: Secret
    insights: tuple[Insight, ...]

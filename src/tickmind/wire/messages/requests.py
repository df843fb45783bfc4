"""What the world is asked for in plain calls, once it was read and checked."""

from dataclasses import dataclass

from tickmind.base import Secret
from tickmind.protocol import AgentStatus, Insight, Intent, ThoughtReport


@dataclass(frozen=True, slots=True)
class SubmitRequest:
    """An intent, and the right to have it."""

    lease_id: Secret
    entity_id: str
    tick_id: int
    intent: Intent


@dataclass(frozen=True, slots=True)
class AcquireRequest:
    """Who wants to control which entity; `previous_lease_id` takes it back after a break."""

    entity_id: str
    controller_id: str
    previous_lease_id: Secret | None = None


@dataclass(frozen=True, slots=True)
class ObservationsRequest:
    """Whose observations are asked for, and the right to have them; `once` is for the newest alone."""

    lease_id: Secret
    entity_id: str
    want_floors: bool = False
    once: bool = False


@dataclass(frozen=True, slots=True)
class EntitiesRequest:
    """Which page of which actors; a `page_size` of 0 leaves it to the world."""

    uncontrolled_only: bool = False
    page_size: int = 0
    after_entity_id: str = ""


@dataclass(frozen=True, slots=True)
class ThoughtRequest:
    """A thought, and the right to report for its entity."""

    lease_id: Secret
    report: ThoughtReport


@dataclass(frozen=True, slots=True)
class StatusRequest:
    """A status, and the right to report for its entity."""

    lease_id: Secret
    status: AgentStatus


@dataclass(frozen=True, slots=True)
class InsightsRequest:
    """Insights of entities that one lease stands for, and the right to report them."""

    lease_id: Secret
    insights: tuple[Insight, ...]

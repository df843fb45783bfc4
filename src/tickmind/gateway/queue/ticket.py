"""A job in the dispatcher's hands: its queue, its lane, and what it was charged to."""

from dataclasses import dataclass

from tickmind.gateway.queue.fair import SessionAccount
from tickmind.gateway.queue.fair_queue import FairQueue
from tickmind.gateway.queue.job import Job
from tickmind.gateway.queue.lane import Lane
from tickmind.gateway.queue.limits.reservations import Reservation


@dataclass(slots=True, eq=False)
class Ticket(Job):
    """A job that can be submitted; the dispatcher alone writes these fields."""

    lane: Lane | None = None  # while an attempt is under way
    queue: "FairQueue[Ticket] | None" = None
    place: Reservation | None = None  # that was kept for its caller
    account: SessionAccount | None = None  # what its way to the provider was charged to

"""A ticket: a job in the dispatcher's hands, with its queue, its lane, and the account it was charged to."""

from dataclasses import dataclass, field

from tickmind.gateway.queue.fair import SessionAccount
from tickmind.gateway.queue.fair_queue import FairQueue
from tickmind.gateway.queue.job import Job
from tickmind.gateway.queue.lane import Lane
from tickmind.gateway.queue.limits.reservations import Reservation


@dataclass(slots=True, eq=False)
class Ticket(Job):
    """A job that can be submitted; the dispatcher alone writes these fields."""

    lane: Lane | None = None  # while an attempt is in flight
    queue: "FairQueue[Ticket] | None" = None
    place: Reservation | None = None  # reserved for its caller
    account: SessionAccount = field(init=False, repr=False)  # that was charged for the attempt

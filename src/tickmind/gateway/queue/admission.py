"""Admission: only requests that can be answered in time may wait; others are refused at once, with a time to retry.

A request needs as long as the lanes have lately taken, plus a margin. It waits only if it can be expected to start that
long before its deadline, and stops waiting when it can't any more. A lane with room takes every request, however slow
it was: that is how the gateway notices that it has become faster.
"""

import math
from dataclasses import dataclass

from tickmind.gateway.queue.fair_queue import FairQueue
from tickmind.gateway.queue.forecast import per_second, slots_of, start_s
from tickmind.gateway.queue.job import Priority
from tickmind.gateway.queue.lane import Lane
from tickmind.gateway.queue.limits.reservations import LATE_PART
from tickmind.gateway.queue.limits.service_time import MAX_PART
from tickmind.gateway.queue.reporting.refusals import MIN_RETRY_AFTER_S, expired, overloaded, unavailable
from tickmind.gateway.queue.ticket import Ticket
from tickmind.gateway.refusal import Code, Refusal
from tickmind.gateway.settings.config import QueueConfig

PROBE_S = 30.0  # after which a slow lane is tried again even if the next in the chain has room
FREE_WAIT_S = 0.001  # wait in a refusal when a slot has just become free
MIN_WAIT_S = 0.05  # shortest wait in a refusal for lack of time
MAX_WAIT_S = 45.0  # longest wait in a refusal: who waits longer misses the recovery of a lane, and others get its share
MIN_LATE_S = 0.25  # how late a caller may be for its place, whatever the pace
LOOK_S_A_JOB = 5e-4  # between two looks through a queue, for each job in it: a few hundredths of the processor
GUARD_PART = 0.25  # of the spacing: a caller due within it goes before a caller that is early and had more
HAD_MORE = 2  # requests more are "more"
LEAD_PART = 0.5  # of its possible wait in the queue: how long before a slot gets free a caller should come
EARLY = 1.0  # deviations earlier than that: the caller may stand by until the slot is free
MAX_EARLY_PART = 0.5  # of the time that an answer needs


@dataclass(frozen=True, slots=True)
class Need:
    """The time that a request needs from its start to its answer, with a safety margin."""

    seconds: float
    deviation_s: float


NOTHING_KNOWN = Need(0.0, 0.0)


class Admission:
    """Decides which requests may wait. It reads queues and lanes; it writes only reservations and `expires_s`."""

    __slots__ = ("_config",)

    def __init__(self, config: QueueConfig) -> None:
        self._config = config

    def need(self, job: Ticket, queue: FairQueue[Ticket], now: float) -> Need:
        """Return what a job needs of the quickest lane that is known."""
        allowed_s = max(0.0, job.deadline_s - job.arrived_s)  # a deadline may have passed while the request was read
        best = NOTHING_KNOWN
        for lane in queue.lanes:
            known = lane.service.estimate() if self._config.learn_service_times else None
            if known is None or not known.attempts:
                return NOTHING_KNOWN
            seconds = known.need_s(job.prompt_tokens, job.tokens - job.prompt_tokens, allowed_s)
            oldest, its_lane = next(iter(lane.key.running.items()), (None, None))
            if oldest is not None and its_lane is lane and now - oldest.sent_s > seconds:
                seconds = min(now - oldest.sent_s, MAX_PART * allowed_s)  # the lane has become slower
            if best is NOTHING_KNOWN or seconds < best.seconds:
                best = Need(seconds, known.deviation_s)
        return best

    def latest_start_s(self, job: Ticket, queue: FairQueue[Ticket], now: float) -> float:
        """Return until when a job may wait for its start."""
        need_s = self.need(job, queue, now).seconds
        limit_s = job.queued_s + self._config.max_wait_s
        return min(job.deadline_s - need_s, limit_s, job.drop_after_s or math.inf)

    def refusal_of(
        self, job: Ticket, queue: FairQueue[Ticket], now: float, *, replaced: int = 0, gives_way: bool = False
    ) -> Refusal | None:
        """Return None if a job may wait, until its `expires_s`; else the refusal.

        `replaced`: how many waiting requests it would replace; `gives_way`: to a caller that is due.
        """
        job.expires_s = self.latest_start_s(job, queue, now)
        back_s, down = queue.outlook(now, job.tokens)
        if down or back_s > job.expires_s:
            return unavailable(queue, back_s - now, down=down)
        if not gives_way and not self._is_too_late(job, queue, now, replaced):
            return None
        return overloaded(job, queue, now, self.come_back(job, queue, now))

    def _is_too_late(self, job: Ticket, queue: FairQueue[Ticket], now: float, replaced: int) -> bool:
        """Whether it can't be expected to start in time. Only slots count: a rate does not show whose turn it is."""
        if not self._has_turns(queue):
            return False
        return start_s(queue.lanes, now, max(0, queue.ahead_of(job) - replaced)) > job.expires_s

    def _has_turns(self, queue: FairQueue[Ticket]) -> bool:
        return self._config.learn_service_times and all(slots_of(lane) < math.inf for lane in queue.lanes)

    def turn_need_s(self, job: Ticket, queue: FairQueue[Ticket], now: float) -> float:
        """Return how long an answer takes, with a safety margin; 0 if unknown, or if slots don't decide."""
        return self.need(job, queue, now).seconds if self._has_turns(queue) else 0.0

    def gives_way(self, job: Ticket, queue: FairQueue[Ticket], lane: Lane, now: float) -> bool:
        """Whether a caller that comes early must leave a free slot to another caller, which is due and had less."""
        place = job.place
        if place is None or place.at_s <= now + MIN_LATE_S:
            return False
        due = queue.reserved.due(now, job.session.owner, GUARD_PART * self._spacing_s(queue, now))
        return due is not None and lane.key.ledger.lead(job.session.owner, due) > HAD_MORE * lane.cost_s(job.tokens)

    def passes_over(self, job: Ticket, lane: Lane, queue: FairQueue[Ticket], now: float) -> bool:
        """Whether a lane with room was too slow for such a job last time, and another lane of the chain has room."""
        if job.deadline_s - now > lane.slow_s or now - lane.sent_s >= PROBE_S:
            return False
        return any(
            not other.waiting and not other.slow_s and other.earliest_s(now, job.tokens) <= now for other in queue.lanes
        )

    def held_until_s(self, job: Ticket, queue: FairQueue[Ticket], refusal: Refusal, now: float) -> float:
        """Return until when to hold a refusal back: `now` means not at all.

        A caller that ignored an earlier wait would retry at once, so it gets the refusal when it may retry. A caller
        that came at its time and finds no slot free yet stands by, and gets the refusal as soon as one is.
        """
        if refusal.code is not Code.OVERLOADED or job.place is None:
            return now
        until_s = min(job.deadline_s, job.drop_after_s or math.inf)
        if job.place.is_ignored(now):
            return min(now + (refusal.retry_after_s or 0.0), until_s)
        is_late = job.place.announced_s < job.arrived_s - MIN_LATE_S
        return until_s if not is_late and self._may_stand_by(queue, now, until_s) else now

    def _may_stand_by(self, queue: FairQueue[Ticket], now: float, until_s: float) -> bool:
        """Whether a slot is expected in time, and fewer callers than slots stand by."""
        ahead = len(queue.standby)
        if not self._has_turns(queue) or ahead >= sum(slots_of(lane) for lane in queue.lanes):
            return False
        return start_s(queue.lanes, now, queue.live + ahead) < until_s

    def is_late(self, job: Ticket, now: float) -> bool:
        """Whether a waiting job can't be answered in time any more."""
        queue = job.queue
        assert queue is not None, "a job that waits has a queue"
        return job.expires_s <= now or self.latest_start_s(job, queue, now) < now

    def late(self, queue: FairQueue[Ticket], now: float) -> list[Ticket]:
        """Return all jobs of a queue that can't be answered in time any more.

        A long queue is looked through now and then only: each of its jobs also ends by itself when it expires.
        """
        if now < queue.look_again_s:
            return []
        queue.look_again_s = now + LOOK_S_A_JOB * queue.live
        return [job for job in queue.jobs() if self.is_late(job, now)]

    def expired(self, job: Ticket, now: float) -> Refusal:
        """Return why a job does not wait any longer, and when to retry."""
        queue = job.queue
        assert queue is not None, "a job that was submitted has a queue"
        return expired(job, queue, now, self.come_back(job, queue, now), self._config.max_wait_s)

    def called_up(self, job: Ticket, now: float) -> Refusal:
        """Reserve a slot that has become free for a caller that stood by; return the refusal, which says so."""
        queue = job.queue
        assert queue is not None, "a job that was submitted has a queue"
        self.arrived(job, queue, now)
        self._forget_late(queue, now)
        queue.reserved.reserve(job.session, job.agent, now, now + FREE_WAIT_S, job.place, hasty=False)
        return overloaded(job, queue, now, FREE_WAIT_S)

    def come_back(self, job: Ticket, queue: FairQueue[Ticket], now: float) -> float:
        """Reserve a place for the job's caller; return how long it should wait before it retries."""
        need = self.need(job, queue, now) if self._config.learn_service_times else NOTHING_KNOWN
        if need is NOTHING_KNOWN:
            return max(MIN_RETRY_AFTER_S, queue.forecast(job.session, now) - now)
        slack_s = job.deadline_s - job.arrived_s - need.seconds
        spacing_s = self._spacing_s(queue, now)
        self._forget_late(queue, now)
        places, session, agent = queue.reserved, job.session, job.agent
        kept = job.place
        if kept is not None and kept.at_s > now + MIN_WAIT_S:
            at_s = kept.at_s
        else:
            lead_s = LEAD_PART * max(0.0, slack_s) + min(EARLY * need.deviation_s, MAX_EARLY_PART * need.seconds)
            free_s = start_s(queue.lanes, now, queue.live + len(queue.standby)) - lead_s
            if kept is not None:
                at_s = max(free_s, now) + (places.before(kept) * spacing_s if kept.hasty else 0.0)
            else:
                at_s = free_s if job.priority is Priority.HIGH else places.next_s(session, free_s, spacing_s)
        wait_s = min(max(at_s - now, MIN_WAIT_S), MAX_WAIT_S)
        places.reserve(session, agent, at_s, now + wait_s, kept, hasty=kept is not None and kept.is_ignored(now))
        return wait_s

    def answered(self, job: Ticket, queue: FairQueue[Ticket], now: float) -> None:
        """Reserve a place for a caller that has its answer, if others are expected: it may ask again soon."""
        self._forget_late(queue, now)
        if queue.reserved.places:
            self.come_back(job, queue, now)

    @classmethod
    def _forget_late(cls, queue: FairQueue[Ticket], now: float) -> None:
        queue.reserved.expire(now, max(MIN_LATE_S, LATE_PART * cls._spacing_s(queue, now)))

    def arrived(self, job: Ticket, queue: FairQueue[Ticket], now: float) -> None:
        """Note that a caller has come for whom a place may be reserved."""
        place = queue.reserved.arrived(job.session, job.agent, now, MIN_LATE_S)
        job.place = place or job.place  # the place of a caller whose refusal was held back may have expired

    @staticmethod
    def _spacing_s(queue: FairQueue[Ticket], now: float) -> float:
        """Return the mean time between two starts."""
        return 1.0 / per_second(queue.lanes, now)

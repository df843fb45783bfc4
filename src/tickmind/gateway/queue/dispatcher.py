"""The dispatcher: brings jobs to lanes, decides which goes next, and what happens after an attempt.

Jobs wait in one fair queue for each chain of targets and are bound to a lane only when that lane has room, the first in
the chain's order. After a 429 a job returns to the front, uncharged, and the next lane with room takes it at once.

It does no I/O: clock and timers are passed in, carriers send. Everything happens within `submit`, `ended`, `cancel` and
the timer, and a carrier may call back into the dispatcher from its `send` and `refuse`.
"""

import math
from collections.abc import Callable, Mapping
from random import Random
from typing import TYPE_CHECKING

from tickmind.base import Clock, get_logger
from tickmind.gateway.queue import attempts
from tickmind.gateway.queue.admission import MIN_WAIT_S, Admission
from tickmind.gateway.queue.fair_queue import FairQueue
from tickmind.gateway.queue.job import JobState, Outcome, Result, Timers
from tickmind.gateway.queue.lane import KeyState, Lane
from tickmind.gateway.queue.lanes import Lanes, next_turn
from tickmind.gateway.queue.limits.retry_budget import RetryBudget
from tickmind.gateway.queue.reporting.refusals import full, unavailable
from tickmind.gateway.queue.reporting.reporter import QueueReporter
from tickmind.gateway.queue.reporting.statistics import (
    ChainStatistics,
    QueueEvent,
    QueueEventKind,
    QueueStatistics,
    Waits,
)
from tickmind.gateway.queue.ticket import Ticket
from tickmind.gateway.queue.waiting import WaitingJobs
from tickmind.gateway.queue.wakeups import Wakeups
from tickmind.gateway.refusal import Code, Refusal
from tickmind.gateway.routing.plan import Plan
from tickmind.gateway.settings.config import GatewayConfig

if TYPE_CHECKING:
    from tickmind.gateway.fairness.sessions import Session

_log = get_logger(__name__)
_NEW, _HELD, _QUEUED, _SENT, _DONE = JobState.NEW, JobState.HELD, JobState.QUEUED, JobState.SENT, JobState.DONE
_OK = Result.OK
_CLOSED = Refusal(Code.SHUTTING_DOWN, "the gateway is shutting down; use another gateway")


class Dispatcher:
    """Schedules jobs on lanes. `on_event` receives events for display; it must not raise."""

    __slots__ = (
        "_admission", "_budget", "_closed", "_config", "_lanes", "_monotonic", "_queue_by_plan", "_refusals",
        "_reporter", "_rounds", "_sent", "_submitted", "_waiting", "_waits", "_wakeups", "_wall",
    )  # fmt: skip

    def __init__(
        self,
        config: GatewayConfig,
        *,
        clock: Clock,
        timers: Timers,
        random: Random | None = None,
        on_event: Callable[[QueueEvent], None] | None = None,
        lanes: Lanes | None = None,
    ) -> None:
        self._config = config
        self._monotonic = clock.monotonic
        self._wall = clock.wall
        self._reporter = QueueReporter(clock.monotonic, on_event)
        self._lanes = lanes or Lanes(config, random or Random())
        self._queue_by_plan = self._lanes.by_plan
        self._admission = Admission(config.queue)
        self._wakeups = Wakeups(timers, self._rang)
        self._budget = RetryBudget(config.retry)
        self._waiting = WaitingJobs(self._wakeups)
        self._waits = Waits()
        self._refusals: dict[Code, int] = {}
        self._closed = False
        self._submitted = self._sent = self._rounds = 0

    # What carriers call

    def submit(self, job: Ticket, now: float | None = None) -> None:
        """Take a job: send it now, let it wait, or refuse it; its carrier is called accordingly."""
        assert job.state is _NEW or job.state is _HELD, "a job is submitted once"
        if now is None:
            now = self._monotonic()
        self._submitted = job.number = self._submitted + 1
        job.arrived_s = job.queued_s = now
        queue = job.queue = self._queue_by_plan.get(job.plan) or self._lanes.queue_of(job.plan, now)
        if self._closed:
            self._refuse(job, _CLOSED)
            return
        if queue.reserved.places:
            self._admission.arrived(job, queue, now)
        if job.deadline_s <= now or (job.drop_after_s is not None and job.drop_after_s <= now):
            self._refuse(job, self._admission.expired(job, now))
            return
        for lane in queue.lanes:
            if not lane.waiting and lane.earliest_s(now, job.tokens) <= now:
                if lane.slow_s and self._admission.passes_over(job, lane, queue, now):
                    continue
                if not queue.reserved.places:
                    lane.key.ledger.idle()
                elif job.place is not None and self._admission.gives_way(job, queue, lane, now):
                    self._admit(job, queue, now, gives_way=True)
                    self._wakeups.arm()
                    return
                self._send(job, lane, now)
                if lane.key.waiting:
                    self._go_on(lane, now)  # the accounts have changed, which concerns the key's other lanes
                return
        self._admit(job, queue, now)
        self._wakeups.arm()

    def ended(self, job: Ticket, outcome: Outcome) -> bool:
        """End an attempt. True: the job is over, and the carrier delivers its reply. False: the job went back.

        After False the carrier gets `send` or `refuse` again, perhaps before this returns.
        """
        lane = job.lane
        if job.state is not _SENT or lane is None:  # it was cancelled meanwhile
            return True
        now = self._monotonic()
        result = outcome.result
        attempts.end(job, lane, result, outcome.status, now)
        over = True
        if result is _OK:
            if lane.succeeded(now):
                self._reporter.closed(job, lane)
            lane.service.add(now - job.sent_s, job.prompt_tokens, job.tokens - job.prompt_tokens)
            attempts.settle(job, lane, outcome)
            job.state = _DONE
        else:
            over = self._after_trouble(job, lane, outcome, now)
        if lane.key.waiting or self._waiting.held:
            self._go_on(lane, now)
        queue = job.queue
        if over and queue is not None and queue.reserved.places:
            self._admission.answered(job, queue, now)
        return over

    def cancel(self, job: Ticket) -> None:
        """End a job whose caller disconnected, and free whatever it held. Repeated calls do nothing."""
        now = self._monotonic()
        if job.state is _QUEUED:
            self._waiting.remove(job)
        elif job.state is _SENT:
            lane = job.lane
            assert lane is not None, "a job that was sent has a lane"
            attempts.end(job, lane, Result.CANCELLED, 0, now)
            lane.cut_off(job, now, overdue=False)
            job.state = _DONE
            if lane.key.waiting or self._waiting.held:
                self._go_on(lane, now)
        job.state = _DONE

    def forecast(self, session: "Session", plan: Plan, now: float, agent: str = "") -> float:
        """Return when a request that came now could be expected to be sent; `now` if nothing is in its way."""
        queue = self._queue_by_plan.get(plan) or self._lanes.queue_of(plan, now)
        return queue.forecast(session, now, agent)

    def come_back_s(self, job: Ticket) -> float:
        """Return how long the caller of a job that was cut off should wait before it retries."""
        now = self._monotonic()
        return max(MIN_WAIT_S, self.forecast(job.session, job.plan, now, job.agent) - now)

    def turn_need_s(self, job: Ticket) -> float:
        """Return how long an answer takes where callers take turns; 0 if unknown, or if slots don't decide."""
        assert job.queue is not None, "a job that was submitted has a queue"
        return self._admission.turn_need_s(job, job.queue, self._monotonic())

    def learn(self, job: Ticket, headers: Mapping[str, str]) -> None:
        """Learn limits from a reply's headers (names in lower case) while its job is in flight."""
        if job.lane is not None:
            attempts.learn_limits(job.lane, headers, self._monotonic(), self._wall())

    def shutdown(self) -> None:
        """Refuse all jobs that wait or arrive; jobs in flight may end."""
        self._closed = True
        waiting = [job for queue in self._lanes.queues.values() for job in queue.jobs()]
        for job in (*waiting, *self._waiting.held):
            self._turn_away(job, _CLOSED)
        self._wakeups.close()

    def lanes(self) -> list[Lane]:
        """Return all lanes."""
        return list(self._lanes.lanes.values())

    def statistics(self) -> QueueStatistics:
        """Return all figures at this moment."""
        now = self._monotonic()
        return QueueStatistics(
            queued=self._waiting.count,
            in_flight=sum(lane.in_flight for lane in self._lanes.lanes.values()),
            submitted=self._submitted,
            sent=self._sent,
            fallbacks=self._reporter.fallbacks,
            retries=self._reporter.retries,
            rounds=self._rounds,
            retries_left=self._budget.tries(self._submitted),
            retries_refused=self._budget.refused,
            refusals=tuple(self._refusals.items()),
            waits=self._waits.statistics(),
            chains=tuple(ChainStatistics.of(queue, now) for queue in self._lanes.queues.values()),
            lanes=tuple(lane.statistics(now) for lane in self._lanes.lanes.values()),
        )

    # Waiting

    def _admit(self, job: Ticket, queue: FairQueue[Ticket], now: float, *, gives_way: bool = False) -> None:
        """Let a new job wait, if it can be answered in time and there is room."""
        older = self._waiting.of_agent(job) if job.replace_older else []
        replaced = sum(other.queue is queue for other in older)
        refusal = self._admission.refusal_of(job, queue, now, replaced=replaced, gives_way=gives_way)
        for other in older:
            if refusal is None or other in self._waiting.held:
                self._turn_away(other, Refusal(Code.REPLACED, "replaced by a newer request of the same agent"))
        if refusal is not None:
            self._hold_or_refuse(job, queue, refusal, now)
            return
        if queue.live >= queue.capacity:
            refusal = full(queue, now)
            victim = queue.victim_for(job)
            if victim is None:
                self._refuse(job, refusal)
                return
            self._turn_away(victim, refusal)
        self._wait(job, queue, now)

    def _hold_or_refuse(self, job: Ticket, queue: FairQueue[Ticket], refusal: Refusal, now: float) -> None:
        """Refuse a job, unless its caller should hear of it later."""
        if not self._waiting.hold(job, queue, self._admission.held_until_s(job, queue, refusal, now), now):
            self._refuse(job, refusal)

    def _wait(self, job: Ticket, queue: FairQueue[Ticket], now: float) -> None:
        if queue.forgotten:  # while another job was refused for it
            queue = self._lanes.queue_of(queue.plan, now)
        self._waiting.add(job, queue, now)
        for lane in queue.lanes:
            if not lane.key.pumping:
                self._pump(lane.key, now)

    def _turn_away(self, job: Ticket, refusal: Refusal) -> None:
        """Refuse a waiting job, unless another refusal has just ended it."""
        if job.state is _QUEUED:
            self._waiting.remove(job)
            self._refuse(job, refusal)

    def _expire(self, job: Ticket, now: float) -> None:
        """Refuse a job whose wait expired, and all others of its queue that can't be answered in time any more."""
        queue = job.queue
        assert queue is not None, "a job that waits has a queue"
        if job in self._waiting.held:
            self._admission.arrived(job, queue, now)
            self._turn_away(job, self._admission.expired(job, now))
            return
        backlog = queue.backlogs.get(job.session)
        if backlog is not None and now < job.queued_s + self._config.queue.max_wait_s:
            backlog.newest_first = True
        late = [job, *(other for other in self._admission.late(queue, now) if other is not job)]
        for ticket in late:
            self._waiting.remove(ticket)  # remove all before computing the first retry time
        for ticket in late:
            if ticket.state is _NEW:  # else its caller left during an earlier refusal
                self._hold_or_refuse(ticket, queue, self._admission.expired(ticket, now), now)

    def _pump(self, key: KeyState, now: float) -> None:
        """Send what a key's lanes can take, in the order of its ledger, and schedule the next look."""
        key.pumping = True
        wake_s = 0.0
        try:
            while wake_s <= now:
                wake_s = self._pump_one(key, now)
        finally:
            key.pumping = False
        self._wakeups.wake(key, wake_s)

    def _pump_one(self, key: KeyState, now: float) -> float:
        """Send the next job by one of the lanes; return `now` if it was sent, else when one may go."""
        wake_s, best, best_lane, best_spare = next_turn(key, now)
        if best is None or best_lane is None:
            return wake_s
        assert best.queue is not None, "a job that waits has a queue"
        if self._admission.is_late(best, now):
            self._expire(best, now)
            return now
        for earlier in best.queue.lanes:
            if earlier is best_lane:
                break
            if earlier.key is key:
                if earlier.earliest_s(now, best.tokens, best_spare) <= now:
                    best_lane = earlier
                    break
            elif not earlier.key.pumping and earlier.earliest_s(now, best.tokens) <= now:
                self._pump(earlier.key, now)
                if best.state is not _QUEUED:
                    return now
        self._waiting.remove(best)
        self._send(best, best_lane, now, best_spare)
        return now

    def _go_on(self, lane: Lane, now: float) -> None:
        """Use the room that a lane may have after a change: for jobs that wait, else for a caller that stands by."""
        key = lane.key
        if key.waiting and not key.pumping:
            self._pump(key, now)
            self._wakeups.arm()
        if self._waiting.held and (job := self._lanes.first_standby(lane, now)) is not None:
            self._turn_away(job, self._admission.called_up(job, now))

    def _rang(self) -> None:
        now = self._monotonic()
        while (job := self._wakeups.expired(now)) is not None:
            self._expire(job, now)
        while (key := self._wakeups.due(now)) is not None:
            if not key.pumping:
                self._pump(key, now)
        self._wakeups.arm()

    # Sending and what comes of it

    def _send(self, job: Ticket, lane: Lane, now: float, spare: bool = False) -> None:
        target = attempts.begin(job, lane, now, spare)
        self._sent += 1
        self._waits.add(now - job.queued_s)
        if job.attempts:
            self._reporter.sent_again(job, lane)
        try:
            job.carrier.send(job, target)
        except Exception:  # noqa: BLE001 - a carrier's fault must neither leak a permit nor stop those who wait
            _log.exception("sending a request failed", provider=target.provider.name)
            if job.state is _SENT and job.lane is lane:
                attempts.end(job, lane, Result.BROKEN, 0, now)
                lane.undecided(now, job.sent_s)
                self._refuse(job, Refusal(Code.PROVIDER_ERROR, "the request could not be sent; see the gateway's log"))

    def _after_trouble(self, job: Ticket, lane: Lane, outcome: Outcome, now: float) -> bool:
        """Whether the job is over; if not, it waits, was sent or was refused."""
        job.state = _NEW
        over = True
        match outcome.result:
            case Result.RATE_LIMITED:
                over = self._after_limit(job, lane, outcome, now)
            case Result.FAILED | Result.BROKEN:
                if lane.broke(now, job.sent_s):
                    self._reporter.report(QueueEventKind.CIRCUIT_OPENED, job, lane, lane.circuit.until_s)
                over = self._after_error(job, lane, outcome, now)
            case Result.ACCOUNT:
                lane.account_refused(now, job.sent_s, outcome.message)
                self._reporter.report(QueueEventKind.ACCOUNT_REFUSED, job, lane, lane.paused_until_s)
                over = self._after_error(job, lane, outcome, now)
            case Result.REJECTED | Result.DECLINED:
                if lane.succeeded(now):
                    self._reporter.closed(job, lane)
                lane.settle(job.sent_s, job.tokens, 0)
                if outcome.result is Result.DECLINED:
                    over = self._after_error(job, lane, outcome, now)
            case Result.DEADLINE:
                lane.cut_off(job, now, overdue=True)
            case _:
                lane.undecided(now, job.sent_s)
        if over:
            job.state = _DONE
        for queue in self._lanes.queues_of(lane):
            if queue.live:
                self._dismiss_hopeless(queue, now)
        return over

    def _after_limit(self, job: Ticket, lane: Lane, outcome: Outcome, now: float) -> bool:
        """Put the job back to the front, uncharged, if any lane is left for it."""
        if lane.rate_limited(now, job.sent_s, outcome.retry_after_s):
            self._reporter.closed(job, lane)
        attempts.refund(job, lane)
        self._reporter.report(QueueEventKind.LIMITED, job, lane, lane.limited_until_s)
        queue = job.queue
        assert queue is not None, "a job that was sent has a queue"
        if outcome.begun:
            return True
        back_s, down = queue.outlook(now, job.tokens)
        if all(other.blocked_until_s > now for other in queue.lanes):
            job.rounds += 1
            self._rounds += 1
        if job.rounds > self._config.queue.max_rounds or self._closed or not self._may_retry(lane, queue, now):
            self._refuse(job, unavailable(queue, back_s - now, down=down))
        elif (refusal := self._admission.refusal_of(job, queue, now)) is not None:
            self._refuse(job, refusal)
        else:
            self._send_or_wait(job, queue, now)
        return False

    def _after_error(self, job: Ticket, lane: Lane, outcome: Outcome, now: float) -> bool:
        """Retry at a lane where it has not failed yet, if errors are retried; after a refused key, always."""
        provider = lane.key.provider
        rest = job.untried()
        if not provider.fall_back_on_errors:
            same = outcome.result is Result.ACCOUNT
            rest = tuple(target for target in rest if same and target.provider.name == provider.name)
        if not rest or outcome.begun or self._closed:
            return True
        tail = self._lanes.queue_of(Plan(rest, job.plan.model, job.plan.surface), now)
        back_s, down = tail.outlook(now, job.tokens)
        expires_s = min(job.deadline_s, now + self._config.queue.max_wait_s, job.drop_after_s or math.inf)
        if down or back_s > expires_s or not self._may_retry(lane, tail, now):
            return True  # the provider's error says more than a refusal
        job.queue = tail
        job.expires_s = expires_s
        self._send_or_wait(job, tail, now)
        return False

    def _send_or_wait(self, job: Ticket, queue: FairQueue[Ticket], now: float) -> None:
        job.queued_s = now
        for lane in queue.lanes:
            if not lane.waiting and lane.earliest_s(now, job.tokens) <= now:
                self._send(job, lane, now)
                return
        self._wait(job, queue, now)
        self._wakeups.arm()

    def _may_retry(self, lane: Lane, queue: FairQueue[Ticket], now: float) -> bool:
        """Whether one more attempt is allowed: free after the first refusal and at a healthy lane, else budgeted."""
        if lane.streak == 1 or any(other.is_healthy(now) for other in queue.lanes):
            return True
        return self._budget.spend(self._submitted)

    def _dismiss_hopeless(self, queue: FairQueue[Ticket], now: float) -> None:
        """Refuse jobs that can't be served in time, now that a lane is limited for longer or down."""
        back_s, down = queue.outlook(now, 0)
        if not down and back_s <= max(now, queue.checked_s):
            return
        queue.checked_s = back_s
        refusal = unavailable(queue, back_s - now, down=down)
        for job in queue.jobs():
            if down or job.expires_s < back_s:
                self._turn_away(job, refusal)

    # Refusals and events

    def _refuse(self, job: Ticket, refusal: Refusal) -> None:
        job.state = _DONE
        self._refusals[refusal.code] = self._refusals.get(refusal.code, 0) + 1
        try:
            job.carrier.refuse(job, refusal)
        except Exception:  # noqa: BLE001 - one carrier's fault must not stop those who wait
            _log.exception("delivering a refusal failed", code=refusal.code.value)

"""The gateway: reads, admits, queues, sends and accounts for requests."""

import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

from tickmind.base import Clock, SystemClock, redact
from tickmind.gateway.accounting.budgets import FREE, Budgets
from tickmind.gateway.accounting.feed import Feed
from tickmind.gateway.accounting.tally import UsageTally
from tickmind.gateway.accounting.trend import Look, Trend
from tickmind.gateway.call import Call
from tickmind.gateway.call_options import CallOptions, read_call_options
from tickmind.gateway.cluster.lanes import SharedLanes
from tickmind.gateway.cluster.state import SharedState
from tickmind.gateway.fairness.caller_keys import CallerKeys
from tickmind.gateway.fairness.cooldown import Cooldowns
from tickmind.gateway.fairness.defer import Defers
from tickmind.gateway.fairness.sessions import Session, Sessions
from tickmind.gateway.http.deadlines import Deadlines
from tickmind.gateway.http.exchange import Request
from tickmind.gateway.http.reply_headers import refusal_headers
from tickmind.gateway.http.upstreams import Upstreams
from tickmind.gateway.queue.dispatcher import Dispatcher
from tickmind.gateway.queue.holding import Holding
from tickmind.gateway.queue.job import Handle, Outcome
from tickmind.gateway.queue.lanes import Lanes
from tickmind.gateway.queue.limits.rate_limiter import local_pace
from tickmind.gateway.queue.ticket import Ticket
from tickmind.gateway.refusal import Code, Refusal, RefusedError
from tickmind.gateway.reply_sharing.cache import CacheRole, ReplyCache
from tickmind.gateway.routing.plan import Plan, Target
from tickmind.gateway.routing.router import Router
from tickmind.gateway.settings.config import GatewayConfig
from tickmind.gateway.traced_call import TracedCall


class Gateway:
    """The service without its sockets. Surfaces read requests and hand them to `submit`; calls report back here."""

    def __init__(self, config: GatewayConfig, *, loop: asyncio.AbstractEventLoop, clock: Clock | None = None) -> None:
        self.config = config
        self.clock: Clock = clock or SystemClock()
        self.router = Router(config)
        self.caller_keys = CallerKeys(config.callers)
        self.sessions = Sessions(config.sharing, self.clock)
        self.feed = Feed(self.clock)
        self._shared = SharedState(config.redis_url, clock=self.clock) if config.redis_url else None
        lanes = Lanes(config, Random(), make_pace=self._shared.pace if self._shared is not None else local_pace)
        self.dispatcher = Dispatcher(config, clock=self.clock, timers=self.call_at, on_event=self.feed.add, lanes=lanes)
        self.cooldowns = Cooldowns(config.sharing, self.sessions, self.clock, forecast=self.dispatcher.forecast)
        self.defers = Defers(self.clock)
        self.holding = Holding(self.defers, self.clock, self.call_at, submit=self.dispatcher.submit)
        self.tally = UsageTally(self.clock)
        self.trend = Trend(self.clock, self.look())
        self.budgets = Budgets(config.sharing, self.clock, callers=config.callers, price_of=self.tally.price)
        if self._shared is not None:
            near = SharedLanes(lanes, self.clock)
            parts = (config.sharing, self.sessions, self.cooldowns, near)
            self._shared.share(*parts, defers=self.defers, budgets=self.budgets)
        self.cache = ReplyCache(config.cache, self.clock)
        self.upstreams = Upstreams(config.wire, loop)
        self.deadlines = Deadlines(self.clock.monotonic, self.call_at)
        self._loop = loop
        self._monotonic = self.clock.monotonic
        self._default_timeout_s = config.wire.default_timeout_s
        self._max_timeout_s = config.wire.max_timeout_s
        self._replace_older = config.queue.replace_older
        self._closing = False
        self._tasks: set[asyncio.Task[None]] = set()  # that look up names

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine in the background until the gateway stops."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def call_at(self, when_s: float, work: Callable[[], None]) -> Handle:
        """Set a timer of the loop, by the gateway's clock."""
        return self._loop.call_later(max(0.0, when_s - self.clock.monotonic()), work)

    # Requests in

    def call_options(self, request: Request) -> CallOptions:
        """Return caller and options of a request; raises `RefusedError` for a missing or wrong key."""
        head = request.head
        if head.call_options is not None:
            return head.call_options
        caller = None
        if self.config.callers:
            caller = self.caller_keys.check(head.headers.get(b"authorization", b"").decode("latin-1"))
            if caller is None:
                raise RefusedError(
                    Refusal(Code.UNAUTHORIZED, "missing or unknown key; send one as `Authorization: Bearer ...`")
                )
        head.call_options = read_call_options(head.headers, caller)
        return head.call_options

    def session(self, call_options: CallOptions, peer: str, named: str = "") -> Session:
        """Return the session of a request; a session `named` in its body goes before that of its headers."""
        caller = call_options.caller
        if caller is None:
            return self.sessions.get(named or call_options.session, "", None, peer)
        return self.sessions.get(named or call_options.session, caller.name, caller.weight)

    def timeout_of(self, call_options: CallOptions) -> float:
        """Return how long a request may take in all."""
        asked_s = call_options.timeout_s
        return self._default_timeout_s if asked_s is None else min(asked_s, self._max_timeout_s)

    def submit(
        self, call: Call, plan: Plan, call_options: CallOptions, peer: str, prompt_tokens: int, reply_tokens: int
    ) -> None:
        """Queue a call that was read, or refuse it.

        Its tokens are an estimate of the prompt's and the reply's.
        """
        caller = call_options.caller
        now_s = self._monotonic()
        try:
            if caller is None:
                session = self.sessions.get(call_options.session, "", None, peer, now_s)
            else:
                session = self.sessions.get(call_options.session, caller.name, caller.weight, "", now_s)
        except RefusedError as exc:
            self.refused(call, exc.refusal)
            return
        self.tally.arrived(session)
        timeout_s = self._default_timeout_s if call_options.timeout_s is None else self.timeout_of(call_options)
        replace_older = call_options.replace_older
        if replace_older is None:
            replace_older = self._replace_older
        agent = call_options.agent
        tokens = prompt_tokens + reply_tokens
        job = Ticket(plan, session, call, now_s + timeout_s, agent, call_options.priority, tokens, replace_older)
        job.prompt_tokens = prompt_tokens
        if call_options.drop_after_s is not None:
            job.drop_after_s = now_s + call_options.drop_after_s
        call.job = job
        refusal = self._reserve(call, job) if self._closing or not self.budgets.are_unlimited else None
        if refusal is None:
            refusal = self.cooldowns.admit(session, plan, now_s)
        if refusal is not None:
            self.budgets.release(call.hold_of_budget)
            self.refused(call, refusal)
            return
        call.admitted = True
        call.responder.pending = call
        if self.cache.enabled and not self._must_ask(call, job):
            return
        held_until_s = self.defers.held_until(session, agent) if agent else None
        if held_until_s is None:
            self.dispatcher.submit(job, now_s)
        else:
            self.holding.hold(job, held_until_s)

    def _reserve(self, call: Call, job: Ticket) -> Refusal | None:
        """Reserve the call's share of a budget, or return a refusal."""
        if self._closing:
            return Refusal(Code.SHUTTING_DOWN, "the gateway is shutting down; retry in a moment", retry_after_s=1.0)
        model = job.plan.targets[0].model
        hold = self.budgets.reserve(job.session, model, job.prompt_tokens, job.tokens - job.prompt_tokens)
        if isinstance(hold, Refusal):
            return hold
        call.hold_of_budget = hold
        return None

    def _must_ask(self, call: Call, job: Ticket) -> bool:
        """Whether no reply to an identical request is kept or pending; otherwise the call is served by that reply."""
        key = self.cache.key(job.session, job.plan, call.form.name, call.body)
        result = self.cache.lookup(key, call)
        if result is CacheRole.LEADER:
            call.cache_key = key
            return True
        if result is CacheRole.JOINED:
            call.cache_key = key
            self.deadlines.add(call, job.deadline_s)
            self.cache.catch_up(key, call)
        else:
            assert not isinstance(result, CacheRole), "what is neither of the roles is a reply"
            call.shared(result)
        return False

    # Calls out

    def served(self, call: Call, job: Ticket, target: Target, outcome: Outcome) -> None:
        """Count a call that a target answered."""
        prompt_tokens, completion_tokens = outcome.prompt_tokens, outcome.completion_tokens
        attempts, session = job.attempts, job.session
        last = attempts[-1]
        waited_s = job.sent_s - job.arrived_s
        again_s = last.waited_s if len(attempts) > 1 else None
        usd = self.tally.answered(session, target, waited_s, last.took_s, prompt_tokens, completion_tokens, again_s)
        if call.hold_of_budget is FREE and call.admitted:
            call.admitted = False
            self.cooldowns.leave(session, job.plan, target, job.sent_s + last.took_s)
            return
        known = prompt_tokens is not None and completion_tokens is not None
        self._let_out(call, target, (prompt_tokens or 0) + (completion_tokens or 0) if known else None, usd)

    def failed(self, call: Call, *, used: bool) -> None:
        """Count a call that ended without an answer; if the provider was `used` for it, it is paid for."""
        self._let_out(call, None, None if used else 0)

    def served_by_another(self, call: Call) -> None:
        """Count a call that got the reply to an identical request, at no cost."""
        job = call.job
        assert job is not None, "a call that waits for another has a job"
        self._let_out(call, job.plan.targets[0], 0, 0.0)

    def refused(self, call: Call, refusal: Refusal) -> None:
        """Count a refused call, and send the refusal to its caller."""
        job = call.job
        if isinstance(call, TracedCall):
            call.close_span(refusal.code)
        self.tally.refused(refusal.code, job.session if job is not None else None)
        cooldown = b""
        if job is not None:
            cooldown = self.cooldown_of(job)
            self._let_out(call, None)
            if call.cache_key:
                self.cache.finish(call.cache_key, call, None)
        headers = refusal_headers(refusal, job.attempts if job is not None else (), cooldown)
        call.responder.reply(refusal.status, headers + call.extra_headers, call.form.refusal(refusal, cooldown))

    def cooldown_of(self, job: Ticket) -> bytes:
        """Return when the caller of a job may send its next request, as JSON for replies.

        Under overload that is this caller's own turn, with the expected duration of an answer.
        """
        cooldown = self.cooldowns.json_of(job.session, job.plan, job.agent)
        queue = job.queue
        if queue is None or not (queue.reserved.places or queue.live):
            return cooldown
        need_s = self.dispatcher.turn_need_s(job)
        return b'%b,"turn":{"needMs":%d}}' % (cooldown[:-1], 1000 * need_s) if need_s else cooldown

    def left(self, call: Call, *, used: bool) -> None:
        """Count a call whose caller disconnected; if a provider is being `used` for it, it is paid for."""
        self._let_out(call, None, None if used else 0)

    def _let_out(
        self, call: Call, answered_by: Target | None, tokens: int | None = 0, usd: float | None = None
    ) -> None:
        """Release an admitted call, once. `tokens` is None if unknown; then the reserved ones count."""
        if not call.admitted:
            return
        call.admitted = False
        job = call.job
        assert job is not None, "an admitted call has a job"
        self.cooldowns.leave(job.session, job.plan, answered_by)
        hold = call.hold_of_budget
        if hold is not FREE:
            if answered_by is not None or tokens is None:
                self.budgets.settle(hold, tokens, usd)
            else:
                self.budgets.release(hold)

    # Looks

    def look(self) -> Look:
        """Return the sums at this moment."""
        queue = self.dispatcher.statistics()
        sent = {(lane.provider, lane.key_id, lane.model): lane.sent for lane in queue.lanes}
        return Look(self.tally.pulse(), queue.queued, queue.in_flight, sent)

    def watch(self) -> None:
        """Sample the trend for charts; the server calls it every second."""
        if self.trend.due:
            self.trend.add(self.look())

    # Life

    @property
    def closing(self) -> bool:
        """Whether it takes no more calls."""
        return self._closing

    def shared_state(self) -> dict[str, Any]:
        """Return whether limits are shared with other gateways, and the problem if they are not."""
        if self._shared is None:
            return {"used": False, "gateways": 1, "problem": ""}
        state = self._shared.statistics()
        problem = f"limits are local, divided by {state.gateways}: {state.reason}" if state.degraded else ""
        return {"used": True, "gateways": state.gateways, "problem": redact(problem)}

    async def start(self) -> None:
        """Join the other gateways, if there are any; losing them later is no error."""
        if self._shared is not None:
            await self._shared.start()

    def refuse_new(self) -> None:
        """Refuse new calls; those in flight go on."""
        self._closing = True

    def refuse_waiting(self) -> None:
        """Refuse all calls that still wait; those at providers go on."""
        self._closing = True
        self.holding.close(Refusal(Code.SHUTTING_DOWN, "the gateway is shutting down; use another gateway"))
        self.dispatcher.shutdown()

    async def stop(self) -> None:
        """Stop: drop all calls and connections."""
        self._closing = True
        for task in list(self._tasks):
            task.cancel()
        if self._shared is not None:
            await self._shared.stop()
        self.refuse_waiting()
        self.deadlines.close()
        self.upstreams.close()

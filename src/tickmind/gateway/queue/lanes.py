"""All lanes and queues: finds or makes those that a chain needs, and drops idle ones."""

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence

from tickmind.gateway.queue.fair_queue import FairQueue
from tickmind.gateway.queue.lane import KeyState, Lane
from tickmind.gateway.queue.limits.rate_limiter import PaceMaker, local_pace
from tickmind.gateway.queue.ticket import Ticket
from tickmind.gateway.routing.plan import Plan, Target
from tickmind.gateway.settings.config import GatewayConfig

_PLANS = 4096  # that are found without comparing their targets
_SWEEP = 256  # lanes that may be idle

KeyName = tuple[str, str, str]  # provider, base URL, key id
LaneName = tuple[str, str, str, str]  # and the model, if it has limits of its own


class Lanes:
    """All queues, lanes and keys of a gateway. `on_made` is called with every new lane, before its first request."""

    __slots__ = (
        "_apart",
        "_chance",
        "_config",
        "_make_pace",
        "_queues_of",
        "_sweep_at",
        "by_plan",
        "keys",
        "lanes",
        "on_made",
        "queues",
    )

    def __init__(self, config: GatewayConfig, chance: random.Random, *, make_pace: PaceMaker = local_pace) -> None:
        self._config = config
        self._chance = chance
        self._make_pace = make_pace
        self._apart = _with_lanes_by_model(config)
        self.on_made: Callable[[Lane], None] | None = None
        self.keys: dict[KeyName, KeyState] = {}
        self.lanes: dict[LaneName, Lane] = {}
        self.queues: dict[tuple[tuple[LaneName, str], ...], FairQueue[Ticket]] = {}  # lanes and models of a chain
        self._queues_of: dict[Lane, list[FairQueue[Ticket]]] = {}  # lane -> the queues in whose chains it is
        self.by_plan: dict[Plan, FairQueue[Ticket]] = {}  # the queues found last
        self._sweep_at = _SWEEP

    def queue_of(self, plan: Plan, now: float) -> FairQueue[Ticket]:
        """Return the queue in which a plan waits; plans with the same targets share one."""
        queue = self.by_plan.get(plan)
        if queue is not None:
            return queue
        names = self._lane_names(plan)
        name = tuple(zip(names, (target.model for target in plan.targets), strict=True))
        queue = self.queues.get(name)
        if queue is None:
            if len(self.lanes) >= self._sweep_at or len(self.queues) >= self._sweep_at:
                self._forget_idle(now)
            lanes = tuple(self._lane(name, target, now) for name, target in zip(names, plan.targets, strict=True))
            queue_config = self._config.queue
            queue = FairQueue(plan, lanes, capacity=queue_config.capacity, age_s=queue_config.priority_age_s)
            self.queues[name] = queue
            for lane in lanes:
                self._queues_of.setdefault(lane, []).append(queue)
        if len(self.by_plan) >= _PLANS:
            self.by_plan.clear()
        self.by_plan[plan] = queue
        return queue

    def queues_of(self, lane: Lane) -> Sequence[FairQueue[Ticket]]:
        """Return the queues in whose chains a lane is."""
        return self._queues_of.get(lane, ())

    def first_standby(self, lane: Lane, now: float) -> Ticket | None:
        """Return the job that has stood by longest for a slot of a lane, if the lane has a free one."""
        for queue in self.queues_of(lane):
            for job in queue.standby:
                return None if lane.waiting or lane.earliest_s(now, job.tokens) > now else job
        return None

    def _lane(self, name: LaneName, target: Target, now: float) -> Lane:
        lane = self.lanes.get(name)
        if lane is None:
            key = self.keys.get(name[:3])
            if key is None:
                key = self.keys[name[:3]] = KeyState(
                    target.provider,
                    target.key,
                    window_s=self._config.sharing.window_s,
                    make_pace=self._make_pace,
                    most=self._config.wire.max_upstream_connections,
                )
            lane = self.lanes[name] = Lane(
                key,
                name[3],
                target.provider.model_limits.get(target.model),
                retry=self._config.retry,
                circuit=self._config.circuit,
                chance=self._chance,
                make_pace=self._make_pace,
            )
            for other in key.lanes:
                if other.paused_until_s > max(now, lane.paused_until_s):  # the account is refused for all of them
                    lane.pause_until(other.paused_until_s, other.reason)
            if self.on_made is not None:
                self.on_made(lane)
        return lane

    def _forget_idle(self, now: float) -> None:
        """Drop what would be remade just as it is, so that ever new models or keys don't fill the memory."""
        for name, queue in list(self.queues.items()):
            if not queue.live and not queue.under_way:
                del self.queues[name]
                queue.forgotten = True
                for lane in queue.lanes:
                    self._queues_of[lane].remove(queue)
        for lane_name, lane in list(self.lanes.items()):
            if not self._queues_of.get(lane) and lane.is_idle(now):
                del self.lanes[lane_name]
                self._queues_of.pop(lane, None)
                lane.key.lanes.remove(lane)
        for key_name, key in list(self.keys.items()):
            if not key.lanes and not key.in_flight and key.pace.is_fresh(now):
                del self.keys[key_name]
        self.by_plan.clear()
        self._sweep_at = 2 * max(len(self.lanes), len(self.queues)) + _SWEEP

    def _lane_names(self, plan: Plan) -> list[LaneName]:
        """Return the lane names: a model has its own lane if it has its own limits, or if chains use two of its key."""
        keys = [(target.provider.name, target.provider.base_url, target.key.id) for target in plan.targets]
        return [
            (*key, target.model if self._is_apart(target) or keys.count(key) > 1 else "")
            for key, target in zip(keys, plan.targets, strict=True)
        ]

    def _is_apart(self, target: Target) -> bool:
        return target.model in target.provider.model_limits or target.provider.name in self._apart


def next_turn(key: KeyState, now: float) -> tuple[float, Ticket | None, Lane | None, bool]:
    """Find whose turn it is by a key's ledger: the job, its lane and whether it takes only spare capacity.

    If no job may go now, the job is None, and the first value is when one may.
    """
    wake_s, best, best_tag, best_lane, best_spare = math.inf, None, math.inf, None, False
    for lane in key.lanes:
        if not lane.waiting or (backlog := lane.turns.first(now, lane.request_s)) is None:
            continue
        job = backlog.first()
        spare = lane.is_for_spare(now)
        at_s = lane.earliest_s(now, job.tokens, spare)
        if at_s > now:
            wake_s = min(wake_s, at_s)
        elif (tag := lane.turns.first_tag()) < best_tag:
            best, best_tag, best_lane, best_spare = job, tag, lane, spare
    return wake_s, best, best_lane, best_spare


def _with_lanes_by_model(config: GatewayConfig) -> frozenset[str]:
    """Return the providers that a chain uses with two models: their models need lanes of their own in all chains."""
    chains = [[name for name, _ in route.targets] for route in config.exact.values()]
    chains += [[name for name, _ in route.targets] for _, route in config.patterns]
    chains += [[name, *(other for other, _ in provider.fallback)] for name, provider in config.providers.items()]
    return frozenset(name for chain in chains for name, times in Counter(chain).items() if times > 1)

"""A fleet of gateways behind one address, in simulated time: any of them may be killed, or cut off from Redis.

Each has the census and the shared paces of the product, and the scripts run inside a real server.
"""

from collections import Counter
from random import Random

from tests.kits.shared_limits import World, timed

from tickmind.gateway.cluster.census import Census
from tickmind.gateway.cluster.rate_limiter import SharedPace
from tickmind.gateway.cluster.script import BEAT
from tickmind.gateway.cluster.state import ANSWER_S, BEAT_S, HELD_S, MAX_RETRY_S, REJOIN_S
from tickmind.gateway.fairness.sessions import Session
from tickmind.gateway.queue.dispatcher import Dispatcher
from tickmind.gateway.queue.job import Outcome, Result
from tickmind.gateway.queue.lanes import Lanes
from tickmind.gateway.queue.ticket import Ticket
from tickmind.gateway.settings.config import GatewayConfig, QueueConfig


class Fleet(World):
    """Gateways, and a balancer that gives each request to any one that lives."""

    def __init__(self, server, limits, gateways, **given):
        super().__init__(server, limits, **given)
        self.config = GatewayConfig(queue=QueueConfig(capacity=10_000, max_wait_s=600.0))
        self.beat_script = server.register_script(timed(BEAT))
        self.served: Counter[str] = Counter()  # session -> its answers
        self.refused: Counter[str] = Counter()
        self._chance = Random(1)
        self.members = [Member(self, number) for number in range(gateways)]
        for member in self.members:
            member.beat()

    def crowd(self, workers):
        """Let sessions, each with so many workers, ask again as soon as they are served."""
        for name, count in workers.items():
            session = Session(name, name)
            for _ in range(count):
                Worker(self, session).ask()

    def next_member(self):
        """The balancer's choice."""
        return self._chance.choice([member for member in self.members if member.lives])


class Member:
    """One gateway of the fleet, with its connection to the server."""

    def __init__(self, fleet, number):
        self.fleet = fleet
        self.name = f"g{number}"
        self.lives, self.is_cut = True, False
        self.census = Census(fleet.time, REJOIN_S)
        self.census.found()
        self.paces = []
        self.waiting = {}  # workers whose requests are here, in the order in which they asked, so that runs repeat
        lanes = Lanes(fleet.config, Random(number), make_pace=self._pace)
        self.dispatcher = Dispatcher(
            fleet.config, clock=fleet.time, timers=fleet.time.at, random=Random(number), lanes=lanes
        )

    def kill(self):
        """End it as by kill -9: its callers see that their connections are closed."""
        self.lives = False
        self.dispatcher.shutdown()
        for worker in list(self.waiting):
            self.fleet.time.after(0.05, worker.ask)
        self.waiting.clear()

    def cut_off(self, seconds):
        """Let nothing pass between it and the server for a time; neither side is told."""
        self.is_cut = True
        self.fleet.time.after(seconds, self._mend)

    def beat(self):
        """Send heartbeats, as the product does."""
        if not self.lives:
            return
        if self.is_cut or not self.census.connected:
            self.fleet.time.after(ANSWER_S, self._lost)
        else:
            self._count()
        self.fleet.time.after(BEAT_S, self.beat)

    def _mend(self):
        self.is_cut = False
        self.fleet.time.after(MAX_RETRY_S, self._back)

    def _back(self):
        for pace in self.paces:
            pace.rejoined(self.fleet.time.monotonic())
        self.census.found()
        self._count()

    def _lost(self):
        if self.is_cut and self.lives:
            self.census.lost()

    def _count(self):
        self.fleet.set_clock()
        answer = self.fleet.beat_script(keys=["gateways"], args=[self.name, ANSWER_S, HELD_S])
        silent = {name.decode(): age_us / 1e6 for name, age_us in zip(answer[2::2], answer[3::2], strict=True)}
        open_ones = {member.name for member in self.fleet.members if member.lives}
        ended = silent.keys() - open_ones
        if ended:
            self.fleet.server.zrem("gateways", *ended)
        absent_s = [age_s - ANSWER_S for name, age_s in silent.items() if name not in ended]
        charge_s = self.census.count(answer[1] - len(ended), absent_s)
        for pace in self.paces:
            pace.charge_absent(charge_s)

    def _pace(self, name, limits):
        pace = SharedPace(f"t:{name}", limits, self.census, self._poke)
        self.paces.append(pace)
        return pace

    def _poke(self, pool):
        if pool.asking:
            return
        question = pool.question(self.fleet.time.monotonic())
        if self.is_cut:
            self.fleet.time.after(ANSWER_S, lambda: (pool.failed(), self._lost()))
        else:
            self.fleet.time.after(self.fleet.way_s / 2, lambda: self.fleet.ask(pool, question))


class Worker:
    """One that always has a question."""

    def __init__(self, fleet, session):
        self.fleet = fleet
        self.session = session

    def ask(self):
        fleet, member = self.fleet, self.fleet.next_member()
        member.waiting[self] = None
        carrier = _Carrier(self, member)
        member.dispatcher.submit(Ticket(fleet.plan, self.session, carrier, fleet.time.monotonic() + 10_000))


class _Carrier:
    """What carries one request of a worker; it does nothing once its gateway is dead."""

    def __init__(self, worker, member):
        self.worker = worker
        self.member = member

    def send(self, job, target):
        if self.member.lives:
            fleet = self.worker.fleet
            fleet.sent.append((fleet.time.monotonic(), job.tokens))
            fleet.time.after(fleet.service_s, lambda: self._answered(job))

    def refuse(self, job, refusal):
        if self.member.lives:
            fleet = self.worker.fleet
            fleet.refused[refusal.code] += 1
            self.member.waiting.pop(self.worker, None)
            fleet.time.after(0.5, self.worker.ask)

    def _answered(self, job):
        if self.member.lives:
            assert self.member.dispatcher.ended(job, Outcome(Result.OK, 200))
            self.worker.fleet.served[self.worker.session.id] += 1
            self.member.waiting.pop(self.worker, None)
            self.worker.ask()

"""Several gateways' dispatchers in simulated time, with the permits handed out by the script inside a real server."""

import itertools
from bisect import bisect_right
from random import Random

from tests.kits.queue_doubles import SimulatedTime

from tickmind.base import Secret
from tickmind.gateway.cluster.rate_limiter import SharedPace
from tickmind.gateway.cluster.script import RESERVE
from tickmind.gateway.fairness.sessions import Session
from tickmind.gateway.queue.dispatcher import Dispatcher
from tickmind.gateway.queue.job import Outcome, Result
from tickmind.gateway.queue.lanes import Lanes
from tickmind.gateway.queue.ticket import Ticket
from tickmind.gateway.routing.plan import Plan, Target
from tickmind.gateway.settings.config import ApiKey, GatewayConfig, Provider, QueueConfig


def timed(script):
    """Return a script that goes by the world's clock instead of the server's."""
    return script.replace("redis.call('TIME')", "cjson.decode(redis.call('GET', 'clock'))")


class World:
    """Simulated time, a server whose clock follows it, and gateways that reach it in `way_s`."""

    def __init__(self, server, limits, *, way_s=0.001, service_s=0.2):
        self.time = SimulatedTime()
        self.server = server
        self.script = server.register_script(timed(RESERVE))
        self.way_s = way_s
        self.service_s = service_s
        self.alone = 0
        self.rejoining = 0
        self.sent: list[tuple[float, int]] = []  # (time, tokens)
        self.by_gateway: dict[int, int] = {}
        self.asked = 0
        self.paces: list[SharedPace] = []
        provider = Provider("p", "http://127.0.0.1/v1", limits=limits)
        self.plan = Plan((Target(provider, ApiKey("k", Secret("")), "m"),), "m")
        self.config = GatewayConfig(queue=QueueConfig(capacity=10_000))

    def pace(self, name, limits):
        pace = SharedPace(f"t:{name}", limits, self, self.poke)
        self.paces.append(pace)
        return pace

    def poke(self, pool):
        if not pool.asking:
            question = pool.question(self.time.monotonic())
            self.time.after(self.way_s / 2, lambda: self.ask(pool, question))

    def ask(self, pool, question):
        self.asked += 1
        self.set_clock()
        answer = [int(number) for number in self.script(keys=[pool.name], args=question)]
        self.time.after(self.way_s / 2, lambda: self.granted(pool, answer))

    def set_clock(self):
        """Let the server's clock show the simulated time."""
        now_us = int((self.time.monotonic() + 1_000_000) * 1e6)
        self.server.set("clock", f"[{now_us // 1_000_000},{now_us % 1_000_000}]")

    def granted(self, pool, answer):
        now_s = self.time.monotonic()
        late_s = now_s - answer[0] / 1e6
        pool.granted(now_s, [at / 1e6 + late_s for at in answer[2:]], answer[1] / 1e6 + late_s)

    def gateway(self, number):
        lanes = Lanes(self.config, Random(number), make_pace=self.pace)
        self.by_gateway[number] = 0
        return Gateway(self, number, lanes)

    def busiest(self, span_s, start_s=0.0, *, weigh=lambda tokens: 1):
        """The most that went out in any window."""
        times = [at for at, _ in self.sent if at >= start_s]
        sums = list(itertools.accumulate((weigh(tokens) for at, tokens in self.sent if at >= start_s), initial=0))
        return max(
            (sums[bisect_right(times, at + span_s - 1e-9)] - sums[first] for first, at in enumerate(times)), default=0
        )


class Gateway:
    """A dispatcher whose sessions ask again as soon as they are served."""

    def __init__(self, world, number, lanes):
        self.world = world
        self.number = number
        self.dispatcher = Dispatcher(
            world.config, clock=world.time, timers=world.time.at, random=Random(number), lanes=lanes
        )
        self.refused: list[str] = []

    def workers(self, count, tokens=0, real_tokens=None):
        for worker in range(count):
            self.submit(Session(f"s{worker}", f"s{worker}"), tokens, real_tokens)

    def submit(self, session, tokens, real_tokens):
        world = self.world
        job = Ticket(world.plan, session, self, world.time.monotonic() + 10_000, tokens=tokens)
        self._real_tokens = real_tokens
        self.dispatcher.submit(job)

    def send(self, job, target):
        world = self.world
        world.sent.append((world.time.monotonic(), job.tokens))
        world.by_gateway[self.number] += 1
        real = self._real_tokens if self._real_tokens is not None else job.tokens

        def answered():
            outcome = Outcome(Result.OK, 200, prompt_tokens=real, completion_tokens=0)
            assert self.dispatcher.ended(job, outcome)
            self.submit(job.session, job.tokens, self._real_tokens)

        world.time.after(world.service_s, answered)

    def refuse(self, job, refusal):
        self.refused.append(refusal.code)
        world = self.world
        world.time.after(0.5, lambda: self.submit(job.session, job.tokens, self._real_tokens))

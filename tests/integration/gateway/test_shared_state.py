"""Several gateways on a real server, in real time."""

import asyncio
import logging
from random import Random
from typing import Any

import pytest
import redis.asyncio
from tests.integration.stopwatch import Stopwatch

from tickmind.base import Secret, SystemClock
from tickmind.gateway.cluster.lanes import SharedLanes
from tickmind.gateway.cluster.state import SharedState
from tickmind.gateway.fairness.cooldown import Cooldowns
from tickmind.gateway.fairness.defer import Defers
from tickmind.gateway.fairness.sessions import Session, Sessions
from tickmind.gateway.queue.dispatcher import Dispatcher
from tickmind.gateway.queue.job import Outcome, Result
from tickmind.gateway.queue.lanes import Lanes
from tickmind.gateway.queue.ticket import Ticket
from tickmind.gateway.refusal import Code
from tickmind.gateway.routing.plan import Plan, Target
from tickmind.gateway.settings.config import ApiKey, GatewayConfig, Limits, Provider, QueueConfig, SharingConfig

pytestmark = [pytest.mark.slow, pytest.mark.asyncio]
WAIT_S = 60.0
CANARY = "sk-canary-0123456789abcdef"
CLOCK = SystemClock()


async def until(condition, what):
    end_s = CLOCK.monotonic() + WAIT_S
    while not condition():
        assert CLOCK.monotonic() < end_s, f"in vain: {what}"
        await asyncio.sleep(0.01)


class Slow(Random):
    """Makes every wait as long as it may be."""

    def random(self):
        return 1.0


class Gateway:
    """All parts that share state, with a provider that answers at once."""

    def __init__(self, url, number, *, limits, mode="fair", random=None):
        loop = asyncio.get_running_loop()
        self.config = GatewayConfig(queue=QueueConfig(capacity=10_000), sharing=SharingConfig(mode=mode))
        self.shared = SharedState(Secret(url), clock=CLOCK, gateway_id=f"g{number}", random=random or Random(number))
        self.lanes = Lanes(self.config, Random(number), make_pace=self.shared.pace)
        self.dispatcher = Dispatcher(
            self.config,
            clock=CLOCK,
            timers=lambda at_s, what: loop.call_later(max(0.0, at_s - CLOCK.monotonic()), what),
            random=Random(number),
            lanes=self.lanes,
        )
        self.sessions = Sessions(self.config.sharing, CLOCK)
        self.cooldowns = Cooldowns(self.config.sharing, self.sessions, CLOCK)
        self.defers = Defers(CLOCK)
        parts = (self.config.sharing, self.sessions, self.cooldowns, SharedLanes(self.lanes, CLOCK))
        self.shared.share(*parts, defers=self.defers)
        provider = Provider("p", "http://127.0.0.1/v1", limits=limits)
        self.plan = Plan((Target(provider, ApiKey("k1d", Secret(CANARY)), "m"),), "m")
        self.sent: list[float] = []
        self.working = True
        self.next_outcome: Outcome | None = None

    def workers(self, count):
        for number in range(count):
            self.submit(Session(f"s{number}", f"s{number}"))

    def submit(self, session):
        self.dispatcher.submit(Ticket(self.plan, session, self, CLOCK.monotonic() + 1000))

    def send(self, job, target):
        self.sent.append(CLOCK.monotonic())
        outcome, self.next_outcome = self.next_outcome or Outcome(Result.OK, 200), None

        def answered():
            if self.dispatcher.ended(job, outcome) and self.working:
                self.submit(job.session)

        asyncio.get_running_loop().call_later(0.01, answered)

    def refuse(self, job, refusal):
        if self.working:
            asyncio.get_running_loop().call_later(0.5, self.submit, job.session)

    def ask(self, name):
        """One request that is admitted and over at once; False if it comes too early."""
        session = self.sessions.get(name)
        refusal = self.cooldowns.admit(session, self.plan)
        if refusal is None:
            self.cooldowns.leave(session, self.plan, self.plan.targets[0])
            return True
        assert refusal.code is Code.RATE_LIMIT_COOLDOWN
        return False


class Way:
    """The network between a gateway and the server: cut, it passes nothing on and tells neither side."""

    def __init__(self, server_url, path):
        self.server = server_url.partition("unix://")[2].partition("?")[0]
        self.path = path
        self.url = f"unix://{path}"
        self._whole = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self):
        self._whole.set()
        self._listener = await asyncio.start_unix_server(self._accept, self.path)

    async def close(self):
        self._listener.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut(self):
        self._whole.clear()

    def mend(self):
        self._whole.set()

    def _accept(self, reader, writer):
        task = asyncio.create_task(self._join(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _join(self, reader, writer):
        far_reader, far_writer = await asyncio.open_unix_connection(self.server)
        try:
            await asyncio.gather(self._pass(reader, far_writer), self._pass(far_reader, writer))
        except OSError:
            pass  # the other end is gone
        finally:
            far_writer.close()
            writer.close()

    async def _pass(self, reader, writer):
        while data := await reader.read(65_536):
            await self._whole.wait()
            writer.write(data)
            await writer.drain()
        await self._whole.wait()  # what was cut off hears of no end either
        writer.write_eof()


class House:
    """Gateways that are stopped in the end."""

    def __init__(self, url):
        self.url = url
        self.gateways: list[Gateway] = []

    async def open(
        self,
        count,
        *,
        limits=Limits(requests_per_minute=1200),  # noqa: B008 - it is frozen
        mode="fair",
        connected=True,
        random=None,
        url="",
    ):
        for _ in range(count):
            gateway = Gateway(url or self.url, len(self.gateways), limits=limits, mode=mode, random=random)
            self.gateways.append(gateway)
            assert await gateway.shared.start(wait_s=WAIT_S) == connected
        if connected:
            total = len(self.gateways)
            await until(lambda: all(one.shared.statistics().gateways == total for one in self.gateways), "all counted")
        return self.gateways

    async def close(self):
        for gateway in self.gateways:
            gateway.working = False
            gateway.dispatcher.shutdown()
            await gateway.shared.stop()


@pytest.fixture
def house(redis_server):
    return House(redis_server.url)


async def pass_time(seconds):
    """Let time pass; gives how long it took, and how much of it the machine let this process run."""
    begin_s = CLOCK.monotonic()
    free_s = await Stopwatch().until(lambda: CLOCK.monotonic() - begin_s >= seconds)
    return CLOCK.monotonic() - begin_s, free_s


@pytest.mark.realtime
async def test_two_gateways_keep_one_limit_in_real_time(house):
    one, two = await house.open(2)
    for gateway in (one, two):
        gateway.workers(20)
    took_s, free_s = await pass_time(6)
    sent = sorted(one.sent + two.sent)
    await house.close()
    assert len(sent) <= 20 * took_s + 1
    assert len(sent) >= 0.7 * 20 * free_s  # the machine may be busy; in simulated time it is more than 0.95
    assert min(len(one.sent), len(two.sent)) >= 0.25 * len(sent)


@pytest.mark.realtime
async def test_losing_the_server_divides_the_limit_and_getting_it_back_resumes(house, redis_server, caplog):
    caplog.set_level(logging.INFO, "tickmind.gateway.cluster")
    one, two = await house.open(2)
    for gateway in (one, two):
        gateway.workers(20)
    await until(lambda: len(one.sent) > 5 and len(two.sent) > 5, "requests")
    redis_server.kill()
    await until(lambda: all(gateway.shared.statistics().degraded for gateway in (one, two)), "both alone")
    before = (len(one.sent), len(two.sent))
    took_s, free_s = await pass_time(4)
    for gateway, count in zip((one, two), before, strict=True):
        assert 0.6 * 10 * free_s <= len(gateway.sent) - count <= 10 * took_s + 2
    statistics = one.shared.statistics()
    assert (statistics.connected, statistics.degraded, statistics.gateways, statistics.losses) == (False, True, 2, 1)
    assert statistics.reason
    lost = [record for record in caplog.records if "lost" in record.getMessage()]
    assert len(lost) == 2  # one for each gateway, however often it was tried
    redis_server.start()
    await until(lambda: not any(gateway.shared.statistics().degraded for gateway in (one, two)), "both back")
    await until(lambda: one.shared.statistics().gateways == 2, "both counted")
    leases = one.shared.statistics().leases
    count = len(one.sent) + len(two.sent)
    took_s, free_s = await pass_time(4)
    served = len(one.sent) + len(two.sent) - count
    assert 0.6 * 20 * free_s <= served <= 20 * (took_s + 0.5) + 2
    assert one.shared.statistics().leases > leases
    assert not one.shared.statistics().degraded
    await house.close()


@pytest.mark.realtime
async def test_who_is_back_first_leaves_the_others_their_part(house, redis_server):
    await house.open(1)
    one, two = await house.open(1, random=Slow())
    for gateway in (one, two):
        gateway.workers(20)
    await until(lambda: len(one.sent) > 5 and len(two.sent) > 5, "requests")
    for _ in range(5):  # on a busy machine the slow one may be back already when somebody looks
        redis_server.kill()
        await asyncio.sleep(3)  # the slow one tried after 0.375, 1.125 and 2.625 s, and will again after 5.625 s
        redis_server.start()
        await until(lambda: one.shared.statistics().connected, "one is back")
        if two.shared.statistics().degraded:
            break
    begin_s, before = CLOCK.monotonic(), len(one.sent)
    assert two.shared.statistics().degraded
    free_s = await Stopwatch().until(lambda: two.shared.statistics().connected)
    took_s = CLOCK.monotonic() - begin_s
    await house.close()
    assert took_s > 0.5
    assert 0.6 * 10 * free_s - 1 <= len(one.sent) - before <= 10 * took_s + 2


@pytest.mark.realtime
async def test_the_others_leave_a_gateway_that_is_cut_off_its_part(house, redis_server, tmp_path):
    way = Way(redis_server.url, str(tmp_path / "way.sock"))
    await way.open()
    one, two = await house.open(2)
    three = (await house.open(1, url=way.url))[2]
    for gateway in (one, two, three):
        gateway.workers(20)
    await until(lambda: all(len(gateway.sent) > 5 for gateway in house.gateways), "requests")
    way.cut()
    await until(lambda: three.shared.statistics().degraded, "it is alone")
    before = [len(gateway.sent) for gateway in house.gateways]
    took_s, free_s = await pass_time(6)
    sent = [len(gateway.sent) - count for gateway, count in zip(house.gateways, before, strict=True)]
    assert sum(sent) <= 20 * took_s + 7  # for a second at most nobody knows that it is alone
    assert sum(sent) >= 0.6 * 20 * free_s
    assert 0.6 * 20 / 3 * free_s - 1 <= sent[2] <= 20 / 3 * took_s + 2
    assert one.shared.statistics().gateways == 3
    way.mend()
    await until(lambda: three.shared.statistics().connected, "it is back")
    await until(lambda: three.shared.statistics().gateways == 3, "and counts all")
    await house.close()
    await way.close()


async def test_a_gateway_starts_without_the_server_and_finds_it_later(house, redis_server):
    redis_server.kill()
    (one,) = await house.open(1, connected=False)
    one.workers(3)
    await until(lambda: len(one.sent) > 3, "requests without the server")
    assert one.shared.statistics().degraded
    redis_server.start()
    await until(lambda: one.shared.statistics().connected, "the server")
    count = len(one.sent)
    await until(lambda: len(one.sent) > count + 3, "requests with the server")
    await house.close()


async def test_a_gateway_that_went_counts_no_more(house):
    one, two = await house.open(2)
    await two.shared.stop()
    await until(lambda: one.shared.statistics().gateways == 1, "the other to be forgotten")
    await house.close()


async def test_a_limit_that_one_met_holds_for_all(house):
    one, two = await house.open(2)
    for gateway in (one, two):
        gateway.workers(1)
    await until(lambda: one.sent and two.sent, "requests")
    one.next_outcome = Outcome(Result.RATE_LIMITED, 429, retry_after_s=1000.0)
    await until(lambda: one.lanes.lanes and next(iter(one.lanes.lanes.values())).limited, "a 429")
    await until(lambda: list(SharedLanes(two.lanes, CLOCK).limits()), "the other to hear of it")
    (limit,) = SharedLanes(two.lanes, CLOCK).limits()
    (met,) = SharedLanes(one.lanes, CLOCK).limits()
    assert limit.lane == "p/k1d"
    assert abs(limit.until_s - met.until_s) < 5
    count = len(two.sent)
    await asyncio.sleep(0.3)
    assert len(two.sent) <= count + 1
    await house.close()


async def test_sessions_of_all_gateways_share_a_key(house):
    one, two = await house.open(2)
    one.ask("a")
    one.ask("b")
    two.ask("c")
    group = one.cooldowns.group(one.plan)
    await until(lambda: one.sessions.active(group).sessions == 3, "one to know of c")
    await until(lambda: two.sessions.active(group).sessions == 3, "two to know of a and b")
    assert two.cooldowns.of(two.sessions.get("c"), two.plan).active_games == 3
    (third,) = (await house.open(1))[2:]
    await until(lambda: third.sessions.active(group).sessions == 3, "a new gateway to know of all")
    await house.close()


async def test_a_strict_cooldown_holds_at_every_gateway(house):
    one, two = await house.open(2, mode="strict", limits=Limits(requests_per_minute=0.1))
    assert one.ask("game")
    heard = two.shared.statistics().news_heard
    await until(lambda: two.shared.statistics().news_heard > heard or two.sessions.activities(), "the news")
    assert not two.ask("game")
    assert two.cooldowns.of(two.sessions.get("game"), two.plan).wait_ms > 500_000
    assert not two.ask("forged")
    await house.close()


async def test_a_cancelled_defer_stays_cancelled_when_a_gateway_comes_back(house):
    one, two = await house.open(2)
    village = Session("village", "village")
    one.defers.defer(village, "ash", 600_000)
    await until(lambda: two.defers.held_until(village, "ash"), "the other to hear of it")
    two.defers.cancel(village, "ash")
    await until(lambda: not one.defers.held_until(village, "ash"), "the first to hear of its end")
    heard = two.shared.statistics().news_heard
    async with redis.asyncio.Redis.from_url(house.url) as client:
        await client.client_kill_filter(_type="normal", skipme=True)
        one.defers.defer(village, "elm", 600_000)
    await until(lambda: two.shared.statistics().losses and two.shared.statistics().connected, "the way back")
    await until(lambda: two.defers.held_until(village, "elm"), "what was decided meanwhile")
    assert two.shared.statistics().news_heard >= heard + 2, "old news come again"
    assert two.defers.held_until(village, "ash") is None
    assert one.defers.held_until(village, "ash") is None
    await house.close()


async def test_what_may_be_in_flight_is_divided(house):
    one, two = await house.open(2, limits=Limits(requests_per_minute=6000, concurrency=4))
    for gateway in (one, two):
        gateway.workers(1)
    await until(lambda: one.sent and two.sent, "requests")

    def sizes():
        return [key.concurrency for gateway in (one, two) for key in gateway.lanes.keys.values()]

    await until(lambda: sizes() == [2, 2], "both to have half")
    await two.shared.stop()
    await until(lambda: sizes()[0] == 4, "one to have all")
    await house.close()


async def test_no_key_is_ever_stored(house):
    one, two = await house.open(2, mode="strict")
    for gateway in (one, two):
        gateway.workers(2)
        gateway.ask("game")
    await until(lambda: len(one.sent) > 3 and one.shared.statistics().news_sent, "requests and news")
    async with redis.asyncio.Redis.from_url(house.url) as client:
        names: list[Any] = await client.keys("*")
        dumps: list[Any] = [await client.dump(name) for name in names]
    assert len(names) >= 3
    assert all(name.startswith(b"tickmind:") for name in names)
    assert all(CANARY.encode() not in stored for stored in names + dumps)
    await house.close()


async def test_news_that_nobody_understands_do_no_harm(house):
    (one,) = await house.open(1)
    async with redis.asyncio.Redis.from_url(house.url) as client:
        for text in (b"", b"[", b"{}", b'[["use"]]', b'[["use","","","",1,1,1]]', b'[["later",1]]', b"\xff"):
            await client.xadd("tickmind:news", {"from": "other", "news": text})
        await client.xadd("tickmind:news", {"something": "else"})
        now_s, _ = await client.time()
        use = f'[["use","p/k1d","x","x",1.0,{now_s * 1000},0]]'
        await client.xadd("tickmind:news", {"from": "other", "news": use})
    await until(lambda: one.sessions.active("p/k1d").sessions == 1, "what could be understood")
    assert one.shared.statistics().connected
    assert one.shared.statistics().losses == 0
    await house.close()


async def test_a_script_that_the_server_forgot_is_loaded_again(house):
    (one,) = await house.open(1)
    one.workers(2)
    await until(lambda: len(one.sent) > 3, "requests")
    async with redis.asyncio.Redis.from_url(house.url) as client:
        await client.script_flush()
    await until(lambda: one.shared.statistics().losses == 1, "the loss to be noticed")
    await until(lambda: one.shared.statistics().connected, "the script to be there again")
    count = len(one.sent)
    await until(lambda: len(one.sent) > count + 3, "requests")
    await house.close()

"""The connection to Redis or Valkey: leases permits, publishes news, counts the gateways, and survives its loss."""

import asyncio
import contextlib
from collections.abc import Collection
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from tickmind.base import Clock, ConfigError, Secret, get_logger, secret_token
from tickmind.gateway.accounting.budgets import Budgets
from tickmind.gateway.cluster.census import Census
from tickmind.gateway.cluster.lane_limits import LimitedLanes, NoLanes
from tickmind.gateway.cluster.merge import Merger
from tickmind.gateway.cluster.news import News, decode, encode
from tickmind.gateway.cluster.pool import Pool
from tickmind.gateway.cluster.rate_limiter import SharedPace
from tickmind.gateway.cluster.script import BEAT, RESERVE
from tickmind.gateway.cluster.server_clock import ServerClock
from tickmind.gateway.cluster.spending import Spending
from tickmind.gateway.fairness.cooldown import Cooldowns
from tickmind.gateway.fairness.defer import Defers
from tickmind.gateway.fairness.sessions import Sessions
from tickmind.gateway.settings.config import Limits, SharingConfig

if TYPE_CHECKING:
    from redis.asyncio import Redis

BEAT_S = 1.0  # interval of a gateway's heartbeat
ANSWER_S = 2.0  # how long an answer may take before the state counts as lost, and a silent gateway as cut off
HELD_S = 60.0  # for which the part of a gateway that is cut off is left to it
PUBLISH_S = 0.05  # shortest interval between two messages
PUBLISH_ALL_EVERY = 10  # every n-th message covers all active sessions
RETRY_S = 0.25  # at first; doubled with each failure
MAX_RETRY_S = 2.0
MAX_JITTER = 1.5  # factor on a wait, so that gateways do not retry all at once
REJOIN_S = ANSWER_S + MAX_RETRY_S * MAX_JITTER  # a live gateway reconnects within this
NEWS_KEPT = 10_000  # messages, about
READ_BLOCK_MS = 500
READ_COUNT = 200
_log = get_logger("tickmind.gateway.cluster")


@dataclass(frozen=True, slots=True)
class SharedStatistics:
    """The state of the connection. `degraded`: it is lost, and the limits are divided by `gateways`."""

    connected: bool
    degraded: bool
    gateways: int  # with this one, as last known
    reason: str  # of the loss
    losses: int
    leases: int  # leases granted
    lost_permits: float  # leased and not used in time
    news_sent: int
    news_heard: int


class SharedState:
    """State that several gateways share. Make paces with `pace`, then `start`; `stop` before the loop ends.

    It works beside the requests: they find permits in stock, or wait for the next batch as for any limit. Losing
    Redis fails no request: limits are divided by the last known number of gateways until all are back.
    """

    def __init__(
        self,
        url: Secret,
        *,
        clock: Clock,
        namespace: str = "tickmind",
        gateway_id: str = "",
        random: Random | None = None,
    ) -> None:
        try:
            import redis.asyncio  # noqa: F401 - only whether it is there
        except ImportError as exc:
            raise ConfigError(
                "redis_url needs the redis package; install it with: pip install tickmind[redis]"
            ) from exc
        self._url = url
        self._clock = clock
        self._random = random or Random()
        self._id = gateway_id or secret_token(9)
        self._namespace = namespace
        self._paces: WeakSet[SharedPace] = WeakSet()
        self._poked: dict[Pool, None] = {}  # pools to refill
        self._work = asyncio.Event()
        self._merger: Merger | None = None
        self._spending: Spending | None = None
        self._task: asyncio.Task[None] | None = None
        self._stopping = False
        self._census = Census(clock, REJOIN_S)
        self._server_clock = ServerClock()
        self._reason = "not connected yet"
        self._told_loss = False
        self._changed = asyncio.Event()
        self._unpublished: list[News] = []  # collected, and not known to have arrived; receiving it twice does no harm
        self._leases = self._news_sent = self._news_heard = 0

    # What is shared

    def pace(self, name: str, limits: Limits) -> SharedPace:
        """Return the pace of that name, shared with all gateways of the namespace."""
        pace = SharedPace(f"{self._namespace}:pace:{name}", limits, self._census, self._poke)
        self._paces.add(pace)
        return pace

    def share(
        self,
        config: SharingConfig,
        sessions: Sessions,
        cooldowns: Cooldowns,
        lanes: LimitedLanes | None = None,
        *,
        defers: Defers | None = None,
        budgets: Budgets | None = None,
    ) -> None:
        """Share sessions, cooldowns, lane limits, defers and budgets as well; call it before `start`."""
        self._spending = None if budgets is None else Spending(budgets, self._namespace)
        self._merger = Merger(
            sessions,
            cooldowns,
            lanes or NoLanes(),
            self._clock,
            timeout_s=config.session_timeout_s,
            strict=config.mode == "strict",
            defers=defers,
        )

    # Life

    async def start(self, *, wait_s: float = ANSWER_S) -> bool:
        """Connect; if that fails, keep trying in the background. Return True if connected at once."""
        self._task = asyncio.get_running_loop().create_task(self._run())
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), wait_s)
        return self._census.connected

    async def stop(self) -> None:
        """Disconnect; unused leases are lost to all gateways for half a second."""
        self._stopping = True
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    def statistics(self) -> SharedStatistics:
        """Return the figures for the health page and statistics."""
        return SharedStatistics(
            self._census.connected,
            not self._census.connected,
            self._census.gateways,
            self._reason,
            self._census.losses,
            self._leases,
            sum(pool.lost for pace in self._paces for pool in pace.pools),
            self._news_sent,
            self._news_heard,
        )

    # Inside

    def _poke(self, pool: Pool) -> None:
        self._poked[pool] = None
        self._work.set()

    async def _run(self) -> None:
        import redis.asyncio
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff

        wait_s = RETRY_S
        while not self._stopping:
            failures = self._census.losses
            client: Redis | None = None
            try:
                client = redis.asyncio.Redis.from_url(
                    self._url.reveal(),
                    socket_timeout=ANSWER_S,
                    socket_connect_timeout=ANSWER_S,
                    client_name=self._client_name(self._id),
                    retry=Retry(NoBackoff(), 0),  # `_run` retries
                )
                await self._serve(client)
            except* Exception as group:  # noqa: BLE001 - any error is logged, and the gateway goes on alone
                self._lost(group)
            finally:
                if client is not None:
                    with contextlib.suppress(Exception):  # of what is lost already
                        await client.aclose()
            wait_s = RETRY_S if self._census.losses > failures else min(MAX_RETRY_S, wait_s * 2)
            await asyncio.sleep(wait_s * self._random.uniform(0.5, MAX_JITTER))

    async def _serve(self, client: "Redis") -> None:
        reserve, beat = await client.script_load(RESERVE), await client.script_load(BEAT)
        if self._spending is not None:
            await self._spending.prepare(client)
        now_us = await self._beat(client, beat)
        if self._stopping:
            return
        self._found()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._keep_beating(client, beat))
            tasks.create_task(self._lease(client, reserve))
            tasks.create_task(self._publish(client))
            tasks.create_task(self._receive(client, now_us))

    async def _keep_beating(self, client: "Redis", script: str) -> None:
        while not _is_called_off():
            await asyncio.sleep(BEAT_S)
            await self._beat(client, script)

    async def _beat(self, client: "Redis", script: str) -> int:
        """Send a heartbeat, count the gateways, and estimate the server's clock."""
        asked_s = self._clock.monotonic()
        key = f"{self._namespace}:gateways"
        answer: Any = await client.evalsha(script, 1, key, self._id, ANSWER_S, HELD_S)
        now_us, gateways = int(answer[0]), int(answer[1])
        self._server_clock.difference_s(asked_s, self._clock.monotonic(), now_us / 1e6)
        silent = {name.decode(): int(age_us) / 1e6 for name, age_us in zip(answer[2::2], answer[3::2], strict=True)}
        if silent and (ended := silent.keys() - await self._connected(client, silent)):
            await client.zrem(key, *ended)
            gateways -= len(ended)
            silent = {name: age_s for name, age_s in silent.items() if name not in ended}
        charge_s = self._census.count(gateways, [age_s - ANSWER_S for age_s in silent.values()])
        if charge_s:
            for pace in self._paces:
                pace.charge_absent(charge_s)
        if self._merger is not None:
            self._merger.set_clock(now_us / 1e6)
            self._merger.lanes.resize(self._census.gateways)
        return now_us

    async def _connected(self, client: "Redis", silent: Collection[str]) -> set[str]:
        """Return which of some silent gateways the server still has a connection of.

        That of a gateway that has ended is closed, even after kill -9; of one that is cut off, the server knows
        nothing new. Where it does not show its connections, all count as cut off.
        """
        from redis.exceptions import NoPermissionError

        try:
            clients: Any = await client.client_list()
        except NoPermissionError:
            return set(silent)
        return {each.get("name", "").removeprefix(self._client_name("")) for each in clients}

    def _client_name(self, gateway_id: str) -> str:
        return f"{self._namespace}:{gateway_id}"

    async def _lease(self, client: "Redis", script: str) -> None:
        """Refill all pools that need it, in one pipeline."""
        while not _is_called_off():
            await self._work.wait()
            self._work.clear()
            pools, self._poked = list(self._poked), {}
            asked_s = self._clock.monotonic()
            questions = [(pool, pool.question(asked_s)) for pool in pools]
            try:
                async with client.pipeline(transaction=False) as pipeline:
                    for pool, question in questions:
                        pipeline.evalsha(script, 1, pool.name, *question)
                    answers: list[Any] = await pipeline.execute()
            except BaseException:
                for pool in pools:
                    pool.failed()
                raise
            now_s = self._clock.monotonic()
            for pool, answer in zip(pools, answers, strict=True):
                server_us, again_us, *valid_us = (int(number) for number in answer)
                late_s = self._server_clock.difference_s(asked_s, now_s, server_us / 1e6)
                pool.granted(now_s, [at_us / 1e6 + late_s for at_us in valid_us], again_us / 1e6 + late_s)
                self._leases += 1

    async def _publish(self, client: "Redis") -> None:
        """Publish news; every `PUBLISH_ALL_EVERY` times also all active sessions."""
        if self._merger is None:
            return
        turn = 0
        while not _is_called_off():
            if not self._unpublished:
                self._unpublished = self._merger.collect(all_uses=turn % PUBLISH_ALL_EVERY == 0)
            turn += 1
            if self._unpublished:
                fields: dict[Any, Any] = {"from": self._id, "news": encode(self._unpublished)}
                await client.xadd(f"{self._namespace}:news", fields, maxlen=NEWS_KEPT, approximate=True)
                self._news_sent += len(self._unpublished)
                self._unpublished = []
            if self._spending is not None:
                await self._spending.exchange(client)
            await asyncio.sleep(PUBLISH_S)

    async def _receive(self, client: "Redis", now_us: int) -> None:
        """Merge the news of other gateways, beginning with those within one session timeout."""
        if self._merger is None:
            return
        stream = f"{self._namespace}:news"
        last: Any = f"{max(0, now_us // 1000 - int(self._merger.timeout_s * 1000))}-0"
        while not _is_called_off():
            batches: Any = await client.xread({stream: last}, count=READ_COUNT, block=READ_BLOCK_MS)
            for _, messages in batches or ():
                for last, fields in messages:  # noqa: B007 - the last one read is where the next reading begins
                    if fields.get(b"from") == self._id.encode():
                        continue
                    for news in decode(fields.get(b"news", b"")):
                        self._merger.merge(news)
                        self._news_heard += 1
                await asyncio.sleep(0)

    def _found(self) -> None:
        if not self._census.connected:
            for pace in self._paces:
                pace.rejoined(self._clock.monotonic())
            self._census.found()
            _log.info("connected to the shared state", gateways=self._census.gateways)
        self._reason = ""
        self._told_loss = False
        self._changed.set()

    def _lost(self, errors: BaseExceptionGroup[Exception]) -> None:
        """Go on alone, and log it once."""
        first: BaseException = errors
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        self._reason = type(first).__name__  # its text may name the address
        self._census.lost()
        self._changed.set()
        if not self._told_loss:
            self._told_loss = True
            _log.warning(
                "lost the connection to the shared state; using this gateway's part of the limits until it is back",
                reason=self._reason,
                gateways=self._census.gateways,
            )


def _is_called_off() -> bool:
    """Whether this task is cancelled: the Redis client sometimes swallows the `CancelledError`."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0

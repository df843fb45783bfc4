"""Three gateway processes behind one address, for ten greedy minutes in which one is killed and another cut off."""

import asyncio
import random
import sys
import time
from collections import Counter, deque
from contextlib import AsyncExitStack

import aiohttp
import pytest
from tests.integration.gateway.test_fleet import GREEDY, PER_MINUTE, jain
from tests.kits.gateway_process import WAIT_S, Balancer, GatewayProcess
from tests.long import LONG

from tickmind.llm.testing import FakeProvider, Late, Refuse

pytestmark = [pytest.mark.slow, pytest.mark.realtime(alone=True), pytest.mark.timeout(900), pytest.mark.asyncio]
LASTS_S, CUT_AT_S, CUT_S, KILLED_AT_S = 600.0, 200.0, 30.0, 400.0
CONFIG = """
providers:
  one:
    base_url: {base_url}
    keys: []
    limits: {{requests_per_minute: {per_minute}, concurrency: 200}}
    default_model: m
models:
  m: {{provider: one, fallback: []}}
default_model: m
queue: {{capacity: 10000, max_wait_s: 600}}
redis_url: redis://{redis}/0
key_id_secret: ${{TEST_KEY_ID_SECRET}}
"""


class StrictProvider:
    """A provider that answers 429 to whatever is one too many in any minute."""

    def __init__(self):
        self.times: deque[float] = deque()
        self.refused = 0
        self.busiest = 0

    def answer(self, _request):
        now_s = time.monotonic()
        while self.times and now_s - self.times[0] >= 60.0:
            self.times.popleft()
        if len(self.times) >= PER_MINUTE:
            self.refused += 1
            return Refuse(429, retry_after=1)
        self.times.append(now_s)
        self.busiest = max(self.busiest, len(self.times))
        return Late("Hello.", random.uniform(0.05, 0.4))


class Greedy:
    """Workers of several sessions that ask again as soon as they are served, at one address."""

    def __init__(self, client, address):
        self._client, self._url = client, f"http://{address}/v1/chat/completions"
        self.served: Counter[str] = Counter()
        self.other: Counter[object] = Counter()  # what came instead of an answer
        self._tasks = [asyncio.create_task(self._work(name)) for name, count in GREEDY.items() for _ in range(count)]

    async def _work(self, session):
        body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
        while True:
            try:
                async with self._client.post(self._url, json=body, headers={"x-tickmind-session": session}) as reply:
                    await reply.read()
                    if reply.status == 200:
                        self.served[session] += 1
                        continue
                    self.other[reply.status] += 1
            except aiohttp.ClientError as error:
                self.other[type(error).__name__] += 1
            await asyncio.sleep(0.2)

    async def stop(self):
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@pytest.mark.skipif(not LONG, reason="it takes eleven minutes; in simulated time the fleet does it in test_fleet")
async def test_ten_greedy_minutes_of_processes_through_a_killed_gateway_and_one_that_is_cut_off(redis_server, tmp_path):
    provider = StrictProvider()
    async with AsyncExitStack() as stack:
        upstream = await stack.enter_async_context(FakeProvider(provider.answer))
        door = await stack.enter_async_context(Balancer())
        wires, gateways = [], []
        for number in range(3):
            wires.append(await stack.enter_async_context(Balancer(redis_server.url.removeprefix("unix://"))))
            config = tmp_path / f"gateway-{number}.yaml"
            settings = {"base_url": upstream.base_url, "per_minute": PER_MINUTE, "redis": wires[-1].address}
            config.write_text(CONFIG.format(**settings), "utf-8")
            host = f"127.0.0.{number + 2}"  # the same port for all, so that each answers to the name of the one door
            gateways.append(await stack.enter_async_context(GatewayProcess(config, host, door.port)))
            door.targets += (f"{host}:{door.port}",)
        async with asyncio.timeout(WAIT_S):
            for each in gateways:
                while (await asyncio.to_thread(each.shared))["gateways"] < 3:  # noqa: ASYNC110 - it is in processes
                    await asyncio.sleep(0.1)
        client = await stack.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
        crowd = Greedy(client, door.address)
        stack.push_async_callback(crowd.stop)
        await asyncio.sleep(CUT_AT_S)
        wires[0].cut()
        await asyncio.sleep(CUT_S)
        wires[0].mend()
        await asyncio.sleep(KILLED_AT_S - CUT_AT_S - CUT_S)
        await gateways[1].kill()
        await asyncio.sleep(LASTS_S - KILLED_AT_S)
        total, served = sum(crowd.served.values()), list(crowd.served.values())
        sys.stdout.write(
            f"{total:,} of {LASTS_S / 60 * PER_MINUTE:,.0f} served, busiest minute {provider.busiest}, "
            f"{provider.refused} times 429, Jain {jain(served):.4f}, instead of answers: {dict(crowd.other)}\n"
        )
        assert provider.refused == 0
        assert total >= 0.98 * LASTS_S / 60 * PER_MINUTE
        assert jain(served) >= 0.98
        assert set(crowd.other) <= {"ServerDisconnectedError", "ClientOSError", "ClientConnectorError"}

"""Two gateways in processes of their own on one Redis: one limit for both, whoever dies."""

import asyncio
import time
from contextlib import AsyncExitStack

import aiohttp
import pytest
from tests.kits.gateway_process import WAIT_S, GatewayProcess

from tickmind.llm.testing import FakeProvider

pytestmark = [pytest.mark.slow(weight=8), pytest.mark.asyncio]
PER_SECOND = 20
CONFIG = """
providers:
  one:
    base_url: {base_url}
    keys: []
    limits: {{requests_per_second: {per_second}, concurrency: 64}}
    default_model: m
models:
  m: {{provider: one, fallback: []}}
default_model: m
redis_url: {redis_url}
key_id_secret: ${{TEST_KEY_ID_SECRET}}
"""


class Crowd:
    """Workers that ask a gateway again and again until they are told to stop or it is gone."""

    def __init__(self, client):
        self._client = client
        self._tasks: list[asyncio.Task[None]] = []
        self.served: dict[str, int] = {}

    def ask(self, gateway, count):
        self._tasks += [asyncio.create_task(self._work(gateway.url, number)) for number in range(count)]

    async def _work(self, url, number):
        body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
        headers = {"x-tickmind-session": f"s{number}"}
        while True:
            try:
                async with self._client.post(f"{url}/v1/chat/completions", json=body, headers=headers) as reply:
                    await reply.read()
                    assert reply.status == 200, reply.status
                    self.served[url] = self.served.get(url, 0) + 1
            except aiohttp.ClientError:
                return

    async def stop(self):
        for task in self._tasks:
            task.cancel()
        for result in await asyncio.gather(*self._tasks, return_exceptions=True):
            if isinstance(result, Exception):
                raise result


async def until(condition, what):
    end_s = time.monotonic() + WAIT_S
    while not await asyncio.to_thread(condition):
        assert time.monotonic() < end_s, f"in vain: {what}"
        await asyncio.sleep(0.05)


class Arrivals:
    """When requests reached the provider, and how long the machine did not let it look.

    What comes while it stands still is seen together afterwards, so the time before a window counts for it, too.
    """

    def __init__(self):
        self.times: list[float] = []
        self._held_up: list[tuple[float, float]] = []  # (until when, for how long)

    async def watch(self):
        while True:
            before_s = time.monotonic()
            await asyncio.sleep(0.01)
            now_s = time.monotonic()
            self._held_up.append((now_s, max(0.0, now_s - before_s - 0.02)))

    def answer(self, _request):
        self.times.append(time.monotonic())
        return "Hello."

    def assert_within(self, part, begin_s, end_s):
        """At most this part of the limit in a window, in which so much came that was sent in it, or not seen before."""
        count = sum(begin_s < at_s <= end_s for at_s in self.times)
        held_up_s = sum(long_s for until_s, long_s in self._held_up if begin_s - 1.0 < until_s <= end_s)
        assert count <= part * PER_SECOND * (end_s - begin_s + held_up_s), (count, end_s - begin_s, held_up_s)

    def assert_always_within(self, part, span_s):
        for at_s in self.times:
            self.assert_within(part, at_s - span_s, at_s)


@pytest.mark.realtime
async def test_one_limit_holds_for_two_processes_through_kill_9_and_a_restart_of_the_server(any_server, tmp_path):
    """What is seen on the way may be moved by a busy machine, so the bounds have some room."""
    arrivals = Arrivals()
    times = arrivals.times
    async with AsyncExitStack() as stack:
        provider = await stack.enter_async_context(FakeProvider(arrivals.answer))
        watch = asyncio.create_task(arrivals.watch())
        stack.callback(watch.cancel)
        config = tmp_path / "gateway.yaml"
        config.write_text(
            CONFIG.format(base_url=provider.base_url, per_second=PER_SECOND, redis_url=any_server.url), "utf-8"
        )
        first = await stack.enter_async_context(GatewayProcess(config))
        second = await stack.enter_async_context(GatewayProcess(config))
        await until(lambda: first.shared()["gateways"] == 2, "each knows of the other")
        client = await stack.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
        crowd = Crowd(client)
        stack.push_async_callback(crowd.stop)
        crowd.ask(first, 15)
        crowd.ask(second, 15)

        async def served(count):
            end_s, target = time.monotonic() + WAIT_S, len(times) + count
            while len(times) < target:
                assert time.monotonic() < end_s, f"only {len(times)} of {target} were served"
                await asyncio.sleep(0.05)

        async def rate(seconds):
            before, began_s = len(times), time.monotonic()
            await asyncio.sleep(seconds)
            arrivals.assert_within(1.1, began_s, time.monotonic())
            return (len(times) - before) / (time.monotonic() - began_s)

        async def reached(lowest):
            """Whether so much is served in some window; a machine that stands still in one has more of them."""
            end_s = time.monotonic() + WAIT_S
            while time.monotonic() < end_s:
                if await rate(3.0) >= lowest:
                    return True
            return False

        await served(40)
        assert await reached(0.6 * PER_SECOND)
        assert min(crowd.served.values()) >= 0.25 * max(crowd.served.values()), crowd.served
        any_server.kill()
        await until(lambda: first.shared()["problem"], "the loss is told")
        await served(40)  # each goes on with its part
        await rate(2.0)
        any_server.start()
        await until(lambda: not first.shared()["problem"], "it is back")
        await until(lambda: not second.shared()["problem"], "it is back for the other, too")
        await until(lambda: first.shared()["gateways"] == 2, "each knows of the other again")
        await second.kill()
        await until(lambda: first.shared()["gateways"] == 1, "the dead one is not counted any more")
        await served(20)
        assert await reached(0.7 * PER_SECOND), "what was the other's is used"
        arrivals.assert_always_within(1.25, 3.0)

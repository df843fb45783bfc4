"""Four games share two providers through a gateway: one of them is greedy, and one provider soon says no.

Run it: python examples/14_gateway.py
"""

import argparse
import asyncio
from collections import Counter

from tickmind.base import Secret
from tickmind.gateway import ApiKey, GatewayConfig, GatewayServer, Limits, Provider, Route
from tickmind.llm import CallConfig, GatewayClient, LLMError, load_gateway_config
from tickmind.llm.testing import FakeProvider, Refuse

WORKERS = {"greedy": 20, "village": 1, "arena": 1, "island": 1}  # game -> how many of its characters ask at once


def provider(name: str, fake: FakeProvider, per_minute: int) -> Provider:
    """How the operator describes a provider; this one is only a double."""
    limits = Limits(requests_per_minute=per_minute, burst=2, concurrency=8)
    return Provider(name, fake.base_url, keys=(ApiKey(name, Secret(f"key-of-{name}")),), limits=limits)


async def play(game: str, url: str, seconds: float, served: Counter[str], by: Counter[str]) -> None:
    """All characters of one game ask again and again."""
    until_s = asyncio.get_running_loop().time() + seconds

    async def think(client: GatewayClient) -> None:
        while asyncio.get_running_loop().time() < until_s:
            try:
                reply = await client.complete("What now?", CallConfig(timeout_s=5))
            except LLMError:
                continue  # the time was up before its turn came
            served[game] += 1
            by[reply.served.provider if reply.served else "?"] += 1

    async with GatewayClient(load_gateway_config(url=url, model="m"), session=game, on_cooldown="send") as client:
        await asyncio.gather(*(think(client) for _ in range(WORKERS[game])))


async def main(seconds: float) -> None:
    """Play, and tell who got what."""
    served: Counter[str] = Counter()
    by: Counter[str] = Counter()
    async with FakeProvider([Refuse(429, retry_after=1)], default="Run.") as one, FakeProvider(default="Hide.") as two:
        config = GatewayConfig(
            providers={"one": provider("one", one, 600), "two": provider("two", two, 1200)},
            exact={"m": Route((("one", None), ("two", None)))},  # one first, then two
            port=0,
        )
        async with GatewayServer(config) as server:
            print(f"the gateway listens on {server.url}")
            await asyncio.gather(*(play(game, server.url, seconds, served, by) for game in WORKERS))
            queue = server.gateway.dispatcher.statistics()
    print(f"served in {seconds:g} s: {sum(served.values())}; the limits allow about {30 * seconds:g}")
    for game, count in served.most_common():
        print(f"  {game:8} {count:4}  with {WORKERS[game]} at once")
    print("answered by " + ", ".join(f"{name}: {count}" for name, count in by.most_common()))
    print(f"fallbacks: {queue.fallbacks}, requests that had to wait: {queue.waits.count}")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=4.0, help="how long they play")
    asyncio.run(main(options.parse_args().seconds))

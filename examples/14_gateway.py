"""Four games at one gateway: one of them asks for far more than the others, and gets its share.

python examples/14_gateway.py --scripted      two providers that are scripted, one of which is soon rate limited
python examples/14_gateway.py                 what your environment names: GROQ_API_KEY, LLM_BASE_URL, ...
"""

import argparse
import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import replace

from tickmind.base import Secret
from tickmind.gateway import ApiKey, GatewayConfig, GatewayServer, Limits, Provider, Route, load_config
from tickmind.llm import GatewayClient, ModelConfig, gateway_call, load_gateway_config
from tickmind.llm.testing import FakeProvider, Refuse, Respond, Step

WORKERS = {"greedy": 12, "village": 2, "harbour": 2, "tower": 2}  # game -> how many of its characters ask at once
THOUGHT = Respond("I look around and think.")
LIMITED: list[Step] = [*[THOUGHT] * 6, Refuse(429, retry_after=0.5)]  # what the quick provider does, again and again


def scripted_config(quick: FakeProvider, steady: FakeProvider) -> GatewayConfig:
    """The model `npc` goes to the quick provider and falls back to the steady one."""
    limits = {"quick": Limits(requests_per_second=25, burst=2, concurrency=8), "steady": Limits(requests_per_second=15)}
    providers = {
        name: Provider(name, double.base_url, (ApiKey(name, Secret("a scripted key")),), limits[name])
        for name, double in (("quick", quick), ("steady", steady))
    }
    return GatewayConfig(providers, {"npc": Route((("quick", None), ("steady", None)))}, default_model="npc", port=0)


async def play(game: str, config: ModelConfig, until_s: float, served: Counter[str]) -> None:
    """One game: its characters ask again and again until the time is up."""
    loop = asyncio.get_running_loop()
    async with GatewayClient(config, session=game) as client:

        async def character(number: int) -> None:
            while loop.time() < until_s:
                await client.complete("What do you do?", gateway_call(agent=f"{game}-{number}"))
                served[game] += loop.time() < until_s

        await asyncio.gather(*map(character, range(WORKERS[game])))


async def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scripted", action="store_true", help="use scripted doubles instead of models")
    parser.add_argument("--seconds", type=float, default=4.0, help="how long they play")
    options = parser.parse_args()
    served: Counter[str] = Counter()
    async with AsyncExitStack() as stack:
        if options.scripted:
            quick = await stack.enter_async_context(FakeProvider(LIMITED * 100))
            steady = await stack.enter_async_context(FakeProvider(default=THOUGHT))
            config = scripted_config(quick, steady)
        else:
            config = replace(load_config(), port=0)
        server = await stack.enter_async_context(GatewayServer(config))
        print(f"The gateway is at {server.url}; {len(WORKERS)} games play for {options.seconds:g} s.")
        client = load_gateway_config(url=server.url, model=server.gateway.router.default_model)
        until_s = asyncio.get_running_loop().time() + options.seconds
        await asyncio.gather(*(play(game, client, until_s, served) for game in WORKERS))
        tally = server.gateway.tally.snapshot()
    total = max(1, served.total())
    for game, workers in WORKERS.items():
        print(f"  {game:8} asked with {workers:2}, was served {served[game]:3} times: {served[game] / total:4.0%}")
    for target in tally.targets:
        ended = ", ".join(f"{count} {result.value}" for result, count in target.results.items() if count)
        print(f"  {target.provider:8} answered: {ended}")
    print(f"{tally.answered} calls were served, {tally.fallbacks} of them after an attempt elsewhere; none was lost.")


if __name__ == "__main__":
    asyncio.run(main())

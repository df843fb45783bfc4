"""The overload drill: more callers than two limited providers can serve, one of them greedy. Who gets what, and when?

A greedy session keeps 20 requests waiting, three modest ones keep one each. A caller that is refused asks again after
what Retry-After says, at most a second, so every side is given the same patience.
"""

import asyncio
import json
import statistics
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.gateway_processes import Side, gateway, provider
from benchmarks.gateway_sides import HOST

REQUESTS_PER_MINUTE = (120, 240)
CAPACITY_PER_S = sum(REQUESTS_PER_MINUTE) / 60
LATENCY_MS = 100.0  # of a provider
GREEDY, MODEST = "greedy", ("modest-1", "modest-2", "modest-3")
GREEDY_WORKERS = 20


@dataclass(frozen=True)
class Drill:
    """What came of one drill."""

    seconds: float
    waits_s: dict[str, list[float]]  # session -> from asking to being served, of each request
    errors: int  # refusals that callers saw
    upstream_calls: int
    upstream_429s: int

    @property
    def served_per_s(self) -> float:
        """Of all sessions together."""
        return sum(map(len, self.waits_s.values())) / self.seconds

    @property
    def unfairness(self) -> float:
        """How far the session that is furthest off is from a fourth, as a part of it; each wants more."""
        served = [len(waits) for waits in self.waits_s.values()]
        share = max(sum(served), 1) / len(served)
        return max(abs(count - share) for count in served) / share

    @property
    def modest_wait_s(self) -> float:
        """The median of the modest sessions' waits; all of the drill, if they were never served."""
        return statistics.median([wait for name in MODEST for wait in self.waits_s[name]] or [self.seconds])

    def __str__(self) -> str:
        served = " / ".join(str(len(waits)) for waits in self.waits_s.values())
        return (
            f"{self.served_per_s:.2f}/s served, greedy / modest {served}, modest wait {self.modest_wait_s:.2f} s, "
            f"{self.upstream_429s} of {self.upstream_calls} upstream calls refused, {self.errors} refusals to callers"
        )


def drill(side: str, seconds: float, *arguments: str) -> Drill:
    """Let the sessions loose on one side in front of two fresh providers."""
    first, second = (provider(requests_per_minute=rate, latency_ms=LATENCY_MS) for rate in REQUESTS_PER_MINUTE)
    with first as one, second as two, gateway(side, (one, two), *arguments) as running:
        _counts((one, two))
        waits_s, errors = asyncio.run(_let_loose(running, seconds))
        calls, refused = _counts((one, two))
    return Drill(seconds, waits_s, errors, calls, refused)


def _counts(providers: Sequence[Side]) -> tuple[int, int]:
    """(calls, refused calls) since the last time; the providers begin anew."""
    calls = refused = 0
    for side in providers:
        with urllib.request.urlopen(f"http://{HOST}:{side.port}/", timeout=30) as reply:
            counts = json.load(reply)
        calls += counts["served"] + counts["refused"]
        refused += counts["refused"]
    return calls, refused


async def _let_loose(side: Side, seconds: float) -> tuple[dict[str, list[float]], int]:
    from aiohttp import ClientError, ClientSession, ClientTimeout, TCPConnector

    waits_s: dict[str, list[float]] = {name: [] for name in (GREEDY, *MODEST)}
    errors = 0
    url = f"http://{HOST}:{side.port}{side.path}"
    body = {"model": side.model, "messages": [{"role": "user", "content": "What do you do next?"}], "max_tokens": 64}

    async def served(client: ClientSession, session: str) -> bool:
        nonlocal errors
        pause_s = 0.1
        try:
            async with client.post(url, json=body, headers={"x-tickmind-session": session, **side.headers}) as reply:
                await reply.read()
                if reply.status == 200:
                    return True
                pause_s = min(1.0, float(reply.headers.get("Retry-After", pause_s)))
        except ClientError:
            pass  # as good as a refusal
        errors += 1
        await asyncio.sleep(pause_s)
        return False

    async def work(client: ClientSession, session: str) -> None:
        while True:
            asked_s = time.perf_counter()
            while not await served(client, session):
                pass
            waits_s[session].append(time.perf_counter() - asked_s)

    async with ClientSession(connector=TCPConnector(limit=0), timeout=ClientTimeout(total=120)) as client:
        workers = [GREEDY] * GREEDY_WORKERS + list(MODEST)
        tasks = [asyncio.create_task(work(client, session)) for session in workers]
        await asyncio.sleep(seconds)
        counted = {name: list(waits) for name, waits in waits_s.items()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return counted, errors

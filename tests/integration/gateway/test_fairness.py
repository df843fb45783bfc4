"""Fair shares over real connections: neither many requests nor many names win more than a share."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tickmind.gateway.fairness.caller_keys import hash_key
from tickmind.gateway.settings.config import Caller, Limits, QueueConfig

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]
SERVED = 240
PACE = {"one": Limits(requests_per_second=60, burst=1, concurrency=50)}
SETTINGS: dict[str, Any] = {"queue": QueueConfig(capacity=500, max_wait_s=300.0)}


async def compete(house: Any, askers: dict[str, tuple[int, Callable[[int], dict[str, str]]]]) -> Counter[str]:
    """Let each ask with as many workers as it has, until enough was served; who got how many of the later ones."""
    served: list[str] = []
    enough = asyncio.Event()

    async def work(name: str, headers: Callable[[int], dict[str, str]], worker: int) -> None:
        number = worker
        while not enough.is_set():
            reply = await house.chat(headers=headers(number))
            assert reply.status == 200, reply.body
            served.append(name)
            number += 17
            if len(served) >= SERVED:
                enough.set()

    tasks = [
        asyncio.create_task(work(name, headers, worker))
        for name, (workers, headers) in askers.items()
        for worker in range(workers)
    ]
    try:
        async with asyncio.timeout(120):
            await enough.wait()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    await house.settle()
    return Counter(served[SERVED // 4 : SERVED])


async def test_forging_a_hundred_sessions_with_one_key_gains_nothing_against_another_caller(housing: Any) -> None:
    callers = (Caller("forger", hash_key("tm-forger")), Caller("honest", hash_key("tm-honest")))
    async with housing(one=(), limits=PACE, settings={**SETTINGS, "callers": callers}) as house:
        shares = await compete(
            house,
            {
                "forger": (
                    60,
                    lambda n: {"authorization": "Bearer tm-forger", "x_tickmind_session": f"forged-{n % 100}"},
                ),
                "honest": (10, lambda _: {"authorization": "Bearer tm-honest", "x_tickmind_session": "mine"}),
            },
        )
        total = shares.total()
        assert shares["honest"] >= 0.45 * total, shares
        assert shares["forger"] >= 0.45 * total, shares


async def test_a_greedy_session_gets_no_more_than_each_polite_one(housing: Any) -> None:
    async with housing(one=(), limits=PACE, settings=SETTINGS) as house:
        askers = {
            "greedy": (60, lambda _: {"x_tickmind_session": "greedy"}),
            "ada": (6, lambda _: {"x_tickmind_session": "ada"}),
            "bob": (6, lambda _: {"x_tickmind_session": "bob"}),
            "cy": (6, lambda _: {"x_tickmind_session": "cy"}),
        }
        shares = await compete(house, askers)
        got = [shares[name] for name in askers]
        jain = sum(got) ** 2 / (len(got) * sum(share * share for share in got))
        assert jain >= 0.99, shares


async def test_an_idle_sessions_share_is_used_by_the_others(housing: Any) -> None:
    async with housing(one=(), limits=PACE, settings=SETTINGS) as house:
        for name in ("idle-1", "idle-2"):
            await house.chat(headers={"x_tickmind_session": name})
        began_s = asyncio.get_running_loop().time()
        shares = await compete(house, {"busy": (60, lambda _: {"x_tickmind_session": "busy"})})
        took_s = asyncio.get_running_loop().time() - began_s
        assert shares["busy"] == shares.total()
        assert took_s <= 3 * SERVED / 60 + 10, "the whole pace is its own"

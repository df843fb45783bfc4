"""`tickmind gateway top` before a real gateway: one picture, a live one, and plain words where there is none."""

import asyncio
import os
import re
import sys

import pytest
from tests.terminal import in_terminal

from tickmind.gateway.fairness.caller_keys import hash_key, new_key
from tickmind.gateway.settings.config import Caller
from tickmind.llm.testing import Refuse

KEY_NAME = "TICKMIND_GATEWAY_KEY"
DEADLINE_S = 60.0


def command(*arguments):
    return [sys.executable, "-m", "tickmind.cli", "gateway", "top", *arguments]


def surroundings(key="", columns=140):
    """An environment; without `columns` it tells no width."""
    left_out = {KEY_NAME, "COLUMNS", "LINES", "NO_COLOR"}
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    width = {} if columns is None else {"COLUMNS": str(columns)}
    return {**kept, **width, KEY_NAME: key, "TERM": "xterm-256color"}


async def top(*arguments, key="", columns=140):
    """Run it to its end: exit code, what it printed, and what it complained of."""
    process = await asyncio.create_subprocess_exec(
        *command(*arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=surroundings(key, columns),
    )
    out, err = await asyncio.wait_for(process.communicate(), DEADLINE_S)
    return process.returncode, out.decode(), " ".join(err.decode().split())


@pytest.mark.slow
@pytest.mark.asyncio
async def test_once_prints_one_picture_of_everything(housing):
    async with housing(one=[Refuse(429, retry_after=300)], two=[]) as house:
        for session in ("village", "village", "arena"):
            await house.generate(sessionId=session)
        code, out, _ = await top("--url", house.server.url, "--once")
    assert code == 0
    assert re.search(r"one .*limited \d.* min rate limited", out)
    assert re.search(r"two .*ready", out)
    assert re.search(r"village .*67%, due 50%", out)
    assert re.search(r"arena .*33%, due 50%", out)
    assert re.search(r"fallback +to two after one/m: rate limited, asked by village", out)
    assert "fallbacks 1/min, 1" in out
    assert "answered 3 of 3" in out
    assert "\x1b" not in out


@pytest.mark.slow
@pytest.mark.asyncio
async def test_what_goes_to_a_pipe_is_one_picture_of_its_width(housing):
    async with housing() as house:
        await house.generate(sessionId="village")
        code, out, _ = await top("--url", house.server.url, columns=80)
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert "village" in out


@pytest.mark.slow
@pytest.mark.asyncio
async def test_nothing_is_cut_in_a_pipe_that_has_no_width(housing):
    async with housing() as house:
        await house.generate(sessionId="village")
        code, out, _ = await top("--url", house.server.url, columns=None)
    assert code == 0
    assert "share of the last minute" in out
    assert "\N{HORIZONTAL ELLIPSIS}" not in out


@pytest.mark.slow
@pytest.mark.asyncio
async def test_where_callers_need_keys_it_says_so_and_takes_one_from_the_environment(housing):
    key = new_key()
    async with housing(settings={"callers": (Caller("ada", hash_key(key)),)}) as house:
        url = house.server.url
        without = await top("--url", url, "--once")
        wrong = await top("--url", url, "--once", key=new_key())
        right = await top("--url", url, "--once", key=key)
    assert (without[0], wrong[0], right[0]) == (1, 1, 0)
    assert f"requires a key; set {KEY_NAME}" in without[2]
    assert f"does not accept the key in {KEY_NAME}" in wrong[2]
    assert key not in "".join(right[1:])


@pytest.mark.slow
@pytest.mark.asyncio
async def test_without_a_gateway_it_says_what_to_do(housing):
    async with housing() as house:
        url = house.server.url
        provider = house.providers["one"].origin
        code, _, err = await top("--url", provider, "--once")
        assert code == 1
        assert err == f"the server at {provider} answers with status 404; is it a gateway?"
    code, _, err = await top("--url", url)
    assert code == 1
    assert err.startswith(f"no gateway answers at {url} (")
    assert "start one with `tickmind gateway`" in err


def terminal(*arguments):
    return in_terminal(*command(*arguments), env=surroundings(columns=None))


@pytest.mark.slow
@pytest.mark.asyncio
@pytest.mark.parametrize("key", [b"q", b"\x03"])
async def test_it_follows_the_gateway_and_the_window_until_a_key_is_pressed(housing, key):
    async with housing() as house, terminal("--url", house.server.url) as screen:
        await screen.until(lambda: b"live" in screen.seen)
        await house.generate(sessionId="latecomer")
        await screen.until(lambda: "latecomer" in screen.last_picture())
        screen.resize(70, 12)
        await screen.until(
            lambda: 0 < len(lines := screen.last_picture().splitlines()) <= 12 and max(map(len, lines)) <= 70
        )
        screen.press(key)
        assert await asyncio.wait_for(screen.process.wait(), DEADLINE_S) == 0


@pytest.mark.slow
@pytest.mark.asyncio
async def test_a_gateway_that_goes_away_is_told_and_the_last_figures_stay(housing):
    async with housing() as house, terminal("--url", house.server.url) as screen:
        await house.generate(sessionId="village")
        await screen.until(lambda: "village" in screen.last_picture())
        await house.server.stop(drain_s=0.0)
        await screen.until(lambda: "connection lost" in screen.last_picture())
        assert "village" in screen.last_picture()
        screen.press(b"q")
        assert await asyncio.wait_for(screen.process.wait(), DEADLINE_S) == 0

"""Who may look at the viewer's pages and frames, over real HTTP."""

import asyncio
from typing import Any

import aiohttp
import pytest

import tickmind.viewer.server as server_module
from tickmind.base import Limit, Secret
from tickmind.record import DamagedRunError
from tickmind.viewer import ViewerAddressError
from tickmind.viewer.access import access_for
from tickmind.viewer.server import ViewerConfig, ViewerServer

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]
PATHS = ("", "api/hello", "api/span", "api/digest", "api/window?first=1&last=2", "api/thoughts?actor=0&last=1&count=1")


async def test_wrong_host_or_origin_gets_nothing(village, viewing, until):
    async with village() as life, viewing(life.client) as (server, source), aiohttp.ClientSession() as session:
        await life.run(2)
        await until(lambda: source.span().last_tick_id == 2)
        port = server.url.rsplit(":", 1)[1].strip("/")
        wrong = [
            {"Host": "evil.example"},
            {"Host": f"evil.example:{port}"},
            {"Host": "127.0.0.1.evil.example"},
            {"Host": ""},
            {"Origin": "http://evil.example"},
            {"Origin": "null"},
            {"Origin": f"http://127.0.0.1:{int(port) + 1}"},
            {"Origin": f"http://localhost:{port}"},
            {"Origin": "http://[bad"},
        ]
        for headers in wrong:
            for path in (*PATHS, "live"):
                async with session.get(server.url + path, headers=headers) as answer:
                    assert answer.status in {400, 403}, (headers, path)
                    assert len(await answer.read()) < 300
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await session.ws_connect(f"{server.url}live", headers=headers)
        for headers in ({}, {"Host": f"localhost:{port}"}, {"Origin": server.url.rstrip("/")}):
            for path in PATHS:
                async with session.get(server.url + path, headers=headers) as answer:
                    assert answer.status == 200, (headers, path)


async def test_every_answer_keeps_scripts_to_our_own(village, viewing):
    async with village() as life, viewing(life.client) as (server, _), aiohttp.ClientSession() as session:
        for path in (*PATHS, "assets/viewer.js", "nowhere", "../pyproject.toml", "api/window?first=x&last=2"):
            async with session.get(server.url + path) as answer:
                policy = answer.headers["Content-Security-Policy"]
                assert "script-src 'self'" in policy
                assert "unsafe" not in policy
                assert answer.headers["X-Content-Type-Options"] == "nosniff"
                assert answer.headers["Cache-Control"] == "no-store"
        async with session.get(f"{server.url}icon.svg") as answer:  # a browser looks at it with every jump
            assert answer.headers["Cache-Control"] == "max-age=3600"
            assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
        for method in ("post", "put", "delete", "patch"):
            async with getattr(session, method)(f"{server.url}api/span") as answer:
                assert answer.status == 405


async def test_with_tokens_nobody_sees_a_frame_without_one(village, viewing):
    token = "a-token-of-some-length"
    async with (
        village() as life,
        viewing(life.client, tokens=(Secret(token),)) as (server, _),
        aiohttp.ClientSession() as session,
    ):
        for given in (None, "Bearer wrong", f"Basic {token}"):
            headers = {"Authorization": given} if given else {}
            for path in PATHS[1:]:
                async with session.get(server.url + path, headers=headers) as answer:
                    assert answer.status == 401
        async with session.get(f"{server.url}api/span", headers={"Authorization": f"Bearer {token}"}) as answer:
            assert answer.status == 200
        for shown, lets_in in (("", False), ("wrong", False), (token, True)):
            socket = await session.ws_connect(f"{server.url}live")
            await socket.send_str(shown)
            message = await socket.receive(120)
            assert (message.type is aiohttp.WSMsgType.BINARY) == lets_in
            await socket.close()


async def test_questions_out_of_bounds_are_refused_in_words(village, viewing, until):
    async with village() as life, viewing(life.client) as (server, source), aiohttp.ClientSession() as session:
        await life.run(2)
        await until(lambda: source.span().last_tick_id == 2)
        for path, status, words in (
            ("api/window?first=1&last=100000", 400, "number of ticks in one window"),
            ("api/window?first=900&last=901", 404, "request ticks from 1 to 2"),
            ("api/window?first=&last=2", 400, "whole number"),
            ("api/window?first=1&last=%D9%A1", 400, "whole number"),
            ("api/state?tick=--5", 400, "whole number"),
            ("api/thoughts?actor=0&last=1&count=99999", 400, "number of thoughts"),
        ):
            async with session.get(server.url + path) as answer:
                assert answer.status == status
                assert words in (await answer.json())["error"]
        for nothing in ("actor=-5&last=1&count=1", "actor=0&last=1&count=-1"):
            async with session.get(f"{server.url}api/thoughts?{nothing}") as answer:
                assert await answer.json() == []


async def test_beyond_this_machine_it_needs_tls_and_tokens(page_built):
    with pytest.raises(ViewerAddressError, match=r"TLS \(--tls\) and tokens"):
        ViewerServer(None, ViewerConfig(host="0.0.0.0"))  # type: ignore[arg-type]  # refused before it is looked at
    with pytest.raises(ViewerAddressError, match=r"needs TLS \(--tls\);"):
        access_for("192.0.2.1", tokens=(Secret("x" * 20),), tls=False)
    assert access_for("::1", tokens=(), tls=False).host_allowed("[::1]:8700")


async def test_a_taken_port_is_told_in_plain_words(village, viewing):
    async with village() as life, viewing(life.client) as (server, source):
        port = int(server.url.rsplit(":", 1)[1].strip("/"))
        with pytest.raises(ViewerAddressError, match="choose another port with --port"):
            async with ViewerServer(source, ViewerConfig(port=port)):
                pass


class Damaged:
    """A run that can't be read."""

    watchers = None

    def digest(self):
        raise DamagedRunError("ticks.parquet is damaged; `tickmind recover spring` may help")


async def test_a_damaged_run_is_told_in_words_and_with_all_headers(page_built):
    damaged: Any = Damaged()
    async with (
        ViewerServer(damaged, ViewerConfig(port=0)) as server,
        aiohttp.ClientSession() as session,
        session.get(f"{server.url}api/digest") as answer,
    ):
        assert answer.status == 500
        assert (await answer.json())["error"].startswith("ticks.parquet is damaged")
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_a_watcher_that_takes_nothing_more_is_not_waited_for(page_built, monkeypatch):
    class Stalled:
        async def close(self, **_how):
            await asyncio.Event().wait()

    class Line:
        aborted = False

        def abort(self):
            self.aborted = True

    monkeypatch.setattr(server_module, "MAX_CLOSE_S", Limit("time", 0.01, "s"))
    lines = [Line(), Line()]
    source: Any = Damaged()
    stalled: Any = {Stalled(): line for line in lines}
    async with asyncio.timeout(120), ViewerServer(source, ViewerConfig(port=0)) as server:
        server._sockets.update(stalled)
    assert [line.aborted for line in lines] == [True, True]


async def test_who_is_told_that_the_viewer_stops_can_not_come_back_to_it(village, viewing):
    """Or a page that comes back at once is let in by a server that is about to end."""
    async with village() as life, aiohttp.ClientSession() as session:
        async with viewing(life.client) as (server, _):
            socket = await session.ws_connect(f"{server.url}live")
            await socket.send_str("")
            assert (await socket.receive(120)).type is aiohttp.WSMsgType.BINARY
            coming_back = asyncio.create_task(come_back(session, socket, server.url))
        assert await coming_back == "refused"


async def come_back(session, socket, url):
    while (await socket.receive(120)).type is aiohttp.WSMsgType.BINARY:
        pass
    try:
        async with session.get(f"{url}api/span", timeout=aiohttp.ClientTimeout(120)) as answer:
            return answer.status
    except aiohttp.ClientConnectorError:
        return "refused"

"""Every path of the viewer with every credential that is none: no token, a wrong, a withdrawn, one of another place."""

from typing import Any, TypeVar

import aiohttp
import pytest

import tickmind.viewer.server as viewer_server
from tickmind.base import Secret
from tickmind.base.access.token_file import TokenFile, rotate
from tickmind.viewer.page import PageFile
from tickmind.viewer.server import ViewerConfig, ViewerServer
from tickmind.viewer.sources.source import Span
from tickmind.viewer.sources.watchers import Watchers

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(120)]
Answer = TypeVar("Answer")
TOKEN, SECOND, WITHDRAWN = "a-token-of-the-viewer", "another-token-of-it", "a-token-of-last-week"
OF_THE_WORLD = "a-token-of-this-world"
CALLS = {  # what needs a token: path -> a question to it
    "/api/hello": "",
    "/api/span": "",
    "/api/window": "?first=1&last=2",
    "/api/state": "?tick=1",
    "/api/digest": "",
    "/api/thoughts": "?actor=0&last=1&count=1",
    "/api/mind": "?actor=0&last=1",
    "/api/whole-mind": "?actor=0&tick=1",
}
WRONG = {
    "none": {},
    "empty": {"Authorization": "Bearer "},
    "wrong": {"Authorization": "Bearer wrong"},
    "cut short": {"Authorization": f"Bearer {TOKEN[:-1]}"},
    "longer": {"Authorization": f"Bearer {TOKEN}x"},
    "both": {"Authorization": f"Bearer {TOKEN}{SECOND}"},
    "another scheme": {"Authorization": f"Basic {TOKEN}"},
    "another header": {"X-Authorization": f"Bearer {TOKEN}"},
    "a cookie": {"Cookie": f"token={TOKEN}"},
    "withdrawn": {"Authorization": f"Bearer {WITHDRAWN}"},
    "of the world": {"Authorization": f"Bearer {OF_THE_WORLD}"},
}
FIRST_MESSAGES = ["", "wrong", TOKEN[:-1], f"{TOKEN}x", f"Bearer {TOKEN}", WITHDRAWN, OF_THE_WORLD]


class Frames:
    """A source that counts what is asked of it."""

    watchers = None

    def __init__(self) -> None:
        self.asked = 0

    def _count(self, answer: Answer) -> Answer:
        self.asked += 1
        return answer

    def hello(self) -> bytes:
        return self._count(b"hello")

    def span(self) -> Span:
        return self._count(Span(1, 2, growing=False))

    def digest(self) -> dict[str, Any]:
        return self._count({})

    async def window(self, first: int, last: int) -> bytes:
        return self._count(b"window")

    async def state(self, tick_id: int) -> bytes:
        return self._count(b"state")

    async def thoughts(self, actor: int, last_tick: int, count: int) -> list[dict[str, Any]]:
        return self._count([])

    async def mind(self, actor: int, last_tick: int) -> dict[str, Any]:
        return self._count({})

    async def whole_mind(self, actor: int, tick_id: int) -> dict[str, Any]:
        return self._count({})


@pytest.fixture
def source():
    return Frames()


@pytest.fixture
def viewer(source, monkeypatch):
    """A viewer with two tokens, or others: `async with viewer() as server`."""
    page = {"/index.html": PageFile("/index.html", "text/html", b"<p>the page")}
    monkeypatch.setattr(viewer_server, "page_files", lambda: page)

    def make(*tokens: str) -> ViewerServer:
        given = tuple(Secret(token) for token in tokens or (TOKEN, SECOND))
        return ViewerServer(source, ViewerConfig(port=0, tokens=given))

    return make


async def statuses(server, headers):
    async with aiohttp.ClientSession() as session:
        found = {}
        for path, question in CALLS.items():
            async with session.get(server.url.rstrip("/") + path + question, headers=headers) as answer:
                found[path] = answer.status
    return found


async def test_the_table_names_every_path_that_needs_a_token(viewer):
    async with viewer() as server:
        routes = {route.resource.canonical for route in server._listener._runner.app.router.routes()}
        assert routes - {"/", "/index.html", "/healthz", "/readyz"} == {*CALLS, "/live"}


async def test_probes_need_no_token_and_learn_nothing_but_whether_there_is_a_world(viewer, source, monkeypatch):
    async with viewer() as server, aiohttp.ClientSession() as session:
        for connected, status in ((True, 200), (False, 503)):
            monkeypatch.setattr(source, "span", lambda is_there=connected: Span(1, 2, growing=True, connected=is_there))
            for path, expected in (("healthz", 200), ("readyz", status)):
                async with session.get(server.url + path) as answer:
                    assert answer.status == expected
                    assert set(await answer.json()) <= {"status", "error"}
            async with session.get(f"{server.url}readyz", headers={"Host": "evil.example"}) as answer:
                assert answer.status == 403


@pytest.mark.parametrize("kind", WRONG)
async def test_no_path_is_answered_without_a_token_of_the_viewer(viewer, source, kind):
    async with viewer() as server:
        assert await statuses(server, WRONG[kind]) == dict.fromkeys(CALLS, 401)
    assert source.asked == 0


async def test_with_any_of_its_tokens_everything_is_shown(viewer, source):
    """Else the refusals would prove nothing."""
    async with viewer() as server:
        for token in (TOKEN, SECOND):
            assert await statuses(server, {"Authorization": f"Bearer {token}"}) == dict.fromkeys(CALLS, 200)
    assert source.asked == 2 * len(CALLS)


async def test_a_token_that_is_withdrawn_is_worth_nothing_at_the_next_start(viewer):
    for tokens, status in (((WITHDRAWN, TOKEN), 200), ((TOKEN,), 401)):
        async with viewer(*tokens) as server:
            found = await statuses(server, {"Authorization": f"Bearer {WITHDRAWN}"})
            assert found == dict.fromkeys(CALLS, status)


async def test_tokens_of_a_file_are_rotated_while_the_viewer_runs(viewer, source, tmp_path, monkeypatch):
    """Two are valid during a rotation; a stream of the withdrawn one ends with its next frame."""
    path = tmp_path / "tokens"
    rotate(path)
    old = TokenFile(path).newest().reveal()
    watchers = Watchers(lambda: b"keyframe")
    monkeypatch.setattr(Frames, "watchers", watchers)
    async with (
        ViewerServer(source, ViewerConfig(port=0, tokens=TokenFile(path))) as server,
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{server.url}live") as socket,
    ):
        await socket.send_str(old)
        assert (await socket.receive(timeout=60)).type is aiohttp.WSMsgType.BINARY
        rotate(path)
        new = TokenFile(path).newest().reveal()
        for token in (old, new):
            found = await statuses(server, {"Authorization": f"Bearer {token}"})
            assert found == dict.fromkeys(CALLS, 200)
        rotate(path, only=True)
        for token, status in ((old, 401), (new, 200)):
            found = await statuses(server, {"Authorization": f"Bearer {token}"})
            assert found == dict.fromkeys(CALLS, status)
        watchers.send(b"second")
        answer = await socket.receive(timeout=60)
        assert (answer.type, answer.data) == (aiohttp.WSMsgType.CLOSE, aiohttp.WSCloseCode.POLICY_VIOLATION)


async def test_no_frame_goes_down_before_a_token_of_the_viewer_came_up(viewer):
    async with viewer() as server, aiohttp.ClientSession() as session:
        for message in (*FIRST_MESSAGES, TOKEN):
            async with session.ws_connect(f"{server.url}live", headers={"Authorization": f"Bearer {TOKEN}"}) as socket:
                await socket.send_str(message)
                answer = await socket.receive(timeout=60)
                assert answer.type is aiohttp.WSMsgType.CLOSE
                let_in = answer.data != aiohttp.WSCloseCode.POLICY_VIOLATION
                assert let_in == (message == TOKEN), message

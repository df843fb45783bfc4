"""The requests of the lab without a browser: who may send them, and what is done with odd ones."""

import asyncio
import json
from contextlib import aclosing, asynccontextmanager
from typing import Any, ClassVar

import aiohttp
import pytest
from tests.integration.viewer.test_credentials import Frames
from yarl import URL

from tickmind.base import Secret
from tickmind.cli.lab import run_lab
from tickmind.cli.lab.interview_process import InterviewProcess
from tickmind.cli.lab.run_lab import FolderLab
from tickmind.viewer import server as viewer_server
from tickmind.viewer.errors import RunLabError
from tickmind.viewer.page import PageFile
from tickmind.viewer.server import ViewerConfig, ViewerServer

pytestmark = pytest.mark.asyncio

TOKEN = "a-token-of-the-viewer"
ORDERS = {
    ("GET", "runs"): "",
    ("GET", "divergence?other=b"): "",
    ("GET", "branch"): "",
    ("POST", "branch"): json.dumps({"tick": 3}),
    ("POST", "interview?tick=3"): json.dumps({"who": "ada", "question": "Who?"}),
}


class CountingLab:
    """A lab that counts what is asked of it."""

    def __init__(self) -> None:
        self.asked = 0

    async def source(self, run_id: str) -> Frames:
        self.asked += 1
        return Frames()

    async def runs(self, run_id: str) -> list[Any]:
        self.asked += 1
        return []

    async def divergence(self, run_id: str, other_id: str) -> dict[str, Any]:
        self.asked += 1
        return {}

    async def begin_branch(self, run_id: str, order: Any) -> dict[str, Any]:
        self.asked += 1
        return {}

    async def branch_state(self) -> dict[str, Any]:
        self.asked += 1
        return {}

    async def interview(self, run_id: str, who: str, tick_id: int, question: str) -> Any:
        self.asked += 1
        yield {"state": "asked"}

    async def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def serving(monkeypatch):
    """A viewer with a lab, and a client of it: `async with serving(lab, TOKEN) as send`."""
    page = {"/index.html": PageFile("/index.html", "text/html", b"<p>the page")}
    monkeypatch.setattr(viewer_server, "page_files", lambda: page)

    @asynccontextmanager
    async def serve(lab, *tokens):
        config = ViewerConfig(port=0, tokens=tuple(map(Secret, tokens)))
        async with ViewerServer(Frames(), config, lab=lab) as server, aiohttp.ClientSession() as client:

            async def send(method, path, body="", **headers):
                url = URL(f"{server.url}{path}", encoded=True)
                given = {"Content-Type": "application/json", **headers}
                async with client.request(method, url, data=body or None, headers=given) as answer:
                    return answer.status, await answer.text()

            yield send

    return serve


async def test_no_order_is_taken_without_a_token_of_the_viewer(serving):
    lab = CountingLab()
    async with serving(lab, TOKEN) as send:
        for (method, name), body in ORDERS.items():
            for begin in ("api", "run/other/api"):
                for headers in ({}, {"Authorization": "Bearer wrong"}):
                    assert (await send(method, f"{begin}/{name}", body, **headers))[0] == 401
        assert lab.asked == 0
        for (method, name), body in ORDERS.items():
            assert (await send(method, f"api/{name}", body, Authorization=f"Bearer {TOKEN}"))[0] == 200
        assert lab.asked == len(ORDERS)


@pytest.mark.parametrize("path", ["branch", "interview?tick=2"])
@pytest.mark.parametrize("body", ["[" * 4000, '{"a":' * 700, "", "\ufeff{}", "NaN", '{"tick": 1e999}', '{"tick": NaN}'])
async def test_bodies_that_are_no_orders_are_refused_in_words(serving, path, body):
    lab = CountingLab()
    async with serving(lab) as send:
        status, said = await send("POST", f"api/{path}", body)
        assert (status, lab.asked) == (400, 0), said
        assert json.loads(said)["error"]


async def test_large_bodies_are_refused_before_they_are_read(serving):
    lab = CountingLab()
    async with serving(lab) as send:
        assert (await send("POST", "api/branch", json.dumps({"tick": 1, "x": "y" * 5000})))[0] == 413
        assert lab.asked == 0


class PlayedInterview(InterviewProcess):
    """An interview that answers when it is let, and takes a while to end."""

    living: "ClassVar[set[PlayedInterview]]"
    go_on: asyncio.Event

    async def ask(self, question: str) -> Any:
        self.living.add(self)
        yield {"state": "asked"}
        await self.go_on.wait()
        yield {"answer": {"text": question}}

    async def close(self) -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self.living.discard(self)


@pytest.fixture
def lab(tmp_path, monkeypatch):
    monkeypatch.setattr(run_lab, "InterviewProcess", PlayedInterview)
    monkeypatch.setattr(PlayedInterview, "living", set(), raising=False)
    monkeypatch.setattr(PlayedInterview, "go_on", asyncio.Event(), raising=False)
    return FolderLab(tmp_path)


async def answered(lab, who):
    """The last step of an interview, or what refuses it."""
    try:
        async with aclosing(lab.interview("run", who, 3, "Who?")) as steps:
            return [step async for step in steps][-1]
    except RunLabError as error:
        return str(error)


async def test_minds_that_are_asked_at_once_take_no_process_from_each_other(lab):
    """Idle ones make room, in whatever order they come; a process that nobody knows any more would stay for ever."""
    lab_limit = int(run_lab.MAX_INTERVIEWS.maximum)
    PlayedInterview.go_on.set()
    for who in range(lab_limit):
        assert "answer" in await answered(lab, f"idle-{who}")
    PlayedInterview.go_on.clear()
    asking = [asyncio.create_task(answered(lab, f"new-{who}")) for who in range(2 * lab_limit)]
    for _ in range(50):
        await asyncio.sleep(0)
    PlayedInterview.go_on.set()
    said = await asyncio.gather(*asking)
    assert sum(isinstance(one, dict) for one in said) == lab_limit
    assert sum(isinstance(one, str) and "too many characters" in one for one in said) == lab_limit
    assert len(PlayedInterview.living) <= lab_limit
    await lab.close()
    assert not PlayedInterview.living


PRINTS = {
    "no JSON": b"print('hello')",
    "no object": b"print('[]')",
    "too long": b"print('x' * (5 << 20))",
    "nothing": b"",
}


@pytest.mark.parametrize("prints", PRINTS)
async def test_an_interview_that_prints_something_else_fails_in_words(tmp_path, monkeypatch, prints):
    async def start(*_words, takes_input):
        assert takes_input
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            *("python3", "-c", PRINTS[prints]), stdin=pipe, stdout=pipe, stderr=pipe, limit=1 << 22
        )

    monkeypatch.setattr("tickmind.cli.lab.interview_process.start_command", start)
    process = InterviewProcess(tmp_path, "run", "ada", 3)
    with pytest.raises(RunLabError, match=r"no answer|ended with 0"):
        await exhausted(process.ask("Who?"))
    await process.close()


async def exhausted(steps):
    async with aclosing(steps) as each:
        async for _ in each:
            pass

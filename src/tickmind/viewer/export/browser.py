"""A headless Chromium that draws the page, driven by its DevTools protocol."""

import asyncio
import base64
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from tickmind.base import Limit
from tickmind.viewer.errors import BrowserError

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MAX_START_S = Limit("time until the browser has started", 60, "s")
MAX_ANSWER_S = Limit("time until the browser answers", 60, "s")
MAX_MESSAGE_BYTES = Limit("size of a browser's answer", 64 * 1024 * 1024, "bytes")
POLL_S = 0.02
# Software rendering, so that the same picture comes out on any machine.
FLAGS = ("--headless=new", "--disable-gpu", "--enable-unsafe-swiftshader", "--disable-dev-shm-usage", "--no-first-run")


def find_chromium() -> Path:
    """Return the path of Chromium or Chrome; raises `BrowserError` if there is none."""
    program = next((path for name in NAMES if (path := shutil.which(name))), None)
    if program is None:
        raise BrowserError(
            "pictures are drawn by Chromium or Chrome, and none is installed here (on Debian: apt-get install "
            "chromium); --export writes a page instead, without a browser"
        )
    return Path(program)


class Tab:
    """A page in the browser. One call at a time."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._session_id = ""
        self._asked = 0

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the DevTools protocol."""
        self._asked += 1
        wanted = {"id": self._asked, "method": method, "params": params}
        if self._session_id:
            wanted["sessionId"] = self._session_id
        try:
            async with asyncio.timeout(MAX_ANSWER_S.maximum):
                await self._socket.send_str(orjson.dumps(wanted).decode())
                while True:
                    answer = orjson.loads(await self._socket.receive_str())
                    if answer.get("id") == self._asked:
                        break
        except (TimeoutError, TypeError, ConnectionError, orjson.JSONDecodeError) as error:
            raise BrowserError(f"the browser does not answer to {method}; try again") from error
        if "error" in answer:
            raise BrowserError(f"the browser refuses {method}: {answer['error'].get('message', '')}")
        result: dict[str, Any] = answer["result"]
        return result

    async def open(self, url: str, width: int, height: int) -> None:
        """Open a page in a window of this size, with animations off."""
        target_id = await self._first_page()
        attached = await self.call("Target.attachToTarget", targetId=target_id, flatten=True)
        self._session_id = attached["sessionId"]
        calm = [{"name": "prefers-reduced-motion", "value": "reduce"}]
        await self.call("Emulation.setEmulatedMedia", features=calm)
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )
        await self.call("Page.navigate", url=url)

    async def _first_page(self) -> str:
        """Return the browser's first page: it is in front, so it is drawn."""
        while True:
            answer = await self.call("Target.getTargets")
            for target in answer["targetInfos"]:
                if target["type"] == "page":
                    return str(target["targetId"])
            await asyncio.sleep(POLL_S)

    async def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression as plain data; promises are awaited."""
        answer = await self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise BrowserError(f"a script of the page failed: {answer['exceptionDetails'].get('text', '')}")
        return answer["result"].get("value")

    async def wait_for(self, expression: str) -> None:
        """Wait until an expression is true."""
        try:
            async with asyncio.timeout(MAX_START_S.maximum):
                while not await self.evaluate(expression):  # noqa: ASYNC110  # it is true in another process
                    await asyncio.sleep(POLL_S)
        except TimeoutError as error:
            raise BrowserError("the page did not become ready in the browser; try again") from error

    async def picture(self, left: float, top: float, width: float, height: float) -> bytes:
        """Return a PNG of a part of the page."""
        clip = {"x": left, "y": top, "width": width, "height": height, "scale": 1}
        answer = await self.call("Page.captureScreenshot", format="png", clip=clip, optimizeForSpeed=True)
        return base64.b64decode(answer["data"])


@asynccontextmanager
async def browsing(program: Path, url: str, *, width: int, height: int) -> AsyncIterator[Tab]:
    """Open a page in a browser of its own, which is removed afterwards with all its data."""
    with tempfile.TemporaryDirectory(prefix="tickmind-browser-", ignore_cleanup_errors=True) as folder:
        flags = [*FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]  # Chromium's sandbox refuses root
        process = await asyncio.create_subprocess_exec(
            program,
            *flags,
            "--remote-debugging-port=0",
            f"--user-data-dir={folder}",
            "about:blank",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            address = await _address(process, Path(folder) / "DevToolsActivePort")
            async with (
                aiohttp.ClientSession() as session,
                session.ws_connect(address, max_msg_size=int(MAX_MESSAGE_BYTES.maximum)) as socket,
            ):
                tab = Tab(socket)
                await tab.open(url, width, height)
                yield tab
        except aiohttp.ClientError as error:
            raise BrowserError("the browser ended unexpectedly; try again") from error
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()


async def _address(process: asyncio.subprocess.Process, port_file: Path) -> str:
    """Return the browser's address from its port file: its own port and an unguessable path."""
    try:
        async with asyncio.timeout(MAX_START_S.maximum):
            while process.returncode is None:
                lines = _lines(port_file)
                if len(lines) > 1 and lines[1]:
                    return f"ws://127.0.0.1:{int(lines[0])}{lines[1].strip()}"
                await asyncio.sleep(POLL_S)
    except (TimeoutError, ValueError) as error:
        raise BrowserError("the browser does not start; start it by hand to see why") from error
    raise BrowserError("the browser ended at its start; start it by hand to see why")


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n") if path.exists() else []

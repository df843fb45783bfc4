"""`tickmind gateway` as an operator starts it, and a balancer for TCP that can be cut."""

import asyncio
import json
import os
import signal
import sys
from urllib.request import urlopen

WAIT_S = 60.0


class GatewayProcess:
    """`tickmind gateway` as an operator starts it."""

    def __init__(self, config, host="127.0.0.1", port=0):
        self._options = ("--config", str(config), "--host", host, "--port", str(port))
        self.url = ""
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self):
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tickmind.cli", "gateway", *self._options),
            stdin=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "TEST_KEY_ID_SECRET": "the-same-for-all-of-them"},
        )
        assert self._process.stderr is not None
        said = []
        async with asyncio.timeout(WAIT_S):
            while not self.url:
                line = (await self._process.stderr.readline()).decode()
                said.append(line)
                assert line, said
                if "The gateway is at " in line:
                    self.url = line.split("The gateway is at ")[1].split(";")[0].strip()
        self._drain = asyncio.create_task(self._process.stderr.read())
        return self

    async def __aexit__(self, *_exc):
        assert self._process is not None
        if self._process.returncode is None:
            self._process.terminate()
        await asyncio.wait_for(self._process.wait(), WAIT_S)
        await self._drain

    async def kill(self):
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        await self._process.wait()

    def shared(self):
        """How it stands with the other gateways."""
        with urlopen(f"{self.url}/api/llm/overview", timeout=WAIT_S) as reply:
            return json.load(reply)["shared"]


class Balancer:
    """One TCP address for several, or for a Unix socket; each connection goes to the next that accepts it.

    While cut, nothing passes.
    """

    def __init__(self, *targets):
        self.targets = targets
        self._turn = 0
        self._passes = asyncio.Event()
        self._passes.set()
        self.address, self.port = "", 0

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        return self

    async def __aexit__(self, *_exc):
        self._server.close()

    def cut(self):
        """Let nothing pass, in either direction; neither side is told."""
        self._passes.clear()

    def mend(self):
        """Let everything pass again."""
        self._passes.set()

    async def _accept(self, reader, writer):
        try:
            await self._passes.wait()
            for _ in self.targets:
                self._turn += 1
                try:
                    back, forth = await self._connect(self.targets[self._turn % len(self.targets)])
                except OSError:
                    continue
                try:
                    ways = [asyncio.create_task(self._copy(*way)) for way in ((reader, forth), (back, writer))]
                    await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                    for way in ways:
                        way.cancel()
                finally:
                    forth.transport.abort()
                return
        finally:
            writer.transport.abort()

    async def _connect(self, target):
        if target.startswith("/"):
            return await asyncio.open_unix_connection(target)
        host, _, port = target.rpartition(":")
        return await asyncio.open_connection(host, int(port))

    async def _copy(self, reader, writer):
        try:
            while data := await reader.read(65_536):
                await self._passes.wait()
                writer.write(data)
                await writer.drain()
        except OSError:
            return  # one side is gone

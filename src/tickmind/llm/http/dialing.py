"""Opens connections to one endpoint: plain, with TLS, or through the proxy that the environment names."""

import asyncio
import base64
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit

from tickmind.base import Secret
from tickmind.base.access.tls_files import TlsFiles
from tickmind.llm.errors import LLMConfigError
from tickmind.llm.http.protocol import HttpConnection, HttpFormatError, ResponseParser

_HAPPY_EYEBALLS_S = 0.25  # when a second address is tried beside the first


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy from the environment."""

    host: str
    port: int
    authorization: Secret


def proxy_for(endpoint: SplitResult) -> Proxy | None:
    """Return the proxy that the environment's variables name for this endpoint, if any."""
    from urllib.request import getproxies_environment, proxy_bypass

    address = getproxies_environment().get(endpoint.scheme)
    if not address or proxy_bypass(endpoint.netloc):
        return None
    parts = urlsplit(address if "://" in address else f"http://{address}")
    if parts.scheme != "http" or not parts.hostname:
        raise LLMConfigError(f"the proxy of {endpoint.scheme}_proxy must be http://host:port; others are not supported")
    login = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else ""
    return Proxy(parts.hostname, parts.port or 80, Secret(base64.b64encode(login.encode()).decode() if login else ""))


def _wire_host(host: str) -> str:
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError as exc:
        raise LLMConfigError("the base URL's host can't be looked up as it is written; check LLM_BASE_URL") from exc


class Dialer:
    """Knows the way to one endpoint."""

    def __init__(self, endpoint: SplitResult, *, trust_proxy_env: bool = False, tls: TlsFiles | None = None) -> None:
        self._host = _wire_host(endpoint.hostname or "")
        self._tls = endpoint.scheme == "https"
        self._port = endpoint.port or (443 if self._tls else 80)
        self._proxy = proxy_for(endpoint) if trust_proxy_env else None
        self._context: ssl.SSLContext | None = None
        self._make_context = ssl.create_default_context if tls is None else tls.context
        name = f"[{self._host}]" if ":" in self._host else self._host
        self.authority = name if endpoint.port is None else f"{name}:{endpoint.port}"
        plain_proxy = self._proxy is not None and not self._tls
        self.target_prefix = f"http://{self.authority}" if plain_proxy else ""
        self.proxy_authorization = self._proxy.authorization if self._proxy and plain_proxy else None

    async def dial(self, make: Callable[[], HttpConnection]) -> HttpConnection:
        """Open a connection; raises `OSError` or `HttpFormatError` if it can't."""
        loop = asyncio.get_running_loop()
        context = await self._ssl_context(loop) if self._tls else None
        if self._proxy is not None:
            _, connection = await loop.create_connection(make, self._proxy.host, self._proxy.port)
            if context is not None:
                await self._tunnel(connection, self._proxy, context)
            return connection
        literal = self._host.replace(".", "").isdigit() or ":" in self._host
        _, connection = await loop.create_connection(
            make,
            self._host,
            self._port,
            ssl=context,
            server_hostname=self._host if context is not None else None,
            happy_eyeballs_delay=None if literal else _HAPPY_EYEBALLS_S,
        )
        return connection

    async def _tunnel(self, connection: HttpConnection, proxy: Proxy, context: ssl.SSLContext) -> None:
        try:
            await self._ask_for_tunnel(connection, proxy)
            loop = asyncio.get_running_loop()
            secure = await loop.start_tls(connection.transport, connection, context, server_hostname=self._host)
            if secure is None:
                connection.abort()
            else:
                connection.connection_made(secure)
        except BaseException:
            connection.abort()
            raise

    async def _ask_for_tunnel(self, connection: HttpConnection, proxy: Proxy) -> None:
        where = f"[{self._host}]:{self._port}" if ":" in self._host else f"{self._host}:{self._port}"
        login = f"Proxy-Authorization: Basic {proxy.authorization.reveal()}\r\n" if proxy.authorization else ""
        connection.write(f"CONNECT {where} HTTP/1.1\r\nHost: {where}\r\n{login}\r\n".encode("ascii"))
        parser = ResponseParser()
        while not parser.status:
            data = await connection.read()
            if not data:
                raise HttpFormatError("the proxy closed the connection")
            parser.feed(data)
        if not 200 <= parser.status < 300:
            raise HttpFormatError(f"the proxy refused the connection with status {parser.status}")

    async def _ssl_context(self, loop: asyncio.AbstractEventLoop) -> ssl.SSLContext:
        if self._context is None:  # reading the certificates takes long enough to stall a loop
            self._context = await loop.run_in_executor(None, self._make_context)
        return self._context

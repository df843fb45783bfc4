"""The connection pools of all providers, and the request head for each target."""

import asyncio
import ssl
from dataclasses import dataclass

from tickmind.gateway.http.head_memo import HeadMemo
from tickmind.gateway.http.masking import secrets_of
from tickmind.gateway.http.reply import ReplyHead, ReplyListener, UpstreamExchange
from tickmind.gateway.http.upstream import UpstreamAddress, UpstreamPool
from tickmind.gateway.routing.plan import Target
from tickmind.gateway.settings.config import Surface, WireConfig

MAX_POOLS = 1024  # pools of callers' own endpoints beyond this: the oldest is closed
_PATHS: dict[Surface, str] = {"chat": "/chat/completions", "responses": "/responses", "embeddings": "/embeddings"}


@dataclass(frozen=True, slots=True)
class TargetRoute:
    """The route to a target: its pool, request heads and secrets."""

    pool: UpstreamPool
    heads: dict[Surface, bytes]  # everything before the length
    secrets: tuple[bytes, ...]  # sent to the target in those heads, masked in replies

    def send(
        self, surface: Surface, body: bytes, listener: ReplyListener, more_headers: bytes = b""
    ) -> UpstreamExchange:
        """Send a body to the endpoint; `more_headers` are whole lines."""
        head = self.heads[surface]
        return self.pool.send(b"%b%bContent-Length: %d\r\n\r\n%b" % (head, more_headers, len(body), body), listener)


class Upstreams:
    """Finds the way to each target, and opens it when first used."""

    def __init__(self, wire: WireConfig, loop: asyncio.AbstractEventLoop) -> None:
        self._wire = wire
        self._loop = loop
        self._routes: dict[tuple[str, str, str, bool], TargetRoute] = {}  # the oldest first
        self.by_target: dict[Target, TargetRoute] = {}  # those found last
        self._reply_heads: HeadMemo[ReplyHead] = HeadMemo()
        self._context: ssl.SSLContext | None = None

    def route_to(self, target: Target) -> TargetRoute:
        """Return the way to a target; the same object each time, as long as it is used."""
        way = self.by_target.get(target)
        if way is not None:
            return way
        name = (target.provider.name, target.key.id, target.provider.base_url, target.custom)
        way = self._routes.get(name) or self._open(name, target)
        if len(self.by_target) >= MAX_POOLS:
            self.by_target.clear()
        self.by_target[target] = way
        return way

    def statistics(self) -> dict[str, dict[str, int]]:
        """Return connections by provider and key."""
        return {f"{provider}/{key_id}": way.pool.statistics() for (provider, key_id, *_), way in self._routes.items()}

    def close(self) -> None:
        """Drop all connections."""
        for way in self._routes.values():
            way.pool.close()
        self._routes.clear()
        self.by_target.clear()

    def _open(self, name: tuple[str, str, str, bool], target: Target) -> TargetRoute:
        endpoint = UpstreamAddress.of(target.provider.base_url, target.pin)
        pool = UpstreamPool(
            endpoint,
            loop=self._loop,
            max_connections=self._wire.max_upstream_connections,
            tls_context=self._tls_context,
            heads=self._reply_heads,
        )
        heads = {surface: _head(endpoint, target, path) for surface, path in _PATHS.items()}
        way = TargetRoute(pool, heads, secrets_of(target))
        self._routes[name] = way
        if len(self._routes) > MAX_POOLS:
            oldest = next((other for other in self._routes if other[3]), None)  # a caller's own
            if oldest is not None:
                self._routes.pop(oldest).pool.close_idle()
                self.by_target.clear()
        return way

    def _tls_context(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = ssl.create_default_context()
        return self._context


def _head(endpoint: UpstreamAddress, target: Target, path: str) -> bytes:
    lines = [
        f"POST {endpoint.path}{path} HTTP/1.1",
        f"Host: {endpoint.authority}",
        "Content-Type: application/json",
        "Accept-Encoding: identity",
        "User-Agent: tickmind-gateway",
    ]
    if target.key.secret:
        lines.append(f"Authorization: Bearer {target.key.secret.reveal()}")
    lines += [f"{name}: {value}" for name, value in target.provider.headers.items()]
    if not target.custom:
        lines += [f"{name}: {value.reveal()}" for name, value in target.provider.secret_headers.items()]
    lines += [f"{name}: {value.reveal()}" for name, value in target.headers]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n"

"""Endpoints that callers name themselves: which are allowed, and to which addresses their names resolve.

A name is resolved once, every address is checked, and connections go to these addresses only, so that no second answer
of a name server can lead elsewhere. The connection does not follow redirects.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from tickmind.base import Clock, get_logger
from tickmind.gateway.refusal import Code, Refusal, RefusedError
from tickmind.gateway.settings.addresses import Address, forbidden_kind
from tickmind.gateway.settings.base_url import BaseUrl, BaseUrlError, parse_base_url
from tickmind.gateway.settings.config import GatewayConfig

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]  # (host, port) -> addresses as text; raises OSError

RESOLVE_TTL_S: Final = 60.0
RESOLVE_TIMEOUT_S: Final = 5.0
MAX_ADDRESSES: Final = 32
_log = get_logger(__name__)


@dataclass(slots=True, eq=False)
class Pin:
    """Where to connect for one origin: any of `addresses` at `port`, with `host` for SNI and `authority` for Host.

    It stays the same object when its addresses are resolved anew; if there are none, don't connect.
    """

    host: str
    port: int
    authority: str
    tls: bool
    literal: Address | None = None  # if the host is no name
    addresses: tuple[str, ...] = ()
    expires_s: float = field(default=float("-inf"), repr=False)  # monotonic
    looking_up: "asyncio.Task[Refusal | None] | None" = field(default=None, repr=False)


async def resolve_by_system(host: str, port: int) -> Sequence[str]:
    """Return the addresses from the system's resolver, without blocking the loop."""
    loop = asyncio.get_running_loop()
    entries = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in entries))


def read_custom_url(base_url: str) -> BaseUrl:
    """Parse a URL that a caller gave; raises `RefusedError` for anything but a plain URL."""
    try:
        return parse_base_url(base_url)
    except BaseUrlError as error:
        raise RefusedError(Refusal(Code.FORBIDDEN_URL, str(error))) from None


class Origins:
    """The operator's list of origins, with a pin for each that is in use."""

    def __init__(
        self, config: GatewayConfig, *, clock: Clock, resolver: Resolver, ttl_s: float = RESOLVE_TTL_S
    ) -> None:
        self._clock = clock
        self._resolver = resolver
        self._ttl_s = ttl_s
        public = ((parse_base_url(url), False) for url in config.allowed_base_urls)
        private = ((parse_base_url(url), True) for url in config.private_base_urls)
        self._allowed = (*public, *private)  # (URL, whether it may be in the operator's own network)
        self._pins: dict[tuple[tuple[str, str, int], bool], Pin] = {}  # bounded by the operator's list

    async def pin(self, url: BaseUrl) -> Pin:
        """Return where to connect for a URL, checked within the last minute; raises `RefusedError`."""
        private = self._is_private(url)
        pin = self._pins.get((url.origin, private))
        if pin is None:
            pin = Pin(url.host, url.port, url.authority, url.scheme == "https", url.address)
            self._pins[url.origin, private] = pin
        if pin.addresses and self._clock.monotonic() < pin.expires_s:
            return pin
        if pin.looking_up is None:
            pin.looking_up = asyncio.ensure_future(self._look_up(pin, private))
        refusal = await asyncio.shield(pin.looking_up)  # other requests may wait for the same answer
        if refusal is not None:
            raise RefusedError(refusal)
        return pin

    def _is_private(self, url: BaseUrl) -> bool:
        """Return whether the list of private URLs allows it; raises `RefusedError` if no list does."""
        for allowed, private in self._allowed:
            if url.is_under(allowed):
                return private
        message = (
            f"the base URL {url} is not allowed here; ask the operator to list it under allowed_base_urls, or leave "
            "baseUrl out and name a model of this gateway"
        )
        raise RefusedError(Refusal(Code.FORBIDDEN_URL, message))

    async def _look_up(self, pin: Pin, private: bool) -> Refusal | None:
        """Resolve a pin's addresses, or return why there are none."""
        try:
            addresses = await self._addresses(pin)
        finally:
            pin.looking_up = None
            pin.addresses = ()
        if not addresses:
            message = f"the host {pin.host} can't be resolved now; retry later"
            return Refusal(Code.PROVIDER_DOWN, message, retry_after_s=RESOLVE_TIMEOUT_S)
        for address in addresses:
            kind = forbidden_kind(address, private=private)
            if kind:
                message = f"{pin.host} resolves to an address that is {kind}, which is not allowed"
                return Refusal(Code.FORBIDDEN_URL, message)
        pin.addresses = tuple(str(address) for address in addresses)
        pin.expires_s = self._clock.monotonic() + self._ttl_s
        return None

    async def _addresses(self, pin: Pin) -> list[Address]:
        if pin.literal is not None:
            return [pin.literal]
        try:
            texts = await asyncio.wait_for(self._resolver(pin.host, pin.port), RESOLVE_TIMEOUT_S)
            return [ipaddress.ip_address(text) for text in texts[:MAX_ADDRESSES]]
        except (OSError, ValueError) as error:  # also a timeout, and an answer that is no address
            _log.info("can't resolve a host that a caller named", host=pin.host, error=type(error).__name__)
            return []

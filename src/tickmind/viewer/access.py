"""Access checks of the viewer: a browser that came to this server itself, with a token where it is exposed."""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass, field

from tickmind.base.access.browser_guard import LOOPBACK_NAMES, host_name, is_own_origin
from tickmind.base.access.token_file import KnownTokens, Tokens
from tickmind.viewer.errors import ViewerAddressError


@dataclass(frozen=True, slots=True)
class RequestGuard:
    """Checks requests. `hosts` are the server's names, without a port.

    A request from a page of another site is recognised by its Origin, and one from a page whose name resolves to this
    server (DNS rebinding) by its Host.
    """

    hosts: frozenset[str]
    tokens: Tokens = ()
    _known: KnownTokens = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_known", KnownTokens(self.tokens))

    def host_allowed(self, host: str | None) -> bool:
        """Whether the Host of a request is a name of this server."""
        return host is not None and host_name(host) in self.hosts

    def origin_allowed(self, origin: str | None, host: str | None) -> bool:
        """Whether a request comes from our own page, or from no page at all."""
        return origin is None or (host is not None and is_own_origin(origin, host) and self.host_allowed(host))

    def token_allowed(self, token: str | None) -> bool:
        """Whether a token is valid; always true if there are no tokens."""
        return not self._known or self._known.holder_of(token or "") is not None


def access_for(address: str, *, tokens: Tokens, tls: bool, hosts: Iterable[str] = ()) -> RequestGuard:
    """Return the checks for a server at an address; raises an error beyond this machine without TLS and tokens."""
    if not is_loopback(address):
        missing = [what for what, there in (("TLS (--tls)", tls), ("tokens (--token-file)", bool(tokens))) if not there]
        if missing:
            raise ViewerAddressError(
                f"{address} can be reached from other machines, so the viewer needs {' and '.join(missing)}; "
                "or stay on 127.0.0.1"
            )
    own = f"[{address}]" if ":" in address else address
    return RequestGuard(LOOPBACK_NAMES | {own.lower()} | {host_name(host) for host in hosts}, tokens)


def is_loopback(address: str) -> bool:
    """Whether an address can be reached from this machine only."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False

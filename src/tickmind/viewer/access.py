"""Who may look: a browser that came to this server itself, and who has a token where others can reach it."""

import hashlib
import hmac
import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tickmind.base import Secret
from tickmind.viewer.errors import ViewerAddressError

_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[^:\[\]]+)(?::[0-9]{1,5})?")
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})


@dataclass(frozen=True, slots=True)
class Access:
    """Checks requests. `hosts` are the names under which the server is known, without a port.

    A page of another site that makes a browser ask here is told by its Origin, and one that made its own name point
    here (DNS rebinding) by its Host.
    """

    hosts: frozenset[str]
    tokens: tuple[Secret, ...] = ()
    _known: tuple[bytes, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        known = tuple(hashlib.sha256(token.reveal().encode()).digest() for token in self.tokens)
        object.__setattr__(self, "_known", known)

    def host_allowed(self, host: str | None) -> bool:
        """Whether the Host of a request is one of ours."""
        return host is not None and _name(host) in self.hosts

    def origin_allowed(self, origin: str | None, host: str | None) -> bool:
        """Whether a request comes from our own page, or from no page at all."""
        if origin is None:
            return True
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        return parts.scheme in {"http", "https"} and parts.netloc == host and self.host_allowed(host)

    def token_allowed(self, token: str | None) -> bool:
        """Whether somebody may look; everybody may where there are no tokens."""
        if not self._known:
            return True
        given = hashlib.sha256((token or "").encode()).digest()
        return any(hmac.compare_digest(given, known) for known in self._known)


def access_for(address: str, *, tokens: tuple[Secret, ...], tls: bool, hosts: Iterable[str] = ()) -> Access:
    """The checks for a server at an address; one beyond this machine needs TLS and tokens."""
    if not is_loopback(address):
        missing = [what for what, there in (("TLS (--tls)", tls), ("tokens (--token-file)", bool(tokens))) if not there]
        if missing:
            raise ViewerAddressError(
                f"{address} can be reached from other machines, so the viewer needs {' and '.join(missing)}; "
                "or stay on 127.0.0.1"
            )
    own = f"[{address}]" if ":" in address else address
    return Access(_LOOPBACK_NAMES | {own.lower()} | {_name(host) for host in hosts}, tokens)


def is_loopback(address: str) -> bool:
    """Whether an address can be reached from this machine only."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _name(host: str) -> str:
    """A Host header without its port, in lower case."""
    host = host.strip().lower()
    found = _HOST.fullmatch(host)
    return found["name"] if found else ""

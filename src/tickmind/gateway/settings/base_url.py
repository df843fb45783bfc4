"""Base URLs, parsed by a narrow grammar: anything ambiguous is refused."""

import ipaddress
import re
from dataclasses import dataclass
from typing import Final

from tickmind.gateway.settings.addresses import Address

_LONGEST_URL: Final = 2000
_LONGEST_HOST: Final = 253
_SHAPE: Final = re.compile(
    r"(?P<scheme>https?)://(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[1-9][0-9]{0,4}))?(?P<path>/.*)?",
    re.ASCII,
)
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_SEGMENT: Final = re.compile(r"[A-Za-z0-9._~-]+", re.ASCII)
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


class BaseUrlError(ValueError):
    """An invalid base URL; the message says what is expected."""


@dataclass(frozen=True, slots=True)
class BaseUrl:
    """A parsed base URL. `host` is in lower case and without brackets, `path` empty or `/a/b`."""

    scheme: str
    host: str
    port: int
    path: str
    address: Address | None = None  # if the host is a literal one

    @property
    def origin(self) -> tuple[str, str, int]:
        """Scheme, host and port: equal for two URLs of one server."""
        return self.scheme, self.host, self.port

    @property
    def authority(self) -> str:
        """The value of a `Host` header."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == _DEFAULT_PORTS[self.scheme] else f"{name}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"

    def is_under(self, other: "BaseUrl") -> bool:
        """Whether it has the other URL's origin, and its path or one below it."""
        below = self.path == other.path or self.path.startswith(f"{other.path}/")
        return self.origin == other.origin and below


def parse_base_url(url: str) -> BaseUrl:
    """Parse `http(s)://host[:port][/path]`; raises `BaseUrlError` for anything else."""
    if len(url) > _LONGEST_URL:
        raise BaseUrlError(f"the base URL is longer than {_LONGEST_URL} characters")
    match = _SHAPE.fullmatch(url)
    if match is None:
        raise BaseUrlError(
            "the base URL must be http://host or https://host in lower case, with an optional port and path, such as "
            "https://api.example.com/v1; no user, query, spaces, escapes or other characters"
        )
    scheme, host, port = match["scheme"], match["host"].lower(), match["port"]
    if port is not None and int(port) > 65535:
        raise BaseUrlError("the base URL's port must be at most 65535")
    address = _read_host(host)
    number = int(port) if port else _DEFAULT_PORTS[scheme]
    return BaseUrl(scheme, str(address) if address else host, number, _read_path(match["path"] or ""), address)


def _read_host(host: str) -> Address | None:
    """Return a host's literal address, or None for a name."""
    if host.startswith("["):
        try:
            return ipaddress.IPv6Address(host[1:-1])
        except ValueError:
            raise BaseUrlError("the base URL's host is no IPv6 address") from None
    labels = host.split(".")
    if labels[-1][:1].isdigit():  # names do not end like this, but odd notations of IPv4 addresses do
        try:
            return ipaddress.IPv4Address(host)
        except ValueError:
            raise BaseUrlError("the base URL's IPv4 address must have four plain decimal numbers") from None
    if len(host) > _LONGEST_HOST or not all(_LABEL.fullmatch(label) for label in labels):
        raise BaseUrlError("the base URL's host is no plain DNS name; no trailing dot, no empty part")
    if any(label.startswith("xn--") for label in labels):
        raise BaseUrlError("the base URL's host must be a plain DNS name, not an internationalised one")
    return None


def _read_path(path: str) -> str:
    path = path.removesuffix("/")
    for segment in path.split("/")[1:]:
        if not _SEGMENT.fullmatch(segment) or segment in (".", ".."):
            raise BaseUrlError("the base URL's path may have letters, digits, - . _ ~ and single slashes only")
    return path

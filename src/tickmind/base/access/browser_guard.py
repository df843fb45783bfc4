"""Checks of `Host` and `Origin`, by which a listener on this machine refuses the pages of other sites.

A browser lets any page send requests to this machine. The page's own address is in `Origin`; a page whose site's name
was made to point here (DNS rebinding) has that name in `Host`.
"""

import re

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[^:\[\]@#/]+)(?::[0-9]{1,5})?")


def host_name(host: str) -> str:
    """Return the name in a `Host` header, in lower case and without its port; empty if it is none."""
    match = _HOST.fullmatch(host.strip().lower())
    return match["name"] if match else ""


def is_own_origin(origin: str, host: str) -> bool:
    """Return whether a page is the listener's own: it came from the address that the request goes to."""
    return origin.lower() in {f"http://{host}".lower(), f"https://{host}".lower()}

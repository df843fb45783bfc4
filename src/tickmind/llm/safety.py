"""A guard against accidental spending: tests switch it on, and only loopback endpoints can be called.

from tickmind.llm import safety
safety.ALLOW_PROVIDER_REQUESTS = False
"""

import ipaddress
from collections.abc import Iterator
from contextlib import contextmanager

from tickmind.llm.errors import LLMConfigError

ALLOW_PROVIDER_REQUESTS = True  # False: only endpoints on this machine may be called


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine, by its form alone; names are not looked up."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False


def check_endpoint(host: str) -> None:
    """Raise `LLMConfigError` if provider requests are off and the host is not this machine."""
    if not ALLOW_PROVIDER_REQUESTS and not is_loopback(host):
        raise LLMConfigError(
            f"request to {host} refused: tickmind.llm.safety.ALLOW_PROVIDER_REQUESTS is False, so only loopback "
            "endpoints may be called; set it to True if this call is meant"
        )


@contextmanager
def provider_requests(*, allowed: bool) -> Iterator[None]:
    """Set the guard for a while, for the whole process."""
    global ALLOW_PROVIDER_REQUESTS  # noqa: PLW0603 - one switch for the process is the point of it
    before = ALLOW_PROVIDER_REQUESTS
    ALLOW_PROVIDER_REQUESTS = allowed
    try:
        yield
    finally:
        ALLOW_PROVIDER_REQUESTS = before

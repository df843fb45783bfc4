"""Rules for headers that an operator, or a caller for its own endpoint, may add to requests."""

import re
from typing import Final

HEADER_NAME_PATTERN: Final = "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$"
_NAME: Final = re.compile(HEADER_NAME_PATTERN[1:-1])
# Set by the gateway, or belonging to one connection.
_OWN: Final = frozenset(
    [
        "accept-encoding",
        "authorization",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
        "keep-alive",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ]
)


def problem_of_name(name: str, *, keys_under: str) -> str:
    """Return why a header of this name can't be added, empty if it can; `keys_under` is where keys are set instead."""
    if not _NAME.fullmatch(name):
        return "this is no valid header name"
    if name.lower() in _OWN:
        hint = f"; give the key under `{keys_under}`" if "auth" in name.lower() else ""
        return f"the gateway sets this header itself{hint}"
    return ""


def problem_of_value(value: str) -> str:
    """Return why this can't be a header's value, empty if it can."""
    return "" if value.isascii() and value.isprintable() else "a header's value must be plain ASCII in one line"

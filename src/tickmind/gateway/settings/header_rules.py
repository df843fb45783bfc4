"""Which headers may be added to requests for a provider, by an operator or by a caller for its own endpoint."""

import re
from typing import Final

HEADER_NAME_PATTERN: Final = "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$"
_NAME: Final = re.compile(HEADER_NAME_PATTERN[1:-1])
# The gateway sets them, or they belong to one connection.
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
    """Why a header of this name can't be added, empty if it can; `keys_under` is where keys are given instead."""
    if not _NAME.fullmatch(name):
        return "this is no name of a header"
    if name.lower() in _OWN:
        hint = f"; give the key under `{keys_under}`" if "auth" in name.lower() else ""
        return f"the gateway sets this header itself{hint}"
    return ""


def problem_of_value(value: str) -> str:
    """Why this can't be the value of a header, empty if it can."""
    return "" if value.isascii() and value.isprintable() else "a header's value must be plain ASCII in one line"

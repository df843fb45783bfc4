"""Call options: what a request's headers say about caller, session, priority and deadlines, checked."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tickmind.gateway.queue.job import Priority
from tickmind.gateway.refusal import Code, Refusal, RefusedError
from tickmind.llm.gateway_contract import (
    AGENT_HEADER,
    DROP_AFTER_HEADER,
    MAX_MS,
    MAX_NAME_CHARS,
    PRIORITIES,
    PRIORITY_HEADER,
    REPLACE_HEADER,
    SESSION_HEADER,
    TIMEOUT_HEADER,
    gateway_share_s,
    is_name,
)

if TYPE_CHECKING:
    from tickmind.gateway.settings.config import Caller

_PRIORITIES = {name.encode(): Priority[name.upper()] for name in PRIORITIES}
_SESSION, _AGENT, _PRIORITY = SESSION_HEADER.encode(), AGENT_HEADER.encode(), PRIORITY_HEADER.encode()
_TIMEOUT, _DROP_AFTER, _REPLACE = TIMEOUT_HEADER.encode(), DROP_AFTER_HEADER.encode(), REPLACE_HEADER.encode()
_SDK_TIMEOUT = b"x-stainless-read-timeout"


@dataclass(frozen=True, slots=True)
class CallOptions:
    """What a request says about itself; None or empty values mean the default."""

    session: str = ""
    agent: str = ""
    priority: Priority = Priority.NORMAL
    timeout_s: float | None = None
    drop_after_s: float | None = None
    replace_older: bool | None = None
    caller: "Caller | None" = None


def read_call_options(headers: dict[bytes, bytes], caller: "Caller | None" = None) -> CallOptions:
    """Read the `x-tickmind-*` headers; raise a refusal that names the header if a value is invalid.

    The timeout header of the official SDKs counts where ours is missing.
    """
    session = agent = ""
    if (value := headers.get(_SESSION)) is not None:
        session = _name(value, SESSION_HEADER)
    if (value := headers.get(_AGENT)) is not None:
        agent = _name(value, AGENT_HEADER)
    priority = _PRIORITIES.get(headers.get(_PRIORITY, b"normal").lower())
    if priority is None:
        raise _refuse(f"{PRIORITY_HEADER} must be high, normal or low")
    timeout_s = drop_after_s = None
    if (value := headers.get(_TIMEOUT)) is not None:
        timeout_s = _milliseconds(value, TIMEOUT_HEADER)
    elif (value := headers.get(_SDK_TIMEOUT)) is not None:
        timeout_s = _sdk_timeout_s(value)
    if (value := headers.get(_DROP_AFTER)) is not None:
        drop_after_s = _milliseconds(value, DROP_AFTER_HEADER)
    replace_older = None
    if (value := headers.get(_REPLACE)) is not None:
        if value not in {b"0", b"1"}:
            raise _refuse(f"{REPLACE_HEADER} must be 0 or 1")
        replace_older = value == b"1"
    return CallOptions(session, agent, priority, timeout_s, drop_after_s, replace_older, caller)


def _name(value: bytes, header: str) -> str:
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        raise _refuse(f"{header} must be text") from None
    if not text or not MAX_NAME_CHARS.allows(len(text)):
        raise _refuse(f"{header} must have 1 to {MAX_NAME_CHARS.maximum} characters")
    if not is_name(text):
        raise _refuse(f"{header} must be printable")
    return text


def _sdk_timeout_s(value: bytes) -> float | None:
    """Return the SDK's timeout, less the time that our own error needs to arrive; None if it is no number."""
    try:
        timeout_s = float(value)
    except ValueError:
        return None
    if not (math.isfinite(timeout_s) and timeout_s > 0):
        return None
    return gateway_share_s(timeout_s)


def _milliseconds(value: bytes, header: str) -> float:
    if not value.isdigit() or len(value) > len(str(MAX_MS)) or not 0 < int(value) <= MAX_MS:
        raise _refuse(f"{header} must be a whole number of milliseconds from 1 to {MAX_MS}")
    return int(value) / 1000


def _refuse(message: str) -> RefusedError:
    return RefusedError(Refusal(Code.BAD_REQUEST, message))

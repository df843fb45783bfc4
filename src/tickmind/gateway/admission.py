"""Who asks, and how it wants to be treated: from headers and bodies to checked values."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tickmind.gateway.names import MAX_AGENT_CHARS, is_name
from tickmind.gateway.queue.job import Priority
from tickmind.gateway.refusal import Code, Refusal, RefusedError

if TYPE_CHECKING:
    from tickmind.gateway.settings.config import Caller

_PRIORITIES = {b"high": Priority.HIGH, b"normal": Priority.NORMAL, b"low": Priority.LOW}


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a request says about itself. What is None or empty is left to defaults."""

    session: str = ""
    agent: str = ""
    priority: Priority = Priority.NORMAL
    timeout_s: float | None = None
    drop_after_s: float | None = None
    replace_older: bool | None = None
    caller: "Caller | None" = None


def read_wishes(headers: dict[bytes, bytes], caller: "Caller | None" = None) -> Wishes:
    """Read `x-tickmind-*`; a value that can't be read is a refusal that names the header."""
    session = agent = ""
    if (value := headers.get(b"x-tickmind-session")) is not None:
        session = _name(value, "x-tickmind-session")
    if (value := headers.get(b"x-tickmind-agent")) is not None:
        agent = _name(value, "x-tickmind-agent")
    priority = _PRIORITIES.get(headers.get(b"x-tickmind-priority", b"normal").lower())
    if priority is None:
        raise _refuse("x-tickmind-priority must be high, normal or low")
    timeout_s = drop_after_s = None
    if (value := headers.get(b"x-tickmind-timeout-ms")) is not None:
        timeout_s = _milliseconds(value, "x-tickmind-timeout-ms")
    if (value := headers.get(b"x-tickmind-drop-after-ms")) is not None:
        drop_after_s = _milliseconds(value, "x-tickmind-drop-after-ms")
    replace_older = None
    if (value := headers.get(b"x-tickmind-replace")) is not None:
        if value not in {b"0", b"1"}:
            raise _refuse("x-tickmind-replace must be 0 or 1")
        replace_older = value == b"1"
    return Wishes(session, agent, priority, timeout_s, drop_after_s, replace_older, caller)


def _name(value: bytes, header: str) -> str:
    if not value or len(value) > MAX_AGENT_CHARS:
        raise _refuse(f"{header} must have 1 to {MAX_AGENT_CHARS} characters")
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        raise _refuse(f"{header} must be text") from None
    if not is_name(text):
        raise _refuse(f"{header} must be printable")
    return text


def _milliseconds(value: bytes, header: str) -> float:
    if not value.isdigit() or len(value) > 9 or int(value) == 0:
        raise _refuse(f"{header} must be a whole number of milliseconds, at least 1")
    return int(value) / 1000


def _refuse(message: str) -> RefusedError:
    return RefusedError(Refusal(Code.BAD_REQUEST, message))

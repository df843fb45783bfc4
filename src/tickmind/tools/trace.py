"""`ToolTrace`: a tool's use in a run, for debugging and for the record."""

from dataclasses import asdict, dataclass
from typing import Any

from tickmind.base import Limit, redact
from tickmind.llm.texts import shortened_with_size

MAX_TRACE_CHARS = Limit("length of a value in a tool trace", 500, "characters")


def traced(text: str) -> str:
    """Return a text as a trace or an event shows it: without secrets, then shortened."""
    return shortened_with_size(redact(text), MAX_TRACE_CHARS)


@dataclass(frozen=True, slots=True)
class ToolTrace:
    """One use of a tool, shortened and without secrets."""

    step: int
    call_id: str
    name: str
    args: str
    ok: bool
    result: str
    duration_s: float
    recovered: bool = False  # the model had written the call as prose

    def __post_init__(self) -> None:
        object.__setattr__(self, "args", traced(self.args))
        object.__setattr__(self, "result", traced(self.result))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)

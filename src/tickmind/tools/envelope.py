"""The result envelopes of tools and agents, `{ok: true, ...}` or `{ok: false, type, message, details}`, as types."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Generic

from tickmind.base import Limit, redact, redact_fields
from tickmind.llm.errors import (
    ErrorType,
    LLMCooldownError,
    LLMDeadlineError,
    LLMError,
    LLMRateLimitError,
    LLMResponseError,
    ToolError,
)
from tickmind.llm.messages import Message
from tickmind.llm.texts import shortened_with_size
from tickmind.llm.transport import Usage
from tickmind.tools.state import InterruptedRun
from tickmind.tools.trace import ToolTrace
from tickmind.tools.typevars import OutputT

MAX_MESSAGE_CHARS = Limit("length of an error message", 2_000, "characters")


class StopReason(StrEnum):
    """Why a run ended."""

    NO_MORE_TOOLS = "no_more_tools"  # the model answered
    MAX_STEPS = "max_steps"
    CANCELLED = "cancelled"
    HTTP_ERROR = "http_error"
    RATE_LIMITED = "rate_limited"
    TOOL_ERROR = "tool_error"
    PARSE_ERROR = "parse_error"
    DEADLINE = "deadline"
    INTERRUPTED = "interrupted"  # a tool asked a question; resume with the answer


_STOPS = {
    ErrorType.HTTP_ERROR: StopReason.HTTP_ERROR,
    ErrorType.REQUEST_ERROR: StopReason.HTTP_ERROR,
    ErrorType.TRANSPORT_ERROR: StopReason.HTTP_ERROR,
    ErrorType.RATE_LIMITED: StopReason.RATE_LIMITED,
    ErrorType.TOOL_ERROR: StopReason.TOOL_ERROR,
    ErrorType.PARSE_ERROR: StopReason.PARSE_ERROR,
    ErrorType.CANCELLED: StopReason.CANCELLED,
}


@dataclass(frozen=True, slots=True)
class Ok:
    """The result of a tool. `data` is plain JSON data; `text` is how the model reads it."""

    data: Any = None
    text: str = ""
    truncated: bool = False  # the result was over the size limit; `data` is the shortened text then

    @property
    def ok(self) -> bool:
        """Always true."""
        return True

    def to_dict(self) -> dict[str, Any]:
        """Return the plain envelope."""
        return {"ok": True, "data": self.data}


@dataclass(frozen=True, slots=True)
class Failed:
    """A failure. The message is in plain words, for a person or a model to act on, and holds no secret."""

    type: ErrorType
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", shortened_with_size(redact(self.message), MAX_MESSAGE_CHARS))
        object.__setattr__(self, "details", redact_fields(self.details))

    @classmethod
    def from_error(cls, error: LLMError) -> "Failed":
        """Return the envelope of an error that a call raised; its details are the status, the wait or the tool."""
        details: dict[str, Any] = {}
        if isinstance(error, (LLMResponseError, LLMRateLimitError)):
            details["status"] = error.status
        if isinstance(error, LLMRateLimitError) and error.retry_after_s is not None:
            details["retry_after_s"] = error.retry_after_s
        if isinstance(error, LLMCooldownError):
            details["code"] = error.code
        if isinstance(error, ToolError) and error.tool:
            details["name"] = error.tool
        return cls(error.error_type, str(error), details)

    @property
    def ok(self) -> bool:
        """Always false."""
        return False

    def to_dict(self) -> dict[str, Any]:
        """Return the plain envelope."""
        plain: dict[str, Any] = {"ok": False, "type": self.type.value, "message": self.message}
        if self.details:
            plain["details"] = dict(self.details)
        return plain


ToolResult = Ok | Failed


def stop_reason_of(error: LLMError) -> StopReason:
    """Return how a run ends that met this error."""
    return StopReason.DEADLINE if isinstance(error, LLMDeadlineError) else _STOPS[error.error_type]


@dataclass(frozen=True, slots=True)
class AgentResult(Generic[OutputT]):
    """The result of a run. `ok` means that there is an answer, or a question of a tool; `stopped` says why it ended.

    `text` is the model's answer, or all that it said until the run was stopped; `value` is the answer as the type of
    the agent's `output`. `thinking` is the model's in all steps. `messages` are the turns that this run added
    to the conversation; `state` is set when a tool asked a question.
    """

    ok: bool
    text: str
    stopped: StopReason
    usage: Usage = field(default_factory=Usage)
    steps: int = 0
    tool_trace: tuple[ToolTrace, ...] = ()
    error: Failed | None = None
    messages: tuple[Message, ...] = ()
    finish_reason: str = ""
    run_id: str = ""
    state: InterruptedRun | None = None
    abandoned: int = 0  # tool calls that could not be stopped and may still run
    value: OutputT | None = None
    thinking: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the plain envelope, without the messages; of an error it has `type`, `message` and `details`."""
        failure = self.error.to_dict() if self.error else {}
        return {
            **failure,
            "ok": self.ok,
            "text": self.text,
            "stopped": self.stopped.value,
            "finish_reason": self.finish_reason,
            "run_id": self.run_id,
            "steps": self.steps,
            "usage": asdict(self.usage),
            "tool_trace": [entry.to_dict() for entry in self.tool_trace],
            "abandoned": self.abandoned,
        }

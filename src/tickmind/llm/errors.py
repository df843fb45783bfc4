"""The errors of one request to a model.

    LLMError
    ├── LLMConfigError             a key, address or option is missing or wrong (also a ConfigError)
    ├── LLMConnectionError         the endpoint can't be reached, or the connection broke
    │   └── LLMDeadlineError       the total deadline of the call passed
    ├── LLMRateLimitError          the endpoint asks to wait; `retry_after_s` says how long, if it said so
    │   ├── LLMCooldownError       a gateway holds the request back until the session's turn; `code` says why
    │   └── LLMUnavailableError    a gateway reaches no provider of the model, and tries none before `retry_after_s`
    ├── LLMResponseError           the endpoint answered with an error status, or with something unreadable
    │   ├── LLMReplyTooLargeError  the decoded reply is over the size limit
    │   └── LLMDroppedError        a gateway dropped the request: replaced by a newer one, or expired
    ├── StructuredOutputError      no try gave a usable object; `tried` lists what was tried
    ├── ToolError                  a tool failed, timed out or was called with arguments that don't fit
    └── LLMCancelledError          the caller cancelled the call or the run

Messages pass through `redact`, so a provider that echoes a key does not put it into an exception.
`error_type` is the word for it in result envelopes.
"""

from enum import StrEnum

from tickmind.base import ConfigError, TickmindError, redact
from tickmind.llm.served import SessionCooldown


class ErrorType(StrEnum):
    """The closed list of failures that an envelope can name."""

    HTTP_ERROR = "http_error"
    REQUEST_ERROR = "request_error"
    TRANSPORT_ERROR = "transport_error"
    RATE_LIMITED = "rate_limited"
    TOOL_ERROR = "tool_error"
    PARSE_ERROR = "parse_error"
    CANCELLED = "cancelled"
    MAX_STEPS = "max_steps"


class LLMError(TickmindError):
    """A model call failed."""

    error_type = ErrorType.TRANSPORT_ERROR

    def __init__(self, message: str) -> None:
        super().__init__(redact(message))


class LLMConfigError(LLMError, ConfigError):
    """A key, address or option is missing or wrong."""

    error_type = ErrorType.REQUEST_ERROR


class LLMConnectionError(LLMError):
    """The endpoint can't be reached, or the connection broke before the reply was whole."""


class LLMDeadlineError(LLMConnectionError):
    """The total deadline of the call passed."""


class LLMRateLimitError(LLMError):
    """The endpoint asks to wait."""

    error_type = ErrorType.RATE_LIMITED

    def __init__(self, message: str, *, retry_after_s: float | None = None, status: int = 429) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        self.status = status


class LLMCooldownError(LLMRateLimitError):
    """It is not this session's turn, or the queue is full: nothing failed; ask again after the wait.

    `code` is the gateway's code, such as RATE_LIMIT_COOLDOWN or QUEUE_FULL; `cooldown` is what it said about
    the session's share.
    """

    def __init__(
        self,
        message: str,
        *,
        retry_after_s: float | None = None,
        status: int = 429,
        code: str = "",
        cooldown: SessionCooldown | None = None,
    ) -> None:
        super().__init__(message, retry_after_s=retry_after_s, status=status)
        self.code = code
        self.cooldown = cooldown


class LLMUnavailableError(LLMRateLimitError):
    """A gateway reaches no provider of the model. Until `retry_after_s` is over, it tries none."""


class LLMResponseError(LLMError):
    """The endpoint answered with an error status (`status`), or with something that can't be read (`status` 200)."""

    error_type = ErrorType.HTTP_ERROR

    def __init__(
        self,
        message: str,
        *,
        status: int = 200,
        retry_after_s: float | None = None,
        cooldown: SessionCooldown | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_s = retry_after_s  # when to ask again, as a gateway says
        self.cooldown = cooldown


class LLMReplyTooLargeError(LLMResponseError):
    """The decoded reply is over the size limit; nothing of it is kept."""


class LLMDroppedError(LLMResponseError):
    """A newer request of the same agent replaced this one, or it expired; `code` says which.

    Do not repeat the request: make a new one, after `retry_after_s`, if it is still needed.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 409,
        code: str = "",
        retry_after_s: float | None = None,
        cooldown: SessionCooldown | None = None,
    ) -> None:
        super().__init__(message, status=status, retry_after_s=retry_after_s, cooldown=cooldown)
        self.code = code


class StructuredOutputError(LLMError):
    """No usable object could be read from a reply. `raw_content` is the reply; `tried` says what was attempted."""

    error_type = ErrorType.PARSE_ERROR

    def __init__(self, message: str, *, raw_content: str = "", tried: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.raw_content = raw_content
        self.tried = tried


class ToolError(LLMError):
    """A tool failed, timed out, or was called with arguments that don't fit its schema."""

    error_type = ErrorType.TOOL_ERROR

    def __init__(self, message: str, *, tool: str = "") -> None:
        super().__init__(message)
        self.tool = tool


class LLMCancelledError(LLMError):
    """The caller cancelled the call or the run."""

    error_type = ErrorType.CANCELLED

"""`AgentConfig`: the options of an agent, shared by agents and the hub that makes them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypedDict

from tickmind.base import Limit
from tickmind.llm.config import check_headers
from tickmind.llm.errors import LLMConfigError
from tickmind.llm.transport import GrammarLimits

MAX_HISTORY = Limit("messages in an agent's history", 1_000)
MAX_CALLS_PER_STEP = Limit("tool calls in one reply", 128)


@dataclass(frozen=True, slots=True)
class AgentTimeouts:
    """Time limits: one request to the model, one call of a tool, a whole run (None: no limit).

    Without `request_s` a request may take as long as the client's `timeout_s` allows.
    """

    request_s: float | None = None
    tool_s: float = 30.0
    run_s: float | None = None

    def __post_init__(self) -> None:
        for name in ("request_s", "tool_s", "run_s"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise LLMConfigError(f"the timeout {name} must be over 0, not {value}")


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """The options of an agent. The `ModelClient` fills in what is None: `default_temperature`, `default_max_tokens`.

    `answer_at_limit` asks the model once more, without tools, when the steps are used up; `stop_on_tool_error` ends the
    run at the first tool that fails, instead of sending the error to the model. `recover_prose_calls` is for endpoints
    whose models write calls as text: such a call is made if it is the whole message or stands in the tag that `system`
    asks for, and never if it repeats a text that the model did not write.

    `extra` are fields for this provider only, sent as they are: a local model's slot, say. `headers` go along with each
    request, for an endpoint that identifies its callers.
    """

    model: str = ""
    system: str | None = None
    temperature: float | None = None
    max_output_tokens: int | None = None
    max_steps: int = 8
    parallel_tool_calls: bool = True
    max_parallel: int = 16
    timeouts: AgentTimeouts = field(default_factory=AgentTimeouts)
    answer_at_limit: bool = False
    stop_on_tool_error: bool = False
    recover_prose_calls: bool = False
    max_history: Limit = MAX_HISTORY
    max_calls_per_step: Limit = MAX_CALLS_PER_STEP
    output_retries: int = 2  # for an answer that does not fit `output`
    extra: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    grammar_limits: GrammarLimits | None = None  # of calls and answers from a local model; None: the usual ones

    def __post_init__(self) -> None:
        check_headers(self.headers)
        for name in ("max_steps", "max_parallel"):
            if getattr(self, name) < 1:
                raise LLMConfigError(f"{name} must be 1 or more, not {getattr(self, name)}")

    def changed(self, options: Mapping[str, Any]) -> "AgentConfig":
        """Return a copy with some options set; raises `LLMConfigError` for an unknown one."""
        known = [item.name for item in fields(self)]
        for name in options:
            if name not in known:
                raise LLMConfigError(f"unknown option {name!r} of an agent; there are: {', '.join(known)}")
        return replace(self, **options)


class AgentOptions(TypedDict, total=False):
    """The fields of `AgentConfig` as keyword arguments."""

    model: str
    system: str | None
    temperature: float | None
    max_output_tokens: int | None
    max_steps: int
    parallel_tool_calls: bool
    max_parallel: int
    timeouts: AgentTimeouts
    answer_at_limit: bool
    stop_on_tool_error: bool
    recover_prose_calls: bool
    max_history: Limit
    max_calls_per_step: Limit
    output_retries: int
    extra: Mapping[str, Any]
    headers: Mapping[str, str]
    grammar_limits: GrammarLimits | None

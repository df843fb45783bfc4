"""The results of calls: `LLMResult`, `StructuredResult` and the chunks of a stream."""

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from tickmind.llm.messages import Message, ThinkingBlock, ToolCall
from tickmind.llm.served import Served
from tickmind.protocol.thought import ModelUsage

FINISH_UNKNOWN = "unknown"  # the reply ended in order, but without a reason
FINISH_CANCELLED = "cancelled"  # the caller left before the end
CUT_OFF = frozenset({"length", "content_filter", FINISH_UNKNOWN, FINISH_CANCELLED})  # the text may end anywhere

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Timing:
    """The durations of a call, in seconds; `first_token_s` is None where nothing was streamed."""

    total_s: float = 0.0
    first_token_s: float | None = None


@dataclass(frozen=True, slots=True)
class LLMResult(ModelUsage):
    """A whole reply: its content and thinking, how it ended and what it cost."""

    content: str
    thinking: str
    finish_reason: str
    tool_calls: tuple[ToolCall, ...] = ()
    blocks: tuple[ThinkingBlock, ...] = ()  # to send back with the next turn, where a provider requires them
    timing: Timing = Timing()
    attempts: int = 1
    served: Served | None = None  # the provider that answered, if a gateway reported it

    def as_message(self) -> Message:
        """Return the reply as a turn of the conversation."""
        return Message.assistant(self.content, tool_calls=self.tool_calls, thinking=self.blocks)


@dataclass(frozen=True, slots=True)
class StreamChunk:
    """A piece of a streamed reply: content or thinking, never both."""

    content: str = ""
    thinking: str = ""
    finish_reason: str | None = None

    @property
    def is_thinking(self) -> bool:
        """Whether it carries reasoning."""
        return bool(self.thinking)

    @property
    def is_content(self) -> bool:
        """Whether it carries the answer."""
        return bool(self.content)

    @property
    def is_done(self) -> bool:
        """Whether it is the last one."""
        return self.finish_reason is not None


@dataclass(frozen=True, slots=True)
class StructuredResult(ModelUsage, Generic[T]):
    """A reply that was read as an object. `value` is of the requested type; `data` is the plain object.

    Tokens and cost are those of all attempts.
    """

    value: T
    data: dict[str, Any]
    raw_content: str
    thinking: str = ""
    attempts: int = 1
    finish_reason: str = "stop"
    timing: Timing = Timing()
    errors: tuple[str, ...] = field(default=())  # why earlier attempts failed
    repaired: tuple[str, ...] = ()  # what was mended, converted or left out to read the reply; empty for a clean one
    served: Served | None = None  # the provider of the last reply, if a gateway reported it

"""Tools for models, agents that use them, and the hub that makes agents."""

from tickmind.llm.tools.agent import ToolAgent
from tickmind.llm.tools.callable_tool import Tool, tool
from tickmind.llm.tools.caller import Caller
from tickmind.llm.tools.config import AgentConfig, AgentOptions, AgentTimeouts
from tickmind.llm.tools.context import Interrupt, ToolContext
from tickmind.llm.tools.envelope import AgentResult, Failed, Ok, StopReason, ToolResult
from tickmind.llm.tools.events import (
    AgentEvent,
    Question,
    RequestFinished,
    RequestStarted,
    RunFinished,
    RunStarted,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolStarted,
)
from tickmind.llm.tools.hub import AgentHub, HubEvent, HubEventKind
from tickmind.llm.tools.registry import ToolRegistry
from tickmind.llm.tools.run import AgentRun, AgentStream
from tickmind.llm.tools.state import AgentState, PendingQuestion
from tickmind.llm.tools.trace import ToolTrace

__all__ = [
    "AgentConfig",
    "AgentEvent",
    "AgentHub",
    "AgentOptions",
    "AgentResult",
    "AgentRun",
    "AgentState",
    "AgentStream",
    "AgentTimeouts",
    "Caller",
    "Failed",
    "HubEvent",
    "HubEventKind",
    "Interrupt",
    "Ok",
    "PendingQuestion",
    "Question",
    "RequestFinished",
    "RequestStarted",
    "RunFinished",
    "RunStarted",
    "StopReason",
    "StreamEvent",
    "TextDelta",
    "ThinkingDelta",
    "Tool",
    "ToolAgent",
    "ToolContext",
    "ToolFinished",
    "ToolRegistry",
    "ToolResult",
    "ToolStarted",
    "ToolTrace",
    "tool",
]

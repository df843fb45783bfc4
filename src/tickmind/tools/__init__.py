"""Tools for models, agents that use them, and the hub that makes agents."""

from tickmind.tools.agent import ToolAgent
from tickmind.tools.config import AgentConfig, AgentOptions, AgentTimeouts
from tickmind.tools.context import Interrupt, ToolContext
from tickmind.tools.definition.callable_tool import Tool, tool
from tickmind.tools.definition.registry import ToolRegistry
from tickmind.tools.envelope import AgentResult, Failed, Ok, StopReason, ToolResult
from tickmind.tools.events import (
    AgentEvent,
    QuestionAsked,
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
from tickmind.tools.execution.caller import ModelCaller
from tickmind.tools.hub import AgentHub, HubEvent, HubEventKind
from tickmind.tools.run import AgentRun, AgentStream
from tickmind.tools.state import InterruptedRun, PendingQuestion
from tickmind.tools.trace import ToolTrace

__all__ = [
    "AgentConfig",
    "AgentEvent",
    "AgentHub",
    "AgentOptions",
    "AgentResult",
    "AgentRun",
    "AgentStream",
    "AgentTimeouts",
    "Failed",
    "HubEvent",
    "HubEventKind",
    "Interrupt",
    "InterruptedRun",
    "ModelCaller",
    "Ok",
    "PendingQuestion",
    "QuestionAsked",
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

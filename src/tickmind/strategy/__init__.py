"""The strategic layer: entities ask a model at intervals and go on acting while it thinks."""

from tickmind.llm import LLMError
from tickmind.strategy.callbacks import OnDeferred, OnError, OnEstimate, OnQuery, OnResponse
from tickmind.strategy.clients.adapters import GatewayAdapter, ModelAdapter, ToolAgentAdapter
from tickmind.strategy.clients.client import (
    AnyClient,
    AsyncLLMClient,
    ClientStatistics,
    Deliberation,
    LLMClient,
    Question,
    SharedClient,
)
from tickmind.strategy.clients.mock import MockClient, Responses
from tickmind.strategy.clients.workers import WorkerStatistics
from tickmind.strategy.components import LLMAgent
from tickmind.strategy.config import LLMConfig
from tickmind.strategy.errors import ErrorKind, ParseError
from tickmind.strategy.manager import LLMManager, RelevanceFn, Router, TriggerFn
from tickmind.strategy.prompts import (
    Context,
    ContextFn,
    PromptTooLongError,
    RecentEvents,
    Section,
    TokenCount,
    quoted,
    situation,
)
from tickmind.strategy.queries.pace import PaceStatistics
from tickmind.strategy.replies.parsers import DirectiveParser, ParserFn, default_json_parser, make_directive_parser
from tickmind.strategy.system import LLMSystem, StrategyStatistics, make_llm_system

__all__ = [
    "AnyClient",
    "AsyncLLMClient",
    "ClientStatistics",
    "Context",
    "ContextFn",
    "Deliberation",
    "DirectiveParser",
    "ErrorKind",
    "GatewayAdapter",
    "LLMAgent",
    "LLMClient",
    "LLMConfig",
    "LLMError",
    "LLMManager",
    "LLMSystem",
    "MockClient",
    "ModelAdapter",
    "OnDeferred",
    "OnError",
    "OnEstimate",
    "OnQuery",
    "OnResponse",
    "PaceStatistics",
    "ParseError",
    "ParserFn",
    "PromptTooLongError",
    "Question",
    "RecentEvents",
    "RelevanceFn",
    "Responses",
    "Router",
    "Section",
    "SharedClient",
    "StrategyStatistics",
    "TokenCount",
    "ToolAgentAdapter",
    "TriggerFn",
    "WorkerStatistics",
    "default_json_parser",
    "make_directive_parser",
    "make_llm_system",
    "quoted",
    "situation",
]

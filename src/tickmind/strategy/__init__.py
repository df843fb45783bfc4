"""The strategic layer: entities that ask a model now and then, and go on acting while it thinks."""

from tickmind.llm import LLMError
from tickmind.strategy.clients import (
    AsyncLLMClient,
    LLMClient,
    MockClient,
    ModelAnswers,
    Question,
    ToolAgentAnswers,
)
from tickmind.strategy.components import LLMAgent
from tickmind.strategy.config import LLMConfig
from tickmind.strategy.errors import ErrorKind, ParseError
from tickmind.strategy.manager import LLMManager
from tickmind.strategy.parsers import DirectiveParser, default_json_parser, make_directive_parser
from tickmind.strategy.prompts import RecentEvents, Section, quoted, situation
from tickmind.strategy.sharing import ClientStatistics, GatewayAnswers, SharedClient
from tickmind.strategy.system import LLMSystem, StrategyStatistics, make_llm_system

__all__ = [
    "AsyncLLMClient",
    "ClientStatistics",
    "DirectiveParser",
    "ErrorKind",
    "GatewayAnswers",
    "LLMAgent",
    "LLMClient",
    "LLMConfig",
    "LLMError",
    "LLMManager",
    "LLMSystem",
    "MockClient",
    "ModelAnswers",
    "ParseError",
    "Question",
    "RecentEvents",
    "Section",
    "SharedClient",
    "StrategyStatistics",
    "ToolAgentAnswers",
    "default_json_parser",
    "make_directive_parser",
    "make_llm_system",
    "quoted",
    "situation",
]

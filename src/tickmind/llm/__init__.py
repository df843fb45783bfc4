"""One request to any model: typed, streamed, with tools, over one small seam that tests and recordings plug into.

    config = load_model_config()
    async with ModelClient(config) as client:
        print((await client.complete("Say hello in five words.")).content)

Set `tickmind.llm.safety.ALLOW_PROVIDER_REQUESTS = False` in tests, and no request leaves this machine.
`tickmind.llm.testing` has the doubles, `tickmind.llm.local` a real model without a key.
"""

from tickmind.llm.cassettes.cassette import CassettePlayer, CassetteRecorder, open_cassette
from tickmind.llm.cassettes.replies import CallSite, ReplyFile, ReplyTransport, call_site
from tickmind.llm.client import ModelClient
from tickmind.llm.config import (
    CHARACTER,
    GAME_STATE,
    MEMORY_UPDATE,
    NARRATOR,
    SUMMARIZER,
    CallConfig,
    ModelConfig,
    load_model_config,
    merge_config,
)
from tickmind.llm.errors import (
    ErrorType,
    LLMCancelledError,
    LLMConfigError,
    LLMConnectionError,
    LLMCooldownError,
    LLMDeadlineError,
    LLMDroppedError,
    LLMError,
    LLMRateLimitError,
    LLMReplyTooLargeError,
    LLMResponseError,
    LLMUnavailableError,
    StructuredOutputError,
    ToolError,
)
from tickmind.llm.gateway_client import (
    CustomModel,
    GatewayClient,
    Generated,
    SyncGatewayClient,
    gateway_call,
    load_gateway_config,
)
from tickmind.llm.messages import Audio, Image, Message, Text, ThinkingBlock, ToolCall, as_messages
from tickmind.llm.prices import PRICES, Price, UsageMeter, cost_usd
from tickmind.llm.results import LLMResult, StreamChunk, StructuredResult, Timing
from tickmind.llm.safety import provider_requests
from tickmind.llm.served import Served, ServedAttempt, SessionCooldown
from tickmind.llm.streaming.streams import ModelStream
from tickmind.llm.streaming.thinking import ThinkSplitter, split_thinking
from tickmind.llm.structured import PartialReader, ReadReply, ReplySchema, parse_fields, read_reply
from tickmind.llm.structured.calls import StructuredStream, StructuredUpdate
from tickmind.llm.sync import SyncModelClient, SyncStream
from tickmind.llm.tokens import TokenCounter, estimate_messages_tokens, estimate_tokens, tokens_remaining
from tickmind.llm.transport import (
    Capabilities,
    GrammarLimits,
    ModelReply,
    ModelRequest,
    OutputSpec,
    StreamPiece,
    ToolSpec,
    Transport,
    Usage,
)
from tickmind.llm.transports import make_transport
from tickmind.llm.transports.retrying import RetryingTransport

__all__ = [
    "CHARACTER",
    "GAME_STATE",
    "MEMORY_UPDATE",
    "NARRATOR",
    "PRICES",
    "SUMMARIZER",
    "Audio",
    "CallConfig",
    "CallSite",
    "Capabilities",
    "CassettePlayer",
    "CassetteRecorder",
    "CustomModel",
    "ErrorType",
    "GatewayClient",
    "Generated",
    "GrammarLimits",
    "Image",
    "LLMCancelledError",
    "LLMConfigError",
    "LLMConnectionError",
    "LLMCooldownError",
    "LLMDeadlineError",
    "LLMDroppedError",
    "LLMError",
    "LLMRateLimitError",
    "LLMReplyTooLargeError",
    "LLMResponseError",
    "LLMResult",
    "LLMUnavailableError",
    "Message",
    "ModelClient",
    "ModelConfig",
    "ModelReply",
    "ModelRequest",
    "ModelStream",
    "OutputSpec",
    "PartialReader",
    "Price",
    "ReadReply",
    "ReplyFile",
    "ReplySchema",
    "ReplyTransport",
    "RetryingTransport",
    "Served",
    "ServedAttempt",
    "SessionCooldown",
    "StreamChunk",
    "StreamPiece",
    "StructuredOutputError",
    "StructuredResult",
    "StructuredStream",
    "StructuredUpdate",
    "SyncGatewayClient",
    "SyncModelClient",
    "SyncStream",
    "Text",
    "ThinkSplitter",
    "ThinkingBlock",
    "Timing",
    "TokenCounter",
    "ToolCall",
    "ToolError",
    "ToolSpec",
    "Transport",
    "Usage",
    "UsageMeter",
    "as_messages",
    "call_site",
    "cost_usd",
    "estimate_messages_tokens",
    "estimate_tokens",
    "gateway_call",
    "load_gateway_config",
    "load_model_config",
    "make_transport",
    "merge_config",
    "open_cassette",
    "parse_fields",
    "provider_requests",
    "read_reply",
    "split_thinking",
    "tokens_remaining",
]

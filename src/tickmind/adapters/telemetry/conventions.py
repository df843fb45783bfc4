"""The names of the GenAI conventions that spans use, pinned: the conventions are in development and change.

They are those of semantic conventions 1.41, as `opentelemetry-semantic-conventions` 0.66b2 has them.
"""

from types import MappingProxyType
from typing import Final

from tickmind.base.telemetry.tracing import SpanField

SCHEMA_URL: Final = "https://opentelemetry.io/schemas/1.41.0"
ERROR_TYPE: Final = "error.type"
ATTRIBUTES: Final = MappingProxyType(
    {
        SpanField.OPERATION: "gen_ai.operation.name",
        SpanField.AGENT: "gen_ai.agent.id",
        SpanField.SESSION: "gen_ai.conversation.id",
        SpanField.MODEL: "gen_ai.request.model",
        SpanField.RESPONSE_MODEL: "gen_ai.response.model",
        SpanField.PROVIDER: "gen_ai.provider.name",
        SpanField.PROMPT_TOKENS: "gen_ai.usage.input_tokens",
        SpanField.COMPLETION_TOKENS: "gen_ai.usage.output_tokens",
        SpanField.PROMPT: "gen_ai.input.messages",
        SpanField.REPLY: "gen_ai.output.messages",
        SpanField.SERVER: "server.address",
        SpanField.STATUS: "http.response.status_code",
        SpanField.TICK: "tickmind.tick",
        SpanField.FACULTY: "tickmind.faculty",
        SpanField.ATTEMPT: "tickmind.attempt",
    }
)  # field -> attribute

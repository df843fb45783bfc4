"""Transports: one for each wire form, and wrappers around any of them."""

from tickmind.llm.config import ModelConfig
from tickmind.llm.transport import Transport


def make_transport(config: ModelConfig) -> Transport:
    """Make the transport for a config's wire form, over our own HTTP client.

    Requests are retried by the config's `max_attempts`; tools are added where the endpoint has none.
    """
    transport = _wire_transport(config)
    if config.attempts > 1:
        from tickmind.llm.transports.retrying import RetryingTransport

        transport = RetryingTransport(transport, max_attempts=config.attempts)
    if config.capabilities.tools:
        return transport
    from tickmind.llm.transports.union_tools import UnionToolsTransport

    return UnionToolsTransport(transport)


def _wire_transport(config: ModelConfig) -> Transport:
    if config.api == "responses":
        from tickmind.llm.transports.responses import ResponsesTransport

        return ResponsesTransport(config)
    if config.api == "anthropic":
        from tickmind.llm.transports.anthropic import AnthropicTransport

        return AnthropicTransport(config)
    if config.api == "embeddings":
        from tickmind.llm.transports.embeddings import EmbeddingTransport

        return EmbeddingTransport(config)
    from tickmind.llm.transports.chat import ChatTransport

    return ChatTransport(config)

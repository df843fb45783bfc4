"""Who carries a request: one transport for each wire form, and wrappers around any of them."""

from tickmind.llm.config import ModelConfig
from tickmind.llm.transport import Transport


def make_transport(config: ModelConfig) -> Transport:
    """The transport for a config's wire form, over our own HTTP client; tools are added where the endpoint has none."""
    if config.capabilities.tools:
        return _wire_transport(config)
    from tickmind.llm.transports.union_tools import UnionToolsTransport

    return UnionToolsTransport(_wire_transport(config))


def _wire_transport(config: ModelConfig) -> Transport:
    if config.api == "responses":
        from tickmind.llm.transports.responses import ResponsesTransport

        return ResponsesTransport(config)
    if config.api == "anthropic":
        from tickmind.llm.transports.anthropic import AnthropicTransport

        return AnthropicTransport(config)
    from tickmind.llm.transports.chat import ChatTransport

    return ChatTransport(config)

"""Clients of a gateway, which shares models fairly among games: cooldowns, heartbeats, deferrals, provider reports."""

from tickmind.llm.gateway_client.calls import CustomModel, Generated, gateway_call, load_gateway_config
from tickmind.llm.gateway_client.client import GatewayClient
from tickmind.llm.gateway_client.sync import SyncGatewayClient

__all__ = [
    "CustomModel",
    "GatewayClient",
    "Generated",
    "SyncGatewayClient",
    "gateway_call",
    "load_gateway_config",
]

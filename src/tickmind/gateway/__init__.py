"""The model service: an HTTP gateway that queues, rate-limits and routes requests to any number of model providers.

`tickmind gateway` runs it as a process. In your own process:

    async with GatewayServer(load_config("gateway.yaml")) as server:
        ...  # server.url
"""

from tickmind.gateway.server import GatewayServer, serve
from tickmind.gateway.settings.config import (
    ApiKey,
    Budget,
    CacheConfig,
    Caller,
    GatewayConfig,
    Limits,
    Provider,
    QueueConfig,
    Route,
    SharingConfig,
)
from tickmind.gateway.settings.file import load_config

__all__ = [
    "ApiKey",
    "Budget",
    "CacheConfig",
    "Caller",
    "GatewayConfig",
    "GatewayServer",
    "Limits",
    "Provider",
    "QueueConfig",
    "Route",
    "SharingConfig",
    "load_config",
    "serve",
]

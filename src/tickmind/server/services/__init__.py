"""The services of `proto/tickmind/v1` over `grpc.aio`; what they promise is told in `tickmind.wire.services`."""

from typing import Any

import grpc

from tickmind.server.authority import Authority
from tickmind.server.services.asking import (
    action_methods,
    discovery_calls,
    lease_methods,
    telemetry_methods,
    viewer_calls,
)
from tickmind.server.services.control import control_methods
from tickmind.server.services.watching import discovery_streams, observation_methods, tick_methods, viewer_streams

PACKAGE = "tickmind.v1"


def services_of(authority: Authority) -> dict[str, Any]:
    """All services of a world: name -> handler for a gRPC server."""
    methods: dict[str, dict[str, Any]] = {
        "TickService": tick_methods(authority),
        "EntityDiscovery": discovery_calls(authority) | discovery_streams(authority),
        "LeaseService": lease_methods(authority),
        "ObservationService": observation_methods(authority),
        "ActionService": action_methods(authority),
        "ControlService": control_methods(authority),
        "ViewerService": viewer_calls(authority) | viewer_streams(authority),
        "AgentTelemetry": telemetry_methods(authority),
    }
    names = {f"{PACKAGE}.{service}": found for service, found in methods.items()}
    return {name: grpc.method_handlers_generic_handler(name, found) for name, found in names.items()}


__all__ = ["services_of"]

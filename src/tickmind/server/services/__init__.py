"""The services of `proto/tickmind/v1` over `grpc.aio`; what they promise is told in `tickmind.wire.services`."""

from typing import Any

import grpc

from tickmind.server.authority import Authority
from tickmind.server.services.asking import plain_calls
from tickmind.server.services.control import control_methods
from tickmind.server.services.methods import plain
from tickmind.server.services.watching import discovery_streams, observation_methods, tick_methods, viewer_streams

PACKAGE = "tickmind.v1"


def services_of(authority: Authority) -> dict[str, Any]:
    """All services of a world: name -> handler for a gRPC server."""
    methods: dict[str, dict[str, Any]] = {
        "TickService": tick_methods(authority),
        "EntityDiscovery": discovery_streams(authority),
        "ObservationService": observation_methods(authority),
        "ControlService": control_methods(authority),
        "ViewerService": viewer_streams(authority),
    }
    for service, calls in plain_calls(authority).items():
        methods.setdefault(service, {}).update({name: plain(answer) for name, answer in calls.items()})
    names = {f"{PACKAGE}.{service}": found for service, found in methods.items()}
    return {name: grpc.method_handlers_generic_handler(name, found) for name, found in names.items()}


__all__ = ["services_of"]

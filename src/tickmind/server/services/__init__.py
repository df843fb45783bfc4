"""The services of `proto/tickmind/v1` over `grpc.aio`; `tickmind.wire.messages.services` states what they promise."""

from typing import Any

import grpc

from tickmind.server.authority import Authority
from tickmind.server.services.control import control_methods, play_method
from tickmind.server.services.gate import CallGate
from tickmind.server.services.methods import beside, plain
from tickmind.server.services.operator_calls import operator_calls
from tickmind.server.services.plain_calls import plain_calls
from tickmind.server.services.relay import relay_methods
from tickmind.server.services.snapshots import Snapshots
from tickmind.server.services.watching import discovery_streams, observation_methods, tick_methods, viewer_streams

PACKAGE = "tickmind.v1"
LEASES_SHARE = 0.25  # of the loop's time for calls of leases
CALLS_SHARE = 0.4  # of the loop's time for all other plain calls
LOCKSTEP_SHARE = 1.0


def services_of(authority: Authority) -> dict[str, Any]:
    """Return all services of a world: name -> handler for a gRPC server."""
    methods: dict[str, dict[str, Any]] = {
        "TickService": tick_methods(authority),
        "EntityDiscovery": discovery_streams(authority),
        "ObservationService": observation_methods(authority),
        "ControlService": control_methods(authority),
        "RelayService": relay_methods(authority),
        "ViewerService": viewer_streams(authority),
    }
    leases, others = (_gate(authority, share) for share in (LEASES_SHARE, CALLS_SHARE))
    for service, calls in plain_calls(authority).items():
        gate = leases if service == "LeaseService" else others  # no client may lose its lease because of other calls
        methods.setdefault(service, {}).update({name: plain(answer, gate) for name, answer in calls.items()})
    snapshots = Snapshots(authority)
    methods["ViewerService"]["GetViewerSnapshot"] = beside(snapshots.answer, others)
    methods["OperatorService"] = {name: beside(answer, others) for name, answer in operator_calls(authority).items()}
    methods["OperatorService"]["Play"] = play_method(authority)
    names = {f"{PACKAGE}.{service}": handlers for service, handlers in methods.items()}
    return {name: grpc.method_handlers_generic_handler(name, methods) for name, methods in names.items()}


def _gate(authority: Authority, share: float) -> CallGate:
    def refused() -> None:
        authority.tally.calls_refused += 1

    pace = authority.pace  # in lockstep nothing is late, because the world waits for its agents
    return CallGate(
        LOCKSTEP_SHARE if pace.lockstep else share,
        tick_s=pace.tick_s,
        waiting=authority.limits.waiting_calls,
        on_refused=refused,
    )


__all__ = ["services_of"]

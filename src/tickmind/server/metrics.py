"""`/metrics` of a world."""

import socket
from typing import TYPE_CHECKING

from tickmind.base.telemetry.exposition import Exposition
from tickmind.base.telemetry.metrics_page import HOST, MetricsPage
from tickmind.server.authority import Authority
from tickmind.server.errors import AddressError

if TYPE_CHECKING:
    from tickmind.server.statistics import DurationHistogram

BOUNDS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)


def metrics_of(authority: Authority) -> str:
    """Return all figures of a world as text."""
    stats, tally = authority.statistics(), authority.tally
    page = Exposition()
    page.gauge("tickmind_world_tick", "The tick that is open or comes next.", [({}, stats.tick_id)])
    page.counter("tickmind_world_ticks_total", "Ticks that were resolved.", [({}, stats.ticks)])
    page.counter("tickmind_world_overruns_total", "Ticks that took too long.", [({}, stats.overruns)])
    page.counter("tickmind_world_overrun_seconds_total", "Seconds by which ticks were delayed.", [({}, tally.late_s)])
    page.gauge("tickmind_world_actors", "Actors in the world.", [({}, stats.actors)])
    page.gauge("tickmind_world_controlled_actors", "Actors that have a controller.", [({}, stats.controlled)])
    page.gauge("tickmind_world_leases", "Leases that are running.", [({}, stats.leases)])
    page.counter("tickmind_world_intents_accepted_total", "Intents that were accepted.", [({}, stats.accepted)])
    page.counter(
        "tickmind_world_intents_refused_total",
        "Intents that were refused.",
        [({"reason": reason.value}, count) for reason, count in sorted(stats.refused.items())],
    )
    page.gauge(
        "tickmind_world_streams",
        "Open streams.",
        [({"kind": kind}, count) for kind, count in sorted(stats.streams.items())],
    )
    page.counter(
        "tickmind_world_streams_cut_total", "Readers that stalled and were cut off.", [({}, stats.streams_cut)]
    )
    page.gauge("tickmind_world_unread_bytes", "Bytes unread by cut-off readers.", [({}, stats.unread_bytes)])
    page.counter(
        "tickmind_world_calls_refused_total",
        "Plain calls that were refused because too many waited.",
        [({}, stats.calls_refused)],
    )
    durations: list[tuple[str, str, DurationHistogram]] = [
        ("jitter", "How late ticks began.", tally.jitter),
        ("answer", "From the start of a tick to its intents.", tally.answers),
        ("step", "How long the rules took for a tick.", tally.steps),
        ("keep", "How long it took to store a tick.", tally.keeps),
        ("prepare", "How long it took to make the observations of a tick.", tally.prepares),
    ]
    for name, meaning, histogram in durations:
        page.histogram(
            f"tickmind_world_{name}_seconds", meaning, BOUNDS_S, [({}, histogram.buckets(BOUNDS_S), histogram.total_s)]
        )
    return page.text()


def check_metrics_port(port: int) -> None:
    """Raise `AddressError` for a port that another program listens on."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise _taken(port, error) from error


def _taken(port: int, error: OSError) -> AddressError:
    return AddressError(f"can't serve metrics on port {port}: {error.strerror}; choose another port (--metrics-port)")


async def open_metrics(authority: Authority, port: int) -> MetricsPage:
    """Serve the figures on a port of this machine; raises `AddressError` if another program listens there."""
    try:
        return await MetricsPage.open(lambda: metrics_of(authority), port)
    except OSError as error:
        raise _taken(port, error) from error

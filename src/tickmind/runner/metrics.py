"""`/metrics` of a runner: its agents' states and restarts, and what the agents report."""

from collections import Counter
from typing import TYPE_CHECKING

from tickmind.base import ConfigError
from tickmind.base.telemetry.exposition import Exposition
from tickmind.base.telemetry.metrics_page import MetricsPage
from tickmind.runner.lifecycle import LifeState

if TYPE_CHECKING:
    from tickmind.runner.runner import Runner

_COUNTERS = {
    "observations": "Observations that agents received.",
    "intents": "Intents that agents sent.",
    "refused": "Intents of agents that the world refused.",
    "thoughts": "Deliberations that ended with a plan.",
    "failed_thoughts": "Deliberations that failed.",
    "dropped_reports": "Reports that agents could not send.",
}  # field of `AgentStatus` -> meaning


def metrics_of(runner: "Runner") -> str:
    """Return all figures of a runner and its agents as text. Characters are summed by the kind of their agent."""
    stats, rows = runner.statistics(), runner.rows()
    page = Exposition()
    page.gauge("tickmind_runner_tick", "The last tick of the world that the runner saw.", [({}, stats.tick_id)])
    page.gauge("tickmind_runner_processes", "Processes of agents that are there.", [({}, stats.processes)])
    page.gauge(
        "tickmind_runner_agents",
        "Processes of agents by state.",
        [({"state": state.value}, stats.states.get(state, 0)) for state in LifeState],
    )
    page.counter("tickmind_runner_restarts_total", "Restarts of agents.", [({}, stats.restarts)])
    kinds = sorted({row.agent for row in rows})
    for name, meaning, holds in (
        ("characters", "Characters that have an agent.", lambda row: bool(row.agent)),
        ("controlled_characters", "Characters that are controlled.", lambda row: row.controlled),
        ("thinking_characters", "Characters that wait for a model.", lambda row: row.thinking),
        ("characters_with_errors", "Characters whose agent reports an error.", lambda row: bool(row.last_error)),
    ):
        counts = Counter(row.agent for row in rows if holds(row))
        page.gauge(f"tickmind_runner_{name}", meaning, [({"agent": kind}, counts[kind]) for kind in kinds])
    totals = runner.sight.reported
    agent_of = {row.entity_id: row.agent for row in rows}
    for field, meaning in _COUNTERS.items():
        sums: Counter[str] = Counter(dict.fromkeys(kinds, 0))
        for entity_id, counted in totals.items():
            sums[agent_of.get(entity_id, "gone")] += counted[field]
        samples = [({"agent": kind}, sums[kind]) for kind in sorted(sums)]
        page.counter(f"tickmind_agent_{field}_total", meaning, samples)
    return page.text()


async def open_metrics(runner: "Runner", port: int) -> MetricsPage:
    """Serve the figures on a port of this machine; raises `ConfigError` if another program listens there."""
    try:
        return await MetricsPage.open(lambda: metrics_of(runner), port)
    except OSError as error:
        raise ConfigError(
            f"can't serve metrics on port {port}: {error.strerror}; choose another port (--metrics-port)"
        ) from None

"""Reports of agents about themselves: recorded at once, and kept for viewers until the tick is over."""

from typing import Protocol

from tickmind.protocol import AgentStatus, Insight, Reason, ThoughtReport, TickReports
from tickmind.server.limits import MAX, ServerLimits


class ReportSink(Protocol):
    """Stores reports; `record` implements it. It must not block and never changes the world."""

    def thought(self, report: ThoughtReport) -> None:
        """Store a deliberation."""
        ...

    def status(self, status: AgentStatus) -> None:
        """Store an agent's status."""
        ...

    def insight(self, insight: Insight) -> None:
        """Store an insight into a mind."""
        ...


class ReportBuffer:
    """The reports of one tick, bounded in number and size."""

    def __init__(self, sink: ReportSink | None = None, limits: ServerLimits = MAX) -> None:
        self._sink = sink
        self._limits = limits
        self._thoughts: list[ThoughtReport] = []
        self._statuses: dict[str, AgentStatus] = {}  # entity -> its newest
        self._insights: dict[tuple[str, int], Insight] = {}  # entity, tick -> insight
        self._chars = 0
        self._count = 0

    def add_thought(self, report: ThoughtReport) -> Reason:
        """Add a deliberation, or return why not."""
        chars = self._chars + report.chars
        if not self._limits.report_chars_per_tick.allows(chars) or not self._count_one():
            return Reason.OVERLOADED
        self._chars = chars
        self._thoughts.append(report)
        if self._sink is not None:
            self._sink.thought(report)
        return Reason.NONE

    def add_status(self, status: AgentStatus) -> Reason:
        """Add a status, or return why not; viewers get the newest of each agent."""
        chars = self._chars + len(status.detail)
        if not self._limits.report_chars_per_tick.allows(chars) or not self._count_one():
            return Reason.OVERLOADED
        self._chars = chars
        self._statuses[status.entity_id] = status
        if self._sink is not None:
            self._sink.status(status)
        return Reason.NONE

    def add_insight(self, insight: Insight) -> Reason:
        """Add an insight, or return why not; there is one for each entity and tick."""
        place = insight.entity_id, insight.tick_id
        chars = self._chars + insight.chars
        if place in self._insights or not self._limits.report_chars_per_tick.allows(chars) or not self._count_one():
            return Reason.OVERLOADED
        self._chars = chars
        self._insights[place] = insight
        if self._sink is not None:
            self._sink.insight(insight)
        return Reason.NONE

    def _count_one(self) -> bool:
        self._count += 1
        return self._limits.reports_per_tick.allows(self._count)

    def take(self) -> TickReports:
        """Return the reports since the last call."""
        reports = TickReports(tuple(self._thoughts), tuple(self._statuses.values()), tuple(self._insights.values()))
        self._thoughts, self._statuses, self._insights = [], {}, {}
        self._chars = self._count = 0
        return reports

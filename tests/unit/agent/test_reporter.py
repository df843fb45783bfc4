"""Reports in the background."""

import logging
from unittest.mock import AsyncMock, Mock

import pytest

from tickmind.agent.reporting.reporter import ReportSender
from tickmind.base import ManualClock, Secret
from tickmind.protocol import AgentState, AgentStatus, Lease
from tickmind.wire import DeadlineError, UnreachableError, WorldClient

LEASE = Lease(Secret("s" * 40), "a", "me", 1, 10_000)


def report(reporter):
    reporter.status(LEASE, AgentStatus("a", 1, AgentState.RUNNING))


def test_reports_are_held_back_in_every_tick_and_have_the_rest_of_it():
    clock = ManualClock()
    reporter = ReportSender(Mock(spec=WorldClient), clock=clock)
    for start_s in (0.0, 1.0, 2.0):
        clock.advance(start_s - clock.monotonic())
        reporter.hold(start_s + 0.4)
        assert reporter.quiet_until_s == start_s + 0.4
        report(reporter)


def test_reports_that_wait_get_through_however_soon_ticks_follow_each_other():
    clock = ManualClock()
    reporter = ReportSender(Mock(spec=WorldClient), clock=clock)
    began_s = clock.monotonic()
    open_s = 0.0
    for _ in range(1000):
        reporter.hold(clock.monotonic() + 0.4)
        report(reporter)
        open_s += 0.01 if clock.monotonic() >= reporter.quiet_until_s else 0.0
        clock.advance(0.01)
    assert open_s >= 0.4 * (clock.monotonic() - began_s)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("error", "told"),
    [
        (UnreachableError("gone", status="UNAVAILABLE"), False),
        (DeadlineError("late", status="DEADLINE_EXCEEDED"), True),
    ],
)
async def test_a_report_that_ends_with_the_world_is_counted_and_not_told(caplog, error, told):
    client = Mock(spec=WorldClient, report_status=AsyncMock(side_effect=error))
    reporter = ReportSender(client, clock=ManualClock())
    reporter.start()
    with caplog.at_level(logging.INFO):
        report(reporter)
        await reporter.flush(60)
    await reporter.close()
    assert reporter.dropped == 1
    assert ("a report was lost" in caplog.text) is told

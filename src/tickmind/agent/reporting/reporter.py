"""`ReportSender`: sends thoughts, statuses and insights to the record and the viewer, in the background."""

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TypeAlias

from tickmind.agent.reporting.masking import masked_thought
from tickmind.base import Clock, Limit, Secret, SystemClock, get_logger
from tickmind.protocol import AgentState, AgentStatus, Insight, Lease, Thought
from tickmind.wire import MessageError, RpcError, UnreachableError, WorldClient

MAX_WAITING = Limit("number of reports that wait", 1000)
MAX_REPORT_CHARS = Limit("length of the insights in one report", 300_000, "characters")
MAX_REPORT_INSIGHTS = Limit("number of insights in one report", 256)
_Report: TypeAlias = AgentStatus | tuple[int, Thought] | list[Insight]
_log = get_logger(__name__)


class ReportSender:
    """Send reports one after another; over the limit the oldest waiting report is dropped and counted.

    Reports wait until the deadline of the tick is over: before that the machine is for acts.
    """

    def __init__(self, client: WorldClient, *, clock: Clock | None = None, max_waiting: Limit = MAX_WAITING) -> None:
        self._client = client
        self._clock = clock or SystemClock()
        self.quiet_until_s = 0.0
        """The time until which nothing is sent, by the monotonic clock."""
        self._waiting: deque[tuple[Lease, _Report]] = deque()
        self._max_waiting = max_waiting
        self._some = asyncio.Event()
        self._hurry = asyncio.Event()  # set: send at once, whatever the hold
        self._idle = asyncio.Event()
        self._idle.set()
        self._states: dict[str, tuple[AgentState, str]] = {}  # entity id -> last reported state and detail
        self._task: asyncio.Task[None] | None = None
        self.dropped = 0

    def start(self) -> None:
        """Start sending."""
        self._task = asyncio.create_task(self._send_all(), name="tickmind-reports")

    def hold(self, until_s: float) -> None:
        """Send nothing until then, by the monotonic clock.

        A waiting report waits for that only if it had as much time since the last hold, so that it gets
        through however soon one tick follows upon another.
        """
        now_s = self._clock.monotonic()
        if not self._waiting or now_s - self.quiet_until_s >= until_s - now_s:
            self.quiet_until_s = until_s

    async def flush(self, patience_s: float) -> None:
        """Send waiting reports at once, for at most `patience_s`."""
        self.quiet_until_s = 0.0
        self._hurry.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await self._idle.wait()

    async def close(self) -> None:
        """Stop, and drop waiting reports."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def thought(self, lease: Lease, tick_id: int, thought: Thought) -> None:
        """Report a deliberation; secrets of this process are masked in it."""
        self._put(lease, (tick_id, masked_thought(thought)))

    def knows(self, entity_id: str, state: AgentState, detail: str = "") -> bool:
        """Return whether this state, with this detail, was the last reported one."""
        return self._states.get(entity_id) == (state, detail)

    def status(self, lease: Lease, status: AgentStatus) -> None:
        """Report an agent's state."""
        self._states[status.entity_id] = (status.state, status.detail)
        self._put(lease, status)

    @property
    def free(self) -> bool:
        """Whether everything was sent, so that there is time for insights."""
        return not self._waiting

    def insights(self, leases: Mapping[str, Lease], insights: Iterable[Insight]) -> None:
        """Report what minds show, those under one lease together."""
        by_lease: dict[Secret, tuple[Lease, list[Insight]]] = {}
        for insight in insights:
            lease = leases.get(insight.entity_id)
            if lease is not None:
                by_lease.setdefault(lease.lease_id, (lease, []))[1].append(insight)
        for lease, several in by_lease.values():
            for part in _parts(several):
                self._put(lease, part)

    def forget(self) -> None:
        """Report all states again to a new world, and drop what waits for the old one."""
        self._states.clear()
        self._waiting.clear()

    def _put(self, lease: Lease, what: _Report) -> None:
        self._waiting.append((lease, what))
        if not self._max_waiting.allows(len(self._waiting)):
            self._waiting.popleft()
            self.dropped += 1
        self._idle.clear()
        self._some.set()

    async def _send_all(self) -> None:
        while True:
            while self._waiting:
                await self._until_quiet_is_over()
                if self._waiting:
                    await self._send(*self._waiting.popleft())
            self._idle.set()
            self._some.clear()
            await self._some.wait()

    async def _until_quiet_is_over(self) -> None:
        left_s = self.quiet_until_s - self._clock.monotonic()
        if left_s > 0 and not self._hurry.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(left_s):
                    await self._hurry.wait()

    async def _send(self, lease: Lease, what: _Report) -> None:
        try:
            if isinstance(what, AgentStatus):
                ack = await self._client.report_status(lease, what)
            elif isinstance(what, list):
                ack = await self._client.report_insights(lease, what)
            else:
                ack = await self._client.report_thought(lease, *what)
        except UnreachableError as error:
            self.dropped += 1  # as is usual at the end of a run; whether the world is gone, the control stream says
            _log.debug("a report was lost with the world", entity_id=lease.entity_id, why=str(error))
            return
        except (RpcError, MessageError) as error:
            self.dropped += 1
            _log.info("a report was lost", entity_id=lease.entity_id, why=str(error))
            return
        if not ack.accepted:
            self.dropped += 1
            _log.info("a report was refused", entity_id=lease.entity_id, why=str(ack.reason))


def _parts(insights: list[Insight]) -> Iterator[list[Insight]]:
    """Split insights into reports that are not too large."""
    part: list[Insight] = []
    chars = 0
    for insight in insights:
        chars += insight.chars
        if part and not (MAX_REPORT_CHARS.allows(chars) and MAX_REPORT_INSIGHTS.allows(len(part) + 1)):
            yield part
            part, chars = [], insight.chars
        part.append(insight)
    if part:
        yield part

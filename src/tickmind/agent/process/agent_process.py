"""`AgentProcess`: takes control, answers each tick, reconnects after breaks, and leaves in good order."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NoReturn

from tickmind.agent.contract import Launch
from tickmind.agent.control.streams import ControlStream, TickPart, stream_opener
from tickmind.agent.control.turns import LONGEST_QUIET_S, Played, TurnPlayer
from tickmind.agent.errors import AgentError, ControlLostError
from tickmind.agent.minds import AskingHost, MindHost, is_lockstep
from tickmind.agent.mistakes import Mistakes
from tickmind.agent.process.heartbeat import Heartbeat, HeartbeatWriter
from tickmind.agent.process.lease_file import LeaseFile
from tickmind.agent.process.turn_trace import TurnTrace
from tickmind.agent.process.world_access import world_endpoint_of
from tickmind.agent.reporting.masking import masked_intent
from tickmind.agent.reporting.reporter import ReportSender
from tickmind.base import Clock, Limit, Secret, SystemClock, get_logger
from tickmind.protocol import AgentState, AgentStatus, Intent, Reason, RunInfo, Wait
from tickmind.wire import (
    Backoff,
    ControlClosedError,
    LeaseRefusedError,
    NotAllowedError,
    RefusedMessageError,
    WireConfigError,
    WireError,
    WorldClient,
)

MARGIN_S, MARGIN_RATIO = 0.1, 0.2  # how long before the deadline an act must be over, whichever is less
IDLE_BEAT_S = 2.0  # between heartbeats while the world does not tick
LOCKSTEP_REPORTS_S = 10.0  # for the thoughts of a tick to reach a world that waits for them
LEAVE_S = 2.0  # for the last reports, and again for giving up the lease
ERROR_TICKS = 100  # for which the last error of an entity is shown after it acts well again
STATUS_TICKS = 10  # between two reports of an entity's state, which may change with each thought
LONGEST_WAIT_S = 10.0  # for a lease that another controller holds
MAX_FAILED_TICKS = Limit("number of ticks in a row in which every act failed", 20)
MAX_STUCK_S = Limit("time in which no act at all came back", 120.0, "s")
STUCK_TICKS = 10  # both must pass, because a suspended machine loses time without ticks
_FATAL = (NotAllowedError, RefusedMessageError, WireConfigError)
_WAIT = Wait()
_log = get_logger(__name__)


class AgentProcess:
    """Run in one world until `stop`; raises `AgentError` if it can't go on. It belongs to one event loop.

    `on_quiet` is called once a tick when all acts are over; `program` says what runs, for the record.
    """

    def __init__(
        self,
        launch: Launch,
        host: MindHost,
        *,
        secrets: Mapping[str, Secret] | None = None,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        backoff: Backoff | None = None,
        max_stuck_s: Limit = MAX_STUCK_S,
        program: str = "",
        on_quiet: Callable[[], None] = lambda: None,
    ) -> None:
        self._launch = launch
        self._host = host
        self._program = program
        self._clock = clock or SystemClock()
        self._turns = TurnPlayer(host, clock=self._clock, on_quiet=on_quiet)
        self._rng = rng or random.SystemRandom()
        self._backoff = backoff or Backoff()
        self._connection = world_endpoint_of(launch, secrets or {})
        self._lease_file = LeaseFile(launch.state_dir, launch.world_addr, launch.entities[0].controller_id)
        self._pulse = HeartbeatWriter(launch.heartbeat_fd)
        self._stopping = asyncio.Event()
        self._state = AgentState.STARTING
        self._tick_id = 0
        self._controlled = 0  # entities
        self._acted = 0  # of them in the last tick
        self._failed_ticks = 0
        self._max_stuck_s = max_stuck_s
        self._stuck_ticks = 0  # in a row, in which no act returned
        self._stuck_since_s = 0.0
        self._returned = 0  # acts at the last count
        self._mistakes = Mistakes()
        self._errors: dict[str, tuple[int, str]] = {}  # entity id -> the last tick that failed, and why
        self._run_id = ""  # of the world that it is in
        self._traces = {each.entity_id: TurnTrace() for each in launch.entities}
        self._counts: dict[str, Counter[str]] = {each.entity_id: Counter() for each in launch.entities}

    @property
    def state(self) -> AgentState:
        """The state of the process."""
        return self._state

    @property
    def tick_id(self) -> int:
        """The last tick that was answered."""
        return self._tick_id

    def stop(self) -> None:
        """Leave in good order: abandon the current tick and release the entities."""
        self._stopping.set()

    async def live(self) -> None:
        """Run until `stop`."""
        self._beat()
        try:
            async with WorldClient(self._connection, rng=self._rng) as client:
                reporter = ReportSender(client, clock=self._clock)
                reporter.start()
                try:
                    await self._until_stopped(client, reporter)
                finally:
                    await reporter.close()
        finally:
            self._turns.close()
            self._host.close()
            self._pulse.close()

    async def _until_stopped(self, client: WorldClient, reporter: ReportSender) -> None:
        staying = asyncio.create_task(self._stay(client, reporter))
        beating = asyncio.create_task(self._show_life())
        stopped = asyncio.create_task(self._stopping.wait())
        tasks = {staying, beating, stopped}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        if not staying.cancelled():
            staying.result()

    async def _stay(self, client: WorldClient, reporter: ReportSender) -> None:
        """Hold control, and take it again after a break."""
        open_stream = stream_opener(client, self._launch.entities, self._clock)
        secret = self._lease_file.read()
        failures = 0
        while True:
            wait_s, sent = 0.0, self._connection.present_token()
            try:
                async with open_stream(secret) as stream:
                    secret, failures = stream.secret, 0
                    self._lease_file.keep(secret)
                    self._enter(stream.run)
                    reporter.forget()
                    _log.info("took control", entities=len(stream.leases), world=self._launch.world_addr)
                    await self._hold(stream, client, reporter)
            except LeaseRefusedError as error:
                wait_s = self._wait_for_lease(error, failures)
                failures += 1
            except ControlClosedError as error:
                if error.reason is Reason.INVALID_LEASE:
                    raise ControlLostError(f"{error}; another process has taken control, so this one ends") from None
                wait_s = self._wait_to_come_back(error, failures)
                failures += 1
            except _FATAL as error:
                if not isinstance(error, NotAllowedError) or self._connection.present_token() == sent:
                    raise AgentError(str(error)) from None
                wait_s = self._wait_to_come_back(error, failures)  # the token was exchanged meanwhile
                failures += 1
            except WireError as error:
                wait_s = self._wait_to_come_back(error, failures)
                failures += 1
            await asyncio.sleep(wait_s)

    def _enter(self, run: RunInfo) -> None:
        """Enter a run; in another one than before the minds are new, and so are their turns."""
        if run.run_id != self._run_id:
            self._run_id = run.run_id
            self._traces = {entity_id: TurnTrace() for entity_id in self._traces}
            for counts in self._counts.values():
                del counts["next_status_tick"]  # a tick of the world before
        self._host.enter(run)

    async def _hold(self, stream: ControlStream, client: WorldClient, reporter: ReportSender) -> None:
        """Answer all ticks; on a stop or a fatal error release the entities and report how it ended."""
        try:
            self._note_control(stream)
            async for part in stream.parts():
                await self._answer(part, stream, reporter)
        except (asyncio.CancelledError, AgentError):
            self._change(AgentState.STOPPING)
            await self._leave(stream, client, reporter)
            raise
        finally:
            self._controlled = 0

    async def _leave(self, stream: ControlStream, client: WorldClient, reporter: ReportSender) -> None:
        leases = stream.leases
        if not leases:
            return
        for entity_id in leases:
            self._report_status(entity_id, AgentState.STOPPING, stream, reporter)
        await reporter.flush(LEAVE_S)
        try:
            async with asyncio.timeout(LEAVE_S):
                await client.release(next(iter(leases.values())))
        except (TimeoutError, WireError) as error:
            _log.warning("can't release the entities; their lease expires by itself", why=str(error))
        else:
            self._lease_file.forget()

    # One tick

    async def _answer(self, part: TickPart, stream: ControlStream, reporter: ReportSender) -> None:
        deadline_s = part.deadline_ms / 1000
        until_s = part.received_s + deadline_s - min(MARGIN_S, MARGIN_RATIO * deadline_s)
        reporter.hold(min(until_s, part.received_s + LONGEST_QUIET_S))
        timeout_s, lockstep = until_s - self._clock.monotonic(), is_lockstep(part.deadline_ms)
        played = await self._turns.play(part.tick_id, part.observations, timeout_s, lockstep=lockstep)
        if lockstep:  # the thoughts of a tick are in the record before its intents, so a run that ends has them all
            self._report_thoughts(part.tick_id, stream, reporter)
            await reporter.flush(LOCKSTEP_REPORTS_S)
        everybody = [seen.me.entity_id for seen in part.observations]
        intents: dict[str, Intent] = {name: masked_intent(played.intents.get(name, _WAIT)) for name in everybody}
        if intents:
            unsent = stream.answer(part.tick_id, intents)
            await asyncio.sleep(0)  # sends it before anything else is done
            if unsent:
                played = self._without(played, unsent)
        if part.tick_id != self._tick_id:
            self._acted = 0
        self._tick_id = part.tick_id
        self._acted += len(played.intents)
        self._note(played, everybody, stream, reporter)
        self._report_thoughts(part.tick_id, stream, reporter)
        if reporter.free:
            reporter.insights(stream.leases, self._host.take_insights())
        self._beat()
        self._give_up_if_all_fail(played, everybody)
        self._give_up_if_all_are_stuck(played, everybody)

    def _report_thoughts(self, tick_id: int, stream: ControlStream, reporter: ReportSender) -> None:
        for entity_id, thought in self._host.take_thoughts():
            self._counts[entity_id]["failed_thoughts" if thought.error_type else "thoughts"] += 1
            if entity_id in stream.leases:
                reporter.thought(stream.leases[entity_id], tick_id, thought)

    def _without(self, played: Played, unsent: Mapping[str, str]) -> Played:
        """Count an intent that can't be sent as a failed act."""
        failed = {
            name: self._mistakes.note_text("the intent can't be sent", why, entity_id=name, tick=self._tick_id)
            for name, why in unsent.items()
        }
        kept = {name: intent for name, intent in played.intents.items() if name not in unsent}
        return replace(played, intents=kept, failed={**played.failed, **failed})

    def _note(self, played: Played, everybody: list[str], stream: ControlStream, reporter: ReportSender) -> None:
        """Count, warn, and report the states."""
        deliberating = False
        for name, tick_id in self._host.take_questions() if isinstance(self._host, AskingHost) else ():
            self._traces[name].question(tick_id)
        for name in everybody:
            counts = self._counts[name]
            self._traces[name].note(self._tick_id, played.turn(name))
            counts["observations"] += 1
            counts["intents"] += name in played.intents
            if name in played.late:
                counts["late"] += 1
                if counts["late"].bit_count() == 1:
                    _log.warning(
                        "act missed the deadline, so the entity waits in this tick",
                        entity_id=name,
                        tick=self._tick_id,
                        times=counts["late"],
                    )
                self._errors[name] = (self._tick_id, "act missed the deadline")
            elif name in played.failed:
                self._errors[name] = (self._tick_id, played.failed[name])
            state = AgentState.DEGRADED if name not in played.intents else AgentState.RUNNING
            if self._host.deliberating(name):
                deliberating = True
                state = AgentState.DELIBERATING if state is AgentState.RUNNING else state
            self._report_status(name, state, stream, reporter)
        self._controlled = len(stream.leases)
        if everybody and not played.intents:
            self._state = AgentState.DEGRADED
        else:
            self._state = AgentState.DELIBERATING if deliberating else AgentState.RUNNING

    def _give_up_if_all_fail(self, played: Played, everybody: list[str]) -> None:
        if played.intents:
            self._failed_ticks = 0
        elif everybody and len(played.failed) == len(everybody):  # a late tick counts as neither
            self._failed_ticks += 1
        if self._failed_ticks >= MAX_FAILED_TICKS.maximum:
            why = next(iter(played.failed.values()), "")
            raise AgentError(f"every act failed in {self._failed_ticks} ticks in a row; the last error: {why}")

    def _give_up_if_all_are_stuck(self, played: Played, everybody: list[str]) -> None:
        """Raise `AgentError` if no act returns: such a process is dead, however well it keeps its lease."""
        returned, now_s = self._turns.returned, self._clock.monotonic()
        if not everybody or len(played.late) < len(everybody) or returned != self._returned:
            self._returned, self._stuck_ticks = returned, 0
            return
        if not self._stuck_ticks:
            self._stuck_since_s = now_s
        self._stuck_ticks += 1
        stuck_s = now_s - self._stuck_since_s
        if self._stuck_ticks >= STUCK_TICKS and not self._max_stuck_s.allows(stuck_s):
            raise AgentError(
                f"no act has returned for {stuck_s:.0f} seconds and {self._stuck_ticks} ticks; "
                "make act return, and do slow work in a thread of its own"
            )

    # Breaks

    def _wait_for_lease(self, error: LeaseRefusedError, failures: int) -> float:
        """Return how long to wait for a refused lease; raises `AgentError` for an entity that does not exist."""
        if error.reason is Reason.UNKNOWN_ENTITY:
            self._no_such_entity()
        if not failures:
            _log.warning("lease refused; trying again", why=str(error), retry_after_ms=error.retry_after_ms)
        self._change(AgentState.STARTING)
        wait_s = min(error.retry_after_ms / 1000, LONGEST_WAIT_S)
        return wait_s + self._backoff.wait_s(0, self._rng) if wait_s else self._backoff.wait_s(failures, self._rng)

    def _wait_to_come_back(self, error: WireError, failures: int) -> float:
        if failures.bit_count() <= 1:
            _log.warning("can't reach the world; trying again", why=str(error), attempt=failures + 1)
        self._change(AgentState.DEGRADED if self._tick_id else AgentState.STARTING)
        return self._backoff.wait_s(failures, self._rng)

    def _no_such_entity(self) -> NoReturn:
        names = ", ".join(each.entity_id for each in self._launch.entities)
        raise AgentError(f"the world at {self._launch.world_addr} has no entity {names}; set ENTITY_ID to one it has")

    # Heartbeats

    def _note_control(self, stream: ControlStream) -> None:
        self._controlled = len(stream.leases)
        self._change(AgentState.RUNNING)

    def _change(self, state: AgentState) -> None:
        if state is not self._state:
            self._state = state
            self._beat()

    async def _show_life(self) -> None:
        while True:
            tick_id = self._tick_id
            await asyncio.sleep(IDLE_BEAT_S)
            if self._tick_id == tick_id:
                self._acted = 0
                self._beat()

    def _beat(self) -> None:
        self._pulse.beat(Heartbeat(self._tick_id, self._state, self._controlled, self._acted))
        if self._pulse.broken and not self._stopping.is_set():
            _log.warning("the process that started this one is gone; ending too")
            self.stop()

    def _report_status(self, entity_id: str, state: AgentState, stream: ControlStream, reporter: ReportSender) -> None:
        lease = stream.leases.get(entity_id)
        counts = self._counts[entity_id]
        detail, trace = self._last_error(entity_id), self._traces[entity_id]
        if lease is None or (reporter.knows(entity_id, state, detail) and not trace.is_due):
            return
        if self._tick_id < counts["next_status_tick"] and state is not AgentState.STOPPING:
            return
        counts["next_status_tick"] = self._tick_id + STATUS_TICKS
        reporter.status(
            lease,
            AgentStatus(
                entity_id,
                self._tick_id if trace.last_tick is None else trace.last_tick,
                state,
                detail,
                observations=counts["observations"],
                intents=counts["intents"],
                refused=stream.refused,
                thoughts=counts["thoughts"],
                failed_thoughts=counts["failed_thoughts"],
                dropped_reports=reporter.dropped,
                program=self._program if trace.is_new else "",
                turns=trace.take(),
            ),
        )

    def _last_error(self, entity_id: str) -> str:
        """Return an entity's last error, as long as it is worth showing."""
        if entity_id not in self._errors:
            return ""
        tick_id, text = self._errors[entity_id]
        return text if self._tick_id - tick_id <= ERROR_TICKS else ""

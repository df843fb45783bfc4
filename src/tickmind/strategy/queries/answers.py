"""`Answers`: puts answers on the Blackboard, counts failures and reports thoughts."""

import inspect
import logging
import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from tickmind.ai import Blackboard
from tickmind.base import Clock, error_text
from tickmind.llm import LLMCooldownError, LLMDeadlineError, LLMDroppedError
from tickmind.protocol import Thought
from tickmind.strategy.clients.client import Deliberation
from tickmind.strategy.clients.workers import WorkItem
from tickmind.strategy.components import LLMAgent
from tickmind.strategy.config import LLMConfig
from tickmind.strategy.errors import CAUGHT, ErrorKind, OutdatedError, ParseError, RelevanceError, kind_of
from tickmind.strategy.functions import refuse_coroutine
from tickmind.strategy.manager import LLMManager
from tickmind.strategy.queries.batches import Reply, taken_apart, usage_share
from tickmind.strategy.queries.due_agents import DueAgents
from tickmind.strategy.queries.flights import Flight, Flights
from tickmind.strategy.queries.pace import Paces
from tickmind.strategy.replies.parsers import parse_into
from tickmind.strategy.replies.streaming import Streamed

if TYPE_CHECKING:
    from tickmind.tick import World

_RECENT = 0.1  # how much the newest of several counts in an average
_log = logging.getLogger("tickmind.strategy")


@dataclass(slots=True)
class Counts:
    """Counts of what has happened so far."""

    asked: int = 0
    answered: int = 0
    failed: int = 0
    skipped: int = 0
    refused: int = 0  # refused for now by a shared client
    outdated: int = 0  # answered too late, by the agent's relevance rule
    average_wait_s: float = 0.0  # moving average, from due to asked
    average_queue_s: float = 0.0  # moving average, in a gateway's queue

    def note_wait(self, seconds: float) -> None:
        """Add the time from due to asked to the average."""
        self.average_wait_s += _RECENT * (seconds - self.average_wait_s)

    def note_queue(self, seconds: float) -> None:
        """Add the time in a gateway's queue to the average."""
        self.average_queue_s += _RECENT * (seconds - self.average_queue_s)


class _Said(NamedTuple):
    """The end of a query: its duration and its outcome."""

    latency_s: float
    answer: Deliberation | None = None
    reply: str = ""


_NOTHING = _Said(0.0)


class Answers:
    """Process what the workers return."""

    def __init__(
        self, manager: LLMManager, roster: DueAgents, flights: Flights, counts: Counts, clock: Clock, paces: Paces
    ) -> None:
        self._clock = clock
        self._manager = manager
        self._config = manager.config
        self._roster = roster
        self._flights = flights
        self._counts = counts
        self._paces = paces

    def use_config(self, config: LLMConfig) -> None:
        """Go by other settings from now on."""
        self._config = config

    def take_fields(self, world: "World") -> None:
        """Put streamed fields on the Blackboard; take back those of a reply that is requested again."""
        for flight in self._flights.all():
            while flight.fields:
                field = flight.fields.popleft()
                for eid, agent in tuple(flight.agents.items()):
                    if field is None:
                        flight.put_back(eid)
                    else:
                        self._take_field(world, eid, agent, flight, field)

    def _take_field(self, world: "World", eid: int, agent: LLMAgent, flight: Flight, field: tuple[str, Any]) -> None:
        board = world.find(eid, Blackboard)
        if board is None:
            return
        try:
            streamed = flight.streamed.get(eid)
            if streamed is None or streamed.blackboard is not board:
                streamed = flight.streamed[eid] = Streamed(board, agent)
            streamed.take(*field, self._manager.parser_of(agent), self._manager.declared(agent))
        except CAUGHT:  # the whole reply reports the error
            _log.debug("can't apply a streamed field of entity %d yet", eid, exc_info=True)

    def harvest(self, world: "World", job: WorkItem[Any]) -> None:
        """Process a finished job, if an agent still waits for it and it was in time."""
        flight = self._flights.end(job)
        if flight is None:
            return
        assert job.done_at_s is not None, "a finished job has its time"
        if not flight.came_in_time:
            self.time_out(world, flight)
            return
        latency_s = job.done_at_s - flight.sent_at_s
        if job.error is not None:
            self.take_error(world, flight, job.error, job.done_at_s)
            return
        answer = flight.outcome()
        if answer is None:
            problem = f"the client returned a {type(job.value).__name__}, not a text"
            if inspect.iscoroutine(job.value):
                job.value.close()
                problem = "query() returned a coroutine, not a text; make it an async def, so that it is awaited"
            self._fail_all(world, flight, ErrorKind.API, problem, latency_s)
            return
        queued_s = _seconds(answer.queued_s)
        if queued_s is not None:
            self._counts.note_queue(queued_s)
        self._paces.of(flight.client).note_answer(latency_s, flight.in_flight, queued_s)
        self._cool(flight, answer.wait_s, job.done_at_s)
        whole = Reply(answer.text, answer.data)
        replies = taken_apart(whole, list(flight.agents)) if len(flight.messages) > 1 else None
        for eid, agent in flight.agents.items():
            try:
                self._answer(world, eid, agent, replies[eid] if replies else whole, flight, answer, latency_s)
            except CAUGHT as error:
                self._roster.set_aside(eid, agent, error)

    def take_error(self, world: "World", flight: Flight, error: BaseException, at_s: float) -> None:
        """Process a client's exception. A client that only requires a wait has not failed, nor has the agent."""
        self._cool(flight, getattr(error, "retry_after_s", None), at_s)
        if isinstance(error, LLMDeadlineError):
            self._paces.of(flight.client).note_cut_off(at_s - flight.sent_at_s)
        if isinstance(error, (LLMCooldownError, LLMDroppedError)):
            self._paces.of(flight.client).narrow()
            again = isinstance(error, LLMCooldownError)
            for eid, agent in flight.agents.items():
                flight.put_back(eid)
                try:
                    self._hold_back(world, eid, agent, str(error.code), again=again)
                except CAUGHT as flawed:
                    self._roster.set_aside(eid, agent, flawed)
            return
        self._fail_all(world, flight, kind_of(error), error_text(error), at_s - flight.sent_at_s)

    def _cool(self, flight: Flight, wait_s: Any, at_s: float) -> None:
        """Let the agents of a query wait as its client said at some time."""
        if isinstance(wait_s, int | float) and wait_s > 0 and not self._config.lockstep:
            gone_s = self._clock.monotonic() - at_s
            for eid, agent in flight.agents.items():
                try:
                    self._roster.cool(agent, wait_s, gone_s)
                except CAUGHT as error:
                    self._roster.set_aside(eid, agent, error)

    def _hold_back(self, world: "World", eid: int, agent: LLMAgent, reason: str, *, again: bool) -> None:
        """Schedule a refused question again as soon as it may be asked; this is no failure.

        A question that was dropped as replaced or expired is not scheduled: the agent's next one comes by itself.
        """
        self._counts.refused += 1
        agent.pending = False
        if not self._roster.is_agent(world, eid, agent):
            return  # a callback of this tick removed it
        tick = self._roster.tick
        if again:
            agent.cooldown_until = max(agent.cooldown_until, tick + 1)
            self._roster.ask_again(eid)
        self._roster.put(eid, agent)
        self._manager.tell_deferred(eid, reason, max(agent.cooldown_until, tick), tick)

    def time_out(self, world: "World", flight: Flight) -> None:
        """Process a query that got no answer in time."""
        limit_s = flight.deadline_s - flight.submitted_at_s
        problem = f"no answer within {limit_s:g} s"
        if flight.job.started_at_s is None:
            problem += ": no thread was free for it; raise thread_pool_size or ask less often"
            self._fail_all(world, flight, ErrorKind.TIMEOUT, problem, 0.0)
        else:
            waited_s = flight.deadline_s - flight.sent_at_s
            self._paces.of(flight.client).note_cut_off(waited_s)
            self._fail_all(world, flight, ErrorKind.TIMEOUT, problem, waited_s)

    def _fail_all(self, world: "World", flight: Flight, kind: ErrorKind, message: str, latency_s: float) -> None:
        said = _Said(latency_s)
        for eid, agent in flight.agents.items():
            self.fail(world, eid, agent, kind, message, flight, said)

    def _answer(
        self,
        world: "World",
        eid: int,
        agent: LLMAgent,
        reply: Reply | ParseError,
        flight: Flight,
        answer: Deliberation,
        latency_s: float,
    ) -> None:
        agent.pending = False
        flight.put_back(eid)  # only the whole reply counts
        if not self._roster.is_agent(world, eid, agent):
            return  # a callback of this tick removed it
        said = _Said(latency_s, answer, answer.text if isinstance(reply, ParseError) else reply.text)
        try:
            if isinstance(reply, ParseError):
                raise reply
            parser, declared = self._manager.parser_of(agent), self._manager.declared(agent)
            check = partial(self._check_relevance, world, eid, agent.relevance, flight) if agent.relevance else None
            board = world.get(eid, Blackboard)
            changed = parse_into(reply.text, board, parser, declared, reply.data, check=check)
        except OutdatedError as error:
            self._pass_over(world, eid, agent, str(error), flight, said)
            return
        except CAUGHT as error:
            kind = ErrorKind.CONTEXT if isinstance(error, RelevanceError) else ErrorKind.PARSE
            self.fail(world, eid, agent, kind, error_text(error), flight, said)
            return
        agent.consecutive_errors = 0
        agent.directive_tick = flight.asked_tick
        self._counts.answered += 1
        if self._config.conversation_turns:
            agent.turns.append((flight.messages[eid], reply.text))
            del agent.turns[: -self._config.conversation_turns]
        if self._config.skip_unchanged:
            agent.prompt_hash = self._manager.prompt_hash(flight.system_prompt, flight.messages[eid])
        if self._roster.is_agent(world, eid, agent):
            self._roster.put(eid, agent)
        self._manager.tell_response(eid, latency_s, len(reply.text), self._roster.tick)
        if self._manager.records_thoughts:
            self._manager.tell_thought(partial(self._thought, eid, flight, said, directives=changed), self._roster.tick)

    def _check_relevance(self, world: "World", eid: int, name: str, flight: Flight, directives: dict[str, Any]) -> None:
        """Raise `OutdatedError` if the agent's relevance rule refuses an answer."""
        rule = self._manager.relevance(name)
        if rule is None:
            return
        try:
            relevant = rule(world, eid, directives, flight.asked_tick)
            refuse_coroutine(f"relevance {name!r}", relevant)
            relevant = bool(relevant)
        except CAUGHT as error:
            raise RelevanceError(f"relevance {name!r} raised {error_text(error)}") from error
        if not relevant:
            ticks = self._roster.tick - flight.asked_tick
            raise OutdatedError(f"relevance {name!r} refused the answer, which came {ticks} ticks after the question")

    def _pass_over(self, world: "World", eid: int, agent: LLMAgent, message: str, flight: Flight, said: _Said) -> None:
        """Count an answer that the relevance rule refused: the client did its work, and the Blackboard stays."""
        self._counts.outdated += 1
        agent.consecutive_errors = 0
        if self._roster.is_agent(world, eid, agent):
            self._roster.put(eid, agent)
        tick = self._roster.tick
        self._manager.tell_error(eid, ErrorKind.OUTDATED, message, tick)
        if self._manager.records_thoughts:
            self._manager.tell_thought(
                partial(self._thought, eid, flight, said, kind=ErrorKind.OUTDATED, error=message), tick
            )

    def fail(
        self,
        world: "World",
        eid: int,
        agent: LLMAgent,
        kind: ErrorKind,
        message: str,
        flight: Flight | None = None,
        said: _Said = _NOTHING,
    ) -> None:
        """Count a failure; after too many the agent has to wait. Without a flight the question was not even sent."""
        self._counts.failed += 1
        tick = self._roster.tick
        agent.pending = False
        if flight is not None:
            flight.put_back(eid)
        try:
            agent.consecutive_errors += 1
            if agent.consecutive_errors >= agent.max_retries:
                agent.cooldown_until = max(agent.cooldown_until, tick + agent.cooldown_ticks)
        except CAUGHT as error:
            self._roster.set_aside(eid, agent, error)
        if self._roster.is_agent(world, eid, agent):
            self._roster.put(eid, agent)
        self._manager.tell_error(eid, kind, message, tick)
        if self._manager.records_thoughts and flight is not None:
            self._manager.tell_thought(partial(self._thought, eid, flight, said, kind=kind, error=message), tick)

    def _is_late(self, flight: Flight) -> bool:
        """Return whether an answer took more ticks than a reply should take."""
        ticks = self._config.reply_ticks
        return ticks is not None and self._roster.tick - flight.asked_tick > ticks

    def _thought(
        self,
        eid: int,
        flight: Flight,
        said: _Said,
        *,
        directives: dict[str, Any] | None = None,
        kind: ErrorKind | None = None,
        error: str = "",
    ) -> Thought:
        answer = said.answer
        place, number = list(flight.messages).index(eid), len(flight.messages)
        return Thought(
            entity_id=eid,
            asked_tick=flight.asked_tick,
            answered_tick=self._roster.tick,
            system_prompt=flight.system_prompt,
            user_message=flight.messages[eid],
            reply=said.reply,
            thinking=answer.thinking if answer else "",
            directives=directives or {},
            client=flight.client,
            latency_s=said.latency_s,
            late=self._is_late(flight) if answer else False,
            error_type=kind.value if kind else "",
            error=error,
            **(usage_share(answer, number, place) if answer else {}),
        )


def _seconds(value: Any) -> float | None:
    """Return a time that a client reported; None if it is none."""
    return value if isinstance(value, (int, float)) and math.isfinite(value) and value >= 0 else None

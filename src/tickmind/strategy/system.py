"""The system that lets entities deliberate: it harvests, times out and dispatches, and never waits.

The rules: an agent is due when its interval, its cooldown and its deferral are over and it is not waiting for an
answer. Answers are taken in at the beginning of a tick. Whatever a user supplies may raise; nothing of it leaves here.
"""

import logging
from collections import deque
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tickmind.ai import Blackboard
from tickmind.base import Clock, SystemClock
from tickmind.protocol import Thought
from tickmind.strategy.batches import joined, joined_schema, taken_apart
from tickmind.strategy.clients import AsyncLLMClient, Question
from tickmind.strategy.components import LLMAgent
from tickmind.strategy.errors import ErrorKind, ParseError, kind_of
from tickmind.strategy.flights import Flight, Flights
from tickmind.strategy.manager import LLMManager
from tickmind.strategy.parsers import DirectiveParser, parse_into, plain_copy
from tickmind.strategy.schedule import Schedule, Turn
from tickmind.strategy.workers import Job, Workers, WorkerStatistics
from tickmind.tick import TickError

if TYPE_CHECKING:
    from tickmind.llm.deliberation import Deliberation
    from tickmind.tick import TickContext, World

SWEPT_PER_TICK = 32  # agents that are looked at for fields that somebody changed by hand
_log = logging.getLogger("tickmind.strategy")


@dataclass(frozen=True, slots=True)
class StrategyStatistics:
    """What the strategic layer is doing."""

    agents: int
    ready: int  # due, and held back by limits
    in_flight: int
    asked: int
    answered: int
    failed: int
    skipped: int  # because the prompt had not changed
    workers: WorkerStatistics


def make_llm_system(manager: LLMManager, *, clock: Clock | None = None) -> "LLMSystem":
    """The strategic layer as a system; add it before those that read the Blackboards.

    End it with `engine.on_stop(system.shutdown)`, with `system.shutdown()`, or by using it in a `with` block.
    """
    return LLMSystem(manager, clock or SystemClock())


class LLMSystem:
    """A system for one world; see `make_llm_system`."""

    def __init__(self, manager: LLMManager, clock: Clock) -> None:
        config = manager.config
        self._manager = manager
        self._config = config
        self._clock = clock
        self._workers = Workers(threads=config.thread_pool_size, max_stuck=config.max_stuck_threads, clock=clock)
        self._schedule = Schedule()
        self._flights = Flights()
        self._world: World | None = None
        self._tick = 0
        self._known: dict[int, None] = {}  # agents, in the order of the sweep
        self._pressed: dict[int, None] = {}  # agents with a trigger
        self._sweep: deque[int] = deque()
        self._without_board: set[int] = set()  # warned about
        self._held: dict[int, int] = {}  # agents that can't be asked -> until when they are left alone
        self._pressing: set[int] = set()  # agents that come up before their interval is over
        self._recent: deque[float] = deque()  # when the queries of the last second went out
        self._asked = self._answered = self._failed = self._skipped = 0

    # Life

    def __enter__(self) -> "LLMSystem":
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()

    def shutdown(self, _world: "World | None" = None, _ctx: "TickContext | None" = None) -> None:
        """Let go of everything under way and end the threads; agents that wait may ask again later."""
        for flight in self._flights.clear():
            self._let_go(flight)
        self._workers.close()

    def statistics(self) -> StrategyStatistics:
        """What is going on."""
        return StrategyStatistics(
            len(self._known),
            self._schedule.ready,
            len(self._flights),
            self._asked,
            self._answered,
            self._failed,
            self._skipped,
            self._workers.statistics(),
        )

    def thinking(self) -> dict[int, int]:
        """Who waits for an answer, and since which tick."""
        return {eid: flight.asked_tick for flight in self._flights.all() for eid in flight.agents}

    def __call__(self, world: "World", ctx: "TickContext") -> None:
        """Let one tick pass."""
        self._tick = ctx.tick_number
        if self._world is not world:
            self._bind(world)
        self._take_wishes(world)
        if self._config.stream_fields:
            self._take_fields(world)
        for job in self._workers.finished():
            self._harvest(world, job)
        now_s = self._clock.monotonic()
        for flight in self._flights.overdue(now_s):
            self._time_out(world, flight)
        self._check_triggers(world)
        self._look_around(world)
        self._schedule.advance(self._tick)
        self._dispatch(world, now_s)

    # Which agents there are

    def _bind(self, world: "World") -> None:
        if self._world is not None:
            raise TickError("one LLM system serves one world; make another with make_llm_system()")
        self._world = world
        world.on_attach(LLMAgent, self._agent_came)
        world.on_detach(LLMAgent, self._agent_went)
        world.on_attach(Blackboard, self._board_came)
        world.on_detach(Blackboard, self._board_went)
        world.on_restore(self._restored)
        self._restored(world)

    def _restored(self, world: "World") -> None:
        for flight in self._flights.clear():
            self._let_go(flight)
        self._schedule.clear()
        self._known.clear()
        self._pressed.clear()
        self._sweep.clear()
        self._held.clear()
        self._pressing.clear()
        for eid, (agent,) in world.query(LLMAgent):
            self._agent_came(world, eid, agent)

    def _agent_came(self, world: "World", eid: int, agent: LLMAgent) -> None:
        flight = self._flights.of_entity(eid)
        if flight is not None and flight.agents[eid] is agent:
            return
        self._leave(eid)
        agent.pending = False
        if eid not in self._known:
            self._known[eid] = None
            self._sweep.append(eid)
        if agent.trigger:
            self._pressed[eid] = None
        else:
            self._pressed.pop(eid, None)
        if self._config.stagger and agent.query_interval > 0 and not agent.last_query_tick:
            self._pressing.add(eid)
            self._schedule.put(eid, self._tick + 1 + eid * 2654435761 % agent.query_interval, agent.priority)
        elif world.has(eid, Blackboard):
            self._put(eid, agent)

    def _agent_went(self, _world: "World", eid: int, agent: LLMAgent) -> None:
        self._leave(eid)
        agent.pending = False
        self._schedule.drop(eid)
        self._known.pop(eid, None)
        self._pressed.pop(eid, None)
        self._held.pop(eid, None)
        self._pressing.discard(eid)
        self._without_board.discard(eid)

    def _board_came(self, world: "World", eid: int, _board: Blackboard) -> None:
        self._without_board.discard(eid)
        agent = world.find(eid, LLMAgent)
        if agent is not None and self._flights.of_entity(eid) is None and eid not in self._schedule:
            self._put(eid, agent)

    def _board_went(self, _world: "World", eid: int, _board: Blackboard) -> None:
        self._leave(eid)
        self._schedule.drop(eid)

    def _leave(self, eid: int) -> None:
        """Have an entity no longer wait for its answer."""
        flight = self._flights.leave(eid)
        if flight is not None:
            self._workers.abandon(flight.job)

    def _let_go(self, flight: Flight) -> None:
        for agent in flight.agents.values():
            agent.pending = False
        self._workers.abandon(flight.job)

    def _due(self, eid: int, agent: LLMAgent) -> int:
        """The tick in which an agent is to come up; the end of a cooldown is such a tick too."""
        if agent.cooldown_until > self._tick:
            return agent.cooldown_until
        return max(agent.last_query_tick + agent.query_interval, agent.deferred_until, self._held.get(eid, 0))

    def _put(self, eid: int, agent: LLMAgent) -> None:
        self._schedule.put(eid, self._due(eid, agent), agent.priority)

    def _hold(self, eid: int, agent: LLMAgent) -> None:
        """Let an agent that can't be asked alone for an interval."""
        self._held[eid] = self._tick + max(1, agent.query_interval)
        self._put(eid, agent)

    def _look_around(self, world: "World") -> None:
        """Notice what somebody changed by hand, some agents each tick."""
        for _ in range(min(SWEPT_PER_TICK, len(self._sweep))):
            eid = self._sweep.popleft()
            if eid not in self._known:
                continue
            self._sweep.append(eid)
            agent = world.find(eid, LLMAgent)
            if agent is None or self._flights.of_entity(eid) is not None or not world.has(eid, Blackboard):
                continue
            if agent.trigger:
                self._pressed[eid] = None
            planned = self._schedule.due_tick(eid)
            if planned is None or self._due(eid, agent) < planned:
                self._put(eid, agent)

    # What others ask for

    def _take_wishes(self, world: "World") -> None:
        for eid, ticks in self._manager.take_wishes():
            agent = world.find(eid, LLMAgent)
            if agent is None or self._flights.of_entity(eid) is not None or not world.has(eid, Blackboard):
                continue
            if ticks is None:
                self._press(eid, agent, gap=0)
            else:
                agent.deferred_until = self._tick + ticks
                self._put(eid, agent)

    def _check_triggers(self, world: "World") -> None:
        for eid in tuple(self._pressed):
            agent = world.find(eid, LLMAgent)
            if agent is None or not agent.trigger:
                self._pressed.pop(eid, None)
                continue
            fn = self._manager.trigger(agent.trigger)
            if fn is None or self._flights.of_entity(eid) is not None or not world.has(eid, Blackboard):
                continue
            try:
                pressing = fn(world, eid)
            except Exception as error:  # noqa: BLE001  a trigger is anybody's code
                self._fail(eid, agent, ErrorKind.CONTEXT, f"trigger {agent.trigger!r} raised {_told(error)}")
                continue
            if pressing:
                self._press(eid, agent, gap=self._config.trigger_gap)

    def _press(self, eid: int, agent: LLMAgent, *, gap: int) -> None:
        """Have an agent come up now, unless it asked just now, is in a cooldown or was deferred."""
        soon = max(self._tick, agent.cooldown_until, agent.deferred_until)
        if agent.last_query_tick:
            soon = max(soon, agent.last_query_tick + gap)
        planned = self._schedule.due_tick(eid)
        if planned is None or soon < planned:
            self._pressing.add(eid)
            self._schedule.put(eid, soon, agent.priority)

    # Answers

    def _take_fields(self, world: "World") -> None:
        """Put streamed fields on the Blackboard."""
        for flight in self._flights.all():
            while flight.fields:
                name, value = flight.fields.pop(0)
                for eid, agent in flight.agents.items():
                    parser, board = self._manager.parser(agent.parser), world.find(eid, Blackboard)
                    if isinstance(parser, DirectiveParser) and board is not None:
                        self._take_field(board, parser, name, value)

    def _take_field(self, board: Blackboard, parser: DirectiveParser, name: str, value: Any) -> None:
        copy = Blackboard(plain_copy(board.data))
        try:
            parser.take({name: value}, copy)
        except Exception:  # noqa: BLE001  a handler is anybody's code; the whole reply will tell its error
            _log.debug("a streamed field could not be taken yet", exc_info=True)
            return
        board.data.update(copy.data)

    def _harvest(self, world: "World", job: Job[Any]) -> None:
        flight = self._flights.end(job)
        if flight is None:
            return
        assert job.done_at_s is not None, "a finished job knows when"
        if job.done_at_s > flight.deadline_s:
            self._missed(flight)
            return
        latency_s = job.done_at_s - flight.submitted_at_s
        if job.error is not None:
            kind, message = kind_of(job.error), _told(job.error)
            for eid, agent in flight.agents.items():
                self._fail(eid, agent, kind, message, flight, latency_s)
            return
        answer = flight.outcome()
        eids = list(flight.agents)
        texts = {eids[0]: answer.text} if len(flight.messages) == 1 else taken_apart(answer.text, eids)
        for eid, agent in flight.agents.items():
            self._answer(world, eid, agent, texts[eid], flight, answer, latency_s)

    def _answer(
        self,
        world: "World",
        eid: int,
        agent: LLMAgent,
        text: str | ParseError,
        flight: Flight,
        answer: "Deliberation",
        latency_s: float,
    ) -> None:
        parser, board = self._manager.parser(agent.parser), world.find(eid, Blackboard)
        if board is None:
            agent.pending = False
            return
        try:
            if isinstance(text, ParseError):
                raise text  # noqa: TRY301  one place where a reply that can't be used ends
            if parser is None:
                raise ParseError(f"there is no parser {agent.parser!r} any more")  # noqa: TRY301  likewise
            changed = parse_into(text, board, parser, self._manager.declared(agent))
        except Exception as error:  # noqa: BLE001  a parser is anybody's code
            said = answer.text if isinstance(text, ParseError) else text
            self._fail(eid, agent, ErrorKind.PARSE, _told(error), flight, latency_s, reply=said)
            return
        agent.pending = False
        agent.consecutive_errors = 0
        self._answered += 1
        if self._config.conversation_turns:
            agent.turns.append((flight.messages[eid], text))
            del agent.turns[: -self._config.conversation_turns]
        if self._config.skip_unchanged:
            agent.prompt_hash = self._manager.prompt_hash(flight.system_prompt, flight.messages[eid])
        self._put(eid, agent)
        self._manager.tell_response(eid, latency_s, len(text), self._tick)
        if self._manager.records_thoughts:
            thought = self._thought(eid, flight, latency_s, reply=text, answer=answer, directives=plain_copy(changed))
            self._manager.tell_thought(thought, self._tick)

    def _time_out(self, _world: "World", flight: Flight) -> None:
        self._flights.end(flight.job)
        if not self._workers.abandon(flight.job):
            _log.warning("a client does not return and too many threads are stuck; no other takes its place")
        self._missed(flight)

    def _missed(self, flight: Flight) -> None:
        limit_s = flight.deadline_s - flight.submitted_at_s
        for eid, agent in flight.agents.items():
            self._fail(eid, agent, ErrorKind.TIMEOUT, f"no answer within {limit_s:g} s", flight, limit_s)

    def _fail(
        self,
        eid: int,
        agent: LLMAgent,
        kind: ErrorKind,
        message: str,
        flight: Flight | None = None,
        latency_s: float = 0.0,
        *,
        reply: str = "",
    ) -> None:
        """Count a failure; after too many the agent has to wait."""
        self._failed += 1
        agent.pending = False
        agent.consecutive_errors += 1
        if agent.consecutive_errors >= agent.max_retries:
            agent.cooldown_until = self._tick + agent.cooldown_ticks
        if flight is None:
            agent.last_query_tick = self._tick
        self._put(eid, agent)
        self._manager.tell_error(eid, kind, message, self._tick)
        if self._manager.records_thoughts and flight is not None:
            thought = self._thought(eid, flight, latency_s, reply=reply, kind=kind, error=message)
            self._manager.tell_thought(thought, self._tick)

    def _thought(
        self,
        eid: int,
        flight: Flight,
        latency_s: float,
        *,
        reply: str = "",
        answer: "Deliberation | None" = None,
        directives: dict[str, Any] | None = None,
        kind: ErrorKind | None = None,
        error: str = "",
    ) -> Thought:
        return Thought(
            entity_id=eid,
            asked_tick=flight.asked_tick,
            answered_tick=self._tick,
            system_prompt=flight.system_prompt,
            user_message=flight.messages[eid],
            reply=reply,
            thinking=answer.thinking if answer else "",
            directives=directives or {},
            client=flight.client,
            model=answer.model if answer else "",
            prompt_tokens=answer.prompt_tokens if answer else None,
            completion_tokens=answer.completion_tokens if answer else None,
            latency_s=latency_s,
            cost_usd=answer.cost_usd if answer else None,
            error_type=kind.value if kind else "",
            error=error,
        )

    # Questions

    def _room(self, now_s: float) -> int:
        """How many queries may go out in this tick."""
        recent = self._recent
        while recent and now_s - recent[0] >= 1.0:
            recent.popleft()
        config = self._config
        return min(
            config.max_queries_per_tick,
            config.max_queries_per_second - len(recent),
            config.max_in_flight - len(self._flights),
        )

    def _dispatch(self, world: "World", now_s: float) -> None:
        room = self._room(now_s)
        while room > 0 and (turn := self._schedule.take()) is not None:
            if not self._manager.has_clients():
                self._schedule.put_back(turn)
                self._manager.tell_error(0, ErrorKind.NO_CLIENT, "no client; call register_client()", self._tick)
                return
            prepared = self._prepare(world, turn)
            if prepared is None:
                continue
            group = [prepared]
            if self._config.batch_size > 1:
                group += self._companions(world, prepared)
            self._send(group, now_s)
            self._recent.append(now_s)
            room -= 1

    def _prepare(self, world: "World", turn: Turn) -> "_Prepared | None":
        """The prompt of an agent that has come up, or None if it is not to be asked now."""
        eid = turn.entity_id
        agent = world.find(eid, LLMAgent)
        if agent is None:
            return None
        if not world.has(eid, Blackboard):
            if eid not in self._without_board:
                self._without_board.add(eid)
                _log.warning("entity %d has an LLMAgent but no Blackboard; it is not asked", eid)
            return None
        if agent.cooldown_until and agent.cooldown_until <= self._tick:
            agent.cooldown_until = 0
            agent.consecutive_errors = 0
        pressed = eid in self._pressing
        self._pressing.discard(eid)
        if not pressed and self._due(eid, agent) > self._tick:
            self._put(eid, agent)
            return None
        problem = self._manager.missing(agent)
        if problem:
            self._hold(eid, agent)
            self._manager.tell_error(eid, ErrorKind.MISSING_DEFINITION, problem, self._tick)
            return None
        return self._assemble(world, eid, agent)

    def _assemble(self, world: "World", eid: int, agent: LLMAgent) -> "_Prepared | None":
        manager = self._manager
        try:
            client = manager.client_name(world, eid, agent)
            prompt = manager.assemble_prompt(world, eid, agent)
            assert prompt is not None, "all definitions are there"
            if manager.estimates:
                manager.tell_estimate(eid, manager.count_tokens("\n".join(prompt)), self._tick)
        except Exception as error:  # noqa: BLE001  contexts, routers and counters are anybody's code
            self._fail(eid, agent, ErrorKind.CONTEXT, f"context {agent.context!r} raised {_told(error)}")
            return None
        if manager.client(client) is None:
            self._hold(eid, agent)
            problem = f"there is no client {client!r}; register it with register_client(client, {client!r})"
            manager.tell_error(eid, ErrorKind.MISSING_DEFINITION, problem, self._tick)
            return None
        if self._config.skip_unchanged and agent.prompt_hash == manager.prompt_hash(*prompt):
            agent.last_query_tick = self._tick
            self._skipped += 1
            self._put(eid, agent)
            return None
        return _Prepared(eid, agent, client, prompt[0], prompt[1])

    def _companions(self, world: "World", first: "_Prepared") -> list["_Prepared"]:
        """Others that are due and can share the call."""
        found: list[_Prepared] = []
        others: list[Turn] = []
        for _ in range(4 * self._config.batch_size):
            if len(found) + 1 == self._config.batch_size or (turn := self._schedule.take()) is None:
                break
            agent = world.find(turn.entity_id, LLMAgent)
            if agent is None or (agent.role, agent.parser) != (first.agent.role, first.agent.parser):
                others.append(turn)
                continue
            prepared = self._prepare(world, turn)
            if prepared is None:
                continue
            if (prepared.system_prompt, prepared.client) == (first.system_prompt, first.client):
                found.append(prepared)
            else:
                others.append(turn)
        for turn in others:
            self._schedule.put_back(turn)
        return found

    def _send(self, group: list["_Prepared"], now_s: float) -> None:
        first, manager = group[0], self._manager
        schema = manager.reply_schema(first.agent)
        message = first.user_message
        if len(group) > 1:
            message = joined([(one.entity_id, one.user_message) for one in group])
            schema = joined_schema([one.entity_id for one in group], schema)
        fields: list[tuple[str, Any]] = []
        streams = self._config.stream_fields and len(group) == 1
        turns = tuple(first.agent.turns[-self._config.conversation_turns :]) if self._config.conversation_turns else ()
        question = Question(
            first.system_prompt,
            message,
            turns,
            first.entity_id,
            schema,
            self._config.query_timeout,
            (lambda name, value: fields.append((name, value))) if streams else None,
        )
        for one in group:
            one.agent.pending = True
            one.agent.last_query_tick = self._tick
            self._held.pop(one.entity_id, None)
        try:
            job = self._submit(first.client, question)
        except Exception as error:  # noqa: BLE001  a client is anybody's code
            for one in group:
                self._fail(one.entity_id, one.agent, kind_of(error), _told(error))
            return
        flight = Flight(
            {one.entity_id: one.agent for one in group},
            {one.entity_id: one.user_message for one in group},
            first.system_prompt,
            first.client,
            self._tick,
            now_s,
            now_s + self._config.query_timeout,
            job,
            fields,
        )
        self._flights.add(flight)
        self._asked += 1
        for one in group:
            manager.tell_query(one.entity_id, len(one.system_prompt) + len(one.user_message), self._tick)

    def _submit(self, name: str, question: Question) -> Job[Any]:
        client = self._manager.client(name)
        assert client is not None, "looked up before"
        if isinstance(client, AsyncLLMClient):
            return self._workers.submit_async(client.answer(question))
        blocking, system_prompt, message = client, question.system_prompt, question.folded()
        return self._workers.submit(lambda: blocking.query(system_prompt, message))


@dataclass(frozen=True, slots=True)
class _Prepared:
    """An agent that is about to be asked."""

    entity_id: int
    agent: LLMAgent
    client: str
    system_prompt: str
    user_message: str


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"

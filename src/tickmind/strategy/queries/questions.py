"""`QueryDispatcher`: selects the agents to ask in this tick, makes their prompts and passes them to the workers."""

import logging
from collections import deque
from collections.abc import Coroutine
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from tickmind.base import error_text
from tickmind.strategy.clients.client import Question, folded
from tickmind.strategy.clients.workers import Workers, WorkItem
from tickmind.strategy.components import LLMAgent
from tickmind.strategy.config import LLMConfig
from tickmind.strategy.errors import CAUGHT, ErrorKind, kind_of
from tickmind.strategy.manager import LLMManager
from tickmind.strategy.prompts import PromptTooLongError
from tickmind.strategy.queries.answers import Answers, Counts
from tickmind.strategy.queries.batches import joined, joined_schema, share
from tickmind.strategy.queries.due_agents import URGENT, DueAgents
from tickmind.strategy.queries.due_queue import QueryTurn
from tickmind.strategy.queries.flights import Flight, Flights
from tickmind.strategy.queries.pace import Paces

if TYPE_CHECKING:
    from tickmind.tick import World

MOST_PASSED_OVER_PER_TICK = 256  # agents that are due but skipped: unchanged, undefined, failing
MOST_WARNINGS = 1000  # different ones
NO_LIMIT = 1 << 30  # queries in one tick of a lockstep run
LOCKSTEP_PATIENCE_S = 600.0  # of real time, for one reply in a lockstep run
DEFERRED = "deferred"  # the reason of a wait that was asked for
_log = logging.getLogger("tickmind.strategy")


@dataclass(slots=True)
class Prepared:
    """An agent with its prompt, before it is sent."""

    entity_id: int
    agent: LLMAgent
    client: str
    system_prompt: str
    user_message: str
    turns: tuple[tuple[str, str], ...]
    presses: bool = False
    choices: tuple[str, ...] = ()

    @property
    def priority(self) -> int:
        """The priority for other users of the client; one step higher for an urgent question."""
        return self.agent.priority + self.presses


class QueryDispatcher:
    """Send out the queries that are due, within limits."""

    def __init__(
        self,
        manager: LLMManager,
        roster: DueAgents,
        answers: Answers,
        flights: Flights,
        workers: Workers,
        counts: Counts,
        paces: Paces,
    ) -> None:
        self._manager = manager
        self._config = manager.config
        self._roster = roster
        self._answers = answers
        self._flights = flights
        self._workers = workers
        self._counts = counts
        self._paces = paces
        self._left: list[QueryTurn] = []  # agents that are due in this tick, and whose client is busy
        self._recent: deque[float] = deque()  # when the queries of the last second went out
        self._warned: set[str] = set()  # problems that are already logged

    def use_config(self, config: LLMConfig) -> None:
        """Go by other settings from now on."""
        self._config = config

    def room(self, now_s: float) -> int:
        """How many queries may go out in this tick."""
        if self._config.lockstep:
            return NO_LIMIT
        recent = self._recent
        while recent and now_s - recent[0] >= 1.0:
            recent.popleft()
        config = self._config
        room = config.max_queries_per_tick
        if config.max_in_flight is not None:
            room = min(room, config.max_in_flight - len(self._flights))
        if config.max_queries_per_second is None:
            return room
        return min(room, config.max_queries_per_second - len(recent))

    def dispatch(self, world: "World", now_s: float) -> None:
        """Ask the agents that are due, by priority, then the longest due."""
        room = self.room(now_s)
        self._roster.advance(most=room)
        if room > 0 and self._roster.schedule.ready and self._all_have_to_wait():
            return
        try:
            self._ask(world, room, now_s)
        finally:
            for turn in self._left:
                self._roster.schedule.put_back(turn)
            self._left.clear()

    def _ask(self, world: "World", room: int, now_s: float) -> None:
        schedule, passed_over = self._roster.schedule, 0
        while room > 0 and passed_over < MOST_PASSED_OVER_PER_TICK and (turn := schedule.take()) is not None:
            if not self._manager.clients:
                schedule.put_back(turn)
                self._report(0, ErrorKind.NO_CLIENT, "no client is registered; call register_client()")
                return
            prepared = self._prepare(world, turn)
            if prepared is None:
                passed_over += 1
                continue
            group = [prepared]
            if self._config.batch_size > 1:
                group += self._companions(world, prepared)
            self._send(world, group, now_s)
            if self._config.max_queries_per_second is not None:
                self._recent.append(now_s)
            room -= 1

    def _report(self, eid: int, kind: ErrorKind, problem: str) -> None:
        """Report a missing set-up to on_error; log each problem once."""
        if problem not in self._warned and len(self._warned) < MOST_WARNINGS:
            self._warned.add(problem)
            _log.warning("%s: %s", f"entity {eid} is not asked" if eid else "no entity is asked", problem)
        self._manager.tell_error(eid, kind, problem, self._roster.tick)

    # Shared clients

    def _all_have_to_wait(self) -> bool:
        """Return whether all clients require a wait, so that no agent need be checked."""
        clients = self._manager.clients
        return bool(clients) and all(self._is_at_work(name) or self._ticks_to_wait(name) for name in clients)

    def _is_at_work(self, client: str) -> bool:
        """Return whether a client has as many of our questions as it works on, and so gets no more.

        Agents that wait for it are asked when it is free, with a fresh prompt. A client that blocks has no more
        questions than threads: a question that waits for a thread would grow old there.
        """
        if self._config.max_in_flight is not None or self._config.lockstep:
            return False
        window = self._paces.of(client).window
        if not self._manager.answers_on_loop(client):
            window = min(window, self._config.thread_pool_size)
        return self._flights.under_way(client) >= window

    def _ticks_to_wait(self, client: str) -> int:
        """Return for how many ticks a client is not to be asked, as far as it knows."""
        shared = self._manager.shared_clients.get(client)
        if shared is None or self._config.lockstep:
            return 0
        try:
            return self._roster.ticks(shared.ready_in_s())
        except CAUGHT as error:
            self._report(0, ErrorKind.API, f"ready_in_s of client {client!r} raised {error_text(error)}")
            return 0

    def tell_deferral(self, world: "World", eid: int, ticks: int) -> None:
        """Notify a shared client that an agent waits."""
        agent = world.find(eid, LLMAgent)
        if agent is None:
            return
        self._manager.tell_deferred(eid, DEFERRED, agent.deferred_until, self._roster.tick)
        if not self._manager.shared_clients:
            return
        try:
            shared = self._manager.shared_clients.get(self._manager.client_name(world, eid, agent))
            if shared is not None:
                self._workers.submit_async(shared.defer(eid, ticks * self._roster.dt))
        except CAUGHT as error:
            self._report(eid, kind_of(error), f"can't report its deferral to the client: {error_text(error)}")

    # Prompts

    def _prepare(self, world: "World", turn: QueryTurn) -> Prepared | None:
        """Make the prompt of an agent that is due, or return None if it is not to be asked now.

        While its client requires a wait, no prompt is made: it would be stale when it went out.
        """
        eid = turn.entity_id
        agent = self._roster.comes_up(world, eid)
        if agent is None:
            return None
        try:
            client = self._client(world, eid, agent)
        except CAUGHT as error:  # such as a name that is no text
            self._roster.set_aside(eid, agent, error)
            return None
        if client is None:
            return None
        if self._is_at_work(client):
            if self._roster.is_agent(world, eid, agent):  # the router may have removed it
                self._left.append(turn)
            return None
        if ticks := self._ticks_to_wait(client):
            if self._roster.is_agent(world, eid, agent):  # the router may have removed it
                self._roster.schedule.hold(turn, self._roster.tick + ticks)
            return None
        presses = turn.head_start > 0 or turn.minus_priority == -URGENT
        return self._assemble(world, eid, agent, client, presses=presses)

    def _client(self, world: "World", eid: int, agent: LLMAgent) -> str | None:
        """Return the name of the client to ask, if all that the agent refers to is defined."""
        manager = self._manager
        if not isinstance(agent.parser, str):
            raise TypeError("parser must be a text")  # the other names are looked up here and fail by themselves
        problem = manager.missing(agent)
        if not problem:
            try:
                client = manager.client_name(world, eid, agent)
            except CAUGHT as error:
                self._give_up(world, eid, agent, f"the router raised {error_text(error)}")
                return None
            if manager.client(client) is not None:
                return client
            problem = f"no client {client!r} is registered; register it with register_client(client, {client!r})"
        self._roster.hold(eid, agent)
        self._report(eid, ErrorKind.MISSING_DEFINITION, problem)
        return None

    def _assemble(self, world: "World", eid: int, agent: LLMAgent, client: str, *, presses: bool) -> Prepared | None:
        manager, config = self._manager, self._config
        try:
            prompt = manager.make_prompt(world, eid, agent)
            turns = manager.turns_within(agent, prompt)
            choices = manager.choices(world, eid, agent)
            unchanged = config.skip_unchanged and agent.prompt_hash == manager.prompt_hash(*prompt)
            if manager.estimates and not unchanged:
                tokens = manager.count_tokens(f"{prompt[0]}\n{folded(prompt[1], turns)}")
                manager.tell_estimate(eid, tokens, self._roster.tick)
        except CAUGHT as error:
            too_long = isinstance(error, PromptTooLongError)
            problem = str(error) if too_long else f"context {agent.context!r} raised {error_text(error)}"
            self._give_up(world, eid, agent, problem)
            return None
        if not self._roster.is_agent(world, eid, agent):
            return None  # the context function removed it
        if unchanged:
            self._counts.skipped += 1
            self._roster.asked(eid, agent)
            self._roster.put(eid, agent)
            return None
        return Prepared(eid, agent, client, *prompt, turns, presses, choices)

    def _give_up(self, world: "World", eid: int, agent: LLMAgent, problem: str) -> None:
        """Count a question that could not be sent as failed."""
        self._roster.asked(eid, agent)
        self._answers.fail(world, eid, agent, ErrorKind.CONTEXT, problem)

    def _companions(self, world: "World", first: Prepared) -> list[Prepared]:
        """Return other agents that are due and can share the call."""
        schedule = self._roster.schedule
        companions: list[Prepared] = []
        others: list[QueryTurn] = []
        for _ in range(4 * self._config.batch_size):
            if len(companions) + 1 == self._config.batch_size or (turn := schedule.take()) is None:
                break
            agent = world.find(turn.entity_id, LLMAgent)
            if agent is None or not self._can_share(world, turn.entity_id, agent, first):
                others.append(turn)
                continue
            prepared = self._prepare(world, turn)
            if prepared is None:
                continue
            if not self._within_budget([first, *companions, prepared]):
                others.append(turn)
                break
            companions.append(prepared)
        for turn in others:
            schedule.put_back(turn)
        return companions

    def _within_budget(self, group: list[Prepared]) -> bool:
        """Return whether one call for all of them fits the token budget."""
        budget = self._config.token_budget
        if budget is None:
            return True
        try:
            count = self._manager.count_tokens
            return count(group[0].system_prompt) + count(_message(group)) <= budget
        except CAUGHT:  # alone, each was counted without an error
            return False

    def _can_share(self, world: "World", eid: int, agent: LLMAgent, first: Prepared) -> bool:
        mine, other = agent, first.agent
        if (mine.role, mine.personality, mine.parser) != (other.role, other.personality, other.parser):
            return False
        try:
            return self._manager.client_name(world, eid, agent) == first.client
        except CAUGHT:  # reported to on_error when the agent itself is due
            return False

    # Sending

    def _send(self, world: "World", group: list[Prepared], now_s: float) -> None:
        if len(group) > 1:  # an agent's context function may have removed another
            group = [member for member in group if self._roster.is_agent(world, member.entity_id, member.agent)]
            if not group:
                return
        first, manager, tick = group[0], self._manager, self._roster.tick
        timeout_s = self._config.query_timeout or self._patience_s(first.client)
        flight = Flight(
            {member.entity_id: member.agent for member in group},
            {member.entity_id: member.user_message for member in group},
            first.system_prompt,
            first.client,
            tick,
            now_s,
            now_s + timeout_s * self._rounds(first.client),
            self._flights.under_way(first.client) + 1,
        )
        for member in group:
            member.agent.pending = True
            self._roster.asked(member.entity_id, member.agent)
            self._counts.note_wait(self._roster.schedule.asked(member.entity_id, tick) * self._roster.dt)
        try:
            question = self._question(group, flight, timeout_s)
            flight.job = self._submit(first.client, question)
        except CAUGHT as error:
            self._answers.take_error(world, flight, error, now_s)
            return
        self._flights.add(flight)
        self._counts.asked += 1
        if not manager.reports_queries:
            return
        size = question.size(folds=not manager.answers_on_loop(first.client))
        for place, member in enumerate(group):
            manager.tell_query(member.entity_id, share(size, len(group), place) or 0, tick)

    def _rounds(self, client: str) -> int:
        """Return how many timeouts a question may take: in lockstep it may wait for the threads before its own call."""
        if not self._config.lockstep or self._manager.answers_on_loop(client):
            return 1
        return 1 + self._flights.under_way(client) // self._config.thread_pool_size

    def _patience_s(self, client: str) -> float:
        return LOCKSTEP_PATIENCE_S if self._config.lockstep else self._paces.of(client).patience_s

    def _question(self, group: list[Prepared], flight: Flight, timeout_s: float) -> Question:
        first = group[0]
        schema = self._manager.reply_schema(first.agent)
        if len(group) > 1:
            message = _message(group)
            schema = joined_schema([member.entity_id for member in group], schema)
            priority = max(member.priority for member in group)
            return Question(
                first.system_prompt,
                message,
                (),
                first.entity_id,
                schema,
                timeout_s,
                priority=priority,
                waits=self._config.lockstep,
            )
        fields = flight.fields
        streams = self._config.stream_fields
        return Question(
            first.system_prompt,
            first.user_message,
            first.turns,
            first.entity_id,
            schema,
            timeout_s,
            (lambda name, value: fields.append((name, value))) if streams else None,
            first.priority,
            (lambda: fields.append(None)) if streams else None,
            waits=self._config.lockstep,
            one_line=self._manager.wants_line(first.agent),
            choices=first.choices,
        )

    def _submit(self, name: str, question: Question) -> WorkItem[Any]:
        client: Any = self._manager.client(name)
        if self._manager.answers_on_loop(name):
            work = client.answer(question)
            if not isinstance(work, Coroutine):
                raise TypeError(f"answer() of client {name!r} must return a coroutine, not a {type(work).__name__}")
            return self._workers.submit_async(work)
        return self._workers.submit(partial(client.query, question.system_prompt, question.folded()))


def _message(group: list[Prepared]) -> str:
    """Return one user message for all of a batch."""
    return joined([(member.entity_id, folded(member.user_message, member.turns)) for member in group])

"""`DueAgents`: the agents of a world, and when each is due.

The rule: an agent is due when its interval, its cooldown and its deferral are over. Its interval may be cut short (by a
trigger, or on request), and a first question may be spread over it.
"""

import logging
import math
from collections import OrderedDict
from itertools import islice
from typing import TYPE_CHECKING, Any

from tickmind.ai import Blackboard
from tickmind.base import error_text
from tickmind.strategy.components import LLMAgent, flaw
from tickmind.strategy.errors import CAUGHT, ErrorKind
from tickmind.strategy.functions import refuse_coroutine
from tickmind.strategy.manager import LLMManager, QueryRequest
from tickmind.strategy.queries.due_queue import MOST_MOVES_PER_TICK, DueQueue
from tickmind.strategy.queries.flights import Flights
from tickmind.strategy.queries.pace import Paces
from tickmind.strategy.replies.streaming import put_back_streamed
from tickmind.tick import TickError

if TYPE_CHECKING:
    from tickmind.tick import World

SWEPT_PER_TICK = 16  # agents that are checked for fields that user code changed
LONGEST_WAIT_S = 86_400.0  # a longer wait that a client reports is cut to this
UNEXPLAINED_TICKS = 100  # for which an agent is skipped whose fields do not show why it fails
URGENT = 1_000_000_000  # the priority of an agent that is to be asked at once
HEAD_START_TICKS = 100  # of an urgent question, at least
HEAD_START_ROUNDS = 0.5  # the same, in rounds of all agents at the pace that was learnt
_ROUNDING = 1e-6  # a wait of exactly one tick is one tick
_SPREAD = 2654435761  # a multiplier that scatters neighbouring ids
_log = logging.getLogger("tickmind.strategy")


class DueAgents:
    """Track the agents of one world. The world's hooks report changes, so a tick need not look at all."""

    def __init__(self, manager: LLMManager, flights: Flights, paces: Paces) -> None:
        self.tick = 0  # the current tick
        self.dt = 0.05  # seconds per tick
        self.schedule = DueQueue(aging_ticks=manager.config.priority_aging_ticks)
        self._manager = manager
        self._config = manager.config
        self._flights = flights
        self._paces = paces
        self._world: World | None = None
        self._out_of_date = False  # restored, and the new tick is not known yet
        self._known: OrderedDict[int, None] = OrderedDict()  # agents, the next to be checked first
        self._triggered: dict[int, int] = {}  # agents with a trigger -> the tick from which on it is checked
        self._starts: dict[int, int] = {}  # agents that are due at another tick than their interval says
        self._held: dict[int, int] = {}  # agents that can't be asked -> the tick until which they are skipped
        self._without_board: set[int] = set()  # warned about
        self._deferred: set[int] = set()  # agents that were deferred, also some whose wait is over
        self._urgent: set[int] = set()  # agents that are to be asked at once
        self._pressing: set[int] = set()  # agents whose trigger came true since their last question
        self._malformed: dict[int, str] = {}  # agents that are skipped -> why, as reported to on_error

    def __len__(self) -> int:
        return len(self._known)

    def is_agent(self, world: "World", eid: int, agent: LLMAgent) -> bool:
        """Return whether a component is still the entity's own; user code that ran meanwhile may have removed it."""
        return world.find(eid, LLMAgent) is agent and world.has(eid, Blackboard)

    def deferred(self) -> int:
        """Return how many agents are deferred."""
        world = self._world
        for eid in tuple(self._deferred):
            agent = world.find(eid, LLMAgent) if world is not None else None
            if agent is None or eid in self._malformed or flaw(agent) or agent.deferred_until <= self.tick:
                self._deferred.discard(eid)
        return len(self._deferred)

    # When they are due

    def ticks(self, seconds: Any) -> int:
        """Return how many ticks a wait takes, rounded up; 0 for an invalid time."""
        if not (isinstance(seconds, (int, float)) and seconds > 0):
            return 0
        return math.ceil(min(seconds, LONGEST_WAIT_S) / self.dt - _ROUNDING)

    def cool(self, agent: LLMAgent, seconds: Any, gone_s: float = 0.0) -> None:
        """Make an agent wait because its client required it `gone_s` ago; this never shortens a wait."""
        if ticks := self.ticks(seconds):
            left = self.ticks(seconds - gone_s) if gone_s > 0 else ticks
            agent.cooldown_until = max(agent.cooldown_until, self.tick + left)

    def ask_again(self, eid: int) -> None:
        """Make an agent due as soon as its waits are over, whatever its interval says."""
        self._starts[eid] = self.tick

    def due(self, eid: int, agent: LLMAgent) -> int:
        """Return the tick in which an agent is due; the end of a cooldown is such a tick too."""
        cooldown_until = agent.cooldown_until
        if cooldown_until > self.tick:
            return cooldown_until
        start = self._starts.get(eid) if self._starts else None
        if start is None:
            start = agent.last_query_tick + agent.query_interval
        due = max(start, cooldown_until, agent.deferred_until)
        return max(due, self._held.get(eid, 0)) if self._held else due

    def put(self, eid: int, agent: LLMAgent) -> None:
        """Schedule an agent for the tick in which it is due."""
        try:
            if self._malformed and eid in self._malformed:
                if flaw(agent):
                    return
                del self._malformed[eid]
            head_start = self._head_start() if eid in self._pressing else 0
            self.schedule.put(eid, self.due(eid, agent), self._priority(eid, agent), head_start)
        except CAUGHT as error:
            self.set_aside(eid, agent, error)

    def _priority(self, eid: int, agent: LLMAgent) -> int:
        return URGENT if eid in self._urgent else agent.priority

    def _head_start(self) -> int:
        """Return the head start of an urgent question: others go first only if they waited longer by so many ticks.

        Half a round: urgent questions go first, and all others still get their turn.
        """
        least = self._config.priority_aging_ticks or HEAD_START_TICKS
        spacing_s = self._paces.spacing_s()
        if spacing_s is None:
            return least
        return max(least, self.ticks(HEAD_START_ROUNDS * len(self._known) * spacing_s))

    def hold(self, eid: int, agent: LLMAgent) -> None:
        """Skip an agent that can't be asked for an interval."""
        self._held[eid] = self.tick + max(1, agent.query_interval)
        self.put(eid, agent)

    def set_aside(self, eid: int, agent: LLMAgent, error: BaseException) -> None:
        """Skip a malformed agent until its fields are valid again; each flaw goes to on_error once."""
        self.schedule.drop(eid)
        try:
            problem = flaw(agent)
        except CAUGHT as worse:
            problem = error_text(worse)
        if not problem:
            problem = error_text(error)
            self._held[eid] = self.tick + UNEXPLAINED_TICKS
        if self._malformed.get(eid) != problem:
            self._malformed[eid] = problem
            _log.warning("entity %d is not asked: its LLMAgent is malformed: %s", eid, problem)
            self._manager.tell_error(eid, ErrorKind.MALFORMED_AGENT, problem, self.tick)

    def asked(self, eid: int, agent: LLMAgent) -> None:
        """Begin a new interval after a question."""
        agent.last_query_tick = self.tick
        self._starts.pop(eid, None)
        self._held.pop(eid, None)
        self._urgent.discard(eid)
        self._pressing.discard(eid)

    def advance(self, *, most: int) -> None:
        """Move the agents that are due to the ready ones."""
        self.schedule.advance(self.tick, most=max(most, MOST_MOVES_PER_TICK))

    def comes_up(self, world: "World", eid: int) -> LLMAgent | None:
        """Return the agent whose turn it is, or None if it is not to be asked now after all."""
        agent = world.find(eid, LLMAgent)
        if agent is None or self._flights.of_entity(eid) is not None:
            return None
        try:
            return self._coming_up(world, eid, agent)
        except CAUGHT as error:
            self.set_aside(eid, agent, error)
            return None

    def _coming_up(self, world: "World", eid: int, agent: LLMAgent) -> LLMAgent | None:
        self._end_cooldown(agent)
        if not world.has(eid, Blackboard):
            if eid not in self._without_board:
                self._without_board.add(eid)
                _log.warning("entity %d has an LLMAgent but no Blackboard; it is not asked until it has one", eid)
            return None
        if self.due(eid, agent) > self.tick:
            self.put(eid, agent)
            return None
        return agent

    def _end_cooldown(self, agent: LLMAgent) -> None:
        """Reset an agent's retries when its cooldown is over."""
        if agent.consecutive_errors >= agent.max_retries and agent.cooldown_until <= self.tick:
            agent.consecutive_errors = 0

    # Requests

    def take_wishes(self, world: "World") -> list[tuple[int, int]]:
        """Carry out the requests since the last tick; for an agent that waits, when it has its answer.

        Returns the deferred agents, and by how many ticks.
        """
        deferrals: list[tuple[int, int]] = []
        for wish in self._manager.take_wishes():
            agent = world.find(wish.entity_id, LLMAgent)
            if agent is None:
                continue
            try:
                self._grant(wish, agent)
            except CAUGHT as error:
                self.set_aside(wish.entity_id, agent, error)
                continue
            if wish.defer_ticks is not None:
                deferrals.append((wish.entity_id, wish.defer_ticks))
            if self._flights.of_entity(wish.entity_id) is None:
                self.put(wish.entity_id, agent)
        return deferrals

    def _grant(self, wish: QueryRequest, agent: LLMAgent) -> None:
        eid = wish.entity_id
        if wish.defer_ticks is not None:
            agent.deferred_until = self.tick + wish.defer_ticks
            self._deferred.add(eid)
            return
        self._held.pop(eid, None)
        if wish.at_once:
            agent.deferred_until = 0
            if agent.consecutive_errors >= agent.max_retries:  # a cooldown after failures, not one of a client
                agent.cooldown_until = agent.consecutive_errors = 0
            self._urgent.add(eid)
        if self.due(eid, agent) > self.tick:
            self._starts[eid] = self.tick

    def check_triggers(self, world: "World") -> None:
        """Check the triggers that start a query before the interval is over, where a query would be allowed.

        An agent that is due already, and waits, goes before others that are not urgent.
        """
        for eid, from_tick in tuple(self._triggered.items()):
            agent = world.find(eid, LLMAgent)
            if agent is None or not agent.trigger or eid in self._malformed:
                self._triggered.pop(eid, None)
                continue
            if from_tick > self.tick or self._flights.of_entity(eid) is not None or not world.has(eid, Blackboard):
                continue
            if eid in self._pressing:
                continue
            try:
                gap_over = agent.last_query_tick + self._config.trigger_gap if agent.last_query_tick else 0
                if max(gap_over, agent.cooldown_until, agent.deferred_until) > self.tick:
                    continue
                if not self._presses(world, eid, agent):
                    continue
                self._pressing.add(eid)
                if self.due(eid, agent) > self.tick:
                    self._starts[eid] = self.tick
                    self.put(eid, agent)
                else:
                    self.schedule.press(eid, self._head_start())
            except CAUGHT as error:
                self.set_aside(eid, agent, error)

    def _presses(self, world: "World", eid: int, agent: LLMAgent) -> bool:
        fn = self._manager.trigger(agent.trigger)
        if fn is None:
            return False
        try:
            pressing = fn(world, eid)
            refuse_coroutine(f"trigger {agent.trigger!r}", pressing)
            pressing = bool(pressing)
        except CAUGHT as error:
            self._triggered[eid] = self.tick + max(1, agent.query_interval)
            problem = f"trigger {agent.trigger!r} raised {error_text(error)}"
            self._manager.tell_error(eid, ErrorKind.CONTEXT, problem, self.tick)
            return False
        return pressing and self.is_agent(world, eid, agent)

    # Registration

    def watch(self, world: "World") -> None:
        """Start tracking the agents of the world; after a restore, again."""
        if self._world is None:
            self._world = world
            world.on_attach(LLMAgent, self._agent_came)
            world.on_detach(LLMAgent, self._agent_went)
            world.on_attach(Blackboard, self._board_came)
            world.on_detach(Blackboard, self._board_went)
            world.on_restore(self._restored)
            self._restored(world)
        elif self._world is not world:
            raise TickError("an LLM system serves a single world; make another with make_llm_system()")
        if self._out_of_date:
            self._out_of_date = False
            for eid, (agent,) in world.query(LLMAgent):
                self._agent_came(world, eid, agent)

    def look_around(self, world: "World") -> None:
        """Check some agents each tick for fields that user code changed."""
        known, find, has, flight_of = self._known, world.find, world.has, self._flights.of_entity
        for eid in tuple(islice(known, SWEPT_PER_TICK)):
            known.move_to_end(eid)
            agent = find(eid, LLMAgent)
            if agent is None or flight_of(eid) is not None or not has(eid, Blackboard):
                continue
            try:
                if agent.trigger and eid not in self._malformed:
                    self._triggered.setdefault(eid, 0)
                if agent.consecutive_errors:
                    self._end_cooldown(agent)
                priority = agent.priority if not self._urgent else self._priority(eid, agent)
                if not self.schedule.is_planned(eid, self.due(eid, agent), priority):
                    self.put(eid, agent)
            except CAUGHT as error:
                self.set_aside(eid, agent, error)

    def _restored(self, world: "World") -> None:
        self._flights.let_go()
        self.schedule.clear()
        for kept in (self._known, self._triggered, self._starts, self._held, self._without_board, self._deferred):
            kept.clear()
        self._urgent.clear()
        self._pressing.clear()
        self._malformed.clear()
        for eid, (agent,) in world.query(LLMAgent):
            agent.pending = False
            if agent.streamed:
                put_back_streamed(agent, world.find(eid, Blackboard))
        self._out_of_date = True

    def _agent_came(self, world: "World", eid: int, agent: LLMAgent) -> None:
        flight = self._flights.of_entity(eid)
        if flight is not None and flight.agents[eid] is agent:
            return
        self._agent_went(world, eid, agent)
        if self._out_of_date:
            return
        self._known[eid] = None
        try:
            if agent.deferred_until > self.tick:
                self._deferred.add(eid)
            if agent.trigger:
                self._triggered[eid] = 0
            if self._config.stagger and agent.query_interval > 0 and not agent.last_query_tick:
                self._starts[eid] = self.tick + 1 + eid * _SPREAD % agent.query_interval
        except CAUGHT as error:
            self.set_aside(eid, agent, error)
        else:
            self.put(eid, agent)

    def _agent_went(self, _world: "World", eid: int, agent: LLMAgent) -> None:
        self._flights.leave(eid)
        agent.pending = False
        self.schedule.drop(eid)
        self._known.pop(eid, None)
        self._triggered.pop(eid, None)
        self._starts.pop(eid, None)
        self._held.pop(eid, None)
        self._without_board.discard(eid)
        self._deferred.discard(eid)
        self._urgent.discard(eid)
        self._pressing.discard(eid)
        self._malformed.pop(eid, None)

    def _board_came(self, world: "World", eid: int, _board: Blackboard) -> None:
        self._without_board.discard(eid)
        self._plan_again(world, eid)

    def _board_went(self, world: "World", eid: int, _board: Blackboard) -> None:
        self._flights.leave(eid)
        self._plan_again(world, eid)

    def _plan_again(self, world: "World", eid: int) -> None:
        agent = world.find(eid, LLMAgent)
        if agent is not None and self._flights.of_entity(eid) is None and eid in self._known:
            self.put(eid, agent)

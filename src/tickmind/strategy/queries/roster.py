"""Which agents there are, and when each is due.

The rule: an agent is due when its interval, its cooldown and its deferral are over. Its interval may be cut short (by a
trigger, or because somebody asks for it), and a first question may be spread over it.
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
from tickmind.strategy.manager import LLMManager, Wish
from tickmind.strategy.queries.flights import Flights
from tickmind.strategy.queries.pace import Paces
from tickmind.strategy.queries.schedule import MOST_MOVES_PER_TICK, QuerySchedule
from tickmind.strategy.replies.streaming import put_back_streamed
from tickmind.tick import TickError

if TYPE_CHECKING:
    from tickmind.tick import World

SWEPT_PER_TICK = 16  # agents that are looked at for fields that somebody changed by hand
LONGEST_WAIT_S = 86_400.0  # that is believed
UNEXPLAINED_TICKS = 100  # for which an agent is left alone that fails for no reason that its fields show
URGENT = 1_000_000_000  # the priority of one that is to be asked at once
HEAD_START_TICKS = 100  # of one whose question presses, at least
HEAD_START_ROUNDS = 0.5  # the same, in rounds of all agents at the pace that was learnt
_ROUNDING = 1e-6  # a wait of exactly one tick is one tick
_SPREAD = 2654435761  # a multiplier that scatters neighbouring ids
_log = logging.getLogger("tickmind.strategy")


class AgentRoster:
    """The agents of one world. It hears of changes through the world's hooks, so a tick need not look at all."""

    def __init__(self, manager: LLMManager, flights: Flights, paces: Paces) -> None:
        self.tick = 0  # the one at hand
        self.dt = 0.05  # seconds per tick
        self.schedule = QuerySchedule(aging_ticks=manager.config.priority_aging_ticks)
        self._manager = manager
        self._config = manager.config
        self._flights = flights
        self._paces = paces
        self._world: World | None = None
        self._out_of_date = False  # a restore came, and the tick that it leads to is not known yet
        self._known: OrderedDict[int, None] = OrderedDict()  # agents, the one to be swept next first
        self._triggered: dict[int, int] = {}  # agents with a trigger -> from when on it is looked at
        self._starts: dict[int, int] = {}  # agents that come up at another time than their interval says
        self._held: dict[int, int] = {}  # agents that can't be asked -> until when they are left alone
        self._without_board: set[int] = set()  # warned about
        self._deferred: set[int] = set()  # agents that were deferred, also some whose wait is over
        self._urgent: set[int] = set()  # agents that are to be asked at once
        self._pressing: set[int] = set()  # agents whose trigger has come true since they were asked
        self._malformed: dict[int, str] = {}  # agents that are left alone -> why, as on_error heard

    def __len__(self) -> int:
        return len(self._known)

    def is_agent(self, world: "World", eid: int, agent: LLMAgent) -> bool:
        """Whether a component is still the entity's own; user code that ran meanwhile may have taken it away."""
        return world.find(eid, LLMAgent) is agent and world.has(eid, Blackboard)

    def deferred(self) -> int:
        """How many agents somebody has let wait."""
        world = self._world
        for eid in tuple(self._deferred):
            agent = world.find(eid, LLMAgent) if world is not None else None
            if agent is None or eid in self._malformed or flaw(agent) or agent.deferred_until <= self.tick:
                self._deferred.discard(eid)
        return len(self._deferred)

    # When they are due

    def ticks(self, seconds: Any) -> int:
        """How many ticks a wait takes, rounded up; whatever is no time is none."""
        if not (isinstance(seconds, (int, float)) and seconds > 0):
            return 0
        return math.ceil(min(seconds, LONGEST_WAIT_S) / self.dt - _ROUNDING)

    def cool(self, agent: LLMAgent, seconds: Any, gone_s: float = 0.0) -> None:
        """Let an agent wait because its client said so a while ago; this never shortens a wait."""
        if ticks := self.ticks(seconds):
            left = self.ticks(seconds - gone_s) if gone_s > 0 else ticks
            agent.cooldown_until = max(agent.cooldown_until, self.tick + left)

    def ask_again(self, eid: int) -> None:
        """Have an agent come up as soon as its waits are over, whatever its interval says."""
        self._starts[eid] = self.tick

    def due(self, eid: int, agent: LLMAgent) -> int:
        """The tick in which an agent is to come up; the end of a cooldown is such a tick too."""
        cooldown_until = agent.cooldown_until
        if cooldown_until > self.tick:
            return cooldown_until
        start = self._starts.get(eid) if self._starts else None
        if start is None:
            start = agent.last_query_tick + agent.query_interval
        due = max(start, cooldown_until, agent.deferred_until)
        return max(due, self._held.get(eid, 0)) if self._held else due

    def put(self, eid: int, agent: LLMAgent) -> None:
        """Have an agent come up when it is due."""
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
        """For how many ticks others have to have waited longer than one whose question presses, to go before it.

        Half a round: so what presses goes first, and all the others still get their turn.
        """
        least = self._config.priority_aging_ticks or HEAD_START_TICKS
        spacing_s = self._paces.spacing_s()
        if spacing_s is None:
            return least
        return max(least, self.ticks(HEAD_START_ROUNDS * len(self._known) * spacing_s))

    def hold(self, eid: int, agent: LLMAgent) -> None:
        """Let an agent that can't be asked alone for an interval."""
        self._held[eid] = self.tick + max(1, agent.query_interval)
        self.put(eid, agent)

    def set_aside(self, eid: int, agent: LLMAgent, error: BaseException) -> None:
        """Leave a malformed agent alone until its fields are in order again; on_error hears of each flaw once."""
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
        """Begin a new interval."""
        agent.last_query_tick = self.tick
        self._starts.pop(eid, None)
        self._held.pop(eid, None)
        self._urgent.discard(eid)
        self._pressing.discard(eid)

    def advance(self, *, most: int) -> None:
        """Make those that are due ready to be taken."""
        self.schedule.advance(self.tick, most=max(most, MOST_MOVES_PER_TICK))

    def comes_up(self, world: "World", eid: int) -> LLMAgent | None:
        """The agent whose turn it is, or None if it is not to be asked now after all."""
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
        """Give an agent all its tries again when its cooldown is over."""
        if agent.consecutive_errors >= agent.max_retries and agent.cooldown_until <= self.tick:
            agent.consecutive_errors = 0

    # What others ask for

    def take_wishes(self, world: "World") -> list[tuple[int, int]]:
        """Do what was wished for since the last tick; of an agent that waits, when it has its answer.

        Gives who was deferred, and by how many ticks.
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

    def _grant(self, wish: Wish, agent: LLMAgent) -> None:
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
        """Look at the conditions that ask before the interval is over, where asking would be allowed.

        One that is due already, and waits, goes before others that don't press.
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

    # Which there are

    def watch(self, world: "World") -> None:
        """Take up the agents of the world; of one that was restored, anew."""
        if self._world is None:
            self._world = world
            world.on_attach(LLMAgent, self._agent_came)
            world.on_detach(LLMAgent, self._agent_went)
            world.on_attach(Blackboard, self._board_came)
            world.on_detach(Blackboard, self._board_went)
            world.on_restore(self._restored)
            self._restored(world)
        elif self._world is not world:
            raise TickError("one LLM system serves one world; make another with make_llm_system()")
        if self._out_of_date:
            self._out_of_date = False
            for eid, (agent,) in world.query(LLMAgent):
                self._agent_came(world, eid, agent)

    def look_around(self, world: "World") -> None:
        """Notice what somebody changed by hand, some agents each tick."""
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

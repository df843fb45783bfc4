"""`Deliberations`: the strategic layer of a host; asks models, whose answers are plans on the Blackboard."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tickmind.agent.character.base import BaseCharacter
from tickmind.agent.character.thinking import EMBEDDINGS, Faculty, Thinking
from tickmind.agent.character.thoughts.prompting import (
    CONTEXT,
    FITS,
    PARSER,
    PLAN,
    ROLE,
    RULES,
    TRIGGER,
    CharacterPrompts,
    defined_as,
)
from tickmind.agent.character.thoughts.token_budget import TokenBudget
from tickmind.agent.mistakes import Mistakes
from tickmind.ai import Blackboard
from tickmind.base import Limit
from tickmind.protocol import Thought
from tickmind.strategy import (
    LLMAgent,
    StrategyStatistics,
    make_directive_parser,
    make_llm_system,
)

if TYPE_CHECKING:
    from tickmind.base import Clock
    from tickmind.strategy.clients.client import AnyClient
    from tickmind.tick import Engine, World

PLAN_TIER = "decide"  # of the question for a plan
_NEVER = 1 << 40  # ticks, for questions that only their own trigger puts
MAX_TEXT_CHARS = Limit("length of a plan in words", 2000, "characters")


def _take_text(reply: str, blackboard: Blackboard) -> None:
    blackboard.data[PLAN] = {"text": reply.strip()[: int(MAX_TEXT_CHARS.maximum)]}


class Deliberations:
    """Ask for all characters of a process through one client, beside the ticks and without delaying them."""

    some = True
    """Whether there are thoughts at all."""

    def __init__(
        self,
        thinking: Thinking,
        client: "AnyClient",
        engine: "Engine",
        *,
        tiers: "Mapping[str, AnyClient] | None" = None,
        faculties: dict[int, str] | None = None,
        clock: "Clock | None" = None,
    ) -> None:
        self._thinking = thinking
        self._tiers = tiers
        self._kinds = {} if faculties is None else faculties  # entity of a faculty -> its name
        self._requested: dict[int, int] = {}  # entity of a faculty -> the tick from which on its question is wanted
        self._budget = TokenBudget(thinking.tokens_per_day)
        self._tick_id = 0  # of the world
        self._lockstep = False
        self._limited: list[int] = []  # characters that make plans and have a budget of tokens
        self._mistakes = Mistakes()
        self._thoughts: list[tuple[str, Thought]] = []
        self._questions: list[tuple[str, int]] = []  # character and tick
        self._world_ticks: dict[int, int] = {}  # tick of the private engine -> tick of the world
        config = replace(thinking.config, trigger_gap=thinking.soonest_ticks)
        self._prompts = CharacterPrompts(thinking, config)
        manager = self._manager = self._prompts.manager
        manager.register_client(client)
        self._others = {tier for tier, other in (tiers or {}).items() if other is not client}
        for tier in sorted(self._others):  # tiers without a client of their own use the default one, and share its pace
            manager.register_client((tiers or {})[tier], tier)
        self._define_parser(PARSER, thinking.schema, one_line=thinking.one_line)
        for faculty in thinking.faculties:
            self._define_parser(defined_as(faculty.name), faculty.schema, one_line=faculty.one_line)
        manager.define_trigger(TRIGGER, lambda _world, eid: self._prompts.character(eid).pressing())
        manager.define_relevance(FITS, self._fits)
        manager.record_thoughts(self._keep)
        manager.on_response(self._take_reply)
        manager.on_query(self._note_question)
        self._system = make_llm_system(manager, clock=clock)
        engine.add_system(self._system)
        self._engine = engine

    def _define_parser(self, name: str, schema: Any, *, one_line: bool = False) -> None:
        parser = _take_text if schema is None else make_directive_parser(schema, namespace=PLAN)
        self._manager.define_parser(name, parser, one_line=one_line and schema is None)

    def change_timing(self, *, lockstep: bool, thinking_ticks: int) -> None:
        """Follow a world's rule for the time that a thought takes.

        A question is put after all have acted, and a reply taken in then acts in the next tick. So a reply that takes
        one tick, as in lockstep at least, is taken in at once.
        """
        self._lockstep = lockstep
        reply_ticks = max(0, thinking_ticks - 1) if lockstep or thinking_ticks else None
        self._system.change_timing(reply_ticks=reply_ticks, lockstep=lockstep)

    def enrol(self, eid: int, character: BaseCharacter) -> list[int]:
        """Start asking for a character; its first question goes out as soon as the model has time for it.

        Return the entities of its faculties, which ask by themselves.
        """
        self._prompts.add(eid, character)
        if self._budget.limits(character):
            self._limited.append(eid)
        if self._tiers is None or PLAN_TIER in self._tiers:
            interval = self._thinking.every_ticks
            agent = LLMAgent(
                ROLE,
                RULES,
                CONTEXT,
                PARSER,
                query_interval=interval,
                client=self._client_of(PLAN_TIER),
                trigger=TRIGGER,
                relevance=FITS,
            )
            self._engine.world.attach(eid, agent)
            self._manager.ask_soon(eid)
        served = [faculty for faculty in self._thinking.faculties if self._serves(faculty)]
        character.faculties = frozenset(faculty.name for faculty in served)
        return [self._enrol_faculty(eid, faculty) for faculty in served]

    def _serves(self, faculty: Faculty) -> bool:
        """Return whether there is a model for a faculty; one of words does not serve for embeddings."""
        return faculty.tier != EMBEDDINGS if self._tiers is None else faculty.tier in self._tiers

    def _enrol_faculty(self, eid: int, faculty: Faculty) -> int:
        agent = LLMAgent(
            ROLE,
            RULES,
            defined_as(faculty.name),
            defined_as(faculty.name),
            query_interval=_NEVER,
            priority=faculty.priority,
            client=self._client_of(faculty.tier),
        )
        own = self._engine.world.spawn(Blackboard(), agent)
        self._kinds[own] = faculty.name
        self._prompts.add_faculty(own, eid)
        return own

    def _client_of(self, tier: str) -> str:
        """Return the name of a tier's client; empty for the default one."""
        return tier if tier in self._others else ""

    def count_spent(self, character: BaseCharacter, thoughts: Sequence[Thought]) -> None:
        """Count tokens that a character has spent before it was enrolled."""
        for thought in thoughts:
            self._budget.spend(character, thought, thought.answered_tick)

    def attend(self, eid: int) -> None:
        """Ask for a character's thought before all others, because a person watches it."""
        if not self._budget.is_spent(self._prompts.character(eid), self._tick_id):
            self._manager.ask_now(eid)

    def leave(self, eid: int) -> None:
        """Forget a character whose entity is gone."""
        if eid in self._limited:
            self._limited.remove(eid)
        for own in self._prompts.faculties_of(eid):
            self._engine.world.despawn(own)
            self._requested.pop(own, None)
            del self._kinds[own]
        self._prompts.remove(eid)

    def note_tick(self, tick_id: int) -> None:
        """Map the engine's next tick to a tick of the world."""
        self._tick_id = tick_id
        ticks = self._world_ticks
        ticks[self._engine.tick_number + 1] = tick_id
        if len(ticks) > 4096:
            del ticks[next(iter(ticks))]
        for eid in self._limited:
            self._hold_plans(eid)
        for eid, name in self._kinds.items():
            agent = self._engine.world.get(eid, LLMAgent)
            if not agent.pending:
                self._request(eid, name, agent)

    def _hold_plans(self, eid: int) -> None:
        """Ask for no plans of a character that has spent its tokens, and again on the next day."""
        agent = self._engine.world.find(eid, LLMAgent)
        is_spent = self._budget.is_spent(self._prompts.character(eid), self._tick_id)
        if agent is None or is_spent is (agent.deferred_until == _NEVER):
            return
        agent.deferred_until = _NEVER if is_spent else 0
        if not is_spent:
            self._manager.ask_soon(eid)

    def _request(self, eid: int, name: str, agent: LLMAgent) -> None:
        """Have a question of a faculty put if its character wants it now, or withdraw it."""
        next_tick = self._engine.tick_number + 1
        wanted_from = self._requested.get(eid)
        if wanted_from is not None and agent.last_query_tick >= wanted_from:  # it was put, or could not be
            del self._requested[eid]
            wanted_from = None
        if not self._wonders(eid, name):
            if wanted_from is not None:
                del self._requested[eid]
                agent.deferred_until = _NEVER
        elif wanted_from is None:
            soonest = self._soonest_ticks(eid, self._prompts.faculties[name])
            if not agent.last_query_tick or next_tick - agent.last_query_tick >= soonest:
                agent.deferred_until = 0
                self._requested[eid] = next_tick
                self._manager.ask_soon(eid)

    def _soonest_ticks(self, eid: int, faculty: Faculty) -> int:
        """Return the least ticks between two questions: none for what fills the time of a model of this machine.

        In lockstep no time of a model is left over: the world waits for each answer.
        """
        settings = self._prompts.character(eid).settings
        is_free = settings.flag("local_model") and not self._client_of(faculty.tier) and not self._lockstep
        return 1 if faculty.fills and is_free else faculty.soonest_ticks

    def _wonders(self, eid: int, name: str) -> bool:
        character = self._prompts.character(eid)
        try:
            return bool(character.wonders(name)) and not self._budget.is_spent(character, self._tick_id)
        except Exception as error:  # noqa: BLE001  it is user code, and must stop no other
            self._mistakes.note("wondering failed", error, entity_id=character.entity_id, tick=character.tick)
            return False

    def pending(self, eid: int) -> bool:
        """Return whether a character waits for an answer."""
        agents = (self._engine.world.find(own, LLMAgent) for own in (eid, *self._prompts.faculties_of(eid)))
        return any(agent is not None and agent.pending for agent in agents)

    def take_questions(self) -> list[tuple[str, int]]:
        """Return the characters whose questions went out since the last call, each with the tick."""
        questions, self._questions = self._questions, []
        return questions

    def take_thoughts(self) -> list[tuple[str, Thought]]:
        """Return the deliberations that have ended since the last call."""
        thoughts, self._thoughts = self._thoughts, []
        return thoughts

    def statistics(self) -> StrategyStatistics:
        """Return the state of the strategic layer in numbers."""
        return self._system.statistics()

    def close(self) -> None:
        """Drop all queries under way and close the client."""
        self._system.shutdown()

    def _fits(self, _world: "World", eid: int, directives: Mapping[str, Any], asked_tick: int) -> bool:
        """Return whether a plan is still to be followed; a plan that changes nothing is."""
        plan = directives.get(PLAN)
        return plan is None or self._prompts.character(eid).fits(plan, self._world_tick(asked_tick))

    def _take_reply(self, eid: int, _latency_s: float, _size: int, _tick: int) -> None:
        """Date a plan, or hand the reply to the question of a faculty to its character."""
        agent = self._engine.world.find(eid, LLMAgent)
        character = self._prompts.find(eid)
        if agent is None or character is None:
            return
        asked_tick = self._world_tick(agent.directive_tick)
        if eid not in self._kinds:
            character.plan_tick = asked_tick
            return
        reply = self._engine.world.get(eid, Blackboard).data.pop(PLAN, None)  # so that the same again is recorded
        character.learn(self._kinds[eid], reply if isinstance(reply, Mapping) else {}, asked_tick)

    def _note_question(self, eid: int, _size: int, tick: int) -> None:
        character = self._prompts.find(eid)
        if character is not None and eid not in self._kinds:  # what a faculty asks changes nothing in the mind
            self._questions.append((character.entity_id, self._world_tick(tick)))

    def _world_tick(self, tick: int) -> int:
        return self._world_ticks.get(tick, tick)

    def _keep(self, thought: Thought) -> None:
        character = self._prompts.find(thought.entity_id)
        if character is None:
            return
        placed = replace(
            thought,
            asked_tick=self._world_tick(thought.asked_tick),
            answered_tick=self._world_tick(thought.answered_tick),
            kind=self._kinds.get(thought.entity_id, ""),
        )
        self._budget.spend(character, placed, self._tick_id)
        self._thoughts.append((character.entity_id, placed))

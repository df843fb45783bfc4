"""`CharacterHost`: all characters of a process in a private world, with their Blackboards, trees and thoughts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tickmind.agent.character.base import BaseCharacter
from tickmind.agent.character.tactics import Tactic, tactics_of
from tickmind.agent.knowledge.memory_files import MemoryFiles
from tickmind.agent.minds import PastMinds, Start, begin_chance, begun, is_lockstep
from tickmind.agent.reporting.insights import InsightCollector, MindState
from tickmind.ai import AIManager, BehaviorTree, Node
from tickmind.base import ConfigError, get_logger
from tickmind.mind.embeddings import find_embeddings
from tickmind.protocol import Insight, Intent, Observation, RunInfo, Thought
from tickmind.tick import Engine, TickContext, World
from tickmind.wire.messages.limits import MAX_MEMORIES

if TYPE_CHECKING:
    from tickmind.agent.character.thinking import Thinking
    from tickmind.agent.character.thoughts.continued_thoughts import ContinuedThoughts
    from tickmind.agent.character.thoughts.deliberations import Deliberations
    from tickmind.agent.character.thoughts.past_thoughts import PastThoughts, PromptCheck
    from tickmind.base import Clock
    from tickmind.strategy.clients.client import AnyClient

CharacterT = TypeVar("CharacterT", bound=BaseCharacter)
TREE = "main"
LONGEST_TICK_S = 10.0
LOCKSTEP_TICK_S = 1.0  # assumed length of a tick in a world that waits for all agents
_log = get_logger(__name__)
KEEP_TICKS = 20  # between two writes of a changed memory


class CharacterHost(Generic[CharacterT]):
    """Host one kind of character. Each is an entity of a private `tick.World`, filled from its observations.

    Once a tick every character processes its observation, and its tree decides; when all intents are chosen, the
    strategic layer reads answers and asks models. Without a client no character thinks; all else is the same.
    `tiers` maps tiers of models to clients for faculties; without it the client serves them all.
    `characters` gets the entities of the private world that ask, each with its character, and `faculties` those of
    them that ask for a faculty; `memories` is where characters keep their memories.
    With `past`, what they asked and thought, no model is asked: each thought acts in the tick in which it did. If the
    past ends with a tick, the client is asked after it.
    """

    def __init__(
        self,
        kind: type[CharacterT],
        start: Callable[[str], Start],
        *,
        client: "AnyClient | None" = None,
        tiers: "Mapping[str, AnyClient] | None" = None,
        characters: dict[int, CharacterT] | None = None,
        faculties: dict[int, str] | None = None,
        memories: MemoryFiles | None = None,
        past: PastMinds | None = None,
        clock: "Clock | None" = None,
    ) -> None:
        self._kind = kind
        self._start = start
        self._client = client
        self._tiers = tiers
        self._past = past
        self._memories = memories
        self._kept: dict[str, int] = {}  # entity id -> its memory's `changes` at the last write or read
        self._tick_id = 0
        self._run_id = ""  # of the world that the characters live in
        self._run_now: RunInfo | None = None  # from the next tick on
        self._timing = (False, 0)  # whether the world waits for minds, and its ticks for a thought
        self._clock = clock
        self._engine: Engine | None = None
        self._deliberations: Deliberations | PastThoughts | ContinuedThoughts | None = None
        self._ctx: TickContext | None = None
        self._characters: dict[str, CharacterT] = {}  # entity id -> character
        self._eids: dict[str, int] = {}  # entity id -> entity of the private world
        self._by_eid: dict[int, CharacterT] = {}
        self._askers = {} if characters is None else characters
        self._faculties = {} if faculties is None else faculties
        self._ai = AIManager()
        self._define()
        self._outline = self._ai.outline(self._tree)
        self._mirror = InsightCollector()
        self._chosen: dict[str, bool] = {}  # entities whose minds are inspected in this tick -> whether they have acted

    def character(self, entity_id: str) -> CharacterT:
        """Return a character; it is made on the first call or observation."""
        return self._characters.get(entity_id) or self._enter(entity_id)

    @property
    def entity_ids(self) -> tuple[str, ...]:
        """The characters that have entered, by the ids of their entities."""
        return tuple(self._characters)

    @property
    def world(self) -> World:
        """The private world."""
        return self._private_engine(1.0).world

    def enter(self, run: RunInfo) -> None:
        """In another run of the world every character is made anew, from the next tick on.

        What their personas set to be loaded is loaded now, so that no tick waits for it.
        """
        self._run_now = run
        for entity_id in run.personas:
            settings = begun(self._start(entity_id), run).settings
            with suppress(ConfigError):  # which is reported when that character enters
                find_embeddings(settings.text("embeddings"))

    def begin(self, tick_id: int, observations: Sequence[Observation]) -> None:
        """Let the private world have a tick of that length, and choose whose minds are looked into."""
        if self._run_now is not None and self._run_id != self._run_now.run_id:
            self._begin_anew(self._run_now.run_id)
        self._tick_id = tick_id
        if observations:
            deadline_ms = observations[0].deadline_ms
            self._private_engine(_tick_s(deadline_ms))
            self._follow_timing(lockstep=is_lockstep(deadline_ms))
        self._chosen = dict.fromkeys(
            self._mirror.choose(observation.me.entity_id for observation in observations), False
        )

    def perceive(self, observation: Observation) -> None:
        """Let one character process its observation."""
        character = self.character(observation.me.entity_id)
        if self._memories is not None and character.entity_id not in self._kept:
            kept = self._memories.recall(character.entity_id, self._run_id, observation.tick_id)
            character.memory.restore(kept.entries)
            try:
                character.restore(kept.more)
            except (AttributeError, LookupError, TypeError, ValueError):
                why = "what a memory file says of others is damaged, so it is forgotten"
                _log.warning(why, entity_id=character.entity_id)
            self._kept[character.entity_id] = character.memory.changes
        begin_chance(character.random, observation.tick_id)
        character.take_in(observation)

    def act(self, observation: Observation) -> Intent:
        """Let one character decide and return its intent."""
        assert self._engine is not None, "perceive comes before act"
        assert self._ctx is not None, "the engine has ticked"
        entity_id = observation.me.entity_id
        character, eid = self._characters[entity_id], self._eids[entity_id]
        world, now = self._engine.world, self._ctx
        ctx = TickContext(now.tick_number, now.dt, now.elapsed, now.request_stop, character.random)
        tree = world.get(eid, BehaviorTree)
        tree.traced, tree.trace = entity_id in self._chosen, {}
        character.decide(lambda: self._ai.evaluate(world, ctx, eid, tree))
        if tree.traced:
            self._chosen[entity_id] = True
        return character.intent

    def reflect(self, tick_id: int) -> None:
        """Run the strategic layer's tick, and write some memories."""
        if self._engine is None:
            return
        for character in self._characters.values():
            character.surroundings.tiles.settle()
        self._keep([character for eid, character in self._by_eid.items() if (tick_id + eid) % KEEP_TICKS == 0])
        for name, acted in self._chosen.items():
            if acted:
                self._mirror.look(tick_id, name, self._mind(name))
        if self._deliberations is not None:
            self._deliberations.note_tick(tick_id)
        self._engine.step()

    def take_thoughts(self) -> list[tuple[str, Thought]]:
        """Return the deliberations that have ended since the last call."""
        return [] if self._deliberations is None else self._deliberations.take_thoughts()

    def take_questions(self) -> list[tuple[str, int]]:
        """Return the characters whose questions to a model went out since the last call, each with the tick."""
        return [] if self._deliberations is None else self._deliberations.take_questions()

    def take_insights(self) -> list[Insight]:
        """Return what is new about the characters' trees, Blackboards and memories since the last call."""
        return self._mirror.take()

    def _mind(self, entity_id: str) -> MindState:
        """Return a character's mind as it was when it decided."""
        character = self._characters[entity_id]
        return MindState(
            self._outline,
            self.world.get(self._eids[entity_id], BehaviorTree).trace,
            character.blackboard.data,
            character.memory.latest(int(MAX_MEMORIES.maximum)),
        )

    def prompt_checks(self) -> "list[PromptCheck]":
        """Return the prompts that were made again for past thoughts, each with the recorded one."""
        from tickmind.agent.character.thoughts.continued_thoughts import ContinuedThoughts
        from tickmind.agent.character.thoughts.past_thoughts import PastThoughts

        thoughts = self._deliberations
        return thoughts.checks if isinstance(thoughts, PastThoughts | ContinuedThoughts) else []

    def mind(self, entity_id: str) -> MindState:
        """Return a character's mind as it is: tree, Blackboard and all memories."""
        return replace(self._mind(entity_id), memories=list(self._characters[entity_id].memory))

    def deliberating(self, entity_id: str) -> bool:
        """Return whether a character waits for a model's answer."""
        eid = self._eids.get(entity_id)
        return self._deliberations is not None and eid is not None and self._deliberations.pending(eid)

    def attend(self, entity_id: str) -> None:
        """Have a character think before all others, because a person watches it."""
        eid = self._eids.get(entity_id)
        if self._deliberations is not None and eid is not None:
            self._deliberations.attend(eid)

    def close(self) -> None:
        """Drop thoughts under way, and write all memories."""
        self._keep(self._characters.values())
        if self._deliberations is not None:
            self._deliberations.close()

    def _keep(self, characters: Iterable[BaseCharacter]) -> None:
        if self._memories is None:
            return
        for character in characters:
            memory = character.memory
            if self._kept.get(character.entity_id, memory.changes) != memory.changes:
                self._kept[character.entity_id] = memory.changes
                name = character.entity_id
                self._memories.keep(name, self._run_id, self._tick_id, list(memory), character.kept())

    def _define(self) -> None:
        """Compile the tree, and register the methods that it names."""
        characters = self._by_eid

        def as_action(method: Callable[..., Any]) -> Callable[..., Any]:
            return lambda _world, _ctx, eid, **given: method(characters[eid], **given)

        def as_condition(method: Callable[..., Any]) -> Callable[..., Any]:
            return lambda _world, eid, **given: method(characters[eid], **given)

        for name, tactic, method in tactics_of(self._kind):
            if tactic is Tactic.ACTION:
                self._ai.register_action(name, as_action(method))
            else:
                self._ai.register_condition(name, as_condition(method))
        tree = self._kind.tree
        if isinstance(tree, str | Path):
            self._tree = self._ai.load_xml(tree)[0]
        else:
            node: Node = tree
            self._ai.define_tree(TREE, node)
            self._tree = TREE
        self._ai.check()

    def _follow_timing(self, *, lockstep: bool) -> None:
        """Follow the rule of the world that the characters are in now: they may outlive one and enter another."""
        timing = (lockstep, self._run_now.thinking_ticks if self._run_now is not None else 0)
        if self._deliberations is not None and timing != self._timing:
            self._timing = timing
            self._deliberations.change_timing(lockstep=timing[0], thinking_ticks=timing[1])

    def _private_engine(self, tick_s: float) -> Engine:
        if self._engine is None:
            engine = self._engine = Engine(tps=1 / tick_s, seed=0)
            if self._kind.thinking is not None:
                self._deliberations = self._begin_thinking(self._kind.thinking, engine)
            engine.add_system(self._note_context)
            engine.step()
        return self._engine

    def _begin_thinking(
        self, thinking: "Thinking", engine: Engine
    ) -> "Deliberations | PastThoughts | ContinuedThoughts | None":
        """Make what thinks for the characters; its parts are slow to import, and many agents never think."""
        past, live = None, None
        if self._past is not None:
            from tickmind.agent.character.thoughts.past_thoughts import PastThoughts

            past = PastThoughts(thinking, engine, self._past)
        if self._client is not None:
            from tickmind.agent.character.thoughts.deliberations import Deliberations

            live = Deliberations(
                thinking, self._client, engine, tiers=self._tiers, faculties=self._faculties, clock=self._clock
            )
        if past is None or live is None or self._past is None or self._past.until_tick is None:
            return past or live
        from tickmind.agent.character.thoughts.continued_thoughts import ContinuedThoughts

        thoughts = [(name, thought) for name, several in self._past.thoughts.items() for thought in several]
        return ContinuedThoughts(past, live, self._past.until_tick, thoughts, self._note_askers)

    def _note_context(self, _world: World, ctx: TickContext) -> None:
        self._ctx = ctx

    def _begin_anew(self, run_id: str) -> None:
        """Forget all characters: nothing that they know is true in this run."""
        self._run_id = run_id
        for eid in self._eids.values():
            self.world.despawn(eid)
            if self._deliberations is not None:
                self._deliberations.leave(eid)
        for known in (self._characters, self._eids, self._by_eid, self._askers, self._kept):
            known.clear()

    def _enter(self, entity_id: str) -> CharacterT:
        character = self._characters[entity_id] = self._kind(begun(self._start(entity_id), self._run_now))
        eid = self.world.spawn(character.blackboard, BehaviorTree(self._tree))
        self._eids[entity_id], self._by_eid[eid], self._askers[eid] = eid, character, character
        if self._deliberations is not None:
            character.thinks = self._deliberations.some
            self._note_askers(eid, self._deliberations.enrol(eid, character))
        return character

    def _note_askers(self, eid: int, faculties: Iterable[int]) -> None:
        """Remember whose faculties these entities are."""
        self._askers.update(dict.fromkeys(faculties, self._by_eid[eid]))


def _tick_s(deadline_ms: int) -> float:
    """How long a tick is whose first half is for intents."""
    if is_lockstep(deadline_ms):
        return LOCKSTEP_TICK_S
    return min(max(2 * deadline_ms / 1000, 0.001), LONGEST_TICK_S)

"""`Mind` and `MindHost`: what decides for the entities of one process."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Protocol, runtime_checkable

from tickmind.agent.chance import MindChance
from tickmind.agent.reporting.insights import InsightCollector, MindState, showing
from tickmind.agent.settings import Json, Settings
from tickmind.protocol import (
    FloorInfo,
    GoalInfo,
    Insight,
    Intent,
    ItemInfo,
    KindInfo,
    Observation,
    Persona,
    RunInfo,
    Thought,
    WorldSetting,
)
from tickmind.protocol.setting import NO_PERSONA
from tickmind.wire.messages.limits import MAX_DURATION_MS


@dataclass(frozen=True, slots=True)
class Start:
    """The start of one character: its id, its settings, and its own random numbers, which repeat with the seed.

    `persona` says who it is, `setting` names the places and the calendar of its world, `kinds` its objects, `items` its
    items.
    """

    entity_id: str
    settings: Settings = field(default_factory=Settings)
    random: Random = field(default_factory=lambda: Random(0), compare=False)
    persona: Persona = NO_PERSONA
    setting: WorldSetting = field(default_factory=WorldSetting)
    kinds: tuple[KindInfo, ...] = ()
    items: tuple[ItemInfo, ...] = ()
    floors: tuple[FloorInfo, ...] = ()  # floor code -> kind of floor, if ways depend on floors; else empty
    goals: tuple[GoalInfo, ...] = ()  # of the world, that are for this character

    def in_run(self, run: RunInfo) -> "Start":
        """Return the start of the same character in a run: its chance, who it is, and where.

        Settings that the scenario has for this character go before those of its program.
        """
        persona = run.personas.get(self.entity_id, self.persona)
        own: dict[str, Json] = {
            name: list(value) if isinstance(value, tuple) else value for name, value in persona.agent
        }
        return replace(
            self,
            settings=self.settings.with_values(own),
            random=MindChance(run.mind_seed, self.entity_id, "mind"),
            persona=persona,
            setting=run.setting,
            kinds=run.kinds,
            items=run.items,
            floors=run.floors,
            goals=run.goals.get(self.entity_id, ()),
        )


@dataclass(frozen=True, slots=True)
class PastMinds:
    """What minds whose past is lived again asked and thought, by entity."""

    thoughts: Mapping[str, Sequence[Thought]] = field(default_factory=dict)
    questions: Mapping[str, Collection[int]] = field(default_factory=dict)  # ticks, also of questions without a thought
    tiers: frozenset[str] | None = None  # of the models that there were; None: all
    until_tick: int | None = None  # after which models are asked; None: never


def begun(start: Start, run: RunInfo | None) -> Start:
    """Return what a character begins with in a run; without one it keeps its own chance."""
    return start if run is None else start.in_run(run)


def begin_chance(chance: Random, tick_id: int) -> None:
    """Begin a tick of a character's chance, if it is keyed by ticks."""
    if isinstance(chance, MindChance):
        chance.begin(tick_id)


def is_lockstep(deadline_ms: int) -> bool:
    """Return whether a world waits for minds instead of the clock: then it gives all the time that can be stated."""
    return deadline_ms >= MAX_DURATION_MS.maximum


class Mind(Protocol):
    """Decide for one entity."""

    def act(self, observation: Observation) -> Intent:
        """Return the intent of this tick."""
        ...


class MindHost(Protocol):
    """All minds of one process.

    One thread at a time calls `begin`, then `perceive` for each entity, `act` for each, and `reflect`.
    """

    def enter(self, run: RunInfo) -> None:
        """Control was taken in this run of a world; in another one than before, nothing that is known holds.

        All chance of the minds comes from the run's seed; minds that entered no run keep what they were started with.
        """
        ...

    def begin(self, tick_id: int, observations: Sequence[Observation]) -> None:
        """Start a tick for these entities."""
        ...

    def perceive(self, observation: Observation) -> None:
        """Let one entity process its observation, before any of them acts."""
        ...

    def act(self, observation: Observation) -> Intent:
        """Return one entity's intent for this tick."""
        ...

    def reflect(self, tick_id: int) -> None:
        """Use the time until the next tick, after all acts: ask models, and read their answers."""
        ...

    def take_thoughts(self) -> list[tuple[str, Thought]]:
        """Return the deliberations that have ended since the last call, each with its entity."""
        ...

    def take_insights(self) -> list[Insight]:
        """Return what is new about trees, Blackboards and memories since the last call."""
        ...

    def deliberating(self, entity_id: str) -> bool:
        """Return whether an entity waits for a model's answer."""
        ...

    def close(self) -> None:
        """End what runs beside the ticks."""
        ...


@runtime_checkable
class AskingHost(Protocol):
    """A host whose minds ask models."""

    def take_questions(self) -> list[tuple[str, int]]:
        """Return the entities whose questions went out since the last call, each with the tick."""
        ...


class PlainMindHost:
    """Host minds that need only observations; each is made when its entity is first seen."""

    def __init__(self, make: Callable[[Start], Mind], start: Callable[[str], Start]) -> None:
        self._make = make
        self._start = start
        self._minds: dict[str, Mind] = {}  # entity id -> its mind
        self._starts: dict[str, Start] = {}  # entity id -> what its mind began with
        self._run: RunInfo | None = None  # of the world
        self._mirror = InsightCollector()
        self._shown: dict[str, MindState] = {}  # entity id -> what it showed in this tick

    def enter(self, run: RunInfo) -> None:
        """In another run of the world all minds are made anew."""
        if self._run is not None and self._run.run_id != run.run_id:
            self._minds, self._starts = {}, {}
        self._run = run

    def begin(self, tick_id: int, observations: Sequence[Observation]) -> None:
        """Forget what was shown in the tick before."""
        del tick_id, observations
        self._shown = {}

    def perceive(self, observation: Observation) -> None:
        """Do nothing: a plain mind perceives when it acts."""

    def act(self, observation: Observation) -> Intent:
        """Return the intent of the entity's mind."""
        entity_id = observation.me.entity_id
        mind = self._minds.get(entity_id)
        if mind is None:
            start = self._starts[entity_id] = begun(self._start(entity_id), self._run)
            mind = self._minds[entity_id] = self._make(start)
        begin_chance(self._starts[entity_id].random, observation.tick_id)
        with showing() as sheet:
            intent = mind.act(observation)
        if sheet:
            self._shown[entity_id] = sheet[0]
        return intent

    def reflect(self, tick_id: int) -> None:
        """Collect what is new about minds that called `show_mind`."""
        for name in self._mirror.choose(self._shown):
            self._mirror.look(tick_id, name, self._shown[name])

    def take_thoughts(self) -> list[tuple[str, Thought]]:
        """Return nothing: plain minds have no thoughts."""
        return []

    def take_insights(self) -> list[Insight]:
        """Return what the minds have shown by `show_mind`."""
        return self._mirror.take()

    def deliberating(self, entity_id: str) -> bool:
        """Return False: plain minds ask no model."""
        del entity_id
        return False

    def close(self) -> None:
        """Do nothing: nothing runs beside the ticks."""

"""The figures of a report, as numbers and texts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tickmind.protocol import WorldSetting

if TYPE_CHECKING:
    from tickmind.protocol.columns import Bool, Int64


@dataclass(frozen=True, slots=True)
class AverageNeeds:
    """The average state of actors over some ticks, beginning with `tick_id`."""

    tick_id: int
    awake: float
    asleep: float
    incapacitated: float
    uncontrolled: float


@dataclass(frozen=True, slots=True)
class ActionFigures:
    """How often an action was tried, and how often it succeeded."""

    action: str
    tried: int
    worked: int


@dataclass(frozen=True, slots=True)
class FailureFigures:
    """How often an action failed for one reason."""

    action: str
    reason: str
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class HeatMap:
    """Where actors were: actor-ticks for each square of `tiles_per_cell` x `tiles_per_cell` tiles."""

    tiles_per_cell: int
    counts: "Int64"  # row, column from the north-west corner
    open: "Bool"  # the same squares: whether one can walk somewhere in it


@dataclass(frozen=True, slots=True)
class ConversationLine:
    """One utterance of a conversation."""

    tick_id: int
    actor_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """Utterances that were close to each other in time and place."""

    speakers: tuple[str, ...]
    lines: tuple[ConversationLine, ...]
    x: int
    y: int

    @property
    def first_tick_id(self) -> int:
        """When it began."""
        return self.lines[0].tick_id

    @property
    def last_tick_id(self) -> int:
        """When it ended."""
        return self.lines[-1].tick_id


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """Totals of the calls to one model at one provider."""

    model: str
    provider: str
    calls: int
    failed: int
    latency_p50_s: float
    latency_p95_s: float
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float


@dataclass(frozen=True, slots=True)
class CallMoment:
    """The model calls that were reported in some ticks, beginning with `tick_id`."""

    tick_id: int
    answered: int
    failed: int
    latency_s: float  # median of those that were answered


@dataclass(frozen=True, slots=True)
class Outage:
    """A time in which a model failed call after call, or an actor had no agent.

    Those of the kind "noted" were noted beside the run by the program that ran it.
    """

    kind: str  # "model", "agent" or "noted"
    name: str
    first_tick_id: int
    last_tick_id: int
    detail: str = ""

    @property
    def ticks(self) -> int:
        """How many ticks it lasted."""
        return self.last_tick_id - self.first_tick_id + 1


@dataclass(frozen=True, slots=True)
class ItemFigures:
    """Items of one kind of one actor: at the beginning and the end, and as gifts."""

    actor_id: str
    item: str
    at_first: int
    at_last: int
    given: int
    received: int


@dataclass(frozen=True, slots=True)
class PresenceFigures:
    """How many actors came into the world and left it. One that does both several times counts each time."""

    arrived: int = 0
    left: int = 0
    most: int = 0  # that were there in the same tick
    never_came: int = 0

    def __str__(self) -> str:
        """Return it in a line, as `3 arrived, 1 left, at most 5 there at once`; nothing if no actor was ever away."""
        parts = (
            (self.arrived, f"{self.arrived:,} arrived"),
            (self.left, f"{self.left:,} left"),
            (self.never_came, f"{self.never_came:,} never came"),
        )
        said = [words for count, words in parts if count]
        return ", ".join((*said, f"at most {self.most:,} there at once")) if said else ""


@dataclass(frozen=True, slots=True)
class PersonFigures:
    """Who an actor is, in a line; what is not known is empty, or 0."""

    actor_id: str
    name: str
    age: int
    work: str  # a zone, as `home`
    home: str
    colour: str = ""  # as `#rrggbb`, for viewers


@dataclass(frozen=True, slots=True)
class StayFigures:
    """Where an actor spent its time: its share of ticks in each zone, the largest first."""

    actor_id: str
    shares: tuple[tuple[str, float], ...]  # zone -> share of the actor's ticks; "" is outside of all zones


@dataclass(frozen=True, slots=True)
class ZoneFigures:
    """Who was in a zone. A tick in a zone within another counts for the smaller one only."""

    name: str
    owner: str
    purpose: str
    visitors: int  # actors that were there
    actor_ticks: int  # ticks that all of them spent there
    regulars: tuple[tuple[str, float], ...]  # actor -> share of these ticks; some actors, the largest share first


@dataclass(frozen=True, slots=True)
class GoalFigures:
    """A goal, or a rule of the user's own: when it was reached, and what it brought."""

    name: str
    condition: str  # in words; empty if it is not known, as that of a rule of the user's own
    first_tick_id: int | None  # None: it was not reached
    times: int  # actors that reached it; of a rule, what it did
    points: int
    ended: bool  # whether it ended the run
    own: bool = False  # whether it is a rule of the user's own


@dataclass(frozen=True, slots=True)
class ScoreFigures:
    """The score of an actor, or of the world, which has no id."""

    actor_id: str
    points: int


@dataclass(frozen=True, slots=True, eq=False)
class RunFigures:
    """All figures of a report."""

    run_id: str
    world: str
    world_version: str
    created_at: str
    recovered: bool
    width: int
    height: int
    first_tick_id: int
    last_tick_id: int
    sim_time_ms: int
    actors: int
    utterances: int
    moments: tuple[AverageNeeds, ...]
    actions: tuple[ActionFigures, ...]
    failures: tuple[FailureFigures, ...]
    heat: HeatMap
    conversations: tuple[Conversation, ...]  # the longest first
    models: tuple[ModelFigures, ...]
    calls: tuple[CallMoment, ...]
    outages: tuple[Outage, ...]  # noted ones first, then the longest first
    items: tuple[ItemFigures, ...] = ()  # most gifts first; none of a run of an earlier version
    goals: tuple[GoalFigures, ...] = ()  # in the order of ticks; those that were not reached are last
    own_rules: tuple[GoalFigures, ...] = ()  # in the order of ticks; without those that did nothing
    scores: tuple[ScoreFigures, ...] = ()  # highest first
    setting: WorldSetting = field(default_factory=WorldSetting)
    people: tuple[PersonFigures, ...] = ()  # actors with a persona, in the order of rows
    names: Mapping[str, str] = field(default_factory=dict)  # actor id -> name that no other actor has
    stays: tuple[StayFigures, ...] = ()  # people first; none without zones
    zones: tuple[ZoneFigures, ...] = ()  # the most visited first
    presence: PresenceFigures = PresenceFigures()

    @property
    def actor_ticks(self) -> int:
        """The number of ticks of all actors together."""
        return int(self.heat.counts.sum())

    @property
    def has_setting(self) -> bool:
        """Whether the scenario said anything about places, days or people."""
        return bool(self.people) or self.setting != WorldSetting()

    def name_of(self, actor_id: str) -> str:
        """Return the name of an actor, with its id if others have the same name; its id if it has none."""
        return self.names.get(actor_id, actor_id)

    @property
    def ticks(self) -> int:
        """The number of ticks."""
        return self.last_tick_id - self.first_tick_id + 1

    @property
    def model_calls(self) -> int:
        """The number of model calls."""
        return sum(model.calls for model in self.models)

    @property
    def cost_usd(self) -> float:
        """The cost of model calls, as far as it is known."""
        return sum(model.cost_usd for model in self.models)

"""`TickRecord`: one tick as it happened, for the log, the viewer and a restart. `Sink`: where ticks go."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from tickmind.base import Limit
from tickmind.protocol.intent import ACTION_TYPES, IntentColumns
from tickmind.protocol.reason import REASONS, Reason
from tickmind.protocol.result import ActionResult, Effect

if TYPE_CHECKING:
    from tickmind.protocol.columns import Bool, Int8, Int16, Int32, Int64, UInt8

AWAY: Final = -1  # x and y of an actor that is not in the world: it has not come yet, or has left
MAX_PLACEMENTS: Final = Limit("number of operators' orders in one tick", 1000)


@dataclass(frozen=True, slots=True)
class Utterance:
    """A text that an actor said, and where."""

    actor_id: str
    channel: str
    text: str
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class ObjectDelta:
    """A field of an object that has a new value: `state`, `work_remaining`, `stock`, or an item kind on the ground.

    `tile` of an object that was built is its tile, as "3,4", and empty of one that is gone.
    """

    object_id: str
    field: str
    new_value: int | str

    @property
    def tile(self) -> tuple[int, int] | None:
        """Where an object was built, (-1, -1) if it is gone; None if something else has changed."""
        if self.field != "tile" or not isinstance(self.new_value, str):  # items may be of a kind with that name
            return None
        x, _, y = self.new_value.partition(",")
        return (int(x), int(y)) if x.isdecimal() and y.isdecimal() else (AWAY, AWAY)


@dataclass(frozen=True, slots=True)
class RuleEvent:
    """A goal that was reached in a tick, something that a rule of the user's own did, or items that decayed.

    Goals have no effects; `decay` has some, and is not `own`.
    """

    name: str  # of the goal, or of the rule
    actor_ids: tuple[str, ...] = ()  # who reached it, or to whom it happened; none: the world as a whole
    score: int = 0  # for each of them; for the world if there are none
    ends: bool = False  # whether the run ends with this tick
    own: bool = False  # whether it is of a rule of the user's own, not a goal
    text: str = ""  # its reason in words, of a rule of the user's own
    effects: tuple[Effect, ...] = ()  # on each of these actors

    @property
    def points(self) -> int:
        """The score of all of them together."""
        return self.score * max(1, len(self.actor_ids))


@dataclass(frozen=True, slots=True)
class Placement:
    """An operator's order: an actor comes into the world, to a tile, or leaves it. Ticks end with these."""

    actor_id: str
    x: int = AWAY  # the tile to which it comes; AWAY, as y: it leaves
    y: int = AWAY
    reason: Reason = Reason.NONE  # why it did not happen, in a record

    @property
    def leaves(self) -> bool:
        """Whether the actor is to leave the world."""
        return self.x == AWAY


@dataclass(frozen=True, slots=True, eq=False)
class ActorColumns:
    """All actors after the tick, in ascending rows; row i is `TickRecord.actor_ids[i]`."""

    x: "Int32"  # AWAY, as y, of an actor that is not in the world
    y: "Int32"
    status_bits: "Int32"
    facing: "Int8"

    @property
    def present(self) -> "Bool":
        """Row -> whether the actor is in the world, and not away."""
        present: Bool = self.x != AWAY
        return present


@dataclass(frozen=True, slots=True, eq=False)
class NeedColumns:
    """The needs of some actors after a tick, each from 0 to 1000."""

    actor: "Int32"  # rows, ascending
    energy: "Int16"
    hunger: "Int16"
    own: "Int16 | None" = None  # place x own need of the world; None where it has none, or earlier versions recorded it

    def some(self, kept: "Int64 | slice") -> "NeedColumns":
        """Return the needs at some places."""
        own = None if self.own is None else self.own[kept]
        return NeedColumns(self.actor[kept], self.energy[kept], self.hunger[kept], own)


@dataclass(frozen=True, slots=True, eq=False)
class ResultColumns:
    """The result of each intent of the tick, in ascending rows; targets and effects are rare, so these are sparse."""

    actor: "Int32"  # rows
    action: "UInt8"  # codes of `ACTION_TYPES`
    reason: "UInt8"  # codes of `REASONS`; 0 is ok
    target_ids: Mapping[int, str] = field(default_factory=dict)  # place in the columns -> id
    effects: Mapping[int, tuple[Effect, ...]] = field(default_factory=dict)  # place in the columns -> effects

    def __len__(self) -> int:
        return len(self.actor)

    def named(self, place: int, actor_ids: Sequence[str]) -> ActionResult:
        """Return one result, with names."""
        reason = REASONS[int(self.reason[place])]
        return ActionResult(
            actor_id=actor_ids[int(self.actor[place])],
            action_type=ACTION_TYPES[int(self.action[place])],
            ok=not reason,
            reason=reason,
            target_id=self.target_ids.get(place, ""),
            effects=self.effects.get(place, ()),
        )


@dataclass(frozen=True, slots=True, eq=False)
class TickRecord:
    """Everything that one tick did. The arrays are shared, not copied: do not write to them.

    With `intents`, `controlled` and `placements` a world restored from an older snapshot steps to the same
    `state_hash` again.
    """

    tick_id: int
    sim_time_ms: int  # since the beginning, when the tick is over
    world_version: str
    state_hash: bytes
    actor_ids: Sequence[str]  # actor row -> id; the same object in every record of a run
    actor_state: ActorColumns
    results: ResultColumns
    utterances: tuple[Utterance, ...]
    object_deltas: tuple[ObjectDelta, ...]
    intents: IntentColumns
    controlled: "Bool | None"  # actor row -> whether a controller holds its lease; None: all
    needs: NeedColumns | None = None  # those that changed enough to report; all of them at intervals
    rule_events: tuple[RuleEvent, ...] = ()  # goals reached, and what rules of the user's own did
    placements: tuple[Placement, ...] = ()  # orders of operators, with their outcomes

    @property
    def ends(self) -> bool:
        """Whether a rule ends the run with this tick."""
        return any(event.ends for event in self.rule_events)

    def action_results(self) -> Iterator[ActionResult]:
        """Yield the results one by one, with names; for small worlds, tests and single actors."""
        for place in range(len(self.results)):
            yield self.result_at(place)

    def result_at(self, place: int) -> ActionResult:
        """Return one result, with names."""
        return self.results.named(place, self.actor_ids)


class Sink(Protocol):
    """A consumer of finished ticks; `record` implements it with a log on disk."""

    def publish(self, record: TickRecord) -> None:
        """Store one tick. When it returns, the tick is durable and may be shown to others."""
        ...

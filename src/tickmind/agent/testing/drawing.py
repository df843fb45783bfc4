"""`observe`: observations from drawings, so that a character can be tested without a server."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import dedent

from tickmind.agent.errors import AgentError
from tickmind.protocol import (
    ActionResult,
    ActorStatus,
    Direction,
    Event,
    ItemStack,
    Observation,
    SelfState,
    VisibleEntity,
    VisibleObject,
    VisibleTiles,
)

ME = "@"
DEADLINE_MS = 500


@dataclass(frozen=True, slots=True)
class Object:
    """An object that a letter of a drawing stands for."""

    kind: str
    walkable: bool = True
    state: str = "plain"
    items: Mapping[str, int] = field(default_factory=dict)
    verbs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Other:
    """Another actor that a letter of a drawing stands for."""

    entity_id: str
    type: str = "villager"
    tags: tuple[str, ...] = ("npc",)
    status: ActorStatus = ActorStatus.AWAKE


Letter = Object | Other | bool  # True: a walkable tile, False: one that is not

LEGEND: Mapping[str, Letter] = {
    ".": True,
    "#": False,
    "~": False,
    "b": Object("berry_bush", items={"berries": 3}),
    "B": Object("bed"),
    "c": Object("chair"),
    "T": Object("tree", walkable=False, state="standing", verbs=("chop",)),
    "+": Object("door", walkable=False, state="closed", verbs=("open",)),
    "/": Object("door", state="open", verbs=("close",)),
    **{str(number): Other(f"entity:{number}") for number in range(10)},
}


@dataclass(slots=True)
class Drawing:
    """A drawing, read: the tiles, what is on them, and where the character is."""

    width: int
    height: int
    me: tuple[int, int]
    walkable: set[tuple[int, int]]
    hidden: set[tuple[int, int]]
    objects: dict[str, tuple[Object, tuple[int, int]]]  # object id -> what and where
    others: dict[str, tuple[Other, tuple[int, int]]]  # entity id -> who and where

    @classmethod
    def read(cls, text: str, legend: Mapping[str, Letter] | None = None) -> "Drawing":
        """Read a drawing: `@` is the character, a blank a tile out of sight, the rest as the legend says."""
        known = {**LEGEND, **(legend or {})}
        lines = dedent(text).strip("\n").splitlines()
        me: tuple[int, int] | None = None
        drawing = cls(max(map(len, lines), default=0), len(lines), (0, 0), set(), set(), {}, {})
        for y, line in enumerate(lines):
            for x, letter in enumerate(line.ljust(drawing.width)):
                if letter == ME:
                    me = (x, y)
                    drawing.walkable.add((x, y))
                elif letter == " ":
                    drawing.hidden.add((x, y))
                elif letter in known:
                    drawing._put(known[letter], (x, y))
                else:
                    raise AgentError(f"the drawing has {letter!r}, which no legend explains; pass legend={{...}}")
        if me is None:
            raise AgentError("the drawing has no @; put one where the character stands")
        drawing.me = me
        return drawing

    def _put(self, what: Letter, at: tuple[int, int]) -> None:
        match what:
            case bool():
                if what:
                    self.walkable.add(at)
            case Object():
                number = 1 + sum(1 for other, _ in self.objects.values() if other.kind == what.kind)
                self.objects[f"{what.kind}:{number}"] = (what, at)
                if what.walkable:
                    self.walkable.add(at)
            case Other():
                self.others[what.entity_id] = (what, at)
                self.walkable.add(at)

    def tiles(self) -> VisibleTiles:
        """Return what is in sight: all of the drawing but its blanks."""
        radius = max(self.width, self.height, 1)
        side = 2 * radius + 1
        west, north = self.me[0] - radius, self.me[1] - radius
        seen = free = 0
        for y in range(self.height):
            for x in range(self.width):
                if (x, y) not in self.hidden:
                    bit = 1 << ((y - north) * side + x - west)
                    seen |= bit
                    free |= bit if (x, y) in self.walkable else 0
        size = (side * side + 7) // 8
        return VisibleTiles(radius, *self.me, seen.to_bytes(size, "little"), free.to_bytes(size, "little"))


def observe(
    text: str | Drawing,
    *,
    entity_id: str = "me",
    tick: int = 1,
    carrying: Mapping[str, int] | None = None,
    hunger: int = 0,
    energy: int = 1000,
    needs: Mapping[str, int] | None = None,
    status: ActorStatus = ActorStatus.AWAKE,
    events: Sequence[Event] = (),
    result: ActionResult | None = None,
    legend: Mapping[str, Letter] | None = None,
) -> Observation:
    """Return what a character perceives in a drawing: `observe("#@.b")` has a wall in the west, a bush in the east."""
    drawing = text if isinstance(text, Drawing) else Drawing.read(text, legend)
    return Observation(
        tick_id=tick,
        deadline_ms=DEADLINE_MS,
        me=SelfState(
            entity_id,
            *drawing.me,
            status,
            Direction.N,
            tuple(ItemStack(kind, number) for kind, number in sorted((carrying or {}).items()) if number),
            energy,
            hunger,
            tuple((needs or {}).items()),
        ),
        visible_tiles=drawing.tiles(),
        visible_entities=tuple(
            VisibleEntity(other.entity_id, *at, other.type, other.tags, other.status, Direction.N)
            for other, at in drawing.others.values()
        ),
        visible_objects=tuple(
            VisibleObject(
                object_id,
                thing.kind,
                *at,
                thing.state,
                items=tuple(ItemStack(kind, number) for kind, number in thing.items.items() if number),
                verbs=thing.verbs,
            )
            for object_id, (thing, at) in drawing.objects.items()
        ),
        events=tuple(events),
        result=result,
    )

"""`Observation`: what one actor perceives at the start of a tick."""

from dataclasses import dataclass
from enum import IntFlag

from tickmind.protocol.direction import Direction
from tickmind.protocol.event import Event
from tickmind.protocol.result import ActionResult

GROUND = "ground"  # the kind of `VisibleObject` that is items on the ground; its id is `ground:x,y`


class ActorStatus(IntFlag):
    """The bits of `status_bits`; none of them set is an actor that is awake and controlled."""

    AWAKE = 0
    ASLEEP = 1
    INCAPACITATED = 2  # too hungry, or otherwise too weak, to do anything but wake, use items, speak and wait
    UNCONTROLLED = 4  # no controller holds a lease
    PLAYED = 8  # a person plays it; in records and for viewers only, because characters see no difference

    def has(self, bit: "ActorStatus") -> bool:
        """Return whether a bit is set. `&` says the same, and makes a new flag for it, which takes long."""
        return bool(int.__and__(self, bit))


@dataclass(frozen=True, slots=True)
class ItemStack:
    """Some items of one kind. `item_id` is for worlds with unique items; none has them yet."""

    kind: str
    quantity: int
    item_id: str = ""


@dataclass(frozen=True, slots=True)
class SelfState:
    """The observer's own state. Energy and hunger go from 0 to 1000 and stand still where the world has no needs.

    `needs` are those that the scenario declares, each with its value from 0 to 1000.
    """

    entity_id: str
    x: int
    y: int
    status: ActorStatus
    facing: Direction
    inventory: tuple[ItemStack, ...] = ()
    energy: int = 1000
    hunger: int = 0
    needs: tuple[tuple[str, int], ...] = ()

    def need(self, name: str) -> int:
        """Return the value of a need: `energy`, `hunger`, or one of the world. Raises `KeyError` for any other."""
        if name in ("energy", "hunger"):
            return self.energy if name == "energy" else self.hunger
        return dict(self.needs)[name]


@dataclass(frozen=True, slots=True)
class VisibleTiles:
    """The window of (2R + 1) x (2R + 1) tiles around the observer, row by row from its north-west corner.

    The masks hold one bit for each tile, the lowest bit of the first byte first. What lies behind an unset bit of
    `visible` is unknown, and zero in the other columns.
    """

    radius: int
    centre_x: int
    centre_y: int
    visible: bytes
    walkable: bytes
    floors: bytes = b""  # one code of `WorldInfo.floors` for each tile of the window; empty unless requested

    def sees(self, x: int, y: int) -> bool:
        """Return whether the tile is in sight."""
        return self._bit(self.visible, x, y)

    def can_walk(self, x: int, y: int) -> bool:
        """Return whether the tile is in sight and walkable; an actor may stand there."""
        return self._bit(self.walkable, x, y)

    def walkable_row(self, y: int) -> int:
        """Return the tiles of a row that are in sight and walkable, each as one bit: the lowest is the westernmost."""
        side = 2 * self.radius + 1
        west, line = self.centre_x - self.radius, y - self.centre_y + self.radius
        if not 0 <= line < side:
            return 0
        bits = int.from_bytes(self.walkable, "little") >> line * side & (1 << side) - 1
        return bits << west if west >= 0 else bits >> -west

    def tiles(self) -> list[tuple[int, int]]:
        """Return all tiles in sight."""
        side = 2 * self.radius + 1
        west, north = self.centre_x - self.radius, self.centre_y - self.radius
        return [
            (west + place % side, north + place // side)
            for place in range(side * side)
            if self.visible[place >> 3] >> (place & 7) & 1
        ]

    def _bit(self, mask: bytes, x: int, y: int) -> bool:
        dx, dy = x - self.centre_x + self.radius, y - self.centre_y + self.radius
        side = 2 * self.radius + 1
        if not (0 <= dx < side and 0 <= dy < side):
            return False
        place = dy * side + dx
        return bool(mask[place >> 3] >> (place & 7) & 1)


@dataclass(frozen=True, slots=True)
class VisibleEntity:
    """Another actor in sight."""

    entity_id: str
    x: int
    y: int
    type: str
    tags: tuple[str, ...]
    status: ActorStatus
    facing: Direction


@dataclass(frozen=True, slots=True)
class VisibleObject:
    """An object in sight: a door, a tree, a chest, or items on the ground (`kind` is then `ground`)."""

    object_id: str
    kind: str
    x: int
    y: int
    state: str = ""
    work_remaining: int = 0
    items: tuple[ItemStack, ...] = ()  # what can be picked up there
    verbs: tuple[str, ...] = ()  # what `Interact` can do in this state
    owner: str = ""  # of a container: the actor that may put and take; others only buy and sell. Empty: all may
    size: tuple[int, int] = (1, 1)  # tiles from west to east, and from north to south; x and y are the north-west one

    @property
    def tiles(self) -> tuple[tuple[int, int], ...]:
        """All its tiles, line by line from the north-west one."""
        (x, y), (width, height) = (self.x, self.y), self.size
        if width == height == 1:
            return ((x, y),)
        return tuple((x + dx, y + dy) for dy in range(height) for dx in range(width))


@dataclass(frozen=True, slots=True)
class OpenOffer:
    """Items that another actor offers to this one, and what it wants for them."""

    actor_id: str
    kind: str
    amount: int
    wanted_kind: str = ""  # empty: nothing
    wanted_amount: int = 0


@dataclass(frozen=True, slots=True)
class Observation:
    """What one actor perceives at the start of tick `tick_id`: what it sees now, and what happened since the last.

    `deadline_ms` is the time that is left for an intent; a world that waits for all agents sends a whole day. `result`
    is the result of the actor's own last intent. The times are the server's, in ms since 1970: when the tick began, and
    until when intents for it count, so that an observation that was read late is known to be stale; 0 if not known.
    """

    tick_id: int
    deadline_ms: int
    me: SelfState
    visible_tiles: VisibleTiles
    visible_entities: tuple[VisibleEntity, ...] = ()
    visible_objects: tuple[VisibleObject, ...] = ()
    events: tuple[Event, ...] = ()
    result: ActionResult | None = None
    tick_start_server_time_ms: int = 0
    intent_deadline_server_time_ms: int = 0
    offers: tuple[OpenOffer, ...] = ()  # that stand, for `Accept` or `Decline`

"""`Surroundings`: the others and things that a character has seen, where, and when."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from tickmind.agent.knowledge.floor_costs import FloorCosts
from tickmind.agent.knowledge.paths import distance
from tickmind.agent.knowledge.tiles import Tile, TileMemory
from tickmind.base import Limit
from tickmind.protocol import ActorStatus, FloorInfo, Heard, Observation, VisibleObject, VisibleTiles
from tickmind.protocol.observation import GROUND

MAX_PEOPLE = Limit("number of others that a character remembers", 500)
MAX_THINGS = Limit("number of things that a character remembers", 5000)
_SQUARE_BITS = 4  # of the side of the squares in which things that may be gone are looked for
STILL_THERE_TICKS = 60  # for which an actor that is out of sight counts as being where it was seen last


@dataclass(slots=True)
class Person:
    """Another actor, as it was seen or heard last."""

    entity_id: str
    type: str
    tags: tuple[str, ...]
    x: int
    y: int
    status: ActorStatus
    first_tick: int
    seen_tick: int  # 0: only heard so far
    heard_tick: int = 0  # 0: never

    @property
    def at(self) -> Tile:
        """Its last known tile."""
        return self.x, self.y

    @property
    def asleep(self) -> bool:
        """Whether it slept when it was seen last."""
        return self.status.has(ActorStatus.ASLEEP)


@dataclass(slots=True)
class Thing:
    """An object, as it looked when it was seen last."""

    seen: VisibleObject
    tick: int

    @property
    def at(self) -> Tile:
        """Its tile, the north-west one of several."""
        return self.seen.x, self.seen.y

    def steps_from(self, at: Tile) -> int:
        """Return the distance of the nearest of its tiles from another tile."""
        (x, y), seen = at, self.seen
        width, height = seen.size
        return max(seen.x - x, x - seen.x - width + 1, seen.y - y, y - seen.y - height + 1, 0)

    def tiles_from(self, at: Tile) -> list[Tile]:
        """Return its tiles, the nearest to another tile first."""
        tiles = self.seen.tiles
        return [*tiles] if len(tiles) == 1 else sorted(tiles, key=lambda tile: distance(tile, at))

    def amount(self, kind: str) -> int:
        """Return how many items of a kind could be picked up there."""
        return sum(stack.quantity for stack in self.seen.items if stack.kind == kind)


def _square(tile: Tile) -> Tile:
    """Return the square of the map that a tile is in."""
    return tile[0] >> _SQUARE_BITS, tile[1] >> _SQUARE_BITS


class Surroundings:
    """A character's private picture of the world, filled from its observations only."""

    def __init__(
        self,
        floors: Sequence[FloorInfo] = (),
        *,
        passing: Iterable[str] = (),
        max_people: Limit = MAX_PEOPLE,
        max_things: Limit = MAX_THINGS,
    ) -> None:
        self._passing = frozenset((GROUND, *passing))  # kinds of things that may be gone at the next look
        self.tiles = TileMemory()
        self.floor_costs: FloorCosts | None = FloorCosts(floors) if floors else None
        """What steps onto known tiles cost; None if they cost the same on all floors."""
        self.people: dict[str, Person] = {}
        """Entity id -> its `Person`; those that were noticed last come last."""
        self.things: dict[str, Thing] = {}
        """Object id -> its `Thing`."""
        self.in_sight: tuple[Person, ...] = ()
        """Others that are in sight now."""
        self.occupied: frozenset[Tile] = frozenset()
        """Tiles that are occupied now."""
        self._observation: Observation | None = None
        self._fleeting: dict[Tile, set[str]] = {}  # square of the map -> object ids of things of these kinds in it
        self._stocked: dict[str, Thing] = {}  # object id -> thing with items to pick up
        self._obstacles: dict[Tile, str] = {}  # tile -> object id of an obstacle that can be worked on
        self._doors: dict[Tile, None] = {}  # those of the tiles where it can be opened
        self._max_people = max_people
        self._max_things = max_things

    def take_in(self, observation: Observation) -> None:
        """Update the picture from an observation."""
        self._observation = observation
        tick = observation.tick_id
        self.tiles.see(observation.visible_tiles)
        if self.floor_costs is not None:
            self.floor_costs.see(observation.visible_tiles)
        self._see_things(observation, tick)
        self._see_people(observation, tick)
        for event in observation.events:
            if isinstance(event, Heard):
                self._hear(event, tick)

    def _see_things(self, observation: Observation, tick: int) -> None:
        things = self.things
        for seen in observation.visible_objects:
            thing = things.get(seen.object_id)
            if thing is None:
                thing = things[seen.object_id] = Thing(seen, tick)
                self._note(thing)
            elif thing.seen is not seen:
                if thing.at != (seen.x, seen.y):  # it was removed there, and built here
                    self._clear(thing)
                    self._leave(thing)
                thing.seen = seen
                self._note(thing)
            thing.tick = tick
        if self._fleeting:
            visible = {seen.object_id for seen in observation.visible_objects}
            sees = observation.visible_tiles.sees
            for object_id in self._fleeting_near(observation.visible_tiles) - visible:
                if any(sees(*tile) for tile in things[object_id].seen.tiles):
                    self._clear(self._forget(object_id))
        if not self._max_things.allows(len(things)):
            for object_id in sorted(things, key=lambda known: things[known].tick)[: len(things) // 10]:
                self._clear(self._forget(object_id))

    def _fleeting_near(self, tiles: VisibleTiles) -> set[str]:
        """Return the things that may be gone, in all squares of which a tile may be in sight."""
        (west, north), (east, south) = (
            _square((tiles.centre_x + by, tiles.centre_y + by)) for by in (-tiles.radius, tiles.radius)
        )
        near = product(range(west, east + 1), range(north, south + 1))
        return set().union(*(self._fleeting.get(square, ()) for square in near))

    def _leave(self, thing: Thing) -> None:
        """Look for a thing no more where it was."""
        for square in {_square(tile) for tile in thing.seen.tiles}:
            self._fleeting.get(square, set()).discard(thing.seen.object_id)

    def _forget(self, object_id: str) -> Thing:
        thing = self.things.pop(object_id)
        self._leave(thing)
        self._stocked.pop(object_id, None)
        return thing

    def _note(self, thing: Thing) -> None:
        seen = thing.seen
        if seen.items:
            self._stocked[seen.object_id] = thing
        else:
            self._stocked.pop(seen.object_id, None)
        if seen.kind in self._passing:
            for square in {_square(tile) for tile in seen.tiles}:
                self._fleeting.setdefault(square, set()).add(seen.object_id)
        if seen.kind == GROUND:
            return
        for tile in seen.tiles:
            if not seen.verbs or self.tiles.can_walk(*tile):
                self._clear_tile(tile, seen.object_id)
                continue
            self._obstacles[tile] = seen.object_id
            if "open" in seen.verbs:
                self._doors[tile] = None
            else:
                self._doors.pop(tile, None)

    def _clear(self, thing: Thing) -> None:
        """Forget that a thing is an obstacle on its tiles."""
        for tile in thing.seen.tiles:
            self._clear_tile(tile, thing.seen.object_id)

    def _clear_tile(self, tile: Tile, object_id: str) -> None:
        """Forget an obstacle on a tile; another one may be there by now."""
        if self._obstacles.get(tile) == object_id:
            del self._obstacles[tile]
            self._doors.pop(tile, None)

    def _see_people(self, observation: Observation, tick: int) -> None:
        people = self.people
        seen: list[Person] = []
        for other in observation.visible_entities:
            person = people.get(other.entity_id)
            if person is None:
                person = Person(
                    other.entity_id, other.type, other.tags, other.x, other.y, other.status, tick, seen_tick=tick
                )
                self._meet(person)
            else:
                if not person.seen_tick:
                    person.type, person.tags = other.type, other.tags
                person.x, person.y, person.status, person.seen_tick = other.x, other.y, other.status, tick
            seen.append(person)
        self.in_sight = tuple(seen)
        self.occupied = frozenset([(person.x, person.y) for person in seen])

    def _hear(self, heard: Heard, tick: int) -> None:
        person = self.people.get(heard.speaker_id)
        if person is None:
            person = Person(heard.speaker_id, "", (), heard.x, heard.y, ActorStatus.AWAKE, tick, seen_tick=0)
            self._meet(person)
        elif person.seen_tick != tick:
            person.x, person.y = heard.x, heard.y
        person.heard_tick = tick

    def _meet(self, person: Person) -> None:
        self.people[person.entity_id] = person
        if not self._max_people.allows(len(self.people)):
            oldest = min(self.people.values(), key=lambda who: max(who.seen_tick, who.heard_tick, who.first_tick))
            del self.people[oldest.entity_id]

    # Questions

    def things_of(self, kind: str) -> Iterator[Thing]:
        """Yield all known things of a kind."""
        return (thing for thing in self.things.values() if thing.seen.kind == kind)

    def things_with(self, item: str) -> Iterator[Thing]:
        """Yield all known things, and heaps on the ground, with such an item to pick up."""
        return (thing for thing in self._stocked.values() if thing.amount(item))

    def held(self, container: Thing, item: str = "") -> int:
        """Return how many items of a kind, or of all, were in a container when it was seen last."""
        x, y = container.at
        pile = self.things.get(f"{GROUND}:{x},{y}")
        if pile is None:
            return 0
        return pile.amount(item) if item else sum(stack.quantity for stack in pile.seen.items)

    def nearest(self, things: Iterable[Thing], at: Tile) -> Thing | None:
        """Return the nearest of some things, as the crow flies."""
        return min(things, key=lambda thing: (thing.steps_from(at), thing.seen.object_id), default=None)

    def taken(self) -> set[Tile]:
        """Return the tiles on which others are, or were when they went out of sight a short while ago.

        Who goes by `occupied` alone forgets behind a corner that a place is taken, and turns back.
        """
        now = self._observation
        if now is None:
            return set()
        since, sees = now.tick_id - STILL_THERE_TICKS, now.visible_tiles.sees
        gone = {who.at for who in self.people.values() if who.seen_tick > since and not sees(*who.at)}
        return gone | self.occupied

    @property
    def doors(self) -> tuple[Tile, ...]:
        """Tiles with something closed that can be opened."""
        return tuple(self._doors)

    def obstacle_at(self, x: int, y: int) -> Thing | None:
        """Return the obstacle on a tile that can be worked on, such as a closed door; None if there is none."""
        object_id = self._obstacles.get((x, y))
        return None if object_id is None else self.things.get(object_id)

    def near(self, at: Tile, steps: int) -> tuple[Person, ...]:
        """Return others in sight within so many steps, the nearest first."""
        x, y = at  # computed here: it is asked several times a tick, of all who are in sight
        close = [
            (away, person.entity_id, person)
            for person in self.in_sight
            if (away := max(abs(person.x - x), abs(person.y - y))) <= steps
        ]
        close.sort()
        return tuple([person for _, _, person in close])

"""What stands on the map at the beginning: objects, items on the ground and actors, from the map and from lists."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tickmind.protocol import CalendarInfo, Direction
from tickmind.protocol.observation import GROUND
from tickmind.protocol.record import AWAY
from tickmind.world.chance import scatter
from tickmind.world.scenario.kinds import FloorKind, ObjectKind
from tickmind.world.scenario.limits import MAX_ACTORS, MAX_GROUND, MAX_NAME_CHARS, MAX_OBJECTS
from tickmind.world.scenario.readers.calendar_reader import read_tick
from tickmind.world.scenario.readers.kind_reader import known, read_amounts, read_tags
from tickmind.world.scenario.readers.map_reader import Land
from tickmind.world.scenario.readers.need_reader import read_first_values
from tickmind.world.scenario.readers.setting_reader import PersonaReader
from tickmind.world.scenario.scenario import NEVER, ActorSpawn, GroundSpawn, ObjectSpawn, id_order
from tickmind.world.scenario.settings import NEED_MOST, Rules
from tickmind.world.scenario.yaml_nodes import Leaf, Node, NodePosition, YamlMapping, leaf, many, table

if TYPE_CHECKING:
    from tickmind.protocol.columns import Bool, Int64

_PLACING = 1  # what the chance is for
_ACTOR_KEYS = (
    "id",
    "type",
    "tags",
    "facing",
    "inventory",
    "energy",
    "hunger",
    "needs",
    "persona",
    "agent",
    "arrives",
    "leaves",
)


class Spawns:
    """Reads the sections that put things on the map, and checks that they fit together."""

    def __init__(
        self,
        seed: int,
        rules: Rules,
        floors: tuple[FloorKind, ...],
        items: tuple[str, ...],
        kinds: tuple[ObjectKind, ...],
        land: Land,
        people: PersonaReader,
        calendar: CalendarInfo,
        own_needs: tuple[str, ...] = (),
    ) -> None:
        self._own_needs = own_needs
        self._calendar = calendar
        self._people = people
        self._seed = seed
        self.scatters = False  # whether the seed has chosen the places of some actors
        self._rules = rules
        self._items = items
        self._kinds = {kind.name: kind for kind in kinds}
        self._land = land
        codes = np.frombuffer(land.floor_codes, dtype=np.uint8)
        self._walkable: Bool = np.array([floor.walkable for floor in floors], dtype=np.bool_)[codes]
        self._taken = np.zeros(len(codes), dtype=np.bool_)  # tile -> whether an actor stands there
        self._objects: dict[str, ObjectSpawn] = {}
        self._object_at: dict[int, str] = {}  # tile -> object id
        self._drawn: set[str] = set()  # ids of objects that are signs on the map
        self._actors: dict[str, ActorSpawn] = {}
        self._ground: dict[tuple[int, str], int] = {}  # (tile, item) -> amount
        self._containers: dict[int, tuple[int, NodePosition]] = {}  # tile -> how much it holds, and where it says so
        self._owners: list[Node] = []
        self._numbers: dict[str, int] = {}  # pattern of ids -> last number given

    def read(self, given: YamlMapping) -> None:
        """Take everything in; the map first, then the lists, then the actors that go wherever there is room."""
        noting = given.place.source.noting
        for mark in self._land.marks:
            with noting():
                if (kind := mark.meaning.get("object")) is not None and not self._is_part(kind, mark.x, mark.y):
                    self._add_object(mark.place, mark.meaning, kind, mark.x, mark.y)
                    self._drawn.add(self._object_at[mark.y * self._land.width + mark.x])
            with noting():
                if (ground := mark.meaning.get("ground")) is not None:
                    for item, amount in read_amounts(ground, self._items):
                        self._add_ground(mark.place, item, amount, mark.x, mark.y)
        for node in self._list(given, "objects"):
            with noting():
                one = table(node)
                one.nothing_but("id", "kind", "at", "state", "stock", "owner", "contents")
                self._add_object(one.place, one, one.need("kind"), *self._at(one.need("at")))
        for known_kind in self._kinds.values():
            with noting():
                self._reserve(known_kind, given.place)
        for node in self._list(given, "ground"):
            with noting():
                one = table(node)
                one.nothing_but("item", "amount", "at")
                item = known(one.need("item"), self._items, "item")
                self._add_ground(one.place, item, one.integer("amount", 1, 1, MAX_GROUND), *self._at(one.need("at")))
        for mark in self._land.marks:
            with noting():
                if (actor := mark.meaning.get("actor")) is not None:
                    one = table(actor)
                    one.nothing_but(*_ACTOR_KEYS)
                    self._add_actor(mark.place, one, mark.x, mark.y)
        scattered = []
        for node in self._list(given, "actors"):
            with noting():
                one = table(node)
                one.nothing_but(*_ACTOR_KEYS, "at", "count", "within")
                if "at" not in one.entries:
                    scattered.append(one)
                    continue
                if "count" in one.entries or "within" in one.entries:
                    one.place.fail("count and within are for actors without a place; this one has `at`")
                self._add_actor(one.entries["at"].place, one, *self._at(one.entries["at"]))
        for number, one in enumerate(scattered):
            with noting():
                self._scatter(number, one)
        self._check_containers()

    def _check_containers(self) -> None:
        """Note owners that are no actors, and containers that hold more than they can."""
        for owner in self._owners:
            with owner.place.source.noting():
                known(owner, self._actors, "actor")
        held: dict[int, int] = {}  # tile -> number of items
        for (tile, _), amount in self._ground.items():
            held[tile] = held.get(tile, 0) + amount
        for tile, (holds, place) in self._containers.items():
            if held.get(tile, 0) > holds:
                place.note(f"{self._object_at[tile]!r} holds {holds} items at most, not {held[tile]}")

    def objects(self) -> tuple[ObjectSpawn, ...]:
        """The objects in the order of their ids."""
        return tuple(sorted(self._objects.values(), key=lambda found: id_order(found.object_id)))

    def actors(self) -> tuple[ActorSpawn, ...]:
        """The actors in the order of their ids, which is the order of priority."""
        return tuple(sorted(self._actors.values(), key=lambda found: id_order(found.entity_id)))

    def ground(self) -> tuple[GroundSpawn, ...]:
        """What lies on the ground, in the order of tiles."""
        width = self._land.width
        return tuple(
            GroundSpawn(item, amount, tile % width, tile // width)
            for (tile, item), amount in sorted(self._ground.items())
        )

    def _list(self, given: YamlMapping, key: str) -> tuple[Node, ...]:
        node = given.get(key)
        return () if node is None else node.place.source.part((), lambda: many(node).items)

    def _at(self, node: Node) -> tuple[int, int]:
        given = many(node)
        if len(given.items) != 2:
            given.place.fail("expected a place as [x, y]")
        x = leaf(given.items[0]).integer(0, self._land.width - 1)
        return x, leaf(given.items[1]).integer(0, self._land.height - 1)

    def _add_object(self, place: NodePosition, given: YamlMapping, kind_node: Node, x: int, y: int) -> None:
        kind = self._kinds[known(kind_node, self._kinds, "kind of object")]
        states = {state.name: state for state in kind.states}
        state_node = given.get("state")
        state = states[known(state_node, states, f"state of {kind.name}")] if state_node else kind.states[0]
        stock_node = given.get("stock")
        if stock_node is not None and kind.stock is None:
            stock_node.place.fail(f"{kind.name!r} has no stock")
        most = kind.stock.most if kind.stock else 0
        stock = leaf(stock_node).integer(0, most) if stock_node is not None else most
        tile, tiles = y * self._land.width + x, self._tiles(kind, place, x, y)
        object_id = self._id(given.get("id"), kind.name + ":{n}", place, self._objects)
        if not MAX_OBJECTS.allows(len(self._objects) + 1):
            place.fail(f"more than {MAX_OBJECTS.maximum} objects")
        owner = given.get("owner")
        if owner is not None:
            if kind.container is None:
                owner.place.fail(f"{kind.name!r} holds nothing, so it needs no owner; give its kind `holds: 50`")
            self._owners.append(owner)
        self._object_at.update(dict.fromkeys(tiles, object_id))
        self._objects[object_id] = ObjectSpawn(
            object_id, kind.name, x, y, state.name, stock, leaf(owner).name() if owner is not None else ""
        )
        self._walkable[tiles] &= state.walkable
        contents = given.get("contents")
        if contents is not None:
            if kind.container is None:
                contents.place.fail(f"{kind.name!r} holds nothing; its kind says how much it can with `holds`")
            for item, amount in read_amounts(contents, self._items, MAX_GROUND):
                self._add_ground(place, item, amount, x, y)
        if kind.container is not None:
            self._containers[tile] = kind.container.holds, place

    def _tiles(self, kind: ObjectKind, place: NodePosition, x: int, y: int) -> list[int]:
        """The tiles of an object, which must be free; (x, y) is the north-west one."""
        (width, height), land = kind.size, self._land
        if x + width > land.width or y + height > land.height:
            place.fail(f"{kind.name!r} has {width} x {height} tiles, too many for [{x}, {y}] as the north-west one")
        tiles = [(y + dy) * land.width + x + dx for dy in range(height) for dx in range(width)]
        for tile in tiles:
            if tile in self._object_at:
                at = [tile % land.width, tile // land.width]
                place.fail(f"{self._object_at[tile]!r} is already at {at}; a tile has room for one object")
        return tiles

    def _is_part(self, kind: Node, x: int, y: int) -> bool:
        """Whether the sign of an object is on another tile of one of the same kind, which a sign has drawn."""
        object_id = self._object_at.get(y * self._land.width + x)
        return object_id in self._drawn and self._objects[str(object_id)].kind == leaf(kind).name()

    def _reserve(self, kind: ObjectKind, place: NodePosition) -> None:
        """Add the objects of a kind that can be built later."""
        if not MAX_OBJECTS.allows(len(self._objects) + kind.most_built):
            place.fail(f"more than {MAX_OBJECTS.maximum} objects, with those that can be built")
        for _ in range(kind.most_built):
            object_id = self._id(None, kind.name + ":{n}", place, self._objects)
            self._objects[object_id] = ObjectSpawn(object_id, kind.name, AWAY, AWAY, kind.states[0].name)

    def _add_ground(self, place: NodePosition, item: str, amount: int, x: int, y: int) -> None:
        key = (y * self._land.width + x, item)
        amount += self._ground.get(key, 0)
        if not MAX_GROUND.allows(amount):
            place.fail(f"{amount:,} of {item!r} at [{x}, {y}]; {MAX_GROUND.maximum:,} are allowed")
        self._ground[key] = amount

    def _add_actor(self, place: NodePosition, given: YamlMapping, x: int, y: int) -> None:
        tile = y * self._land.width + x
        if not self._walkable[tile]:
            place.fail(f"no actor can stand at [{x}, {y}]: the tile is not walkable")
        is_there = "arrives" not in given.entries  # one that arrives later waits until the tile is free
        if self._taken[tile] and is_there:
            place.fail(f"an actor already stands at [{x}, {y}]")
        if not MAX_ACTORS.allows(len(self._actors) + 1):
            place.fail(f"more than {MAX_ACTORS.maximum} actors")
        entity_id = self._id(given.get("id"), "entity:{n}", place, self._actors)
        self._taken[tile] |= is_there
        self._actors[entity_id] = self._actor(entity_id, given, x, y)

    def _actor(self, entity_id: str, given: YamlMapping, x: int, y: int) -> ActorSpawn:
        facing = given.get("facing")
        inventory = read_amounts(given.get("inventory"), self._items)
        if sum(amount for _, amount in inventory) > self._rules.inventory_limit:
            given.entries["inventory"].place.fail(f"an actor carries at most {self._rules.inventory_limit} items")
        return ActorSpawn(
            entity_id=entity_id,
            type=given.name("type", "actor"),
            x=x,
            y=y,
            tags=read_tags(given, "tags"),
            facing=int(Direction[leaf(facing).one_of(*Direction.__members__)] if facing else Direction.S),
            inventory=inventory,
            energy=given.integer("energy", NEED_MOST, 0, NEED_MOST),
            hunger=given.integer("hunger", 0, 0, NEED_MOST),
            persona=self._people.of(entity_id, given.get("persona"), given.get("agent")),
            arrives=self._arrives(given),
            leaves=self._leaves(given),
            needs=read_first_values(given.get("needs"), self._own_needs),
        )

    def _arrives(self, given: YamlMapping) -> int:
        node = given.get("arrives")
        if isinstance(node, Leaf):
            if node.text != "never":
                node.place.fail('expected a time as {tick: 100} or as {day: 2, clock: "08:00"}, or never')
            return NEVER
        return self._time(node)

    def _leaves(self, given: YamlMapping) -> int:
        leaves, arrives = self._time(given.get("leaves")), self._arrives(given)
        if leaves and arrives != NEVER and leaves <= arrives:
            given.entries["leaves"].place.fail("this actor would leave before it arrives")
        return leaves

    def _time(self, node: Node | None) -> int:
        if node is None:
            return 0
        given = table(node)
        given.nothing_but("tick", "day", "clock")
        if set(given.entries) not in ({"tick"}, {"day"}, {"day", "clock"}):
            given.place.fail('expected a time as {tick: 100} or as {day: 2, clock: "08:00"}')
        tick_id = read_tick(given, self._calendar)
        if tick_id == 1:
            given.place.fail("the world begins with tick 1; an actor can arrive or leave from tick 2 on")
        return tick_id

    def _scatter(self, number: int, given: YamlMapping) -> None:
        """Put actors on free tiles, chosen by the scenario's seed."""
        self.scatters = True
        count = given.integer("count", 1, 1, int(MAX_ACTORS.maximum) - len(self._actors))
        free = self._free(given.get("within"))
        if count > len(free):
            given.place.fail(f"there is room for {len(free)} more actors, not for {count}")
        order = scatter(self._seed, _PLACING, number, free)
        chosen = free[np.argsort(order, kind="stable")[:count]]
        pattern = given.get("id")
        if count > 1 and pattern is not None and "{n}" not in leaf(pattern).text:
            pattern.place.fail("expected {n} in the id, which stands for the number of the actor")
        model = self._actor("", given, 0, 0)
        for tile in chosen.tolist():
            entity_id = self._id(pattern, "entity:{n}", given.place, self._actors)
            y, x = divmod(tile, self._land.width)
            named = given.get("persona") is not None
            persona = model.persona if named else self._people.of(entity_id, None, given.get("agent"))
            self._actors[entity_id] = replace(model, entity_id=entity_id, x=x, y=y, persona=persona)
        self._taken[chosen] |= not model.arrives

    def _free(self, within: Node | None) -> "Int64":
        free = self._walkable & ~self._taken
        if within is not None:
            corners = many(within)
            if len(corners.items) != 4:
                corners.place.fail("expected two corners as [x, y, x, y]")
            west, north, east, south = (leaf(item).integer(0, 1 << 20) for item in corners.items)
            inside = np.zeros((self._land.height, self._land.width), dtype=np.bool_)
            inside[north : south + 1, west : east + 1] = True
            free &= inside.ravel()
        return np.flatnonzero(free)

    def _id(
        self, node: Node | None, default: str, place: NodePosition, used: dict[str, ObjectSpawn] | dict[str, ActorSpawn]
    ) -> str:
        """The id that is written, with the next free number for `{n}`."""
        pattern = leaf(node).name() if node is not None else default
        if pattern.startswith(f"{GROUND}:"):
            place.fail(f"ids that begin with `{GROUND}:` are those of items on the ground; choose another one")
        if "{n}" not in pattern:
            if pattern in used:
                place.fail(f"the id {pattern!r} is there twice")
            return pattern
        number = self._numbers.get(pattern, 0) + 1
        while (name := pattern.replace("{n}", str(number))) in used:
            number += 1
        self._numbers[pattern] = number
        if not MAX_NAME_CHARS.allows(len(name)):
            place.fail(f"the id {name!r} is longer than {MAX_NAME_CHARS.maximum} characters; write a shorter one")
        return name

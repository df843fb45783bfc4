"""`Character`: a character with ready conditions and actions for needs, ways, items, speech and exploring."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn, Self

from tickmind.agent.character.body import MAX_NO_WAYS, NO_WAY_TICKS
from tickmind.agent.character.host import CharacterHost
from tickmind.agent.character.tactics import action, condition
from tickmind.agent.character.trading import TradingCharacter
from tickmind.agent.knowledge import Thing, Tile, distance, nearest_tile
from tickmind.agent.knowledge.memory_files import MemoryFiles
from tickmind.agent.minds import PastMinds
from tickmind.agent.running import run
from tickmind.ai import Status
from tickmind.mind.embeddings import find_embeddings
from tickmind.protocol import (
    ActionInfo,
    ActionType,
    Build,
    Direction,
    Interact,
    Pickup,
    Reason,
    Sleep,
    Use,
    Wait,
    Wake,
)
from tickmind.protocol.observation import GROUND
from tickmind.protocol.setting import Area

if TYPE_CHECKING:
    from tickmind.agent.running import ProcessContext
    from tickmind.strategy.clients.client import AnyClient

NOTHING_NEW_TICKS = 200  # before a character that knows the whole map explores again
FULL_TICKS = 30  # before one whose hands were full tries again to pick something up
STROLL_STEPS = 8
ZONE_REACH = 16  # steps around the nearest tile of a zone in which a character looks for a way in


class Character(TradingCharacter):
    """A kind of character; each entity gets an instance of its own.

        class Miller(Character):
            tree = Path(__file__).with_suffix(".xml")


    Its tree may name the conditions and actions below beside its own methods.
    """

    _full_until = 0  # the tick until which it picks nothing up
    _buys_first = False  # whether it buys what is sold before it makes it
    _frontier: Tile | None = None
    _frontier_goal: Tile | None = None  # the goal that the frontier leads to
    _explored_until = 0
    _explored_gains = -1  # `tiles.gains` when everything was known; -1: it was not
    _stroll: Tile | None = None
    _last_build: tuple[str, Tile, Direction] | None = None  # what it built where in the tick before
    _zone_goal: tuple[str, Tile] | None = None  # the zone that it goes to, and where it enters

    @classmethod
    def client(cls, stage: "ProcessContext") -> "AnyClient | None":
        """Return the client of a thinking character: the gateway or model that the process was given, or None."""
        from tickmind.agent.character.thoughts.models import (
            find_model,
        )  # slow to import, and many characters never think

        return find_model(stage)

    @classmethod
    def tiers(cls, stage: "ProcessContext", client: "AnyClient") -> "Mapping[str, AnyClient] | None":
        """Return the clients of the tiers of models, for its faculties; None if its client serves them all."""
        if cls.thinking is None or not cls.thinking.faculties:
            return None
        from tickmind.agent.character.thoughts.models import find_tiers  # as above

        return find_tiers(stage, client)

    @classmethod
    def past(cls, stage: "ProcessContext") -> PastMinds | None:
        """Return the past that its characters live again, with the tiers of models that there were."""
        if stage.past is None or cls.thinking is None or not cls.thinking.faculties:
            return stage.past
        from tickmind.agent.character.thinking import served_tiers  # as above

        return replace(stage.past, tiers=served_tiers(stage.launch.settings))

    @classmethod
    def run(cls, env: Mapping[str, str] | None = None) -> NoReturn:
        """Run as the environment says, until SIGTERM or Ctrl-C; then exit."""

        def host(stage: "ProcessContext") -> CharacterHost[Self]:
            find_embeddings(stage.launch.settings.text("embeddings"))  # loaded now, so that no tick waits for it
            asks = stage.past is None or stage.past.until_tick is not None
            client = stage.played(cls.client(stage)) if cls.thinking and asks else None
            folder = stage.launch.state_dir
            memories = None if folder is None else MemoryFiles(folder, stage.launch.world_addr)
            return CharacterHost(
                cls,
                stage.start,
                client=client,
                tiers=None if client is None else cls.tiers(stage, client),
                characters=stage.characters,
                faculties=stage.faculties,
                memories=memories,
                past=cls.past(stage),
            )

        run(host, env)

    # Conditions

    @condition
    def has(self, item: str, amount: int = 1) -> bool:
        """Return whether it carries at least so many items of a kind."""
        return self.carries(item) >= amount

    @condition
    def spoken_to(self) -> bool:
        """Return whether a speaker waits for its answer."""
        return self.speech.owed() is not None

    @condition
    def anyone_near(self, steps: int = 3) -> bool:
        """Return whether another actor is within so many steps."""
        return bool(self.surroundings.near(self.at, steps))

    @condition
    def in_zone(self, zone: str) -> bool:
        """Return whether it is in a zone of the world; a tile may be in several."""
        wanted = self.setting.zone(zone)
        return wanted is not None and wanted.holds(*self.at)

    # Actions

    @action
    def wait(self) -> Status:
        """Do nothing in this tick."""
        return self.do(Wait())

    @action
    def eat(self, item: str) -> Status:
        """Use up one item; fails if there is none."""
        return self.do(Use(item)) if self.carries(item) else Status.FAILURE

    @action
    def gather(self, item: str) -> Status:
        """Go to the nearest known place with an item and pick one up; fails if none is known or its hands are full."""
        if self._hands_full():
            return Status.FAILURE
        place = self.nearest_lying(item)
        if place is None:
            return Status.FAILURE
        if self.at in place.seen.tiles:
            self.takes_from(place)
            return self.do(Pickup(item))
        return self._walk_onto(place)

    def may_take(self, place: Thing) -> bool:  # noqa: ARG002  a character that shares looks at the place
        """Return whether it takes something from a place that it knows: always, if a subclass does not override it."""
        return True

    def takes_from(self, place: Thing) -> None:
        """Notice that it takes something from a place in this tick."""

    def nearest_lying(self, item: str) -> Thing | None:
        """Return the nearest known thing or heap with an item that it could pick up; None if it knows none."""
        around = self.surroundings
        lying = (thing for thing in around.things_with(item) if not self._is_contents(thing) and self.may_take(thing))
        return around.nearest(filter(self.reachable, lying), self.at)

    def _hands_full(self) -> bool:
        """Return whether it could carry nothing more a while ago."""
        last = self.observation.result
        if last is not None and last.action_type is ActionType.PICKUP and last.reason is Reason.INVENTORY_FULL:
            self._full_until = self.tick + FULL_TICKS
        return self.tick < self._full_until

    @action
    def go_to(self, kind: str) -> Status:
        """Go to the nearest known thing of a kind on which no other actor is; fails if none is known."""
        around = self.surroundings
        known = [thing for thing in around.things_of(kind) if self.reachable(thing)]
        taken = around.taken() if known else ()
        place = around.nearest((thing for thing in known if thing.at not in taken), self.at)
        return Status.FAILURE if place is None else self._walk_onto(place)

    @action
    def work_on(self, kind: str, verb: str, state: str = "") -> Status:
        """Go to the nearest known thing of a kind, and of a state if one is named, and do one step of a verb there."""
        around = self.surroundings
        fit = (
            thing
            for thing in around.things_of(kind)
            if verb in thing.seen.verbs and state in ("", thing.seen.state) and self.reachable(thing)
        )
        thing = around.nearest(fit, self.at)
        if thing is None:
            return Status.FAILURE
        status = self.walk_to(thing, beside=True)
        return self.do(Interact(thing.seen.object_id, verb)) if status is Status.SUCCESS else status

    def _is_contents(self, thing: Thing) -> bool:
        """Return whether it is what a container holds: items on a tile on which no actor can stand."""
        return thing.seen.kind == GROUND and not self.surroundings.tiles.can_walk(*thing.at)

    def recipes(self, item: str) -> list[tuple[str, str, ActionInfo]]:
        """Return what yields an item: kinds of objects, each with its state and what can be done there."""
        return [
            (kind.name, state, action)
            for kind in self.kinds
            for state, actions in zip(kind.states, kind.actions, strict=True)
            for action in actions
            if any(item == made for made, _ in action.yields)
        ]

    @action
    def make(self, item: str) -> Status:
        """Do the next step on the way to an item: gather, take, make or buy what a recipe takes, then work on it.

        Fails if no recipe is known, or nothing that it takes can be had.
        """
        return self._make(item, set())

    def _make(self, item: str, tried: set[str]) -> Status:
        if item in tried:
            return Status.FAILURE
        tried.add(item)
        for kind, state, recipe in self.recipes(item):
            missing = self._missing(recipe)
            if missing is not None:
                status = self._obtain(missing, tried)
            else:
                status = self.work_on(kind, recipe.verb, state) if self._is_time(recipe) else Status.FAILURE
            if status is not Status.FAILURE:
                return status
        return Status.FAILURE

    def _obtain(self, item: str, tried: set[str]) -> Status:
        """Gather an item, take it out of a container, make it or buy it, whichever is possible first."""
        last = (lambda missing: self._make(missing, tried), self.buy)
        ways = (self.gather, self.take, *(reversed(last) if self._buys_first else last))
        return Status.RUNNING if any(way(item) is not Status.FAILURE for way in ways) else Status.FAILURE

    def _missing(self, recipe: ActionInfo) -> str | None:
        """Return the first item that a recipe takes and it lacks."""
        takes = (*recipe.needs, *recipe.consumes, *((tool, 1) for tool, _ in recipe.wears))
        return next((name for name, amount in takes if self.carries(name) < amount), None)

    def _is_time(self, recipe: ActionInfo) -> bool:
        return self.time.allows(recipe.hours, recipe.seasons, recipe.weather)

    @action
    def build(self, kind: str) -> Status:
        """Build an object of a kind on a free tile beside it, or do the next step on the way to what that takes.

        Fails if there is no free tile, nothing that it takes can be had, or no more can be built.
        """
        wanted = next((kind_info for kind_info in self.kinds if kind_info.name == kind and kind_info.build), None)
        last, refused = self.observation.result, self._refused_builds
        if last is not None and last.action_type is ActionType.BUILD and not last.ok and self._last_build:
            if not MAX_NO_WAYS.allows(len(refused) + 2):
                refused.clear()
            refused[self._last_build] = self.tick + NO_WAY_TICKS
            if last.reason is Reason.NONE_LEFT:
                refused[self._last_build[0]] = self.tick + NOTHING_NEW_TICKS
        self._last_build = None
        if (
            wanted is None
            or wanted.build is None
            or not self._is_time(wanted.build)
            or refused.get(kind, 0) > self.tick
        ):
            return Status.FAILURE
        missing = self._missing(wanted.build)
        if missing is not None:
            return self._obtain(missing, set())
        for way in Direction:
            if refused.get((kind, self.at, way), 0) <= self.tick and self._has_room(wanted.size, way):
                self._last_build = kind, self.at, way
                return self.do(Build(kind, way))
        return Status.FAILURE

    def _has_room(self, size: tuple[int, int], way: Direction) -> bool:
        """Return whether an object could stand beside it, as far as it knows."""
        west, north = (
            at + (step if step >= 0 else -side) for at, step, side in zip(self.at, (way.dx, way.dy), size, strict=True)
        )
        tiles = {(west + x, north + y) for x in range(size[0]) for y in range(size[1])}
        around = self.surroundings
        free = all(around.tiles.can_walk(*tile) for tile in tiles) and tiles.isdisjoint(around.occupied)
        return free and all(tiles.isdisjoint(thing.seen.tiles) for thing in around.things.values())

    @action
    def go_to_zone(self, zone: str) -> Status:
        """Go to a zone of the world by its name; fails if there is none, or no way to it is known."""
        wanted = self.setting.zone(zone)
        if wanted is None:
            return Status.FAILURE
        if wanted.holds(*self.at):
            return Status.SUCCESS
        if self._zone_goal is not None and self._zone_goal[0] == zone:
            status = self.walk(self._zone_goal[1])
            if status is not Status.FAILURE:
                return status
        goals = [self._tile_of(area) for area in wanted.areas]
        for goal in sorted(goals, key=lambda tile: distance(tile, self.at)):
            status = self.walk(goal)
            if status is not Status.FAILURE:
                self._zone_goal = zone, goal
                return status
        return Status.FAILURE

    def _tile_of(self, area: Area) -> Tile:
        """Return the nearest tile of a rectangle that is known to be free and in reach; else the nearest of all."""
        nearest, (west, north, east, south) = nearest_tile(self.at, area), area
        west, east = max(west, nearest[0] - ZONE_REACH), min(east, nearest[0] + ZONE_REACH)
        rows = range(max(north, nearest[1] - ZONE_REACH), min(south, nearest[1] + ZONE_REACH) + 1)
        (x, y), around, tick = self.at, self.surroundings, self.tick
        best: tuple[int, int, int, int] | None = None  # steps from here and from the nearest tile, row, column
        for row in sorted(rows, key=lambda row: abs(row - y)):
            if best is not None:  # what is further away is not looked at
                if abs(row - y) > best[0]:
                    break
                west, east = max(west, x - best[0]), min(east, x + best[0])
            for column in around.tiles.walkable_columns(row, west, east):
                tile = (column, row)
                rank = (distance(tile, (x, y)), distance(tile, nearest), row, column)
                is_free = tile not in around.occupied and self._no_way.get((tile, False), 0) <= tick
                if is_free and (best is None or rank < best):
                    best = rank
        return nearest if best is None else (best[3], best[2])

    def _walk_onto(self, place: Thing) -> Status:
        return self.walk_to(place, beside=not self.surroundings.tiles.can_walk(*place.at))

    @action
    def sleep(self) -> Status:
        """Fall asleep where it stands."""
        return Status.SUCCESS if self.asleep() else self.do(Sleep())

    @action
    def wake(self) -> Status:
        """Wake up."""
        return self.do(Wake()) if self.asleep() else Status.SUCCESS

    @action
    def say(self, text: str) -> Status:
        """Say something, unless it was said recently."""
        if not self.speech.may_say(self.tick, text):
            return Status.FAILURE
        return self.do(self.speech.say(self.tick, text))

    @action
    def explore(self) -> Status:
        """Go where it has never been; fails if everything is known."""
        return self._explore(None)

    def _explore(self, goal: Tile | None) -> Status:
        """Go to the nearest tile that it has never seen, or to the one nearest to a goal."""
        if self._frontier is None or goal != self._frontier_goal or distance(self.at, self._frontier) <= 1:
            self._frontier_goal = goal
            tiles = self.surroundings.tiles
            if self.tick < self._explored_until and self._explored_gains in (-1, tiles.gains):
                return Status.FAILURE
            doors = self.surroundings.doors
            if goal is None:
                self._frontier = tiles.nearest_frontier(self.at, doors)
            else:
                self._frontier = tiles.frontier_towards(self.at, goal, doors)
            if self._frontier is None:
                self._explored_until, self._explored_gains = self.tick + NOTHING_NEW_TICKS, tiles.gains
                return Status.FAILURE
        status = self.walk(self._frontier)
        if status is not Status.RUNNING:
            self._frontier = None
        if status is Status.FAILURE:  # another actor is in the way, for a while at least
            self._explored_until, self._explored_gains = self.tick + NO_WAY_TICKS, -1
        return status

    @action
    def wander(self) -> Status:
        """Stroll about over known ground."""
        if self._stroll is None or self.at == self._stroll:
            x, y = self.at
            self._stroll = (
                x + self.random.randint(-STROLL_STEPS, STROLL_STEPS),
                y + self.random.randint(-STROLL_STEPS, STROLL_STEPS),
            )
        if not self.surroundings.tiles.can_walk(*self._stroll) or self.walk(self._stroll) is not Status.RUNNING:
            self._stroll = None
            return self.wait()
        return Status.RUNNING

"""`Scenario`: a world before its first tick, with map, kinds, objects, actors and rules."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from tickmind.protocol import GoalInfo
from tickmind.protocol.entity import NeedChanges
from tickmind.protocol.setting import Persona, WorldSetting
from tickmind.world.scenario.kinds import FloorKind, ItemKind, Items, ObjectKind
from tickmind.world.scenario.settings import Rules

NEVER: Final = 2**63 - 1  # a tick that does not come


@dataclass(frozen=True, slots=True)
class ActorSpawn:
    """An actor at its first place."""

    entity_id: str
    type: str
    x: int
    y: int
    tags: tuple[str, ...] = ()
    facing: int = 4  # south, towards the viewer of the map
    inventory: Items = ()
    energy: int = 1000
    hunger: int = 0
    persona: Persona | None = field(default=None, repr=False)  # it changes no rule, so it is no part of the digest
    arrives: int = field(default=0, repr=False)  # the first tick in which it is there; 0: the beginning; or NEVER
    leaves: int = field(default=0, repr=False)  # the first tick in which it is gone; 0: never
    needs: NeedChanges = field(default=(), repr=False)  # own needs that begin with another value than the usual one


@dataclass(frozen=True, slots=True)
class ObjectSpawn:
    """An object at its place, by its north-west tile; x and y of one that may be built later are -1."""

    object_id: str
    kind: str
    x: int
    y: int
    state: str
    stock: int = 0
    owner: str = field(default="", repr=False)  # the id of an actor; so other scenarios keep their digest


@dataclass(frozen=True, slots=True)
class GroundSpawn:
    """Items that lie on the ground."""

    item: str
    amount: int
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Intervention:
    """An actor has so many items of a kind after a tick, an object is in a state, or a rule holds from the tick on."""

    tick_id: int
    actor_id: str = ""
    item: str = ""
    amount: int = 0
    object_id: str = ""
    state: str = ""
    rule: str = field(default="", repr=False)  # so that scenarios without changed rules keep their digest
    value: int = field(default=0, repr=False)


@dataclass(frozen=True, repr=False)
class Scenario:
    """A world before its first tick, checked: every name in it exists, and no actor stands in a wall or on another.

    `parse_scenario` and `load_scenario` make it from text. Actors and objects are in the order of their ids, which is
    the order of priority and of rows.
    """

    name: str
    seed: int
    rules: Rules
    width: int
    height: int
    floors: tuple[FloorKind, ...]
    floor_codes: bytes  # width x height places in `floors`, row by row from the north-west corner
    items: tuple[ItemKind, ...]
    kinds: tuple[ObjectKind, ...]
    objects: tuple[ObjectSpawn, ...]
    actors: tuple[ActorSpawn, ...]
    ground: tuple[GroundSpawn, ...] = ()
    thinking_ticks: int = 0  # after which a reply of a model takes effect; 0: as soon as it arrives
    setting: WorldSetting = field(default_factory=WorldSetting)  # it changes no rule either
    goals: tuple[GoalInfo, ...] = ()
    own_rules: tuple[str, ...] = ()  # names of functions of the user, which are no part of a scenario
    scatters: bool = False  # whether the seed has chosen the places of some actors
    interventions: tuple[Intervention, ...] = ()

    def __repr__(self) -> str:
        size = f"{self.width} x {self.height}, {len(self.actors)} actors, {len(self.objects)} objects"
        return f"Scenario({self.name!r}, {size})"

    def with_ticks_of(self, tick_duration_ms: int | None) -> "Scenario":
        """Return the scenario with ticks of another length; None leaves them as they are."""
        if tick_duration_ms is None or tick_duration_ms == self.rules.tick_duration_ms:
            return self
        return replace(self, rules=self.rules.with_ticks_of(tick_duration_ms))

    def rules_at(self, tick_id: int) -> Rules:
        """Return the rules of a tick, with what interventions have changed about them by then."""
        rules = self.rules
        for intervention in self.interventions:
            if intervention.rule and intervention.tick_id <= tick_id:
                rules = rules.with_setting(intervention.rule, intervention.value)
        return rules

    @property
    def mind_seed(self) -> int:
        """The seed of all chance in minds, derived from the run's; it does not give away the world's own chance."""
        return int.from_bytes(hashlib.blake2b(b"minds:%d" % self.seed, digest_size=8).digest()) >> 1

    @cached_property
    def digest(self) -> bytes:
        """A hash that identifies this scenario; snapshots carry it."""
        state = hashlib.blake2b(digest_size=16)
        parts = (
            self.name,
            self.seed,
            self.rules,
            self.width,
            self.height,
            self.floors,
            self.items,
            self.kinds,
            self.objects,
            self.actors,
            self.ground,
        )
        for part in parts:
            state.update(repr(part).encode())
            state.update(b"\0")
        if self.thinking_ticks:  # scenarios from before this rule keep their digest
            state.update(b"thinking %d\0" % self.thinking_ticks)
        for later in self._later_rules():
            state.update(repr(later).encode() + b"\0")
        state.update(self.floor_codes)
        return state.digest()

    def _later_rules(self) -> Iterator[tuple[object, ...]]:
        """Yield rules that came later, where a scenario has them: other scenarios keep their digest."""
        calendar = self.setting.calendar
        offers, usual = (("offers", rules.offer_ticks, rules.gifts_need_consent) for rules in (self.rules, Rules()))
        if offers != usual:
            yield offers
        for floor in self.floors:
            if floor.energy or floor.hunger:
                yield floor.name, "each tick", floor.energy, floor.hunger
            if floor.step_ticks > 1:
                yield floor.name, "step", floor.step_ticks
        yield from self._own_needs()
        for item in self.items:
            if item.lasts:
                yield item.name, "lasts", item.lasts, item.becomes
        if self.rules.night_sight_radius is not None:
            yield self.rules.night_sight_radius, calendar, calendar.night
            states = ((kind.name, state) for kind in self.kinds for state in kind.states)
            yield tuple((name, state.name, state.light) for name, state in states if state.light)
        for thing in self.objects:
            if thing.owner:
                yield thing.object_id, thing.owner
        for actor in self.actors:
            if actor.arrives or actor.leaves:
                yield actor.entity_id, actor.arrives, actor.leaves
        for kind in self.kinds:
            if kind.stock is not None and kind.stock.doubles:
                yield kind.name, "doubles"
            if kind.size != (1, 1):
                yield kind.name, "size", kind.size
            if kind.build is not None:
                build = kind.build
                yield kind.name, "build", kind.most_built, build.needs, build.consumes, build.wears
                if build.limited:
                    times = build.hours, build.seasons, build.weather
                    yield kind.name, "build", times, calendar, calendar.seasons, calendar.weather
            if kind.container is not None:
                yield kind.name, kind.container, calendar if kind.container.hours else None
            yield from self._of_actions(kind)
        for goal in self.goals:
            zone = self.setting.zone(goal.all_in or goal.each_in)
            yield "goal", goal, () if zone is None else zone.areas
        if self.interventions:
            yield "interventions", self.interventions
            if changed := tuple(
                (intervention.tick_id, intervention.rule, intervention.value)
                for intervention in self.interventions
                if intervention.rule
            ):
                yield "changed rules", changed
        if self.own_rules:  # they see places and times
            yield "own rules", self.own_rules, self.setting
            days = calendar.seasons, calendar.weather, calendar.festivals, calendar.night
            if any(days):
                yield "days of own rules", days

    def _of_actions(self, kind: ObjectKind) -> Iterator[tuple[object, ...]]:
        """Yield what actions with objects of a kind take, and when they are possible."""
        calendar = self.setting.calendar
        for state in kind.states:
            for action in state.actions:
                if action.consumes:
                    yield kind.name, state.name, action.verb, action.consumes
                if action.removes:
                    yield kind.name, state.name, action.verb, "removes"
                if action.wears:
                    yield kind.name, state.name, action.verb, "wears", action.wears
                if action.hours is not None:
                    yield kind.name, state.name, action.verb, action.hours, calendar
                if action.seasons or action.weather:
                    limits = action.seasons, action.weather, calendar, calendar.seasons, calendar.weather
                    yield kind.name, state.name, action.verb, limits

    def _own_needs(self) -> Iterator[tuple[object, ...]]:
        """Yield what changes own needs, and what objects add to needs."""
        needs, calendar = self.rules.needs, self.setting.calendar
        if needs is not None and needs.own:
            yield "own needs", needs.own, needs.when_starving
            if any(need.goes_by_calendar for need in needs.own):
                yield "needs by", calendar, calendar.seasons, calendar.weather, calendar.night
        for floor in self.floors:
            if floor.own_needs:
                yield "needs of floor", floor.name, floor.own_needs
        for item in self.items:
            if item.own_needs:
                yield "needs of item", item.name, item.own_needs
        for actor in self.actors:
            if actor.needs:
                yield "needs of", actor.entity_id, actor.needs
        for kind in self.kinds:
            for state in kind.states:
                if state.each_tick:
                    yield "needs of", kind.name, state.name, state.each_tick


def id_order(name: str) -> tuple[tuple[int, int, str], ...]:
    """Return the sort key of an id: by letters, and by numbers in it, so that `entity:9` comes before `entity:10`."""
    return tuple(
        (0, int(piece), piece) if piece.isdecimal() else (1, 0, piece) for piece in re.findall(r"[0-9]+|[^0-9]+", name)
    )

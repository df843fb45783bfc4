"""`WorkingCharacter`: a character that gathers, makes and sells at a place of work."""

import re
from collections.abc import Callable, Iterable

from tickmind.agent.character.body import NO_WAY_TICKS
from tickmind.agent.character.sociable import SociableCharacter
from tickmind.agent.character.talking import LOOK_TICKS
from tickmind.agent.knowledge import Thing, distance
from tickmind.agent.minds import Start
from tickmind.ai import Status
from tickmind.mind.plans import DayErrand, ErrandState
from tickmind.protocol import ActionInfo, ActionType, Pickup
from tickmind.protocol.setting import ZoneInfo

ENOUGH_MADE = 3  # of an item to spare, that it gathers or makes at its work before it sells it
ENOUGH_MEALS = 4  # that it carries at least
PRESENT_TICKS = 20  # at its work, after which it has been there even if there was nothing to do
STROLL_EVERY, STROLL_TICKS = 40, 10  # how often and how long it strolls while it waits
SEARCH_TICKS = 30  # of a day, in which it looks for what its work takes


class WorkingCharacter(SociableCharacter):
    """Does the errands `work` and `make`: by the recipes, stalls and harvests of its world.

    The setting `enough` is how many items to spare it gathers or makes of a kind before it stops or sells them.
    """

    _buys_first = True  # others live by that

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        self.enough = start.settings.whole("enough", ENOUGH_MADE)
        ways = list(self._ways_to_make())
        self._recipes = [way for way in ways if way[3].needs or way[3].consumes or way[3].wears]  # of or with others
        self._yields = [way for way in ways if way not in self._recipes]  # for nothing but work
        self._for_sale = ""  # what it sells, until it has none to spare
        self._sells_from = 0  # the tick from which on it tries to sell again
        self._idle_ticks = 0  # of today, at its work
        self._search_ticks = 0  # of today, in which it looked for what its work takes
        self._place_known, self._known_until = "", 0  # the place whose things were looked up, and how long that is good
        self._known_there: list[str] = []  # their ids

    def begin_work_day(self) -> None:
        """Look for work and for what it takes anew; called when a new day begins."""
        self._idle_ticks = self._search_ticks = 0

    def do_make(self, errand: DayErrand) -> Status:
        """Make some of a thing."""
        if not errand.thing or self.carries(errand.thing) >= self.enough:
            errand.state = ErrandState.DONE
            return Status.FAILURE
        return self.make(errand.thing)

    def do_work(self, errand: DayErrand) -> Status:
        """Sell what it has enough of, else gather what grows at a place, or make what is made there."""
        place = errand.place or self.persona.work
        here = self._things_at(place)
        kinds = {thing.seen.kind for thing in here}
        steps: tuple[Callable[[], Status], ...] = (
            lambda: self._sell_goods(here, kinds, self.enough),
            lambda: self._gather_at(here, kinds),
            lambda: self._make_at(kinds),
            lambda: self._sell_goods(here, kinds, 1),
        )
        for step in steps:
            status = step()
            if status is not Status.FAILURE:
                errand.state = ErrandState.DONE
                return status
        status = self._look_for_supplies(kinds)
        if status is not Status.FAILURE:
            return status
        if place and not self.in_zone(place):
            return self._approach(place)
        self._idle_ticks += 1  # it is there, and there is nothing to be done
        if self._idle_ticks >= PRESENT_TICKS:
            errand.state = ErrandState.DONE
        return self._stay_about()

    def to_spare(self, item: str) -> int:
        """Return how many items of a kind it needs neither for a promise nor to eat."""
        spare = self.spare(item)
        return min(spare, sum(map(self.spare, self.food)) - ENOUGH_MEALS) if item in self.food else spare

    def _supplies(self) -> set[str]:
        """Return what its work takes, or if it has none all that something is made with."""
        work = self.persona.work
        kinds = {thing.seen.kind for thing in self._things_at(work)} if work else None
        recipes = [recipe for _, kind, _, recipe in self._recipes if kinds is None or kind in kinds]
        return {name for recipe in recipes for name, _ in (*recipe.needs, *recipe.consumes, *recipe.wears)}

    def _could_get(self, item: str) -> bool:
        """Return whether it knows where an item lies, is sold, or is made of what it has."""
        if self.nearest_lying(item) is not None or self.seller_of(item) is not None:
            return True
        return any(
            made == item and self._missing(one) is None and self._bench(kind, state, one) is not None
            for made, kind, state, one in (*self._yields, *self._recipes)
        )

    def _bench(self, kind: str, state: str, recipe: ActionInfo) -> Thing | None:
        """Return the nearest known object at which something can be made."""
        around = self.surroundings
        fit = (
            thing for thing in around.things_of(kind) if recipe.verb in thing.seen.verbs and state == thing.seen.state
        )
        return around.nearest(fit, self.at)

    def _lacks(self, item: str) -> bool:
        return self.to_spare(item) < self.enough

    def _sell_goods(self, here: list[Thing], kinds: set[str], least: int) -> Status:
        """Sell what grows or is made at its work, from when it has so many to spare until it has none."""
        last = self.observation.result
        if last is not None and not last.ok and last.action_type is ActionType.SELL:  # as when its hands are full
            self._sells_from = self.tick + NO_WAY_TICKS
        if not self._containers or self.tick < self._sells_from:
            return Status.FAILURE
        if self._for_sale and self.to_spare(self._for_sale) <= 0:
            self._for_sale = ""
        if not self._for_sale:
            grown = (stack.kind for thing in here for stack in thing.seen.items if not self._is_contents(thing))
            made = (item for item, kind, _, _ in self._recipes if kind in kinds)
            yielded = (item for item, kind, _, _ in self._yields if kind in kinds)
            goods = dict.fromkeys((*grown, *made, *yielded))
            self._for_sale = next((item for item in goods if self.to_spare(item) >= least), "")
        status = self.sell(self._for_sale) if self._for_sale else Status.FAILURE
        if status is Status.FAILURE:
            self._for_sale = ""
        return status

    def _gather_at(self, here: list[Thing], kinds: set[str]) -> Status:
        """Pick up what lies or grows at its work, or do what yields something there for nothing."""
        if self._hands_full():
            return Status.FAILURE
        lacked = {item for item in {stack.kind for one in here for stack in one.seen.items} if self._lacks(item)}
        wanted = [one for one in here if any(stack.kind in lacked for stack in one.seen.items)]
        for thing in sorted(wanted, key=lambda one: (distance(one.at, self.at), one.seen.object_id)):
            for stack in thing.seen.items if self.reachable(thing) and not self._is_contents(thing) else ():
                if stack.kind in lacked:
                    return self.do(Pickup(stack.kind)) if thing.at == self.at else self._walk_onto(thing)
        tries = (
            self.work_on(kind, recipe.verb, state)
            for item, kind, state, recipe in self._yields
            if kind in kinds and self._lacks(item) and self._is_time(recipe)
        )
        return next((status for status in tries if status is not Status.FAILURE), Status.FAILURE)

    def _make_at(self, kinds: set[str]) -> Status:
        """Make what can be made at its work of other things, and get those."""
        made = (item for item, kind, _, recipe in self._recipes if kind in kinds and self._is_time(recipe))
        tries = (self.make(item) for item in made if self._lacks(item))
        return next((status for status in tries if status is not Status.FAILURE), Status.FAILURE)

    def _look_for_supplies(self, kinds: set[str]) -> Status:
        """Look for what its work takes and it does not know to get: at the place that is known for it, or anywhere.

        For a part of a day only; then there may be something to sell, or others bring it.
        """
        lacked = (
            self._missing(recipe) for item, kind, _, recipe in self._recipes if kind in kinds and self._lacks(item)
        )
        missing = dict.fromkeys(item for item in lacked if item is not None)
        if not missing or self._search_ticks >= SEARCH_TICKS:
            return Status.FAILURE
        zone = next(filter(None, map(self._source_of, missing)), None)
        if zone is not None and not self._search_ticks and not self.in_zone(zone.name):
            return self._approach(zone.name)
        self._search_ticks += 1  # from its edge on it goes where it has never been, even out of it
        return self.explore() if zone is None else self._explore(zone.centre)

    def _source_of(self, item: str) -> ZoneInfo | None:
        """Return the place whose purpose names an item."""
        return next((zone for zone in self.setting.zones if item in re.findall(r"\w+", zone.purpose)), None)

    def _stay_about(self) -> Status:
        """Wait, and stroll now and then."""
        return self.wander() if self.tick % STROLL_EVERY < STROLL_TICKS else self.wait()

    def _things_at(self, place: str) -> list[Thing]:
        """Return the known things at a place. Which there are is looked up at intervals: it may know thousands."""
        things = self.surroundings.things
        if self._place_known != place or self.tick >= self._known_until:
            zone = self.setting.zone(place)
            self._known_there = [name for name, thing in things.items() if zone is None or zone.holds(*thing.at)]
            self._place_known, self._known_until = place, self.tick + LOOK_TICKS
        return [things[name] for name in self._known_there if name in things]

    def _ways_to_make(self) -> Iterable[tuple[str, str, str, ActionInfo]]:
        """Yield what can be made: items, each with a kind of object, a state of it and what is done there."""
        items = {
            item: None
            for kind in self.kinds
            for actions in kind.actions
            for action in actions
            for item, _ in action.yields
        }
        return ((item, *recipe) for item in items for recipe in self.recipes(item))

    def _approach(self, place: str) -> Status:
        """Go to a place; if no way is known, look for one."""
        status, zone = self.go_to_zone(place), self.setting.zone(place)
        if status is not Status.FAILURE or zone is None:
            return status
        return self._explore(zone.centre)

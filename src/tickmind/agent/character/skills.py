"""`SkilledCharacter`: what a character can do in its free time: a `could_` and a `do_` method for each skill."""

from collections.abc import Callable, Iterable

from tickmind.agent.character.daily import RESTED, ROAMING, DailyCharacter
from tickmind.agent.character.tactics import action, condition
from tickmind.agent.character.working import ENOUGH_MEALS
from tickmind.agent.knowledge import Person, Thing, distance, nearest_tile
from tickmind.agent.minds import Start
from tickmind.ai import Status
from tickmind.mind.options import Option, option_words
from tickmind.mind.plans import DayErrand, ErrandState
from tickmind.mind.shares import FairShares
from tickmind.protocol import ActionInfo, Give
from tickmind.protocol.setting import zone_phrase

SIT_TICKS = 20
VISIT_TICKS = 600  # since a person was seen or heard last, for a visit
PECKISH, HUNGRY, STARVING = 200, 350, 700  # hunger at which it may eat, eats, and is in danger
STOCK_MEALS = 12  # that it gathers if it chooses to
RICH_MEALS = 6  # that it could pay for, from which on it is free with its money
HELP_REST_TICKS = 400  # between two parts of a shared work that it does
GIFT_REST_TICKS = 600  # between two gifts to the same one
GIFT_STEPS = 10  # within which it sees to whom it could give something
PEACE_REST_TICKS = 30  # between two tries to make peace at a feast
HOARD = 40  # of an item, which one that takes more than its share carries at most
GREEDY = frozenset({"greedy", "selfish", "grasping"})  # traits of those who do
MOST_VISITS = 4  # people whom it considers to visit, the best known first
DAY_HOURS, EVENING_HOURS = range(7, 18), range(16, 21)


class SkilledCharacter(DailyCharacter):
    """Has skills for its free time: each method `could_...` yields what it could do now, and `do_...` does it."""

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        self._shared_works = list(self._known_works())
        self._helped: dict[str, int] = {}  # kind of a shared work -> the tick in which it did its last part
        self._helping_tick = -1  # in which it worked on one
        self._peace_try_tick = -PEACE_REST_TICKS  # in which it last tried to make peace at a feast
        self._shares = FairShares()
        self._doubling = {kind.name: kind.doubling_ticks for kind in self.kinds if kind.doubling_ticks}
        self._is_greedy = not GREEDY.isdisjoint(trait.lower() for trait in self.persona.traits)
        self._hoards = False  # whether it takes more than its share in this tick

    def ticks_chosen(self, errand: DayErrand) -> int | None:  # noqa: ARG002  who chooses knows
        """Return for how many ticks it has done an errand by its own choice; None if that is not so."""
        return None

    # What to eat

    @condition
    def provided(self) -> bool:
        """Return whether it has enough to eat for a while; at its work a meal is enough."""
        errand = self._errand()
        is_working = errand is not None and errand.skill in ROAMING
        return self._meals() >= (1 if is_working else ENOUGH_MEALS)

    def _meals(self) -> int:
        return sum(map(self.carries, self.food))

    @action
    def eat_something(self) -> Status:
        """Eat what it likes best of what it can spare; if it is in danger, of all that it has."""
        item = next((one for one in self.food if self.spare(one) > 0), None)
        if item is None and self.me.hunger >= STARVING:
            item = next(filter(self.carries, self.food), None)
        return Status.FAILURE if item is None else self.eat(item)

    @action
    def find_food(self) -> Status:
        """Eat, or else get something to eat; who starves makes it, if there is no other way."""
        if self.me.hunger >= HUNGRY and self.eat_something() is not Status.FAILURE:
            return Status.SUCCESS
        ways: tuple[Callable[[str], Status], ...] = (self.gather, self.take, self.buy)
        if self.me.hunger >= STARVING:
            ways += (self.make,)
        statuses = (way(item) for item in self.food for way in ways)
        return next((status for status in statuses if status is not Status.FAILURE), Status.FAILURE)

    def could_eat(self) -> Iterable[Option]:
        """Yield the best of what it has to eat, if it is a little hungry."""
        item = next((one for one in self.food if self.spare(one) > 0), "")
        if item and self.me.hunger >= PECKISH:
            yield Option(option_words("eat", item), self.me.hunger / 1000 + 0.2, item)

    def do_eat(self, errand: DayErrand) -> Status:
        """Eat, once."""
        if errand.state is ErrandState.DONE:
            return Status.FAILURE
        return done_by(errand, self.eat_something())

    # What is shared

    def may_take(self, place: Thing) -> bool:
        """Return whether it has some of its share left of what doubles there; in danger it takes all."""
        ticks = self._doubling.get(place.seen.kind, 0)
        if not ticks or self._hoards or self.me.hunger >= STARVING:
            return True
        stock, sharers = sum(stack.quantity for stack in place.seen.items), 1 + len(self.persona.relations)
        share = self._shares.left(place.seen.object_id, stock, period=self.tick // ticks, sharers=sharers)
        return share > 0

    def takes_from(self, place: Thing) -> None:
        """Count what it takes of its share."""
        self._shares.take(place.seen.object_id)

    def could_hoard(self) -> Iterable[Option]:
        """Yield what it could take more of than its share, where others would have less for it."""
        for kind in self.kinds if self._doubling else ():
            if kind.doubling_ticks and self.carries(kind.stock_item) < HOARD and self.tick >= self._full_until:
                place = self.surroundings.nearest(self.surroundings.things_of(kind.name), self.at)
                if place is not None and place.seen.items:
                    words = option_words("take more than your share of", kind.stock_item)
                    yield Option(
                        words, 0.9 if self._is_greedy else 0.02, kind.stock_item, steps=place.steps_from(self.at)
                    )

    def do_hoard(self, errand: DayErrand) -> Status:
        """Take as much of an item as it can carry, and leave nothing."""
        if self.carries(errand.thing) >= HOARD:
            return Status.FAILURE
        self._hoards = True
        try:
            return done_by(errand, self.gather(errand.thing))
        finally:
            self._hoards = False

    def could_fetch(self) -> Iterable[Option]:
        """Yield where there is something to eat, while it does not carry plenty."""
        if self._meals() >= STOCK_MEALS or self.tick < self._full_until:
            return
        need = 0.15 if self.provided() else 0.3 + 0.5 * self.me.hunger / 1000
        for item in self.food:
            place = self.nearest_lying(item)
            if place is not None:
                yield Option(option_words("fetch", item), need, item, steps=place.steps_from(self.at))

    def do_fetch(self, errand: DayErrand) -> Status:
        """Gather a thing, or something to eat, until it carries plenty."""
        have = self.carries(errand.thing) if errand.thing else self._meals()
        return Status.FAILURE if have >= STOCK_MEALS else done_by(errand, self._fetch(errand.thing))

    def _fetch(self, thing: str) -> Status:
        return self.gather(thing) if thing else self.find_food()

    def could_trade(self) -> Iterable[Option]:
        """Yield what it could buy to eat."""
        for item in self.food if self._meals() < STOCK_MEALS else ():
            seller = self.seller_of(item)
            if seller is not None:
                price = self._containers[seller.seen.kind].price(item, sells=True) or ()
                rich = all(self.carries(money) >= each * RICH_MEALS for money, each in price)
                use = 0.2 + 0.4 * self.me.hunger / 1000 + 0.2 * rich
                yield Option(option_words("buy", item), use, item, steps=seller.steps_from(self.at))

    def do_trade(self, errand: DayErrand) -> Status:
        """Buy a thing, once."""
        if errand.state is ErrandState.DONE:
            return Status.FAILURE
        return done_by(errand, self.buy(errand.thing))

    def could_sell(self) -> Iterable[Option]:
        """Yield what it does not need and a container buys."""
        if not self._containers:
            return
        supplies = self._supplies()
        for stack in self.me.inventory:
            is_spare = stack.kind not in supplies and self.to_spare(stack.kind) > 0
            buyer = self.buyer_of(stack.kind) if is_spare else None
            if buyer is not None:
                yield Option(option_words("sell", stack.kind), 0.3, stack.kind, steps=buyer.steps_from(self.at))

    def do_sell(self, errand: DayErrand) -> Status:
        """Sell a thing until it has none to spare."""
        if self.to_spare(errand.thing) <= 0:
            return Status.FAILURE
        return done_by(errand, self.sell(errand.thing))

    # Work and rest

    def could_work(self) -> Iterable[Option]:
        """Yield its work, by day."""
        if self.persona.work and self.time.hour in DAY_HOURS:
            yield self._going("work at", self.persona.work, 0.45)

    def could_make(self) -> Iterable[Option]:
        """Yield what it lacks and could make of what it has or knows."""
        for item, kind, state, recipe in self._recipes:
            if self.carries(item) >= self.enough or not self._is_time(recipe):
                continue
            missing = self._missing(recipe)
            if missing is not None and self.nearest_lying(missing) is None:
                continue
            bench = self._bench(kind, state, recipe)
            if bench is not None and self._is_its_trade(item, bench):
                yield Option(option_words("make", item), 0.4, item, steps=bench.steps_from(self.at))

    def _is_its_trade(self, item: str, bench: Thing) -> bool:
        """Return whether it makes an item itself: it eats it, makes it at its work, or has no work."""
        work = self.setting.zone(self.persona.work)
        return item in self.food or work is None or work.holds(*bench.at)

    def could_rest(self) -> Iterable[Option]:
        """Yield its home, or where it is, if it is not rested."""
        if self.me.energy < RESTED:
            use = (1000 - self.me.energy) / 1000
            home = self.persona.home
            yield self._going("rest at", home, use) if home else Option("lie down and rest", use)

    def do_rest(self, errand: DayErrand) -> Status:
        """Go to bed if it is tired; as a choice, until it is rested."""
        if self.ticks_chosen(errand) is not None and self.me.energy >= RESTED:
            errand.state = ErrandState.DONE
            return Status.FAILURE
        return super().do_rest(errand)

    def could_sit(self) -> Iterable[Option]:
        """Yield that it could do nothing for a while."""
        yield Option("sit for a while", 0.1)

    def do_sit(self, errand: DayErrand) -> Status:
        """Stay where it is; as a choice, for a while."""
        errand.state = ErrandState.DONE
        is_over = (self.ticks_chosen(errand) or 0) > SIT_TICKS
        return Status.FAILURE if is_over else self.wait()

    def could_explore(self) -> Iterable[Option]:
        """Yield that it could see what it does not know yet, unless it has just found nothing."""
        if self.tick >= self._explored_until:
            yield Option("see what is new", 0.2)

    def do_explore(self, errand: DayErrand) -> Status:
        """Go where it has never been."""
        status = self.explore()
        if status is not Status.FAILURE:
            errand.state = ErrandState.DONE
        return status

    # Others

    def _known_works(self) -> Iterable[tuple[str, str, ActionInfo]]:
        """Yield what takes something of those who work on it and gives nothing back: a kind, a state and a recipe."""
        for kind in self.kinds:
            for state, actions in zip(kind.states, kind.actions, strict=True):
                for one in actions:
                    if one.consumes and not one.yields and one.to not in ("", state):
                        yield kind.name, state, one

    def _open_work(self, kind: str) -> tuple[Thing, ActionInfo] | None:
        """Return the nearest known object of a kind on which something is to be done for all, and what."""
        around, works = self.surroundings, {state: recipe for name, state, recipe in self._shared_works if name == kind}
        known = (one for one in around.things_of(kind) if one.seen.state in works and self.reachable(one))
        thing = around.nearest(known, self.at)
        return None if thing is None else (thing, works[thing.seen.state])

    def could_help(self) -> Iterable[Option]:
        """Yield what it could help to build, mend or light, for all, unless it has just done its part."""
        for kind in {name: None for name, _, _ in self._shared_works}:
            has_helped = self.tick - self._helped.get(kind, -HELP_REST_TICKS) < HELP_REST_TICKS
            work = None if has_helped else self._open_work(kind)
            if work is None:
                continue
            thing, recipe = work
            missing = self._missing(recipe)
            if self._is_time(recipe) and (missing is None or self._could_get(missing)):
                words, use = option_words(recipe.verb, "the", kind.replace("_", " ")), 0.7 if missing is None else 0.55
                yield Option(words, use, kind, steps=thing.steps_from(self.at))

    def do_help(self, errand: DayErrand) -> Status:
        """Get what a shared work takes, and do one part of it."""
        last = self.observation.result
        effects = last.effects if last is not None and last.ok and self._helping_tick == self.tick - 1 else ()
        if any(effect.name.startswith("inventory.") for effect in effects):  # what it takes is used up by the last step
            self._helped[errand.thing], errand.state = self.tick, ErrandState.DONE
            return Status.FAILURE
        work = self._open_work(errand.thing)
        if work is None:
            return Status.FAILURE
        thing, recipe = work
        missing = self._missing(recipe)
        if missing is not None:
            return self._obtain(missing, set())
        status = self.work_on(errand.thing, recipe.verb, thing.seen.state)
        self._helping_tick = self.tick if status is Status.SUCCESS else -1
        return status

    def could_meet(self) -> Iterable[Option]:
        """Yield the places where it usually meets others."""
        use = 0.35 if self.time.hour in EVENING_HOURS else 0.2
        for place in {habit.place: None for habit in self._routine if habit.skill == "meet" and habit.place}:
            yield self._going("go to", place, use)

    def could_visit(self) -> Iterable[Option]:
        """Yield those of whom it knows where they were, and with whom it has not just talked."""
        people, related = self.surroundings.people, dict(self.persona.relations)
        known = [
            person for person in self.talker.people if person.person_id in people and self._may_visit(person.person_id)
        ]
        known.sort(key=lambda one: (one.person_id not in related, -one.liking, -one.talks, one.person_id))
        for one in known[:MOST_VISITS]:
            who = people[one.person_id]
            use = 0.25 + 0.2 * one.liking + 0.1 * (who.entity_id in related)
            yield Option(option_words("visit", one.called), use, who.entity_id, steps=distance(who.at, self.at))

    def _may_visit(self, person_id: str) -> bool:
        """Return whether a person was there lately, awake as far as it sees, and they have not just talked."""
        who = self.surroundings.people[person_id]
        is_asleep = who.seen_tick == self.tick and who.asleep
        is_fresh = self.tick - max(who.seen_tick, who.heard_tick) <= VISIT_TICKS
        may_talk = not self._is_cold_to(person_id) and self.talker.talks.may_begin(self.tick, person_id)
        return is_fresh and not is_asleep and may_talk

    def _person(self, name: str) -> Person | None:
        """Return a person by its id, or as it is called."""
        people = self.surroundings.people
        called = (who for who in people if self.talker.people.called(who).lower() == name.lower())
        return people.get(name) or people.get(next(called, ""))

    def do_visit(self, errand: DayErrand) -> Status:
        """Go to a person, and stay while they may talk."""
        person = self._person(errand.thing)
        if person is None:
            return Status.FAILURE
        status = self.go_up_to(person)
        if status is not Status.SUCCESS:
            return status
        errand.state = ErrandState.DONE
        return self.wait() if self.talker.talks.may_begin(self.tick, person.entity_id) else Status.FAILURE

    def could_give(self) -> Iterable[Option]:
        """Yield those near that it likes, if it has more to eat than it needs."""
        item = self._gift()
        for who in self.awake_within(GIFT_STEPS) if item else ():
            known = self.talker.people.get(who.entity_id)
            if known is not None and known.talks and known.liking >= 0:
                words = option_words("give", known.called, "some", item)
                use, steps = 0.2 + 0.3 * known.liking, distance(who.at, self.at)
                yield Option(words, use, who.entity_id, steps=steps, rest_ticks=GIFT_REST_TICKS)

    def do_give(self, errand: DayErrand) -> Status:
        """Give a person something to eat, once."""
        return self._give(errand, self._gift())

    def _give(self, errand: DayErrand, item: str) -> Status:
        person = self._person(errand.thing)
        if person is None or not item or errand.state is ErrandState.DONE:
            return Status.FAILURE
        status = self.go_up_to(person)
        if status is not Status.SUCCESS:
            return status
        errand.state = ErrandState.DONE
        return self.do(Give(person.entity_id, item))

    def could_reconcile(self) -> Iterable[Option]:
        """Yield those near with whom it has fallen out, if it has something to give; best at a feast."""
        for who in self.awake_within(GIFT_STEPS) if self._peace_gift() else ():
            if self._is_cold_to(who.entity_id):
                words = option_words("make peace with", self.talker.people.called(who.entity_id))
                use, steps = 0.5 if self.time.festivals else 0.05, distance(who.at, self.at)
                yield Option(words, use, who.entity_id, steps=steps, rest_ticks=GIFT_REST_TICKS)

    def do_reconcile(self, errand: DayErrand) -> Status:
        """Give a person something, once: that ends a quarrel."""
        return self._give(errand, self._peace_gift())

    def _peace_gift(self) -> str:
        """Return what it has most of."""
        most = max(self.me.inventory, key=lambda stack: (self.spare(stack.kind), stack.kind), default=None)
        return most.kind if most is not None and self.spare(most.kind) > 0 else ""

    def do_meet(self, errand: DayErrand) -> Status:
        """Be there, among others; at a feast, make peace first."""
        peace = next(iter(self.could_reconcile()), None) if self.time.festivals else None
        if peace is not None and self._peace_try_tick + PEACE_REST_TICKS <= self.tick:
            status = self._give(peace.errand(self.time.minute), self._peace_gift())
            if status is Status.SUCCESS:
                self._peace_try_tick = self.tick
            if status is not Status.FAILURE:
                return status
        return super().do_meet(errand)

    def _gift(self) -> str:
        """Return what it could do without."""
        return next((item for item in self.food if self.spare(item) > ENOUGH_MEALS), "")

    def _going(self, verb: str, place: str, use: float) -> Option:
        """Return something to do at a place."""
        zone = self.setting.zone(place)
        steps = 0 if zone is None else min(distance(self.at, nearest_tile(self.at, area)) for area in zone.areas)
        return Option(option_words(verb, zone_phrase(place)), use, place=place, steps=steps)


def done_by(errand: DayErrand, status: Status) -> Status:
    """Return the status of a step, and note that the errand is done if it succeeded."""
    if status is Status.SUCCESS:
        errand.state = ErrandState.DONE
    return status

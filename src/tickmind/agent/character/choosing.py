"""`ChoosingCharacter`: a character that chooses what to do next from what it could do."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from tickmind.agent.character.daily import ENOUGH_MADE, RESTED, DailyCharacter
from tickmind.agent.character.tactics import action, condition
from tickmind.agent.knowledge import Person, distance, nearest_tile
from tickmind.agent.minds import Start
from tickmind.ai import Status
from tickmind.mind.plans import DayErrand, ErrandState
from tickmind.mind.skills import Choices, Option, menu, option_words, read_choice
from tickmind.protocol import ActionInfo, ActorStatus, Give
from tickmind.protocol.setting import zone_phrase

CHOICE_TICKS = 90  # that a choice is followed
SIT_TICKS = 20
PECKISH, HUNGRY, STARVING = 200, 350, 700  # hunger at which it may eat, eats, and is in danger
ENOUGH_MEALS, STOCK_MEALS = 4, 12  # that it carries at least, and that it gathers if it chooses to
GIFT_REST_TICKS = 600  # between two gifts to the same one
GIFT_STEPS = 10  # within which it sees to whom it could give something
MOST_VISITS = 4  # people whom it considers to visit, the best known first
DAY_HOURS, EVENING_HOURS = range(7, 18), range(16, 21)
_COULD = "could_"  # what the names of methods begin with that yield what a skill could do now
_QUIET = ("rest", "sit")  # skills for a bad mood


class ChoosingCharacter(DailyCharacter):
    """Chooses by use what it does in its free time. A model, if one decides, chooses from the best few at intervals.

    A skill is a method `do_fish(self, errand)`. With a method `could_fish(self)`, which yields an `Option` where there
    is something to fish, it is among what can be chosen.
    """

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        self._recipes = self._known_recipes()
        self._choices = Choices((*self.persona.goals, *self.persona.traits))
        self._choice: DayErrand | None = None
        self._choice_words = ""
        self._choice_tick = -CHOICE_TICKS  # in which it was made
        self._is_by_model = False
        self._asked_tick = -1  # of the question to which the last choice of a model answers
        self._failed_tick = -1  # in which the choice of a model failed

    # Choices

    def options(self) -> list[Option]:
        """Return all that it could do now, the best first."""
        mood = self.talker.mood.weight(self.tick)
        found = []
        for skill in self.skills():
            for option in getattr(self, f"{_COULD}{skill}", tuple)():
                weight = 2 - mood if skill in _QUIET else mood
                found.append(replace(option, skill=skill, utility=option.utility * weight))
        return self._choices.weighed(self.tick, found)

    def menu(self) -> list[Option]:
        """Return the best few of what it could do now."""
        return menu(self.options())

    def fits(self, plan: Mapping[str, Any], asked_tick: int) -> bool:  # noqa: ARG002  however late it is
        """Return whether a model's reply names something that it could do now."""
        return read_choice(str(plan.get("text", "")), self.options()) is not None

    def decide(self, tactics: Callable[[], Status]) -> None:
        """Take over a choice that a model has made, and act."""
        if self.plan_tick is not None and self.plan_tick != self._asked_tick:
            self._asked_tick = self.plan_tick
            option = read_choice(str(self.plan.get("text", "")), self.options())
            if option is not None:
                self._choose(option, by_model=True)
        super().decide(tactics)

    def _choose(self, option: Option, *, by_model: bool) -> None:
        self._choice, self._choice_words, self._is_by_model = option.errand(self.time.minute), option.words, by_model
        self._choice_tick = self.tick
        self._choices.chose(self.tick, option.words)

    @action
    def follow_choice(self) -> Status:
        """Do what a model chose; fails if it is over, or the next errand of the day has begun."""
        errand = self._errand()
        if self._choice is None or not self._is_by_model:
            return Status.FAILURE
        begun = errand is not None and errand.minute > self._choice.minute and errand.state is ErrandState.UNDER_WAY
        return Status.FAILURE if begun else self._do_choice()

    @action
    def spend_time(self) -> Status:
        """Do what is of most use of what it could do; fails if there is nothing."""
        status = self._do_choice()
        if status is Status.FAILURE:
            best = self.menu()
            if best:
                self._choose(best[0], by_model=False)
                status = self._do_choice()
        return status

    def _do_choice(self) -> Status:
        errand = self._choice
        if errand is None:
            return Status.FAILURE
        status = self.carry_out(errand) if self.tick - self._choice_tick <= CHOICE_TICKS else Status.FAILURE
        if status is Status.FAILURE:
            if errand.state is not ErrandState.DONE:
                self._choices.failed(self.tick, self._choice_words)
                self._failed_tick = self.tick if self._is_by_model else self._failed_tick
            self._choice = None
        return status

    def aim(self) -> str:
        """Return what it has chosen to do, if it is still to be done; whom it would visit, it does not say so to."""
        errand, talk = self._choice, self.talker.talks.current
        is_here = errand is not None and talk is not None and talk.partner_id == errand.thing
        if errand is None or errand.state is ErrandState.DONE or is_here:
            return super().aim() if self.provided() else "find something to eat"
        return self._choice_words

    def partner_wanted(self) -> str:
        """Return whom it has chosen to visit."""
        return self._choice.thing if self._choice is not None and self._choice.skill == "visit" else ""

    # What to eat

    @condition
    def provided(self) -> bool:
        """Return whether it has enough to eat for a while."""
        return self._meals() >= ENOUGH_MEALS

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
        """Eat, or else get something to eat."""
        if self.me.hunger >= HUNGRY and self.eat_something() is not Status.FAILURE:
            return Status.SUCCESS
        statuses = (self.gather(item) for item in self.food)
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
        errand.state = ErrandState.DONE
        return self.eat_something()

    def could_fetch(self) -> Iterable[Option]:
        """Yield where there is something to eat, while it does not carry plenty."""
        if self._meals() >= STOCK_MEALS or self.tick < self._full_until:
            return
        need = 0.15 if self.provided() else 0.3 + 0.5 * self.me.hunger / 1000
        for item in self.food:
            place = self.surroundings.nearest(filter(self.reachable, self.surroundings.things_with(item)), self.at)
            if place is not None:
                yield Option(option_words("fetch", item), need, item, steps=place.steps_from(self.at))

    def do_fetch(self, errand: DayErrand) -> Status:
        """Gather a thing, or something to eat, until it carries plenty."""
        have = self.carries(errand.thing) if errand.thing else self._meals()
        status = Status.FAILURE if have >= STOCK_MEALS else self._fetch(errand.thing)
        if status is Status.SUCCESS:
            errand.state = ErrandState.DONE
        return status

    def _fetch(self, thing: str) -> Status:
        return self.gather(thing) if thing else self.find_food()

    def could_trade(self) -> Iterable[Option]:
        """Yield what it could buy to eat."""
        for item in self.food if self._meals() < STOCK_MEALS else ():
            seller = self.seller_of(item)
            if seller is not None:
                use = 0.2 + 0.4 * self.me.hunger / 1000
                yield Option(option_words("buy", item), use, item, steps=seller.steps_from(self.at))

    def do_trade(self, errand: DayErrand) -> Status:
        """Buy a thing, once."""
        if errand.state is ErrandState.DONE:
            return Status.FAILURE
        status = self.buy(errand.thing)
        if status is Status.SUCCESS:
            errand.state = ErrandState.DONE
        return status

    # Work and rest

    def could_work(self) -> Iterable[Option]:
        """Yield its work, by day."""
        if self.persona.work and self.time.hour in DAY_HOURS:
            yield self._going("work at", self.persona.work, 0.45)

    def could_make(self) -> Iterable[Option]:
        """Yield what it lacks and could make of what it has or knows."""
        for item, recipes in self._recipes.items():
            if self.carries(item) >= ENOUGH_MADE:
                continue
            for kind, recipe in recipes:
                bench = self.surroundings.nearest(self.surroundings.things_of(kind), self.at)
                missing = self._missing(recipe)
                known = missing is None or any(True for _ in self.surroundings.things_with(missing))
                if bench is not None and known and self._is_time(recipe):
                    yield Option(option_words("make", item), 0.4, item, steps=bench.steps_from(self.at))
                    break

    def could_rest(self) -> Iterable[Option]:
        """Yield its home, or where it is, if it is not rested."""
        if self.me.energy < RESTED:
            use = (1000 - self.me.energy) / 1000
            home = self.persona.home
            yield self._going("rest at", home, use) if home else Option("lie down and rest", use)

    def could_sit(self) -> Iterable[Option]:
        """Yield that it could do nothing for a while."""
        yield Option("sit for a while", 0.1)

    def do_sit(self, errand: DayErrand) -> Status:
        """Stay where it is; as a choice, for a while."""
        errand.state = ErrandState.DONE
        is_over = errand is self._choice and self.tick - self._choice_tick > SIT_TICKS
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

    def could_meet(self) -> Iterable[Option]:
        """Yield the places where it usually meets others."""
        use = 0.35 if self.time.hour in EVENING_HOURS else 0.2
        for place in {one.place: None for one in self._routine if one.skill == "meet" and one.place}:
            yield self._going("go to", place, use)

    def could_visit(self) -> Iterable[Option]:
        """Yield those of whom it knows where they were, and with whom it has not just talked."""
        people, related = self.surroundings.people, dict(self.persona.relations)
        known = [one for one in self.talker.people if one.person_id in people]
        known.sort(key=lambda one: (one.person_id not in related, -one.liking, -one.talks, one.person_id))
        for one in known[:MOST_VISITS]:
            who = people[one.person_id]
            if not who.status & ActorStatus.ASLEEP and self.talker.talks.may_begin(self.tick, who.entity_id):
                use = 0.25 + 0.2 * one.liking + 0.1 * (who.entity_id in related)
                yield Option(option_words("visit", one.called), use, who.entity_id, steps=distance(who.at, self.at))

    def do_visit(self, errand: DayErrand) -> Status:
        """Go to a person, and stay while they may talk."""
        person = self.surroundings.people.get(errand.thing)
        if person is None:
            return Status.FAILURE
        status = self._go_up_to(person)
        if status is not Status.SUCCESS:
            return status
        errand.state = ErrandState.DONE
        return self.wait() if self.talker.talks.may_begin(self.tick, errand.thing) else Status.FAILURE

    def _go_up_to(self, person: Person) -> Status:
        """Go beside a person; fails if it is no longer where it was seen."""
        status = self.walk(person.at, beside=True)
        is_there = any(one.entity_id == person.entity_id for one in self.surroundings.near(self.at, 1))
        return Status.FAILURE if status is Status.SUCCESS and not is_there else status

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
        person, item = self.surroundings.people.get(errand.thing), self._gift()
        if person is None or not item or errand.state is ErrandState.DONE:
            return Status.FAILURE
        status = self._go_up_to(person)
        if status is not Status.SUCCESS:
            return status
        errand.state = ErrandState.DONE
        return self.do(Give(errand.thing, item))

    def _known_recipes(self) -> dict[str, list[tuple[str, ActionInfo]]]:
        """Return what can be made of other things in its world: item -> kinds of objects, each with what is done."""
        recipes: dict[str, list[tuple[str, ActionInfo]]] = {}
        for kind in self.kinds:
            for recipe in (one for actions in kind.actions for one in actions if one.needs or one.consumes):
                for item, _ in recipe.yields:
                    recipes.setdefault(item, []).append((kind.name, recipe))
        return recipes

    def _gift(self) -> str:
        """Return what it could do without."""
        return next((item for item in self.food if self.spare(item) > ENOUGH_MEALS), "")

    def _going(self, verb: str, place: str, use: float) -> Option:
        """Return something to do at a place."""
        zone = self.setting.zone(place)
        steps = 0 if zone is None else min(distance(self.at, nearest_tile(self.at, area)) for area in zone.areas)
        return Option(option_words(verb, zone_phrase(place)), use, place=place, steps=steps)

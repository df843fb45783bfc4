"""`ChoosingCharacter`: a character that chooses what to do next from what it could do."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from tickmind.agent.character.daily import ENOUGH_MADE, ENOUGH_MEALS, RESTED, SKILL, DailyCharacter
from tickmind.agent.character.tactics import action, condition
from tickmind.agent.knowledge import Person, Thing, distance, nearest_tile
from tickmind.agent.minds import Start
from tickmind.ai import Status
from tickmind.base import ConfigError
from tickmind.mind.options import ChoiceHistory, Option, menu, option_words, read_choice
from tickmind.mind.plans import DayErrand, ErrandState
from tickmind.protocol import ActionInfo, ActorStatus, Give
from tickmind.protocol.setting import zone_phrase
from tickmind.tick.hooks import checked

CHOICE_TICKS = 90  # that a choice is followed
SIT_TICKS = 20
VISIT_TICKS = 600  # since a person was seen or heard last, for a visit
ERRAND_UTILITY = 0.6  # of what it planned for the hour
PECKISH, HUNGRY, STARVING = 200, 350, 700  # hunger at which it may eat, eats, and is in danger
STOCK_MEALS = 12  # that it gathers if it chooses to
RICH_MEALS = 6  # that it could pay for, from which on it is free with its money
HELP_REST_TICKS = 400  # between two parts of a shared work that it does
GIFT_REST_TICKS = 600  # between two gifts to the same one
GIFT_STEPS = 10  # within which it sees to whom it could give something
MOST_VISITS = 4  # people whom it considers to visit, the best known first
DAY_HOURS, EVENING_HOURS = range(7, 18), range(16, 21)
_COULD = "could_"  # what the names of methods begin with that yield what a skill could do now
_QUIET = ("rest", "sit")  # skills for a bad mood
_TO_PEOPLE = ("visit", "give")  # skills whose thing is a person


class ChoosingCharacter(DailyCharacter):
    """Chooses by use what it does in its free time. A model, if one decides, chooses from the best few at intervals.

    A skill is a method `do_fish(self, errand)`. With a method `could_fish(self)`, which yields an `Option` where there
    is something to fish, it is among what can be chosen.
    """

    def __init_subclass__(cls, **given: Any) -> None:
        """Raise `ConfigError` for an `async def` among the methods of skills."""
        super().__init_subclass__(**given)
        for name in dir(cls):
            if name.startswith((SKILL, _COULD)):
                checked(getattr(cls, name), f"{name} of a character")

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        self._shared_works = list(self._known_works())
        self._helped: dict[str, int] = {}  # kind of a shared work -> the tick in which it did its last part
        self._helping_tick = -1  # in which it worked on one
        self._history = ChoiceHistory((*self.persona.goals, *self.persona.traits))
        self._chosen: Option | None = None
        self._choice = DayErrand(0, "")  # what it has chosen, as an errand
        self._choice_ticks = 0  # in which that was done
        self._sent_tick = -1  # in which it did something for it
        self._instead: DayErrand | None = None  # of which errand of the day it is done
        self._is_by_model = False
        self._asked_tick = -1  # of the question to which the last choice of a model answers
        self._failed_tick = -1  # in which the choice of a model failed
        self._known_options: tuple[int, list[Option]] = (-1, [])  # the tick of the options, and they

    # What to do next

    def options(self) -> list[Option]:
        """Return all that it could do now, the best first."""
        if self._known_options[0] != self.tick:
            mood = self.talker.mood.weight(self.tick)
            found = list(self._errand_of_the_hour())
            for skill in self.skills():
                for option in self._options_of(skill):
                    weight = 2 - mood if skill in _QUIET else mood
                    found.append(replace(option, skill=skill, utility=option.utility * weight))
            self._known_options = self.tick, self._history.weighed(self.tick, found)
        return self._known_options[1]

    def _options_of(self, skill: str) -> list[Option]:
        found: Any = getattr(self, f"{_COULD}{skill}", tuple)()
        options = list(found) if isinstance(found, Iterable) else [found]
        if not all(isinstance(option, Option) for option in options):
            raise ConfigError(f"{_COULD}{skill} of {type(self).__name__} must yield an Option for each thing to do")
        return options

    def _errand_of_the_hour(self) -> Iterable[Option]:
        """Yield what it planned to do now, if that is not done."""
        errand = self._errand()
        if errand is not None and errand.state is ErrandState.UNDER_WAY and errand.skill in self.skills():
            where = f"at {zone_phrase(errand.place)}" if errand.place else ""
            words = option_words("be" if errand.skill == "meet" else errand.words, where)
            person = self._person(errand.thing) if errand.skill in _TO_PEOPLE else None
            thing = errand.thing if person is None else person.entity_id
            yield Option(words, ERRAND_UTILITY, thing, errand.place, skill=errand.skill)

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
        self._chosen, self._choice, self._is_by_model = option, option.errand(self.time.minute), by_model
        self._choice_ticks, self._sent_tick, self._instead = 0, -1, self._errand()
        self._history.chose(self.tick, option)
        self._known_options = (-1, [])
        self.blackboard.set("choice", f"{option.words} (chosen by a model)" if by_model else option.words)

    def _end_choice(self) -> None:
        self._chosen, self._known_options = None, (-1, [])
        self.blackboard.set("choice", None)

    @action
    def follow_choice(self) -> Status:
        """Do what a model chose; fails if it is over, or an errand of the day has begun since."""
        if self._chosen is None or not self._is_by_model:
            return Status.FAILURE
        if self._errand() is not self._instead:
            self._end_choice()
            return Status.FAILURE
        return self._do_choice()

    @action
    def spend_time(self) -> Status:
        """Do what is of most use of what it could do; fails if there is nothing."""
        status = self._do_choice()
        if status is Status.FAILURE:
            best = self.options()
            if best:
                self._choose(best[0], by_model=False)
                status = self._do_choice()
        return status

    def _do_choice(self) -> Status:
        if self._chosen is None:
            return Status.FAILURE
        last, is_over = self.observation.result, self._choice_ticks >= CHOICE_TICKS
        is_refused = last is not None and not last.ok and self._sent_tick == self.tick - 1
        self._choice_ticks += 1
        status = Status.FAILURE if is_over or is_refused else self.carry_out(self._choice)
        if status is Status.SUCCESS:
            self._sent_tick = self.tick
        elif status is Status.FAILURE:
            if is_refused or (self._choice.state is not ErrandState.DONE and not is_over):
                self._history.failed(self.tick, self._chosen)
                self._failed_tick = self.tick if self._is_by_model else self._failed_tick
            self._end_choice()
        return status

    def aim(self) -> str:
        """Return what it has chosen to do, if it is still to be done; whom it would visit, it does not say so to."""
        errand, talk = self._choice, self.talker.talks.current
        is_here = talk is not None and talk.partner_id == errand.thing
        if self._chosen is None or errand.state is ErrandState.DONE or is_here:
            return super().aim() if self.provided() else "find something to eat"
        return self._chosen.words

    def partner_wanted(self) -> str:
        """Return whom it has chosen to visit."""
        return self._choice.thing if self._chosen is not None and self._choice.skill == "visit" else ""

    # What to eat

    @condition
    def provided(self) -> bool:
        """Return whether it has enough to eat for a while; at its work a meal is enough."""
        errand = self._errand()
        is_working = errand is not None and errand.skill in ("make", "work")
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
        """Eat, or else get something to eat."""
        if self.me.hunger >= HUNGRY and self.eat_something() is not Status.FAILURE:
            return Status.SUCCESS
        statuses = (way(item) for item in self.food for way in (self.gather, self.take, self.buy))
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
        status = self.eat_something()
        if status is Status.SUCCESS:
            errand.state = ErrandState.DONE
        return status

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
                rich = self.seller_of(item, RICH_MEALS) is not None
                use = 0.2 + 0.4 * self.me.hunger / 1000 + 0.2 * rich
                yield Option(option_words("buy", item), use, item, steps=seller.steps_from(self.at))

    def do_trade(self, errand: DayErrand) -> Status:
        """Buy a thing, once."""
        if errand.state is ErrandState.DONE:
            return Status.FAILURE
        status = self.buy(errand.thing)
        if status is Status.SUCCESS:
            errand.state = ErrandState.DONE
        return status

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
        status = self.sell(errand.thing)
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
        for item, kind, state, recipe in self._recipes:
            if self.carries(item) >= ENOUGH_MADE or not self._is_time(recipe):
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
        if errand is self._choice and self.me.energy >= RESTED:
            errand.state = ErrandState.DONE
            return Status.FAILURE
        return super().do_rest(errand)

    def could_sit(self) -> Iterable[Option]:
        """Yield that it could do nothing for a while."""
        yield Option("sit for a while", 0.1)

    def do_sit(self, errand: DayErrand) -> Status:
        """Stay where it is; as a choice, for a while."""
        errand.state = ErrandState.DONE
        is_over = errand is self._choice and self._choice_ticks > SIT_TICKS
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
        around, works = self.surroundings, {state: one for name, state, one in self._shared_works if name == kind}
        known = (one for one in around.things_of(kind) if one.seen.state in works and self.reachable(one))
        thing = around.nearest(known, self.at)
        return None if thing is None else (thing, works[thing.seen.state])

    def could_help(self) -> Iterable[Option]:
        """Yield what it could help to build, mend or light, for all, unless it has just done its part."""
        for kind in {name: None for name, _, _ in self._shared_works}:
            work = self._open_work(kind)
            has_helped = self.tick - self._helped.get(kind, -HELP_REST_TICKS) < HELP_REST_TICKS
            if work is None or has_helped or not self._is_time(work[1]):
                continue
            missing = self._missing(work[1])
            if missing is None or self._could_get(missing):
                words, use = option_words(work[1].verb, "the", kind.replace("_", " ")), 0.7 if missing is None else 0.55
                yield Option(words, use, kind, steps=work[0].steps_from(self.at))

    def do_help(self, errand: DayErrand) -> Status:
        """Get what a shared work takes, and do one part of it."""
        last, work = self.observation.result, self._open_work(errand.thing)
        effects = last.effects if last is not None and last.ok and self._helping_tick == self.tick - 1 else ()
        if any(effect.name.startswith("inventory.") for effect in effects):  # what it takes is used up by the last step
            self._helped[errand.thing], errand.state = self.tick, ErrandState.DONE
            return Status.FAILURE
        if work is None:
            return Status.FAILURE
        missing = self._missing(work[1])
        if missing is not None:
            return self._obtain(missing, set())
        status = self.work_on(errand.thing, work[1].verb, work[0].seen.state)
        self._helping_tick = self.tick if status is Status.SUCCESS else -1
        return status

    def could_meet(self) -> Iterable[Option]:
        """Yield the places where it usually meets others."""
        use = 0.35 if self.time.hour in EVENING_HOURS else 0.2
        for place in {one.place: None for one in self._routine if one.skill == "meet" and one.place}:
            yield self._going("go to", place, use)

    def could_visit(self) -> Iterable[Option]:
        """Yield those of whom it knows where they were, and with whom it has not just talked."""
        people, related = self.surroundings.people, dict(self.persona.relations)
        known = [one for one in self.talker.people if one.person_id in people and self._may_visit(one.person_id)]
        known.sort(key=lambda one: (one.person_id not in related, -one.liking, -one.talks, one.person_id))
        for one in known[:MOST_VISITS]:
            who = people[one.person_id]
            use = 0.25 + 0.2 * one.liking + 0.1 * (who.entity_id in related)
            yield Option(option_words("visit", one.called), use, who.entity_id, steps=distance(who.at, self.at))

    def _may_visit(self, person_id: str) -> bool:
        """Return whether a person was there lately, awake as far as it sees, and they have not just talked."""
        who = self.surroundings.people[person_id]
        is_asleep = who.seen_tick == self.tick and bool(who.status & ActorStatus.ASLEEP)
        is_fresh = self.tick - max(who.seen_tick, who.heard_tick) <= VISIT_TICKS
        return is_fresh and not is_asleep and self.talker.talks.may_begin(self.tick, person_id)

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
        person, item = self._person(errand.thing), self._gift()
        if person is None or not item or errand.state is ErrandState.DONE:
            return Status.FAILURE
        status = self.go_up_to(person)
        if status is not Status.SUCCESS:
            return status
        errand.state = ErrandState.DONE
        return self.do(Give(person.entity_id, item))

    def _gift(self) -> str:
        """Return what it could do without."""
        return next((item for item in self.food if self.spare(item) > ENOUGH_MEALS), "")

    def _going(self, verb: str, place: str, use: float) -> Option:
        """Return something to do at a place."""
        zone = self.setting.zone(place)
        steps = 0 if zone is None else min(distance(self.at, nearest_tile(self.at, area)) for area in zone.areas)
        return Option(option_words(verb, zone_phrase(place)), use, place=place, steps=steps)

"""`DailyCharacter`: a character whose days have errands: work, company, and its home at night."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from tickmind.agent.character.sociable import LOOK_TICKS, SociableCharacter
from tickmind.agent.character.tactics import action
from tickmind.agent.character.thinking import Faculty
from tickmind.agent.knowledge import Thing, distance
from tickmind.agent.minds import Start
from tickmind.ai import Status
from tickmind.mind.memory import EntryKind
from tickmind.mind.plans import (
    MAX_ERRANDS,
    PLAN_TASK,
    DayErrand,
    DayPlan,
    ErrandState,
    read_appointment,
    read_habits,
    read_plan,
)
from tickmind.mind.reflection import REFLECT_TASK, Reflection, insights_by_rule, note_insights
from tickmind.protocol import Pickup
from tickmind.protocol.setting import DAY_MINUTES, zone_phrase
from tickmind.strategy import quoted

WORK_MINUTE, FREE_MINUTE, HOME_MINUTE = 8 * 60, 16 * 60, 21 * 60  # when a usual day's errands begin
ENOUGH_MADE = 3  # of an item, that it gathers or makes at its work
AIMS = {"work": "get some work done{place}", "meet": "see who is about{place}", "rest": "go home"}  # skill -> words
PRESENT_TICKS = 20  # at its work, after which it has been there even if there was nothing to do
STROLL_EVERY, STROLL_TICKS = 40, 10  # how often and how long it strolls while it waits
MEET_MINUTES = 60  # that it stays where it meets others
RESTED = 800  # energy at which it needs no bed
FAILURES = 2  # of errands that a model planned, after which the day goes on as usual
LEAST_REFLECTED = 4  # memories of a day, for a model to be asked about it
MOST_PLACES, MOST_INSIGHTS = 20, 5  # in a question for a plan
UNPLANNED = ("eat", "explore", "give", "sit")  # skills that are for the moment
NOON_HOUR = 12  # from which on a sleep is the night before the next day
SKILL = "do_"  # what the names of methods for errands begin with
REFLECT = Faculty("reflect", REFLECT_TASK, priority=-2)
PLAN_DAY = Faculty("plan_day", PLAN_TASK, priority=-1)
NIGHT = (REFLECT, PLAN_DAY)


class DailyCharacter(SociableCharacter):
    """Follows the habits of its persona that are errands, or goes to its work by day and home in the evening.

    While it sleeps it may reflect and plan: with `faculties=NIGHT` in its `thinking` a model is asked for insights and
    for the errands of the next day. Insights by rule come at the end of every day, and without a plan the day goes as
    usual. A method `do_fish(self, errand)` adds the errand `06:00 fish at the pond`.
    """

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        self._places = [zone.name for zone in self.setting.zones]
        self._routine = read_habits(self.persona.habits, self._places) or self._usual_day()
        self._appointments: list[tuple[int, DayErrand]] = []  # day and errand; days that are over are forgotten
        self._yields = tuple(self._yielding())
        self._today = DayPlan([])
        self._day = 0
        self._woke_tick = 0  # since which its next reflection looks back
        self._asleep_tick = -1  # in which its last sleep began; -1: it has not slept yet
        self._sleeps = False
        self._reflection = Reflection(())  # on the day before that sleep
        self._reflected = self._is_planned = True  # whether a model has answered for this sleep
        self._plan_day = 0  # for which a plan is made in this sleep
        self._planned: tuple[int, list[DayErrand]] = (0, [])  # by a model, for a day
        self._knows_facts = False  # whether it has planned to be where its persona knows that something is
        self._follows_model = False  # whether today is as a model planned it
        self._idle_ticks = 0  # of today, at its work
        self._shown: list[ErrandState] = []
        self._place_known, self._known_until = "", 0  # the place whose things were looked up, and how long that is good
        self._known_there: list[str] = []  # their ids

    def aim(self) -> str:
        """Return the errand of the hour, if it is not done yet, as what it will do next."""
        errand = self._errand()
        if errand is None or errand.state is ErrandState.DONE:
            return super().aim()
        place = f" at {zone_phrase(errand.place)}" if errand.place else ""
        return AIMS[errand.skill].format(place=place) if errand.skill in AIMS else f"{errand.words}{place}"

    def _errand(self) -> DayErrand | None:
        """Return the errand of the hour. A new day begins with a new plan, and with what was remembered in order."""
        if self._day != self.time.day:
            for fact in self.persona.knows if not self._knows_facts else ():
                self.hear_news(fact)
            self._knows_facts = True
            self._day, self._today = self.time.day, self._day_of(self._routine)
            self._follows_model, self._idle_ticks = False, 0
            found = insights_by_rule(self.memory, self.talker.people.called, self.food)
            note_insights(self.memory, self.tick, found)
            self.memory.tidy(self.tick)
        for_day, planned = self._planned
        if planned and for_day == self.time.day:  # it may have come in the middle of the day
            self._today, self._follows_model, self._planned = self._day_of(planned), True, (0, [])
        errand = self._today.now(self.time.minute)
        if self._follows_model and self._today.failures >= FAILURES:
            self._follows_model, self._today = False, self._day_of(self._routine)
            errand = self._today.now(self.time.minute)
        return errand

    def _day_of(self, errands: Iterable[DayErrand]) -> DayPlan:
        """Return a plan for today with some errands and its appointments that are not over."""
        day, minute = self.time.day, self.time.minute
        plan = DayPlan(map(replace, errands))
        self._appointments = [one for one in self._appointments if one[0] >= day]
        for when, errand in self._appointments:
            if when == day and errand.minute > minute:
                plan.add(replace(errand))
        return plan

    def hear_news(self, text: str) -> None:
        """Plan to be where another says that something is at a time: today, or tomorrow if that is over."""
        appointment = read_appointment(text, self._places)
        if appointment is None:
            return
        is_today = appointment.minute > self.time.minute
        new = (self.time.day + (not is_today), appointment)
        if new in self._appointments or not MAX_ERRANDS.allows(len(self._appointments) + 1):
            return
        self._appointments.append(new)
        if is_today and self._day == self.time.day:
            self._today.add(replace(appointment))

    def kept(self) -> dict[str, Any]:
        """Return what it knows of others, and its appointments."""
        errands = [(day, one.minute, one.place) for day, one in self._appointments]
        return {**super().kept(), "appointments": errands}

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Take over what it knew of others, and its appointments."""
        super().restore(kept)
        if "appointments" not in kept:
            return
        self._knows_facts = True
        appointments = [
            (day, DayErrand(minute, "meet", place=place))
            for day, minute, place in kept["appointments"]
            if type(day) is int and type(minute) is int and 0 <= minute < DAY_MINUTES and place in self._places
        ]
        self._appointments = appointments[: int(MAX_ERRANDS.maximum)]

    # The night

    def decide(self, tactics: Callable[[], Status]) -> None:
        """Look back on the day when it falls asleep, and act."""
        if self._sleeps and not self.asleep():
            self._sleeps, self._woke_tick = False, self.tick
        elif self.asleep() and not self._sleeps:
            self._sleeps, self._asleep_tick = True, self.tick
            self._reflection = Reflection.of_day(self.memory, self._woke_tick)
            self._reflected = self._is_planned = False
            self._plan_day = self.time.day + (self.time.hour >= NOON_HOUR)
        super().decide(tactics)

    def wonders(self, faculty: str) -> bool:
        """Return whether it sleeps, and has not yet been given this night's insights or plan."""
        if faculty not in (REFLECT.name, PLAN_DAY.name):
            return super().wonders(faculty)
        if not self._sleeps or len(self._reflection.entries) < LEAST_REFLECTED:
            return False
        return not (self._reflected if faculty == REFLECT.name else self._is_planned)

    def ponder(self, faculty: str) -> str:
        """Return the memories of the day, or what a plan for tomorrow goes by."""
        if faculty not in (REFLECT.name, PLAN_DAY.name):
            return super().ponder(faculty)
        if faculty == PLAN_DAY.name:
            return "\n".join(self._about_tomorrow())
        return "\n".join(f"{number}: {quoted('memory', text)}" for number, text in self._reflection.numbered())

    def _about_tomorrow(self) -> Iterable[str]:
        places = [zone_phrase(zone.name) for zone in self.setting.zones[:MOST_PLACES]]
        if places:
            yield f"Places: {', '.join(places)}."
        yield f"Words for what you do: {', '.join(skill for skill in self.skills() if skill not in UNPLANNED)}."
        yield f"Your usual day: {'; '.join(map(str, self._routine)) or 'nothing fixed'}."
        for promise in self.talker.promises.open():
            if promise.by == self.entity_id:
                yield f"You promised {self.talker.people.called(promise.to)} {promise.amount} {promise.item}."
        learnt = [entry.text for entry in self.memory if entry.kind is EntryKind.INSIGHT][-MOST_INSIGHTS:]
        for text in learnt:
            yield quoted("memory", text)

    def learn(self, faculty: str, reply: Mapping[str, Any], asked_tick: int) -> None:
        """Note the insights of a reply, or take over its plan for tomorrow; one of an earlier sleep is too late."""
        super().learn(faculty, reply, asked_tick)
        if asked_tick < self._asleep_tick:
            return
        text = str(reply.get("text", ""))
        if faculty == REFLECT.name:
            self._reflected = True
            note_insights(self.memory, self.tick, self._reflection.read(text))
        elif faculty == PLAN_DAY.name:
            self._is_planned = True
            errands = read_plan(text, self._places, self.skills())
            self._planned = (self._plan_day, errands) if errands else self._planned

    def _usual_day(self) -> list[DayErrand]:
        """Return the day of a persona with a work or a home and no habits."""
        work, home = self.persona.work, self.persona.home
        errands = [DayErrand(WORK_MINUTE, "work", place=work), DayErrand(FREE_MINUTE, "meet")] if work else []
        return [*errands, DayErrand(HOME_MINUTE, "rest", place=home)] if home else errands

    @action
    def follow_routine(self) -> Status:
        """Do the errand of the hour; fails if there is none, or nothing to be done for it."""
        errand = self._errand()
        if errand is None:
            return Status.FAILURE
        states = [one.state for one in self._today.errands]
        if states != self._shown:
            self._shown = states
            self.blackboard.set("today", [f"{one}: {one.state}" for one in self._today.errands])
        return self.carry_out(errand)

    def carry_out(self, errand: DayErrand) -> Status:
        """Go to the place of an errand, and do one step of it."""
        if errand.place and not self.in_zone(errand.place):
            return self.go_to_zone(errand.place)
        skill = errand.skill if errand.skill in self.skills() else "meet"
        status: Status = getattr(self, f"{SKILL}{skill}")(errand)
        return status

    @classmethod
    @cache
    def skills(cls) -> list[str]:
        """Return what its errands may be: the names of its methods that begin with `do_`."""
        return sorted(name.removeprefix(SKILL) for name in dir(cls) if name.startswith(SKILL))

    def do_meet(self, errand: DayErrand) -> Status:
        """Be there, among others, and at a certain place stay for a while; any word that is no skill means this."""
        if errand.state is not ErrandState.DONE:
            errand.state, errand.done_tick = ErrandState.DONE, self.tick
        minutes = (self.tick - errand.done_tick) * DAY_MINUTES // self.setting.calendar.day_ticks
        return self._stay_about() if errand.place and minutes < MEET_MINUTES else Status.FAILURE

    def do_rest(self, errand: DayErrand) -> Status:
        """Go to bed if it is tired, else stay."""
        errand.state = ErrandState.DONE
        if self.me.energy >= RESTED:
            return self.wait()
        status = self.go_to("bed")
        return status if status is Status.RUNNING else self.sleep()

    def do_make(self, errand: DayErrand) -> Status:
        """Make some of a thing."""
        if not errand.thing or self.carries(errand.thing) >= ENOUGH_MADE:
            errand.state = ErrandState.DONE
            return Status.FAILURE
        return self.make(errand.thing)

    def do_work(self, errand: DayErrand) -> Status:
        """Gather what grows at a place, or do what yields something there, until it has enough of it."""
        here = [] if self._hands_full() else self._things_at(errand.place or self.persona.work)
        wanted = [one for one in here if any(self.carries(stack.kind) < ENOUGH_MADE for stack in one.seen.items)]
        for thing in sorted(wanted, key=lambda one: (distance(one.at, self.at), one.seen.object_id)):
            for stack in thing.seen.items if self.reachable(thing) and not self._is_contents(thing) else ():
                if self.carries(stack.kind) < ENOUGH_MADE:
                    errand.state = ErrandState.DONE
                    return self.do(Pickup(stack.kind)) if thing.at == self.at else self._walk_onto(thing)
        kinds = {one.seen.kind for one in here}
        for kind, state, verb, item in self._yields:
            if kind in kinds and self.carries(item) < ENOUGH_MADE:
                errand.state = ErrandState.DONE
                status = self.work_on(kind, verb, state)
                if status is not Status.FAILURE:
                    return status
        self._idle_ticks += 1  # it is there, and there is nothing to be done
        if self._idle_ticks >= PRESENT_TICKS:
            errand.state = ErrandState.DONE
        return self._stay_about()

    def _stay_about(self) -> Status:
        """Wait, and stroll now and then."""
        return self.wander() if self.tick % STROLL_EVERY < STROLL_TICKS else self.wait()

    def _things_at(self, place: str) -> list[Thing]:
        """Return the known things at a place. Which there are is looked up at intervals: it may know thousands."""
        things = self.surroundings.things
        if self._place_known != place or self.tick >= self._known_until:
            zone = self.setting.zone(place)
            self._known_there = [name for name, one in things.items() if zone is None or zone.holds(*one.at)]
            self._place_known, self._known_until = place, self.tick + LOOK_TICKS
        return [things[name] for name in self._known_there if name in things]

    def _yielding(self) -> Iterable[tuple[str, str, str, str]]:
        """Yield kinds and states of objects, each with a verb that yields an item and takes nothing, and the item."""
        for kind in self.kinds:
            for state, actions in zip(kind.states, kind.actions, strict=True):
                for one in actions:
                    if one.yields and not (one.needs or one.consumes or one.wears):
                        yield kind.name, state, one.verb, one.yields[0][0]

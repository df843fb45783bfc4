"""`DailyCharacter`: a character whose days have errands: work, company, and its home at night."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from tickmind.agent.character.tactics import action
from tickmind.agent.character.thinking import Faculty
from tickmind.agent.character.working import WorkingCharacter
from tickmind.agent.knowledge import distance, nearest_tile
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
    read_plan,
    usual_day,
)
from tickmind.mind.reflection import REFLECT_TASK, Reflection, insights_by_rule, note_insights
from tickmind.protocol.setting import DAY_MINUTES, clock_of, zone_phrase
from tickmind.strategy import quoted

AIMS = {"work": "get some work done{place}", "meet": "see who is about{place}", "rest": "go home"}  # skill -> words
MEET_MINUTES = 60  # that it stays where it meets others
SPARE_TICKS = 6  # by which it sets out earlier than the way to an appointment takes
RESTED = 800  # energy at which it needs no bed
FAILURES = 2  # of errands that a model planned, after which it is asked for a new plan, once a day
LEAST_REFLECTED = 4  # memories of a day, for a model to be asked about it
MOST_PLACES, MOST_INSIGHTS = 20, 5  # in a question for a plan
UNPLANNED = ("eat", "explore", "give", "reconcile", "sit")  # skills that are for the moment
NOON_HOUR = 12  # from which on a sleep is the night before the next day
SKILL = "do_"  # what the names of methods for errands begin with
ROAMING = ("make", "work")  # skills that lead away from their place, to what they take and to those who buy
REFLECT = Faculty("reflect", REFLECT_TASK, priority=-2)
PLAN_DAY = Faculty("plan_day", PLAN_TASK, priority=-1)
NIGHT = (REFLECT, PLAN_DAY)


class DailyCharacter(WorkingCharacter):
    """Follows the habits of its persona that are errands, or goes to its work by day and home in the evening.

    While it sleeps it may reflect and plan: with `faculties=NIGHT` in its `thinking` a model is asked for insights and
    for the errands of the next day. Insights by rule come at the end of every day, and without a plan the day goes as
    usual. A method `do_fish(self, errand)` adds the errand `06:00 fish at the pond`.
    """

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        self._places = [zone.name for zone in self.setting.zones]
        self._routine = usual_day(self.persona, self._places)
        self._appointments: list[tuple[int, DayErrand]] = []  # day and errand; days that are over are forgotten
        self._begun: DayErrand | None = None  # the errand for which it has come to its place
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
        self._replans = self._has_replanned = False  # whether it wants a new plan for the rest of today, and wanted one
        self._failed: list[str] = []  # errands of the plan that was given up
        self._shown: list[ErrandState] = []

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
            self.begin_work_day()
            self._follows_model = False
            self._replans = self._has_replanned = False
            self.look_back()
        for_day, planned = self._planned
        if planned and for_day == self.time.day:  # it may have come in the middle of the day
            self._today, self._follows_model, self._planned = self._day_of(planned), True, (0, [])
        errand = self._today.now(self.time.minute, self._way_to)
        if self._follows_model and self._today.failures >= FAILURES:
            self._failed = [one.words for one in self._today.errands if one.state is ErrandState.FAILED]
            self._follows_model, self._today = False, self._day_of(self._routine)  # until a new plan comes
            self._replans, self._has_replanned = not self._has_replanned, True
            errand = self._today.now(self.time.minute, self._way_to)
        return errand

    def _way_to(self, errand: DayErrand) -> int:
        """Return how many minutes it takes to come to the place of an errand, with a few to spare."""
        zone = self.setting.zone(errand.place)
        steps = 0 if zone is None else min(distance(self.at, nearest_tile(self.at, area)) for area in zone.areas)
        return (steps + steps // 8 + SPARE_TICKS) * DAY_MINUTES // self.setting.calendar.day_ticks

    def look_back(self) -> None:
        """Draw insights from what it remembers, and put its memory in order; called when a new day begins."""
        insights = insights_by_rule(self.memory, self.talker.people.called, self.food)
        note_insights(self.memory, self.tick, insights)
        self.memory.tidy(self.tick)

    def _day_of(self, errands: Iterable[DayErrand]) -> DayPlan:
        """Return a plan for today with some errands, its appointments and festivals that are not over."""
        day, minute = self.time.day, self.time.minute
        plan = DayPlan(map(replace, errands))
        self._appointments = [appointment for appointment in self._appointments if appointment[0] >= day]
        for when, errand in self._appointments:
            if when == day and errand.minute > minute:
                plan.interrupt(replace(errand), errand.minute + MEET_MINUTES)
        for festival in self.setting.calendar.festivals:
            begins, ends = festival.hours or (NOON_HOUR * 60, DAY_MINUTES)
            if festival.begins_on(day) and festival.where in self._places and begins > minute:
                plan.interrupt(DayErrand(begins, "meet", place=festival.where), ends)
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
            self._today.interrupt(replace(appointment), appointment.minute + MEET_MINUTES)

    def kept(self) -> dict[str, Any]:
        """Return what it knows of others, and its appointments."""
        errands = [(day, appointment.minute, appointment.place) for day, appointment in self._appointments]
        return {**super().kept(), "appointments": errands}

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Take over what it knew of others, and its appointments."""
        super().restore(kept)
        if "appointments" not in kept:
            return
        self._knows_facts = True
        appointments = [
            (day, DayErrand(minute, "meet", place=place, on_time=True))
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
            self._reflected = self._is_planned = self._replans = False
            self._plan_day = self.time.day + (self.time.hour >= NOON_HOUR)
        super().decide(tactics)

    def wonders(self, faculty: str) -> bool:
        """Return whether it sleeps, and has not been given this night's insights or plan; or its plan has failed."""
        if faculty not in (REFLECT.name, PLAN_DAY.name):
            return super().wonders(faculty)
        if faculty == PLAN_DAY.name and self._replans:
            return True
        if not self._sleeps or len(self._reflection.entries) < LEAST_REFLECTED:
            return False
        return not (self._reflected if faculty == REFLECT.name else self._is_planned)

    def ponder(self, faculty: str) -> str:
        """Return the memories of the day, or what a plan for tomorrow goes by."""
        if faculty not in (REFLECT.name, PLAN_DAY.name):
            return super().ponder(faculty)
        if faculty == PLAN_DAY.name:
            return "\n".join(self._about_the_day())
        return "\n".join(f"{number}: {quoted('memory', text)}" for number, text in self._reflection.numbered())

    def _about_the_day(self) -> Iterable[str]:
        if self._replans:
            failed = "; ".join(self._failed)
            yield f"It is {clock_of(self.time.minute)}. Plan the rest of today anew, as you could not: {failed}."
        else:
            yield "Plan tomorrow."
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
            errands = read_plan(text, self._places, self.skills())
            if self._replans:
                self._replans = False
                later = [errand for errand in errands if errand.minute > self.time.minute]
                self._planned = (self.time.day, later) if later else self._planned
                return
            self._is_planned = True
            self._planned = (self._plan_day, errands) if errands else self._planned

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
        if errand.done_tick and not self._stays(errand):
            return Status.FAILURE
        is_away = errand is self._begun and errand.skill in ROAMING
        if errand.place and not is_away and not self.in_zone(errand.place):
            return self._approach(errand.place)
        self._begun = errand
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
        return self._stay_about() if errand.place else Status.FAILURE

    def _stays(self, errand: DayErrand) -> bool:
        """Return whether it stays where it meets others: for a while, or while there is a festival."""
        minutes = (self.tick - errand.done_tick) * DAY_MINUTES // self.setting.calendar.day_ticks
        if errand.on_time:  # it may be there before
            minutes = self.time.minute - errand.minute
        return minutes < MEET_MINUTES or any(festival.where == errand.place for festival in self.time.festivals)

    def do_rest(self, errand: DayErrand) -> Status:
        """Go to bed if it is tired, else stay."""
        errand.state = ErrandState.DONE
        if self.me.energy >= RESTED:
            return self.wait()
        status = self.go_to("bed")
        return status if status is Status.RUNNING else self.sleep()

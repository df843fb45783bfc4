"""`DailyCharacter`: a character whose days have errands: work, company, and its home at night."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
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
from tickmind.mind.reflection import Reflection, insights_by_rule, note_insights
from tickmind.protocol import Pickup
from tickmind.protocol.setting import zone_phrase
from tickmind.strategy import quoted

WORK_MINUTE, FREE_MINUTE, HOME_MINUTE = 8 * 60, 16 * 60, 21 * 60  # when a usual day's errands begin
ENOUGH_MADE = 3  # of an item, that it gathers or makes at its work
AIMS = {"work": "get some work done{place}", "meet": "see who is about{place}", "rest": "go home"}  # skill -> words
PRESENT_TICKS = 20  # at its work, after which it has been there even if there was nothing to do
STROLL_EVERY, STROLL_TICKS = 40, 10  # how often and how long it strolls while it waits for work
RESTED = 800  # energy at which it needs no bed
FAILURES = 2  # of errands that a model planned, after which the day goes on as usual
LEAST_REFLECTED = 4  # memories of a day, for a model to be asked about it
MOST_PLACES, MOST_INSIGHTS = 20, 5  # in a question for a plan
REFLECT, PLAN = "reflect", "plan"
_SKILL = "do_"  # what the names of methods for errands begin with
NIGHT = (
    Faculty(REFLECT, Reflection.task, priority=-2),
    Faculty(PLAN, PLAN_TASK, priority=-1),
)


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
        own = (read_appointment(fact, self._places) for fact in self.persona.knows)
        self._appointments = [errand for errand in own if errand is not None]  # for its next days
        self._yields = tuple(self._yielding())
        self._today = DayPlan([])
        self._day = 0
        self._woke_tick = 0  # since which its next reflection looks back
        self._reflection: Reflection | None = None  # of this night
        self._reflected = False
        self._tomorrow: list[DayErrand] = []  # as a model planned it
        self._is_planned = False  # whether a model was asked for tomorrow
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
        return (
            AIMS[errand.skill].format(place=place) if errand.skill in AIMS else f"{errand.skill} {errand.thing}{place}"
        )

    def _errand(self) -> DayErrand | None:
        """Return the errand of the hour. A new day begins with a new plan, and with what was remembered in order."""
        if self._day != self.time.day:
            self._day, self._today = self.time.day, DayPlan(map(replace, self._tomorrow or self._routine))
            self._follows_model = bool(self._tomorrow)
            self._tomorrow, self._idle_ticks = [], 0
            for appointment in self._appointments:
                self._today.add(replace(appointment))
            self._appointments = []
            note_insights(self.memory, self.tick, insights_by_rule(self.memory, self.talker.people.called))
            self.memory.tidy(self.tick)
        errand = self._today.now(self.time.minute)
        if self._follows_model and self._today.failures >= FAILURES:
            self._follows_model, self._today = False, DayPlan(map(replace, self._routine))
            errand = self._today.now(self.time.minute)
        return errand

    def take_word(self, text: str) -> None:
        """Plan to be where another says that something is at a time: today, or tomorrow if that is over."""
        appointment = read_appointment(text, self._places)
        if appointment is None:
            return
        if self._day == self.time.day and appointment.minute > self.time.minute:
            self._today.add(appointment)
        elif MAX_ERRANDS.allows(len(self._appointments) + 1):
            self._appointments.append(appointment)

    # The night

    def decide(self, tactics: Callable[[], Status]) -> None:
        """Look back on the day when it falls asleep, and act."""
        if not self.asleep():
            if self._reflection is not None:
                self._reflection, self._woke_tick = None, self.tick
        elif self._reflection is None:
            self._reflection = Reflection.of_day(self.memory, self._woke_tick)
            self._reflected = self._is_planned = False
        super().decide(tactics)

    def wonders(self, faculty: str) -> bool:
        """Return whether it sleeps, and has not yet been given this night's insights or plan."""
        if faculty not in (REFLECT, PLAN):
            return super().wonders(faculty)
        if self._reflection is None or len(self._reflection.entries) < LEAST_REFLECTED:
            return False
        return not (self._reflected if faculty == REFLECT else self._is_planned)

    def ponder(self, faculty: str) -> str:
        """Return the memories of the day, or what a plan for tomorrow goes by."""
        if faculty not in (REFLECT, PLAN):
            return super().ponder(faculty)
        if faculty == PLAN:
            return "\n".join(self._about_tomorrow())
        entries = self._reflection.numbered() if self._reflection is not None else ()
        return "\n".join(f"{number}: {quoted('memory', text)}" for number, text in entries)

    def _about_tomorrow(self) -> Iterable[str]:
        places = [zone_phrase(zone.name) for zone in self.setting.zones[:MOST_PLACES]]
        if places:
            yield f"Places: {', '.join(places)}."
        yield f"Words for what you do: {', '.join(self.skills())}."
        yield f"Your usual day: {'; '.join(map(str, self._routine)) or 'nothing fixed'}."
        for promise in self.talker.promises.open():
            if promise.by == self.entity_id:
                yield f"You promised {self.talker.people.called(promise.to)} {promise.amount} {promise.item}."
        learnt = [entry.text for entry in self.memory if entry.kind is EntryKind.INSIGHT][-MOST_INSIGHTS:]
        for text in learnt:
            yield quoted("memory", text)

    def learn(self, faculty: str, reply: Mapping[str, Any], asked_tick: int) -> None:
        """Note the insights of a reply, or take over its plan for tomorrow."""
        super().learn(faculty, reply, asked_tick)
        text = str(reply.get("text", ""))
        if faculty == REFLECT:
            self._reflected = True
            if self._reflection is not None:
                note_insights(self.memory, self.tick, self._reflection.read(text))
        elif faculty == PLAN:
            self._is_planned = True
            self._tomorrow = read_plan(text, self._places, self.skills())

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
        if errand.place and not self.in_zone(errand.place):
            return self.go_to_zone(errand.place)
        skill = errand.skill if errand.skill in self.skills() else "meet"
        status: Status = getattr(self, f"{_SKILL}{skill}")(errand)
        return status

    @classmethod
    def skills(cls) -> list[str]:
        """Return what its errands may be: the names of its methods that begin with `do_`."""
        return sorted(name.removeprefix(_SKILL) for name in dir(cls) if name.startswith(_SKILL))

    def do_meet(self, errand: DayErrand) -> Status:
        """Be there, among others; any word that is no skill means this."""
        errand.state = ErrandState.DONE
        return Status.FAILURE

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
        here = self._things_at(errand.place)
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

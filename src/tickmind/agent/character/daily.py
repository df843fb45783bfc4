"""`DailyCharacter`: a character whose days have errands: work, company, and its home at night."""

from collections.abc import Iterable
from dataclasses import replace

from tickmind.agent.character.sociable import LOOK_TICKS, SociableCharacter
from tickmind.agent.character.tactics import action
from tickmind.agent.knowledge import Thing, distance
from tickmind.agent.minds import Start
from tickmind.ai import Status
from tickmind.mind.plans import DayErrand, DayPlan, ErrandState, read_habits
from tickmind.protocol import Pickup
from tickmind.protocol.setting import zone_phrase

WORK_MINUTE, FREE_MINUTE, HOME_MINUTE = 8 * 60, 16 * 60, 21 * 60  # when a usual day's errands begin
ENOUGH_MADE = 3  # of an item, that it gathers or makes at its work
AIMS = {"work": "get some work done{place}", "meet": "see who is about{place}", "rest": "go home"}  # skill -> words
PRESENT_TICKS = 20  # at its work, after which it has been there even if there was nothing to do
STROLL_EVERY, STROLL_TICKS = 40, 10  # how often and how long it strolls while it waits for work
RESTED = 800  # energy at which it needs no bed


class DailyCharacter(SociableCharacter):
    """Follows the habits of its persona that are errands, or goes to its work by day and home in the evening."""

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        places = [zone.name for zone in self.setting.zones]
        self._routine = read_habits(self.persona.habits, places) or self._usual_day()
        self._yields = tuple(self._yielding())
        self._today = DayPlan([])
        self._day = 0
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
            self._day, self._today = self.time.day, DayPlan(map(replace, self._routine))
            self._idle_ticks = 0
            self.memory.tidy(self.tick)
        return self._today.now(self.time.minute)

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
        match errand.skill:
            case "work":
                return self._work(errand)
            case "rest":
                errand.state = ErrandState.DONE
                if self.me.energy >= RESTED:
                    return self.wait()
                status = self.go_to("bed")
                return status if status is Status.RUNNING else self.sleep()
            case "make" if errand.thing:
                if self.carries(errand.thing) >= ENOUGH_MADE:
                    errand.state = ErrandState.DONE
                    return Status.FAILURE
                return self.make(errand.thing)
            case _:  # to be there, among others
                errand.state = ErrandState.DONE
                return Status.FAILURE

    def _work(self, errand: DayErrand) -> Status:
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

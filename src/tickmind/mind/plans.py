"""`DayPlan`: the errands of a day, each with a time, a skill, and whether its effect came."""

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from tickmind.base import Limit
from tickmind.protocol.setting import DAY_MINUTES, Persona, clock_of, minute_of

PLAN_TASK = (
    "Plan that day in four lines, each with a time, one of the words for what you do, a thing if it needs one, and a "
    "place if it has one, such as `08:00 work at the mill` or `12:00 make bread at the bakery`. Write nothing else."
)
SKILLS = (
    *("eat", "explore", "fetch", "give", "help", "hoard", "make", "meet", "reconcile", "rest", "sell", "sit", "trade"),
    *("visit", "work"),
)
"""Errands of a villager; any other word is to be there."""
WORK_MINUTE, FREE_MINUTE, HOME_MINUTE = 8 * 60, 16 * 60, 21 * 60  # when a usual day's errands begin
LEAST_ERRANDS = 2  # of a plan that a model made; with fewer the day goes as usual
MAX_ERRANDS = Limit("number of errands in the plan of a day", 12)
_MOST_LINES = 20
_MARKS = re.compile(r"^[\s*`-]*(?:\d+[.)]\s+)?|[\s`]+$")  # of lists and code
_APPOINTMENT = re.compile(
    r"\bat (?:the )?((?:(?!\bat\b)[\w' ]){2,40}?) (?:today |tonight )?at ((?:[01]?\d|2[0-3]):[0-5]\d)\b", re.IGNORECASE
)
_PAST = re.compile(r"\b(?:was|were|had)\b", re.IGNORECASE)
_TIMED = re.compile(r"\s*\d\d?:\d\d\b")
_HABIT = re.compile(r"(\d\d?:\d\d)\s+(\w+)(?:\s+(?!at\b)([\w:-]{1,40}))?(?:\s+at\s+(?:the\s+)?(.+?))?\s*\.?")


class ErrandState(StrEnum):
    """What became of an errand."""

    WAITING = "waiting"
    UNDER_WAY = "under way"
    DONE = "done"
    FAILED = "failed"


@dataclass(slots=True)
class DayErrand:
    """Something to do from a time of the day on, until the next errand begins: `work`, or `make bread`, at a place."""

    minute: int
    skill: str
    thing: str = ""
    place: str = ""  # a zone
    state: ErrandState = ErrandState.WAITING
    done_tick: int = 0  # in which it was, if its skill says so
    on_time: bool = False  # whether one sets out for it before, to be there when it begins

    @property
    def words(self) -> str:
        """What is to be done, without time and place."""
        return f"{self.skill} {self.thing}".rstrip()

    def __str__(self) -> str:
        place = f" at {self.place.replace('_', ' ')}" if self.place else ""
        return f"{clock_of(self.minute)} {self.words}{place}"


class DayPlan:
    """The errands of one day, in the order of their times. Before the first one, the last of the day before goes on."""

    def __init__(self, errands: Iterable[DayErrand]) -> None:
        self.errands = sorted(errands, key=lambda errand: errand.minute)[: int(MAX_ERRANDS.maximum)]
        """The errands, in the order of their times."""
        self._night = replace(self.errands[-1]) if self.errands else None  # what is left of the day before
        self._current: DayErrand | None = None

    def add(self, errand: DayErrand) -> bool:
        """Add an errand, such as an appointment; False if it is there already, or there are too many."""
        taken = any((one.minute, one.place) == (errand.minute, errand.place) for one in self.errands)
        if taken or not MAX_ERRANDS.allows(len(self.errands) + 1):
            return False
        self.errands = sorted((*self.errands, errand), key=lambda one: one.minute)
        return True

    def interrupt(self, errand: DayErrand, until: int) -> bool:
        """Add an errand that ends at a minute; the one that it interrupts goes on then. False as for `add`."""
        before = [one for one in self.errands if one.minute <= errand.minute]
        follows = any(errand.minute < one.minute <= until for one in self.errands)
        added = self.add(errand)
        if added and before and not follows and errand.minute < until < DAY_MINUTES:
            self.add(replace(before[-1], minute=until, state=ErrandState.WAITING, done_tick=0, on_time=False))
        return added

    @property
    def failures(self) -> int:
        """How many of the errands have failed."""
        return sum(errand.state is ErrandState.FAILED for errand in self.errands)

    def now(self, minute: int, way: Callable[[DayErrand], int] = lambda _errand: 0) -> DayErrand | None:
        """Return the errand for a minute of the day. One that is not done when the next begins has failed.

        `way` returns how many minutes it takes to come to an errand. One that is `on_time` begins so much earlier.
        """

        def has_begun(errand: DayErrand) -> bool:
            if not errand.on_time or errand.minute <= minute:
                return errand.minute <= minute
            return errand.state is not ErrandState.WAITING or errand.minute - way(errand) <= minute

        begun = [errand for errand in self.errands if has_begun(errand)]
        errand = begun[-1] if begun else self._night
        if errand is not self._current:
            if self._current is not None and self._current.state is ErrandState.UNDER_WAY:
                self._current.state = ErrandState.FAILED
            self._current = errand
            if errand is not None and errand.state is ErrandState.WAITING:
                errand.state = ErrandState.UNDER_WAY
        return errand


def read_appointment(text: str, places: Iterable[str]) -> DayErrand | None:
    """Return where to be when, if a sentence says so: "There is a feast at the square at 18:00."."""
    if _PAST.search(text):
        return None
    known = _by_spoken_name(places)
    for named, clock in _APPOINTMENT.findall(text):
        place = known.get(named.replace("_", " ").lower().strip())
        if place:
            return DayErrand(minute_of(clock.zfill(5)), "meet", place=place, on_time=True)
    return None


def _by_spoken_name(places: Iterable[str]) -> dict[str, str]:
    return {place.replace("_", " ").lower(): place for place in places}


def read_plan(reply: str, places: Iterable[str], skills: Collection[str]) -> list[DayErrand]:
    """Return the errands in a model's reply; none if it is no plan. Lines that name no skill or place are left out."""
    lines = (_MARKS.sub("", line) for line in reply.splitlines()[:_MOST_LINES])
    errands = [errand for errand in read_habits(lines, places) if errand.skill in skills]
    by_minute = {errand.minute: errand for errand in reversed(errands)}  # of two at one time the first
    return list(by_minute.values())[::-1] if len(by_minute) >= LEAST_ERRANDS else []


def unread_habits(habits: Iterable[str], places: Iterable[str]) -> list[str]:
    """Return the habits that begin with a time and yet are no errand: their words or places are unknown."""
    known = tuple(places)
    timed = [habit for habit in habits if _TIMED.match(habit)]
    return [
        habit for habit in timed if not any(one.skill in SKILLS or one.place for one in read_habits([habit], known))
    ]


def read_habits(habits: Iterable[str], places: Iterable[str]) -> list[DayErrand]:
    """Return the habits of a persona that are errands: `07:00 work at the market`, `12:00 make bread`.

    Others, and those at a place that is none of these, are left to the prompt.
    """
    known = _by_spoken_name(places)
    errands = []
    for habit in habits:
        match = _HABIT.fullmatch(habit.strip())
        if match is None:
            continue
        clock, skill, thing, named = match.groups()
        place = known.get((named or "").replace("_", " ").lower(), "")
        try:
            minute = minute_of(clock.zfill(5))
        except ValueError:
            continue
        if bool(named) is bool(place):
            errands.append(DayErrand(minute, skill.lower(), thing or "", place))
    return errands


def usual_day(persona: Persona, places: Iterable[str]) -> list[DayErrand]:
    """Return the day of a persona: its habits that are errands, or else its work, company, and its home at night.

    Without a work it is free all day.
    """
    if habits := read_habits(persona.habits, places):
        return habits
    work, home = persona.work, persona.home
    errands = [DayErrand(WORK_MINUTE, "work", place=work)] if work else []
    if work or home:
        errands.append(DayErrand(FREE_MINUTE if work else WORK_MINUTE, "meet"))
    return [*errands, DayErrand(HOME_MINUTE, "rest", place=home)] if home else errands

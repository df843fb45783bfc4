"""`DayPlan`: the errands of a day, each with a time, a skill, and whether its effect came."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from tickmind.base import Limit
from tickmind.protocol.setting import clock_of, minute_of

MAX_ERRANDS = Limit("number of errands in the plan of a day", 12)
_HABIT = re.compile(r"(\d\d?:\d\d)\s+(\w+)(?:\s+(?!at\b)(\S+))?(?:\s+at\s+(?:the\s+)?(.+?))?\s*\.?")


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

    def __str__(self) -> str:
        thing = f" {self.thing}" if self.thing else ""
        place = f" at {self.place.replace('_', ' ')}" if self.place else ""
        return f"{clock_of(self.minute)} {self.skill}{thing}{place}"


class DayPlan:
    """The errands of one day, in the order of their times. Before the first one, the last of the day before goes on."""

    def __init__(self, errands: Iterable[DayErrand]) -> None:
        self.errands = sorted(errands, key=lambda errand: errand.minute)[: int(MAX_ERRANDS.maximum)]
        """The errands, in the order of their times."""
        self._night = replace(self.errands[-1]) if self.errands else None  # what is left of the day before
        self._current: DayErrand | None = None

    def now(self, minute: int) -> DayErrand | None:
        """Return the errand for a minute of the day. One that is not done when the next begins has failed."""
        begun = [errand for errand in self.errands if errand.minute <= minute]
        errand = begun[-1] if begun else self._night
        if errand is not self._current:
            if self._current is not None and self._current.state is ErrandState.UNDER_WAY:
                self._current.state = ErrandState.FAILED
            self._current = errand
            if errand is not None and errand.state is ErrandState.WAITING:
                errand.state = ErrandState.UNDER_WAY
        return errand


def read_habits(habits: Iterable[str], places: Iterable[str]) -> list[DayErrand]:
    """Return the habits of a persona that are errands: `07:00 work at the market`, `12:00 make bread`.

    Others, and those at a place that is none of these, are left to the prompt.
    """
    known = {place.replace("_", " ").lower(): place for place in places}
    errands = []
    for habit in habits:
        found = _HABIT.fullmatch(habit.strip())
        if found is None:
            continue
        clock, skill, thing, named = found.groups()
        place = known.get((named or "").replace("_", " ").lower(), "")
        try:
            minute = minute_of(clock.zfill(5))
        except ValueError:
            continue
        if bool(named) is bool(place):
            errands.append(DayErrand(minute, skill.lower(), thing or "", place))
    return errands

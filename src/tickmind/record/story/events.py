"""`StoryEvent`: one thing of a run that a chronicle may tell."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from tickmind.protocol.setting import CalendarInfo


class StoryKind(StrEnum):
    """The kinds of events. `who` is the one that does or has it, `other` the second person, `what` the thing."""

    CAME = "came"
    LEFT = "left"
    MET = "met"  # talked with `other` for the first time
    TALKED = "talked"
    LEARNT = "learnt"  # the fact `what`, from `other`
    EVERYONE_KNOWS = "everyone knows"  # `who` was the last one to learn the fact `what`
    CONFIDED = "confided"  # `who` learnt a secret from `other`; `how` is whose it is
    PROMISED = "promised"  # `what` to `other`; `how` is by when
    KEPT = "kept"  # a promise to `other`; `how` is `late` if its time was nearly over
    BROKE = "broke"  # a promise to `other`; `how` is by when
    DECLINED = "declined"  # `other` did not promise `what`, for which `who` had asked
    GAVE = "gave"
    TRADED = "traded"  # `what` for `how`, with `other`
    BECAME_CLOSE = "became close"
    FELL_OUT = "fell out"  # `who` does not like or trust `other` any more
    FELT = "felt"  # `what` is the mood
    MADE = "made"  # `what` by `how`, a verb, out of other items
    WORKED = "worked"  # on an object `what` by `how`, a verb
    GOT = "got"  # `what` by `how`, a verb and the kind of the object
    GATHERED = "gathered"
    BUILT = "built"
    BOUGHT = "bought"
    SOLD = "sold"
    VISITED = "visited"  # a place for the first time; `how` is `home` if others live there
    CROWD = "crowd"  # `amount` of them in a place
    SLEPT = "slept"
    SLEPT_OUT = "slept out"  # away from home
    HUNGRY = "hungry"
    TIRED = "tired"
    COLLAPSED = "collapsed"
    GOAL = "goal"  # `how` is `ends` if the run ended with it
    RULE = "rule"  # `what` is what a rule of the user's own says
    PLAN_DONE = "plan done"  # all of a day
    PLAN_FAILED = "plan failed"  # `what` is the errand


class StoryEvent(NamedTuple):
    """One thing that happened. People are named by their ids; none means the world as a whole."""

    tick_id: int
    kind: StoryKind
    who: str = ""
    other: str = ""
    what: str = ""
    amount: int = 1
    place: str = ""  # name of the zone; empty: none
    how: str = ""

    @property
    def people(self) -> tuple[str, ...]:
        """The ids of all that it is about."""
        return tuple(one for one in dict.fromkeys((self.who, self.other)) if one)


@dataclass(slots=True)
class RunStory:
    """What a record has for a chronicle."""

    run_id: str = ""
    world: str = ""
    calendar: CalendarInfo = field(default_factory=CalendarInfo)
    first_tick_id: int = 0
    last_tick_id: int = 0  # before the first one: the run has no ticks
    names: dict[str, str] = field(default_factory=dict)  # actor id -> its name, each different
    minds: int = 0  # how many actors have a mind that is in the record
    origins: dict[str, tuple[str, ...]] = field(default_factory=dict)  # fact -> ids of those that knew it
    events: list[StoryEvent] = field(default_factory=list)

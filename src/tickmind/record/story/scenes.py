"""`scenes`: events of the same kind merged, each scene with what it is worth telling."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

from tickmind.protocol.setting import CalendarInfo
from tickmind.record.story.events import StoryEvent, StoryKind

TALKS_LEAST = 3  # of the same two in a day, that are told
SPREAD_LEAST = 3  # who learnt the same in a day, that are told together
PERSON_BONUS, MOST_BONUS = 3.0, 18.0  # for each more person
FIRST_BONUS = 8.0  # for the first scene of its kind in a run
CROWD_BONUS = 48.0  # for a crowd of everyone
RARE_VISITORS, RARE_BONUS = 2, 12.0  # of a place to which few go
AGAIN = 0.6  # by which a scene is worth less that was there on an earlier day


class DayPart(IntEnum):
    """The parts of a day, and what goes on all day."""

    BEFORE_DAWN = 0
    MORNING = 1
    AFTERNOON = 2
    EVENING = 3
    NIGHT = 4
    ALL_DAY = 5

    @property
    def title(self) -> str:
        """Its name as a heading."""
        return self.name.replace("_", " ").capitalize()

    @staticmethod
    def of_minute(minute: int) -> "DayPart":
        """Return the part in which a minute of the day is."""
        hours = minute // 60
        later = ((22, DayPart.NIGHT), (17, DayPart.EVENING), (12, DayPart.AFTERNOON), (5, DayPart.MORNING))
        return next((part for hour, part in later if hours >= hour), DayPart.BEFORE_DAWN)


class StoryScene(NamedTuple):
    """Events that one sentence tells, in the order of ticks."""

    kind: StoryKind
    events: tuple[StoryEvent, ...]
    day: int
    part: DayPart
    score: float = 0.0

    @property
    def people(self) -> tuple[str, ...]:
        """The ids of all that it is about, each once."""
        return tuple(dict.fromkeys(person for event in self.events for person in event.people))


_WORTH = {  # kind -> what a scene of it is worth telling, from 0 to 100
    StoryKind.GOAL: 95,
    StoryKind.CONFIDED: 92,
    StoryKind.BROKE: 88,
    StoryKind.FELL_OUT: 86,
    StoryKind.COLLAPSED: 86,
    StoryKind.EVERYONE_KNOWS: 84,
    StoryKind.LEFT: 80,
    StoryKind.CAME: 80,
    StoryKind.BUILT: 74,
    StoryKind.RULE: 70,
    StoryKind.BECAME_CLOSE: 68,
    StoryKind.FELT: 62,
    StoryKind.HUNGRY: 60,
    StoryKind.TRADED: 58,
    StoryKind.LEARNT: 52,
    StoryKind.PLAN_FAILED: 52,
    StoryKind.TIRED: 52,
    StoryKind.MET: 48,
    StoryKind.PROMISED: 48,
    StoryKind.KEPT: 46,
    StoryKind.CROWD: 30,
    StoryKind.SLEPT_OUT: 44,
    StoryKind.GAVE: 44,
    StoryKind.DECLINED: 42,
    StoryKind.MADE: 42,
    StoryKind.VISITED: 32,
    StoryKind.GOT: 38,
    StoryKind.PLAN_DONE: 30,
    StoryKind.BOUGHT: 34,
    StoryKind.SOLD: 34,
    StoryKind.TALKED: 24,
    StoryKind.WORKED: 22,
    StoryKind.GATHERED: 20,
    StoryKind.SLEPT: 16,
}
_COUNTS_PEOPLE = frozenset(_WORTH) - {StoryKind.PLAN_DONE, StoryKind.SLEPT, StoryKind.GATHERED, StoryKind.VISITED}
_BY_PLACE = frozenset((StoryKind.CROWD, StoryKind.VISITED, StoryKind.SLEPT_OUT))
_BY_PART: dict[StoryKind, tuple[str, ...]] = {  # kind -> fields that events of a part share, that are merged
    StoryKind.CAME: (),
    StoryKind.LEFT: (),
    StoryKind.HUNGRY: (),
    StoryKind.TIRED: (),
    StoryKind.SLEPT: (),
    StoryKind.COLLAPSED: (),
    StoryKind.SLEPT_OUT: ("place",),
    StoryKind.VISITED: ("place", "how"),
    StoryKind.FELT: ("what",),
    StoryKind.RULE: ("what",),
    StoryKind.GOAL: ("what", "tick_id"),
    StoryKind.BUILT: ("who", "what"),
    StoryKind.KEPT: ("who",),
    StoryKind.PROMISED: ("who",),
    StoryKind.GAVE: ("who",),
    StoryKind.DECLINED: ("who", "what"),
}
_BY_DAY: dict[StoryKind, tuple[str, ...]] = {  # kind -> fields that events of a day share, that are merged
    StoryKind.MADE: ("who", "what", "how"),
    StoryKind.GOT: ("who", "what", "how"),
    StoryKind.WORKED: ("who", "what", "how"),
    StoryKind.BOUGHT: ("who", "what"),
    StoryKind.SOLD: ("who", "what"),
    StoryKind.GATHERED: ("what",),
    StoryKind.TALKED: ("who", "other"),
    StoryKind.PLAN_DONE: (),
    StoryKind.PLAN_FAILED: ("what",),
}


def scenes(events: Iterable[StoryEvent], calendar: CalendarInfo, people: int = 0) -> list[StoryScene]:
    """Merge events into scenes, in the order of their first ticks. `people` is how many there are in the world."""
    by_kind: dict[tuple[int, StoryKind], list[StoryEvent]] = defaultdict(list)
    for event in sorted(events, key=lambda one: one.tick_id):
        by_kind[calendar.at(event.tick_id).day, event.kind].append(event)

    def part_of(event: StoryEvent) -> DayPart:
        return DayPart.of_minute(calendar.at(event.tick_id).minute)

    made: list[StoryScene] = []
    for day in [day for day, kind in by_kind if kind is StoryKind.EVERYONE_KNOWS]:
        for last in by_kind.pop((day, StoryKind.EVERYONE_KNOWS), ()):  # it is told with how the word spread
            learnt = by_kind[day, StoryKind.LEARNT]
            made.append(_everyone(last, [event for event in learnt if event.what == last.what], day, part_of(last)))
            by_kind[day, StoryKind.LEARNT] = [event for event in learnt if event.what != last.what]
    for (day, kind), same in by_kind.items():
        for group in _groups(kind, same, part_of):
            parts = {part_of(event) for event in group}
            part = parts.pop() if len(parts) == 1 else DayPart.ALL_DAY
            made.append(StoryScene(kind, tuple(group), day, part))
    made.sort(key=lambda scene: (scene.events[0].tick_id, scene.kind))
    return _scored(made, people)


def _groups(
    kind: StoryKind, events: Sequence[StoryEvent], part_of: Callable[[StoryEvent], DayPart]
) -> Iterator[list[StoryEvent]]:
    if kind in _BY_PART:
        yield from _alike(events, lambda event: (part_of(event), *_fields(event, _BY_PART[kind])))
    elif kind is StoryKind.TALKED:
        pairs = _alike(events, lambda event: _fields(event, _BY_DAY[kind]))
        yield from (pair for pair in pairs if len(pair) >= TALKS_LEAST)
    elif kind in _BY_DAY:
        yield from _alike(events, lambda event: _fields(event, _BY_DAY[kind]))
    elif kind is StoryKind.MET:
        for together in _alike(events, part_of):
            yield from _meetings(together)
    elif kind is StoryKind.LEARNT:
        for fact in _alike(events, lambda event: event.what):
            yield from [fact] if len(fact) >= SPREAD_LEAST else ([event] for event in fact)
    elif kind is StoryKind.BECAME_CLOSE:
        yield from _alike(events, lambda event: frozenset(event.people))
    else:
        yield from ([event] for event in events)


def _alike(events: Iterable[StoryEvent], key: Callable[[StoryEvent], object]) -> list[list[StoryEvent]]:
    groups: dict[object, list[StoryEvent]] = {}
    for event in events:
        groups.setdefault(key(event), []).append(event)
    return list(groups.values())


def _fields(event: StoryEvent, names: Iterable[str]) -> tuple[object, ...]:
    return tuple(getattr(event, name) for name in names)


def _meetings(events: Sequence[StoryEvent]) -> Iterator[list[StoryEvent]]:
    """Divide meetings among those who met most others, who come first; the pairs that are left make one scene."""
    left = list(events)
    while left:
        counts = Counter(who for event in left for who in event.people)
        busiest, most = min(counts.items(), key=lambda one: (-one[1], one[0]))
        if most < 2:
            yield left
            return
        mine = [event for event in left if busiest in event.people]
        left = [event for event in left if busiest not in event.people]
        yield [event if event.who == busiest else event._replace(who=busiest, other=event.who) for event in mine]


def _everyone(last: StoryEvent, learnt: Iterable[StoryEvent], day: int, part: DayPart) -> StoryScene:
    return StoryScene(StoryKind.EVERYONE_KNOWS, (last, *learnt), day, part)


def _scored(made: Sequence[StoryScene], people: int) -> list[StoryScene]:
    told: set[StoryKind] = set()
    before: dict[object, int] = {}  # what a scene is about -> the day on which it was told first
    visitors: dict[str, set[str]] = {}  # place -> who went there for the first time
    for scene in made:
        if scene.kind is StoryKind.VISITED:
            visitors.setdefault(scene.events[0].place, set()).update(scene.people)
    scored = []
    for scene in made:
        first = scene.events[0]
        worth = float(_WORTH[scene.kind])
        if scene.kind in _COUNTS_PEOPLE:
            worth += min(MOST_BONUS, PERSON_BONUS * max(0, len(scene.people) - 2))
        if scene.kind is StoryKind.CROWD:
            worth += CROWD_BONUS * first.amount / max(people, first.amount)
        if scene.kind is StoryKind.VISITED and len(visitors[first.place]) <= RARE_VISITORS:
            worth += RARE_BONUS
        if scene.kind not in told and scene.kind is not StoryKind.CROWD:
            worth += FIRST_BONUS
        about = scene.kind, first.what, first.place if scene.kind in _BY_PLACE else frozenset(scene.people)
        if before.setdefault(about, scene.day) != scene.day:
            worth *= AGAIN
        told.add(scene.kind)
        scored.append(scene._replace(score=worth))
    return scored

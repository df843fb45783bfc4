"""`chronicle`: the most interesting sentences of each day of a run."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace

from tickmind.record.errors import RecordError
from tickmind.record.story.ending import ending
from tickmind.record.story.events import RunStory, StoryKind
from tickmind.record.story.phrases import plain
from tickmind.record.story.scenes import DayPart, StoryScene, scenes
from tickmind.record.story.sentences import SentenceWriter

PER_DAY = 12  # sentences
SAME_KIND, SAME_PERSON = 0.74, 0.93  # by which a scene is worth less for each chosen one with the same


@dataclass(frozen=True, slots=True)
class ChronicleSentence:
    """One sentence of a chronicle, and where in the run it is to be seen."""

    text: str
    tick_id: int
    last_tick_id: int  # of what was merged
    clock: str
    kind: StoryKind
    people: tuple[str, ...]  # ids


@dataclass(frozen=True, slots=True)
class ChroniclePart:
    """A part of a day."""

    title: str
    sentences: tuple[ChronicleSentence, ...]
    prose: str = ""  # the same in a model's words; empty: none was asked, or its words were no good


@dataclass(frozen=True, slots=True)
class ChronicleDay:
    """A day of a run. `left_out` is how many scenes were less interesting."""

    day: int
    about: str  # its season, weather and festivals; empty if there is nothing to say
    parts: tuple[ChroniclePart, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class Chronicle:
    """A run in sentences."""

    run_id: str
    world: str
    people: tuple[str, ...]  # names
    first_tick_id: int
    last_tick_id: int
    days: tuple[ChronicleDay, ...]
    ending: tuple[str, ...]  # sentences on the run as a whole


def chronicle(story: RunStory, *, per_day: int = PER_DAY, who: str = "", day: int = 0) -> Chronicle:
    """Return the chronicle of a run: of one actor or all, of one day or all of them.

    `who` is an id or a name. Raises `RecordError` for an actor or a day that the run does not have.
    """
    hero = _actor(story, who) if who else ""
    last_day = story.calendar.at(max(0, story.last_tick_id)).day
    if day and not 1 <= day <= last_day:
        raise RecordError(f"run {story.run_id} has days 1 to {last_day}, not {day}")
    writer = SentenceWriter(story)
    events = [event for event in story.events if not hero or hero in event.people]
    by_day: dict[int, list[StoryScene]] = {}
    for scene in scenes(events, story.calendar, len(story.names)):
        by_day.setdefault(scene.day, []).append(scene)
    days = [
        _day(story, writer, number, of_day, per_day) for number, of_day in sorted(by_day.items()) if day in (0, number)
    ]
    return Chronicle(
        run_id=story.run_id,
        world=plain(story.world),
        people=tuple(plain(name) for name in story.names.values()),
        first_tick_id=story.first_tick_id,
        last_tick_id=story.last_tick_id,
        days=tuple(days),
        ending=() if day or hero else tuple(ending(story)),
    )


def highlights(story: RunStory, *, most: int = PER_DAY, who: str = "") -> tuple[ChronicleSentence, ...]:
    """Return the most interesting sentences of a run in the order of ticks; those on one actor if `who` is its id."""
    events = [event for event in story.events if not who or who in event.people]
    chosen = choose(scenes(events, story.calendar, len(story.names)), most)
    writer = SentenceWriter(story)
    ordered = sorted(chosen, key=lambda scene: (scene.events[0].tick_id, scene.kind))
    return tuple(_sentence(story, writer, scene) for scene in ordered)


def _actor(story: RunStory, who: str) -> str:
    """Return the id of an actor of that id or name."""
    if who in story.names:
        return who
    named = [actor for actor, name in story.names.items() if name.lower() == who.lower()]
    if len(named) != 1:
        known = ", ".join(map(plain, list(story.names)[:20]))
        raise RecordError(f"run {story.run_id} has no actor {who[:100]!r}; it has {known or 'none'}")
    return named[0]


def _day(
    story: RunStory, writer: SentenceWriter, number: int, of_day: Sequence[StoryScene], per_day: int
) -> ChronicleDay:
    chosen = sorted(choose(of_day, per_day), key=lambda scene: (scene.part, scene.events[0].tick_id, scene.kind))
    parts: dict[DayPart, list[ChronicleSentence]] = {}
    for scene in chosen:
        parts.setdefault(scene.part, []).append(_sentence(story, writer, scene))
    shown = tuple(ChroniclePart(part.title, tuple(sentences)) for part, sentences in parts.items())
    return ChronicleDay(number, _about(story, number), shown, len(of_day) - len(chosen))


def _sentence(story: RunStory, writer: SentenceWriter, scene: StoryScene) -> ChronicleSentence:
    first, last = scene.events[0].tick_id, scene.events[-1].tick_id
    return ChronicleSentence(
        text=writer.sentence(scene),
        tick_id=first,
        last_tick_id=last,
        clock=story.calendar.at(first).clock,
        kind=scene.kind,
        people=scene.people,
    )


def choose(of_day: Sequence[StoryScene], most: int) -> list[StoryScene]:
    """Choose the most interesting scenes, each worth less the more of its kind and people are chosen."""
    chosen: list[StoryScene] = []
    kinds: Counter[StoryKind] = Counter()
    people: Counter[str] = Counter()

    def rank(place: int) -> tuple[float, int, int]:
        scene = of_day[place]
        often = max((people[who] for who in scene.people[:2]), default=0)
        worth = scene.score * SAME_KIND ** kinds[scene.kind] * SAME_PERSON**often
        return -worth, scene.events[0].tick_id, place

    left = [rank(place) for place in range(len(of_day))]
    heapify(left)
    while left and len(chosen) < most:
        now = rank(left[0][2])
        if now > left[0]:  # its rank is from before, and can only have become worse
            heapreplace(left, now)
            continue
        best = of_day[heappop(left)[2]]
        chosen.append(best)
        kinds[best.kind] += 1
        people.update(best.people[:2])
    return chosen


def _about(story: RunStory, number: int) -> str:
    calendar = story.calendar
    season = calendar.season_of(number)
    festivals = (
        plain(str(festival.name)).replace("_", " ") for festival in calendar.festivals if festival.begins_on(number)
    )
    parts = (season.name if season else "", calendar.weather_of(number), *festivals)
    return ", ".join(plain(part) for part in parts if part)

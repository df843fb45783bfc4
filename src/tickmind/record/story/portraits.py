"""`portraits`: what each actor of a run did, in figures as sentences, and its most interesting moments."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest

from tickmind.record.story.chronicle import ChronicleSentence, highlights
from tickmind.record.story.events import RunStory, StoryEvent, StoryKind
from tickmind.record.story.phrases import item_phrase, listed, number, past, plain, times

_TALKS = (StoryKind.MET, StoryKind.TALKED)
_GIFTS = (StoryKind.GAVE, StoryKind.KEPT)
_WORK_KINDS = (StoryKind.MADE, StoryKind.GOT, StoryKind.GATHERED)
_MOODS = 2  # that are named
_WORKS = 2  # verbs that are named, and items of each


@dataclass(frozen=True, slots=True)
class Portrait:
    """One actor of a run."""

    actor_id: str
    name: str
    sentences: tuple[str, ...]  # on the run as a whole
    moments: tuple[ChronicleSentence, ...]


def portraits(story: RunStory, *, most: int, moments: int) -> tuple[Portrait, ...]:
    """Return the actors of whom there is most to tell, at most `most`, in the order of the world."""
    events: defaultdict[str, list[StoryEvent]] = defaultdict(list)
    for event in story.events:
        for who in event.people:
            if who in story.names:
                events[who].append(event)
    chosen = set(nlargest(most, events, key=lambda who: len(events[who])))
    return tuple(
        Portrait(
            actor_id=who,
            name=plain(name),
            sentences=tuple(_sentences(story, who, events[who])),
            moments=highlights(replace(story, events=events[who]), most=moments),
        )
        for who, name in story.names.items()
        if who in chosen
    )


def _sentences(story: RunStory, who: str, events: Sequence[StoryEvent]) -> Iterator[str]:
    def called(other: str) -> str:
        return plain(story.names.get(other, other))

    talks = Counter(event.other if event.who == who else event.who for event in events if event.kind in _TALKS)
    if talks:
        friend, most = talks.most_common(1)[0]
        often = f", {times(most)} with {called(friend)}" if most > 1 and len(talks) > 1 else ""
        yield f"Talked with {called(friend) if len(talks) == 1 else f'{number(len(talks))} others'}{often}."
    kinds = Counter(event.kind for event in events if event.who == who)
    kept, broken = kinds[StoryKind.KEPT], kinds[StoryKind.BROKE]
    if kept and broken:
        yield f"Kept {number(kept)} of {number(kept + broken)} promises."
    elif kept + broken:
        promises = "a promise" if kept + broken == 1 else f"{number(kept + broken)} promises"
        yield f"{'Kept' if kept else 'Broke'} {promises}."
    given = sum(event.kind in _GIFTS and event.who == who for event in events)
    received = sum(event.kind in _GIFTS and event.other == who for event in events)
    gifts = [f"gave {times(given)}" if given else "", f"was given something {times(received)}" if received else ""]
    if any(gifts):
        yield _first_upper(f"{' and '.join(filter(None, gifts))}.")
    learnt = kinds[StoryKind.LEARNT]
    passed = sum(event.kind is StoryKind.LEARNT and event.other == who for event in events)
    news = [f"learnt {_things(learnt)}" if learnt else "", f"passed on news {times(passed)}" if passed else ""]
    if any(news):
        yield _first_upper(f"{' and '.join(filter(None, news))}.")
    works: defaultdict[str, Counter[str]] = defaultdict(Counter)  # verb -> items
    for event in events:
        if event.who == who and event.kind in _WORK_KINDS:
            works[_verb(event)][event.what] += event.amount
    busiest = sorted(works.items(), key=lambda one: -one[1].total())[:_WORKS]
    if busiest:
        done = [
            f"{verb} {listed([item_phrase(item, amount) for item, amount in items.most_common(_WORKS)])}"
            for verb, items in busiest
        ]
        yield _first_upper(f"{', and '.join(done)}.")
    moods = Counter(event.what for event in events if event.kind is StoryKind.FELT and event.who == who)
    if moods:
        yield f"Was at times {listed([plain(mood) for mood, _ in moods.most_common(_MOODS)])}."


def _things(count: int) -> str:
    return "one thing from others" if count == 1 else f"{number(count)} things from others"


def _verb(event: StoryEvent) -> str:
    if event.kind is StoryKind.MADE and event.how:
        return past(event.how)
    return "gathered" if event.kind is StoryKind.GATHERED else "got"


def _first_upper(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"

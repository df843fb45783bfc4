"""`ending`: what there is to say of a run as a whole."""

from collections import Counter
from collections.abc import Iterator

from tickmind.record.story.events import RunStory, StoryKind
from tickmind.record.story.phrases import listed, number, plain, quoted, times

GIFTS_LEAST = 2  # of the one who gave most


def ending(story: RunStory) -> Iterator[str]:
    """Yield sentences on promises, gifts, talks and facts of the whole run."""
    counts = Counter(event.kind for event in story.events)
    kept, broken = counts[StoryKind.KEPT], counts[StoryKind.BROKE]
    names = {who: plain(name) for who, name in story.names.items()}
    if kept + broken > 1:
        breakers = Counter(event.who for event in story.events if event.kind is StoryKind.BROKE)
        blame = listed([names.get(who, plain(who)) for who, _ in breakers.most_common()])
        all_kept = f"All {number(kept)} promises were kept."
        some = f"Of {number(kept + broken)} promises, {number(kept)} were kept; {blame} broke the rest."
        yield all_kept if not broken else some
    yield from _generous(story, names)
    yield from _friends(story, names)
    yield from _best_known(story, names)


def _generous(story: RunStory, names: dict[str, str]) -> Iterator[str]:
    giving = (StoryKind.GAVE, StoryKind.KEPT)
    givers = Counter(event.who for event in story.events if event.kind in giving)
    most = max(givers.values(), default=0)
    if most >= GIFTS_LEAST:
        who = listed([names.get(one, plain(one)) for one, count in givers.items() if count == most])
        yield f"No one gave as often as {who}: {times(most)}."


def _friends(story: RunStory, names: dict[str, str]) -> Iterator[str]:
    talks = (StoryKind.MET, StoryKind.TALKED)
    pairs = Counter((event.who, event.other) for event in story.events if event.kind in talks)
    if pairs:
        (one, other), most = min(pairs.items(), key=lambda pair: (-pair[1], pair[0]))
        if most > 1 and list(pairs.values()).count(most) == 1:
            both = f"{names.get(one, plain(one))} and {names.get(other, plain(other))}"
            yield f"{both} talked more often than any others: {times(most)}."


def _best_known(story: RunStory, names: dict[str, str]) -> Iterator[str]:
    learnt = Counter(event.what for event in story.events if event.kind is StoryKind.LEARNT)
    if learnt:
        fact, count = min(learnt.items(), key=lambda one: (-one[1], one[0]))
        origins = story.origins.get(fact, ())
        source = listed([names.get(who, plain(who)) for who in origins])
        known = min(count + len(origins), story.minds)
        reached = f"all {number(known)}" if known == story.minds else f"{number(known)} of {number(story.minds)}"
        news = f"The best known news, which at first only {source} knew," if source else "The best known news"
        yield f"{news} had reached {reached}: {quoted(fact)}"

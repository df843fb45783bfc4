"""What went on between minds: talks, promises, gifts, facts and secrets, friends, moods and plans."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING

from tickmind.mind.promises import PromiseState
from tickmind.mind.talk.meaning import in_third_person
from tickmind.protocol.setting import DAY_MINUTES, CalendarInfo, Persona, clock_of
from tickmind.record.measures.material import MindMaterial, TalkSpan
from tickmind.record.measures.mind_measures import first_notes
from tickmind.record.measures.promise_history import PromiseHistory, promise_history
from tickmind.record.story.events import StoryEvent, StoryKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from tickmind.protocol import MemoryNote
    from tickmind.record.story.stays import Stays
    from tickmind.record.tables.gifts import Gift

SAME_TALK_TICKS = 12  # within which a talk of the same two goes on
LATE_SHARE = 24  # a promise is kept late in the last of so many parts of a day
EVERYONE_LEAST = 3  # minds of which everyone is told
LOW_MOODS = ("low", "miserable")


def social_events(
    material: MindMaterial,
    stays: "Stays",
    talks: Iterable[tuple[int, str, str]] = (),
    secrets: Mapping[str, str] | None = None,
    known: Collection[frozenset[str]] = (),
) -> list[StoryEvent]:
    """Return the events between minds.

    `talks` are of actors without minds, `secrets` of all, by their ids. `known` are pairs who have met before the run.
    """
    history = promise_history(material)
    events = [
        *_talks(_talk_starts(material) or talks, known),
        *_promises(material, history),
        *_gifts(material, history),
        *_facts(material, secrets or {}),
        *_feelings(material),
        *_plans(material),
    ]
    placed = [event if event.place else event._replace(place=stays.at(event.who, event.tick_id)) for event in events]
    return sorted(placed, key=lambda event: event.tick_id)


def acquainted(personas: Mapping[str, Persona | None]) -> set[frozenset[str]]:
    """Return the pairs that know each other from the beginning: by a relation of either, or by a home that they share.

    >>> sorted(acquainted({"ada": Persona("Ada", relations=(("liv", "her pupil"),)), "liv": None}).pop())
    ['ada', 'liv']
    """
    pairs = {frozenset((who, other)) for who, persona in personas.items() if persona for other, _ in persona.relations}
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for one, persona in personas.items():
        if persona and persona.home:
            homes[persona.home].append(one)
    return pairs | {frozenset(pair) for people in homes.values() for pair in combinations(people, 2)}


def _talk_starts(material: MindMaterial) -> list[tuple[int, str, str]]:
    """Return the talks that were answered: their first tick, and the two."""
    spans: defaultdict[tuple[str, str], list[TalkSpan]] = defaultdict(list)  # two actors -> talks, as either saw it
    said: defaultdict[str, list[int]] = defaultdict(list)  # speaker -> ticks
    for line in material.lines:
        said[line.speaker_id].append(line.tick_id)
    for span in material.talks:
        spans[min(span.who, span.partner_id), max(span.who, span.partner_id)].append(span)
    starts = []
    for (one, other), seen in spans.items():
        talks: list[list[TalkSpan]] = []
        for span in sorted(seen, key=lambda each: (each.first_tick_id, each.who)):
            if talks and span.first_tick_id - max(each.last_tick_id for each in talks[-1]) <= SAME_TALK_TICKS:
                talks[-1].append(span)
            else:
                talks.append([span])
        starts += [(talk[0].first_tick_id, one, other) for talk in talks if _is_answered(material, talk, said)]
    return sorted(starts)


def _is_answered(material: MindMaterial, talk: list[TalkSpan], said: Mapping[str, list[int]]) -> bool:
    """Return whether both took part; a partner without a mind did if it said something."""
    if len({span.who for span in talk}) > 1:
        return True
    span = talk[0]
    ticks = said.get(span.partner_id, [])
    place = bisect_left(ticks, span.first_tick_id - 1)
    return span.partner_id not in material.minds and place < len(ticks) and ticks[place] <= talk[-1].last_tick_id


def _talks(starts: Iterable[tuple[int, str, str]], known: Collection[frozenset[str]]) -> Iterator[StoryEvent]:
    met = set(known)
    for tick_id, who, other in starts:
        pair = frozenset((who, other))
        yield StoryEvent(tick_id, StoryKind.TALKED if pair in met else StoryKind.MET, who, other)
        met.add(pair)


def _promises(material: MindMaterial, history: PromiseHistory) -> Iterator[StoryEvent]:
    late_ticks = max(1, material.calendar.day_ticks // LATE_SHARE)
    for tick_id, state, promise in history.news:
        due = _due_clock(material.calendar, promise.due_tick)
        people = promise.by, promise.to, promise.item, promise.amount, ""
        if state is PromiseState.KEPT:
            how = "late" if promise.due_tick - tick_id <= late_ticks else ""
            yield StoryEvent(tick_id, StoryKind.KEPT, *people, how)
        elif state is PromiseState.BROKEN:
            yield StoryEvent(tick_id, StoryKind.BROKE, *people, due)
        elif promise.state is not PromiseState.KEPT:  # the event of a kept one says that it was promised
            yield StoryEvent(tick_id, StoryKind.PROMISED, *people, due)
    for answer in history.declined:
        yield StoryEvent(answer.tick_id, StoryKind.DECLINED, answer.asker_id, answer.partner_id, answer.item)


def _due_clock(calendar: CalendarInfo, due_tick: int) -> str:
    """Return the time that was named; ticks are longer than minutes, so it is the roundest one of the tick."""
    minute, ahead = calendar.at(due_tick).minute, DAY_MINUTES // calendar.day_ticks
    rounded = (minute - minute % step for step in (60, 30, 15, 10, 5))
    return clock_of(next((one for one in rounded if minute - one <= ahead), minute))


def _gifts(material: MindMaterial, history: PromiseHistory) -> Iterator[StoryEvent]:
    """Iterate over gifts that no promise was kept by; two at the same time, each way, are a trade."""
    promised = {
        (tick_id, promise.by, promise.to, promise.item)
        for tick_id, state, promise in history.news
        if state is PromiseState.KEPT
    }
    at: dict[int, list[Gift]] = {}
    for tick_id, gift in material.gifts:
        if (tick_id, gift.giver_id, gift.receiver_id, gift.item) not in promised:
            at.setdefault(tick_id, []).append(gift)
    for tick_id, gifts in at.items():
        while gifts:
            gift = gifts.pop(0)
            people = gift.giver_id, gift.receiver_id
            back = next((one for one in gifts if (one.receiver_id, one.giver_id) == people), None)
            if back is not None:
                gifts.remove(back)
                yield StoryEvent(
                    tick_id, StoryKind.TRADED, *people, gift.item, gift.amount, how=f"{back.amount} {back.item}"
                )
            else:
                yield StoryEvent(tick_id, StoryKind.GAVE, *people, gift.item, gift.amount)


def _facts(material: MindMaterial, secrets: Mapping[str, str]) -> Iterator[StoryEvent]:
    """Iterate over facts of personas that others learnt from a speaker, and over their secrets."""
    for fact, origins in origins_of(material).items():
        known = set(origins) & material.minds
        for note, who in _learners(material, fact, origins):
            yield StoryEvent(note.tick_id, StoryKind.LEARNT, who, note.told_by, fact)
            known.add(who)
            if known == material.minds and len(known) >= EVERYONE_LEAST:
                yield StoryEvent(note.tick_id, StoryKind.EVERYONE_KNOWS, who, "", fact, len(known))
    for owner, secret in secrets.items():
        for note, who in _learners(material, secret, (owner,)):
            what = secret if note.told_by == owner else in_third_person(secret, material.names.get(owner, owner))
            yield StoryEvent(note.tick_id, StoryKind.CONFIDED, who, note.told_by, what, how=owner)


def origins_of(material: MindMaterial) -> dict[str, tuple[str, ...]]:
    """Return the facts of personas, each with the ids of those that know it from the beginning."""
    origins: dict[str, tuple[str, ...]] = {}
    for who, facts in material.facts.items():
        for fact in facts:
            origins[fact] = (*origins.get(fact, ()), who)
    return origins


def _learners(material: MindMaterial, fact: str, origins: Iterable[str]) -> "list[tuple[MemoryNote, str]]":
    noted = first_notes(material, fact, origins)
    heard = [(note, who) for who, note in noted.items() if note.told_by and who not in origins]
    return sorted(heard, key=lambda one: (one[0].tick_id, one[1]))


def _feelings(material: MindMaterial) -> Iterator[StoryEvent]:
    ids = _ids_by_name(material.names)
    for change in material.bonds:
        other = ids(change.other_name)
        if other and change.bond:
            kind = StoryKind.BECAME_CLOSE if change.bond == "close" else StoryKind.FELL_OUT
            yield StoryEvent(change.tick_id, kind, change.who, other)
    for tick_id, who, mood in material.moods:
        if mood in LOW_MOODS:
            yield StoryEvent(tick_id, StoryKind.FELT, who, "", mood)


def _ids_by_name(names: Mapping[str, str]) -> "Callable[[str], str]":
    by_name: dict[str, str] = {}
    for who, name in names.items():
        for called in (name.lower(), who.lower()):
            by_name[called] = "" if by_name.get(called, who) != who else who  # one that two have names neither
    return lambda name: by_name.get(name.lower(), "")


def _plans(material: MindMaterial) -> Iterator[StoryEvent]:
    """Iterate over days that are over: plans that were carried out, and errands that failed."""
    calendar = material.calendar
    last_day = calendar.at(material.last_tick_id).day
    for (who, day), errands in sorted(material.plans.items()):
        if day >= last_day or not errands:
            continue
        states = [errand.rpartition(": ") for errand in errands]
        tick_id = max(0, -(-(day * DAY_MINUTES - calendar.first_minute) * calendar.day_ticks // DAY_MINUTES) - 1)
        if len(errands) > 1 and all(state == "done" for _, _, state in states):
            yield StoryEvent(tick_id, StoryKind.PLAN_DONE, who, amount=len(errands))
        for what, _, state in states:
            if state == "failed":
                yield StoryEvent(tick_id, StoryKind.PLAN_FAILED, who, "", _errand(what))


def _errand(text: str) -> str:
    """Return an errand without its time: `work at wood`."""
    clock, _, rest = text.partition(" ")
    return rest if clock[:1].isdigit() else text

"""`measure`: the figures of minds from what a record has of them."""

import math
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tickmind.mind.memory import EntryKind
from tickmind.mind.memory.memory import entry_text
from tickmind.mind.promises import PromiseState
from tickmind.mind.talk.meaning import in_third_person, read_line
from tickmind.mind.talk.sessions import LINES_EACH, MAX_TALK_LINES
from tickmind.protocol import MemoryNote
from tickmind.record.measures.interview import interview
from tickmind.record.measures.lines import SAMPLE, distinct_2, masked, repeated, self_bleu, spread
from tickmind.record.measures.material import MindMaterial, TalkSpan
from tickmind.record.measures.promise_history import promise_history

RESUMED_TICKS = 60  # within which a talk that goes on has not ended
_T_95 = (0.0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)  # degrees of freedom -> t
_SAID = " said to me: "  # after who said it, in the notes of characters without talks
_MET = "I met "  # how the note begins that has no more than a name


class Measure(NamedTuple):
    """A figure of a run. `of` is how many cases it rests on; without any there is no value."""

    name: str
    value: float | None
    of: int
    is_share: bool = True
    spread: float | None = None  # half of the 95 % interval over several runs that have a value

    @property
    def shown(self) -> str:
        """The value as it is printed."""
        return _shown(self.value, self.is_share)

    @property
    def shown_spread(self) -> str:
        """The interval as it is printed; empty if there is none."""
        return "" if self.spread is None else f"± {_shown(self.spread, self.is_share)}"


def _shown(value: float | None, is_share: bool) -> str:
    if value is None:
        return "-"
    return f"{value:.1%}" if is_share else f"{value:,.3g}" if value < 999.5 else f"{value:,.0f}"


def measure(material: MindMaterial, facts: Sequence[str] = ()) -> list[Measure]:
    """Return the measures of a run. `facts` were planted: what some persona knows, and others may learn."""
    names = {name for pair in material.names.items() for name in pair}
    said = [(line.speaker_id, masked(line.text, names)) for line in material.lines if line.speaker_id in material.minds]
    again, count = repeated(said)
    some = spread([text for _, text in said], SAMPLE)
    ended, talks = _ended(material)
    history = promise_history(material)
    kept, broken = history.count(PromiseState.KEPT), history.count(PromiseState.BROKEN)
    done, planned = _plans(material)
    pairs, all_pairs = _density(material)
    recalled, refused = interview(material, history.made)
    made = kept + broken
    villager_days = len(material.minds) * material.days
    figures = [
        _share("self-repeat", again, count),
        Measure("distinct-2", distinct_2(some), len(some), is_share=False),
        Measure("self-BLEU-4", self_bleu(some), len(some), is_share=False),
        _share("talks ended", ended, talks),
        _share("promises kept", kept, made),
        _rate("promises per villager and day", made, villager_days, made),
        _share("plan", done, planned),
        *([_share("working hours", *material.presence.worked)] if material.presence is not None else []),
        _share("needs", material.well_ticks, material.actor_ticks),
        _share("density", pairs, all_pairs),
        _share("recall", *recalled),
        _share("refused", *refused),
        *([_share("goals", len(material.reached), len(material.goals))] if material.goals else []),
        *([_share("commons", *_commons(material))] if material.doubling else []),
        *_cost(material, villager_days),
    ]
    for fact in facts:
        know, invented = _diffusion(material, fact)
        figures.append(_share(f"diffusion: {fact}", know, len(material.minds)))
        figures.append(Measure(f"invented: {fact}", float(invented), know, is_share=False))
        if fact in material.parties:
            figures.append(_share(f"party: {fact}", *_party(material, fact)))
    return figures


def measure_names() -> tuple[str, ...]:
    """Return the names of all measures but those of planted facts; a run that has no case of one lacks its value."""
    return tuple(figure.name for figure in measure(MindMaterial(goals=frozenset({""}), doubling={"": 1})))


def pooled(runs: Sequence[Sequence[Measure]]) -> list[Measure]:
    """Return the means of the measures of several runs, each with half of its 95 % interval."""
    by_name: dict[str, list[Measure]] = {}
    for figures in runs:
        for figure in figures:
            by_name.setdefault(figure.name, []).append(figure)
    means = []
    for name, figures in by_name.items():
        values = [figure.value for figure in figures if figure.value is not None]
        of = sum(figure.of for figure in figures)
        if not values:
            means.append(Measure(name, None, of, figures[0].is_share))
            continue
        free = len(values) - 1
        t = _T_95[min(free, len(_T_95) - 1)]
        spread = t * statistics.stdev(values) / math.sqrt(len(values)) if free else None
        means.append(Measure(name, statistics.mean(values), of, figures[0].is_share, spread))
    return means


def _share(name: str, part: int, whole: int) -> Measure:
    return Measure(name, part / whole if whole else None, whole)


def _rate(name: str, count: int, villager_days: float, of: int) -> Measure:
    return Measure(name, count / villager_days if villager_days else None, of, is_share=False)


def _ended(material: MindMaterial) -> tuple[int, int]:
    """Return how many talks were ended by a farewell within their lines, and all; of two, they are not resumed soon."""
    pairs = {_of_pair(span) for span in material.talks if not span.more}
    spans = sorted(pairs, key=lambda span: (span.who, span.partner_id, span.first_tick_id))
    talks: list[TalkSpan] = []
    for span in spans:
        before = talks[-1] if talks else None
        is_same = before is not None and before[:2] == span[:2] and span.first_tick_id <= before.last_tick_id + 1
        if before is not None and is_same:  # as the other of the two saw it
            talks[-1] = before._replace(last_tick_id=max(before.last_tick_id, span.last_tick_id))
        else:
            talks.append(span)
    ended = count = 0
    for place, talk in enumerate(talks):
        said = material.lines_between(talk.first_tick_id - 1, talk.last_tick_id)
        lines = [line for line in said if line.speaker_id in (talk.who, talk.partner_id)]
        if {line.speaker_id for line in lines} != {talk.who, talk.partner_id}:
            continue  # it was not answered
        after = talks[place + 1] if place + 1 < len(talks) and talks[place + 1][:2] == talk[:2] else None
        resumed = after is not None and after.first_tick_id - talk.last_tick_id < RESUMED_TICKS
        closes = any(read_line(line.text).leaves for line in lines[-2:])
        count += 1
        ended += closes and len(lines) <= MAX_TALK_LINES.maximum and not resumed
    for circle in _circles(material):
        members = {member for span in circle for member in (span.who, *span.others)}
        first, last = min(span.first_tick_id for span in circle), max(span.last_tick_id for span in circle)
        lines = [line for line in material.lines_between(first - 1, last) if line.speaker_id in members]
        count += 1
        ended += any(read_line(line.text).leaves for line in lines[-2:]) and len(lines) <= LINES_EACH * len(members)
    return ended, count


def _circles(material: MindMaterial) -> list[list[TalkSpan]]:
    """Return the talks of more than two, each as all who took part saw it."""
    circles: list[list[TalkSpan]] = []
    for span in sorted((talk for talk in material.talks if talk.more), key=lambda one: one.first_tick_id):
        same = (one for one in circles if any(span.who in each.others and _overlap(span, each) for each in one))
        if (circle := next(same, None)) is not None:
            circle.append(span)
        else:
            circles.append([span])
    return circles


def _overlap(one: TalkSpan, other: TalkSpan) -> bool:
    return one.first_tick_id <= other.last_tick_id and other.first_tick_id <= one.last_tick_id


def _of_pair(span: TalkSpan) -> TalkSpan:
    first, second = sorted((span.who, span.partner_id))
    return span._replace(who=first, partner_id=second)


def _plans(material: MindMaterial) -> tuple[int, int]:
    """Return how many errands of days that are over were done, and how many there were.

    Of each mind and day there are at least as many as in the usual day of its persona, so that none gains by planning
    nothing.
    """
    done = count = 0
    for day in range(material.calendar.at(0).day, material.calendar.at(material.last_tick_id).day):
        for who in material.minds:
            states = [errand.rpartition(": ")[2] for errand in material.plans.get((who, day), ())]
            done += states.count("done")
            count += max(len(states), material.usual_errands.get(who, 0))
    return done, count


def _density(material: MindMaterial) -> tuple[int, int]:
    """Return how many pairs know something of each other beyond the name, and how many pairs there are."""
    count = len(material.minds)
    return len(related(material)), count * (count - 1) // 2


def related(material: MindMaterial) -> list[tuple[str, str]]:
    """Return the pairs of minds who each remember something of the other beyond its name and where it was once.

    What another says of a third is known of the third, and nothing of the one that said it.
    """
    named: dict[str, set[str]] = {}  # name -> who are called so
    for who in material.minds:
        named.setdefault(material.names.get(who, who), set()).add(who)
    names = sorted(map(re.escape, named), key=len, reverse=True)
    mentions = re.compile(rf"(?<!\w)(?:{'|'.join(names)})(?!\w)")
    known = {
        (who, other)
        for who in material.minds
        for note in material.remembered(who)
        if note.kind != EntryKind.SAW and not note.text.startswith(_MET)
        for name in mentions.findall(_content(note.text))
        for other in named[name]
    }
    minds = sorted(material.minds)
    pairs = ((one, other) for place, one in enumerate(minds) for other in minds[place + 1 :])
    return [(one, other) for one, other in pairs if (one, other) in known and (other, one) in known]


def _content(text: str) -> str:
    """Return what a note says, without who said it; nothing if that was a greeting, which gives no more than a name."""
    said = text.partition(_SAID)[2]
    return "" if read_line(said).greets else said or text


def _diffusion(material: MindMaterial, fact: str) -> tuple[int, int]:
    """Return how many minds hold a fact that came to them from one that knew it, and how many hold it otherwise."""
    origins, noted = holders(material, fact)
    forms = _forms(material, fact, origins)
    kept = {who for who in noted if any(note.text in forms for note in material.remembered(who))}
    hold = {*kept, *(origins & material.minds)}
    reached = sum(_reaches(noted, who, origins) for who in hold)
    return reached, len(hold) - reached


def _party(material: MindMaterial, fact: str) -> tuple[int, int]:
    """Return how many came of those who knew in time, each to the first time after it had learnt of it; and these."""
    origins, noted = holders(material, fact)
    learnt = {**{who: note.tick_id for who, note in noted.items()}, **dict.fromkeys(origins & material.minds, -1)}
    came = count = 0
    for who, learnt_tick in learnt.items():
        tick_id = min((one for one in material.parties[fact] if one > learnt_tick), default=None)
        if tick_id is not None:
            count += 1
            came += who in material.parties[fact][tick_id]
    return came, count


def holders(material: MindMaterial, fact: str) -> tuple[set[str], dict[str, MemoryNote]]:
    """Return those in whom a fact was planted, and the minds that noted it, as they did."""
    planted = {who for who, known in material.facts.items() if fact in known}
    return planted, first_notes(material, fact, planted)


def first_notes(material: MindMaterial, fact: str, origins: Iterable[str]) -> dict[str, MemoryNote]:
    """Return each mind's first note of a fact: as it is, or as others say it of those that knew it first."""
    forms = _forms(material, fact, origins)
    noted: dict[str, MemoryNote] = {}
    for who, notes in material.notes.items():
        if known := [notes[form] for form in forms if form in notes]:
            noted[who] = min(known, key=lambda note: (note.tick_id, note.text))
    return noted


def _forms(material: MindMaterial, fact: str, origins: Iterable[str]) -> set[str]:
    """Return a fact as minds note it."""
    names = [material.names.get(who, who) for who in origins]
    return {entry_text(fact), *(entry_text(in_third_person(fact, name)) for name in names)}


def _reaches(noted: Mapping[str, MemoryNote], who: str, origins: set[str]) -> bool:
    seen: set[str] = set()
    while who not in origins:
        note = noted.get(who)
        if note is None or not note.told_by or who in seen:
            return False
        seen.add(who)
        who = note.told_by
    return True


def _commons(material: MindMaterial) -> tuple[int, int]:
    """Return through how many periods sources that double lasted, and how many periods there were."""
    last = material.last_tick_id
    lasted = sum(material.used_up.get(source, last) // ticks for source, ticks in material.doubling.items())
    return lasted, sum(last // ticks for ticks in material.doubling.values())


def _cost(material: MindMaterial, villager_days: float) -> Iterable[Measure]:
    calls = material.calls
    answered = [call for call in calls if not call.error_type]
    yield _share("thoughts answered", len(answered), len(calls))
    yield _share("fidelity", sum(not wording.problem for wording in material.wordings), len(material.wordings))
    median_s = statistics.median(call.latency_s for call in answered) if answered else None
    yield Measure("median thought in seconds", median_s, len(answered), is_share=False)
    metered = [call for call in calls if call.prompt_tokens is not None]  # some endpoints count no tokens
    tokens = sum((call.prompt_tokens or 0) + (call.completion_tokens or 0) for call in metered)
    yield _rate("tokens per villager and day", tokens, villager_days if metered else 0.0, len(metered))
    counted = [call for call in calls if call.cached_tokens is not None and call.prompt_tokens]
    asked = sum(call.prompt_tokens or 0 for call in counted)
    cached = sum(min(call.cached_tokens or 0, call.prompt_tokens or 0) for call in counted)
    yield _share("prompt tokens from the cache", cached, asked)

"""Interviews: minds are asked about what their record says they experienced, and about what never happened."""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from tickmind.mind.memory import EntryKind, Memory
from tickmind.mind.promises import Promise
from tickmind.mind.reflection import LEAST_EVIDENCE
from tickmind.mind.talk import Talker
from tickmind.mind.talk.meaning import in_third_person, read_line
from tickmind.protocol.setting import zone_phrase
from tickmind.record.measures.lines import spread
from tickmind.record.measures.material import MindMaterial

INTERVIEWER = "interviewer"  # who asks; no actor of the world
QUESTIONS, UNTRUE_QUESTIONS = 10, 3  # for each mind
_SAW_AT = re.compile(r"I saw .* at (.+)\.")
_UNKNOWN_ITEMS = ("honey", "silver", "pepper")  # for questions about gifts, where they are in no gift


class InterviewQuestion(NamedTuple):
    """A question to a mind, and the words of which a right answer has one; none if it is about nothing that was."""

    text: str
    right: frozenset[str] = frozenset()


def interview(material: MindMaterial, promises: Sequence[Promise]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return how many questions all minds answered rightly, and of how many; and the same of those they refused.

    A mind answers by what its record shows that it still remembers at the end, with the code by which characters
    answer.
    """
    right = asked = refused = untrue = 0
    for who in sorted(material.minds):
        talker = _talker(material, who)
        own = [promise for promise in promises if promise.by == who]
        for question in (*spread(_questions(material, who, own), QUESTIONS), *_untrue(material, who)):
            answer = talker.answer_to(material.last_tick_id + 1, question.text, INTERVIEWER)
            if question.right:
                asked += 1
                answer = f"{answer} {talker.teller_of(answer)}"
                right += any(map(partial(_names, answer), question.right))
            else:
                untrue += 1
                refused += not answer
    return (right, asked), (refused, untrue)


def _talker(material: MindMaterial, who: str) -> Talker:
    """Return a mind with the memory and the people of another, as far as its record shows them."""
    memory = Memory(day_ticks=material.calendar.day_ticks)
    notes = material.remembered(who)
    for note in notes:
        kind = EntryKind(note.kind) if note.kind in tuple(EntryKind) else EntryKind.SAW
        memory.note(
            note.tick_id, note.text, kind=kind, importance=note.importance, about=note.about, told_by=note.told_by
        )
    talker = Talker(who, material.names.get(who, who), random.Random(0), memory, facts=material.facts.get(who, ()))
    for other in dict.fromkeys(one for note in notes for one in (note.about, note.told_by) if one in material.names):
        talker.people.meet(other, material.names[other])
    return talker


def _names(answer: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", answer) is not None


def _questions(material: MindMaterial, who: str, promises: Iterable[Promise]) -> list[InterviewQuestion]:
    """Return questions about what a mind experienced: gifts, promises and what it was told."""
    givers, takers, owed = (defaultdict[str, set[str]](set) for _ in range(3))
    for _, gift in material.gifts:
        if gift.receiver_id == who:
            givers[gift.item].add(material.names.get(gift.giver_id, gift.giver_id))
        if gift.giver_id == who:
            takers[gift.item].add(material.names.get(gift.receiver_id, gift.receiver_id))
    for promise in promises:
        owed[material.names.get(promise.to, promise.to)].add(promise.item)
    questions = [InterviewQuestion(f"Who gave you {item}?", frozenset(who)) for item, who in givers.items()]
    questions += [InterviewQuestion(f"To whom did you give {item}?", frozenset(who)) for item, who in takers.items()]
    questions += [
        InterviewQuestion(f"What did you promise to bring {name}?", frozenset(items)) for name, items in owed.items()
    ]
    questions += _habits(material, who)
    tellers = defaultdict[str, set[str]](set)
    for speaker_id, told in _heard(material, who):
        tellers[told].add(material.names.get(speaker_id, speaker_id))
    questions += [InterviewQuestion(f"Who told you: {told}?", frozenset(names)) for told, names in tellers.items()]
    return questions


def _habits(material: MindMaterial, who: str) -> Iterator[InterviewQuestion]:
    """Yield where others are most, by day and by the record of the world, if a mind saw them at that place often."""
    seen = Counter((note.about, _sighting(note.text)) for note in material.numbered.get(who, {}).values())
    if (presence := material.presence) is None:
        return
    for other in sorted(material.minds - {who}):
        place = presence.haunt(other)
        if place and seen[other, zone_phrase(place)] >= LEAST_EVIDENCE:
            text = f"Where does one often see {material.names.get(other, other)}?"
            yield InterviewQuestion(text, frozenset({zone_phrase(place)}))


def _sighting(text: str) -> str:
    """Return where a person was, if a note says that it was seen somewhere."""
    match = _SAW_AT.fullmatch(text)
    return match[1] if match else ""


def _heard(material: MindMaterial, who: str) -> Iterator[tuple[str, str]]:
    """Yield what a mind was told of others in its talks, with the speaker."""
    for span in material.talks:
        if span.who == who:
            for line in material.lines_between(span.first_tick_id, span.last_tick_id):
                told = read_line(line.text).told if line.speaker_id in span.others else ""
                if told and in_third_person(told, line.speaker_id) == told:
                    yield line.speaker_id, told.rstrip(".")


def _untrue(material: MindMaterial, who: str) -> Sequence[InterviewQuestion]:
    """Return questions about gifts that a mind never got."""
    got = {gift.item for _, gift in material.gifts if gift.receiver_id == who}
    others = sorted({gift.item for _, gift in material.gifts} - got)
    items = (*others, *(item for item in _UNKNOWN_ITEMS if item not in got and item not in others))
    return [InterviewQuestion(f"Who gave you {item}?") for item in items[:UNTRUE_QUESTIONS]]

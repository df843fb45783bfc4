"""`follow_promises`: the promises of a run, by what was said and given."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable

from tickmind.mind.promises import Promise, Promises
from tickmind.mind.talk.meaning import read_line
from tickmind.record.measures.material import MindMaterial, SaidLine, TalkSpan
from tickmind.record.tables.gifts import Gift

REQUEST_TICKS = 40  # within which a promise answers a request


def follow_promises(found: MindMaterial) -> list[Promise]:
    """Return all promises, with what became of them at the end. Each is to the partner of a talk, who asked for it."""
    ledgers: defaultdict[str, Promises] = defaultdict(Promises)
    requests: dict[tuple[str, str], int] = {}  # asker and item -> when it was asked for
    partners = _Partners(found.talks)
    made: list[Promise] = []
    said: list[tuple[int, SaidLine | Gift]] = [(line.tick_id, line) for line in found.lines]
    for tick_id, event in sorted((*said, *found.gifts), key=lambda one: one[0]):
        if isinstance(event, Gift):
            ledger = ledgers[event.giver_id]
            ledger.pass_time(tick_id)
            ledger.give(event.giver_id, event.receiver_id, event.item, event.amount)
            continue
        meaning = read_line(event.text)
        if meaning.request is not None:
            requests[event.speaker_id, meaning.request.item] = tick_id
        if (promise := meaning.promise) is not None:
            by, to = event.speaker_id, partners.at(event.speaker_id, tick_id)
            asked_tick = requests.get((to, promise.item))
            if asked_tick is not None and tick_id - asked_tick <= REQUEST_TICKS:
                due_tick = found.calendar.next_tick(tick_id, promise.minute)
                ledgers[by].pass_time(tick_id)
                one = ledgers[by].make(by, to, promise.item, promise.amount, tick_id, due_tick)
                made += [] if one is None else [one]
    for ledger in ledgers.values():
        ledger.pass_time(found.last_tick_id)
    return made


class _Partners:
    """With whom an actor talked in a tick."""

    def __init__(self, talks: Iterable[TalkSpan]) -> None:
        self._spans: defaultdict[str, list[TalkSpan]] = defaultdict(list)
        for span in sorted(talks, key=lambda one: one.first_tick_id):
            self._spans[span.who].append(span)

    def at(self, who: str, tick_id: int) -> str:
        """Return the partner of the last talk that had begun, as its first line is said a tick before; or nothing."""
        spans = self._spans[who]
        place = bisect_right(spans, tick_id + 1, key=lambda span: span.first_tick_id) - 1
        return spans[place].partner_id if place >= 0 and tick_id <= spans[place].last_tick_id else ""

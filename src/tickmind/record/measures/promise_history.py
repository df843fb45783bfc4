"""`promise_history`: what became of promises and requests in a run, by what was said and given."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from tickmind.mind.promises import Promise, Promises, PromiseState
from tickmind.mind.talk.meaning import LineMeaning, read_line
from tickmind.record.measures.material import MindMaterial, SaidLine, TalkSpan
from tickmind.record.tables.gifts import Gift

REQUEST_TICKS = 40  # within which a promise answers a request


class PromiseNews(NamedTuple):
    """A promise was made (open), kept or broken in a tick. The promise itself has its last state."""

    tick_id: int
    state: PromiseState
    promise: Promise


class DeclinedRequest(NamedTuple):
    """An answer that was no promise; the partner in the talk had asked for an item."""

    tick_id: int
    asker_id: str
    partner_id: str
    item: str


@dataclass(slots=True)
class PromiseHistory:
    """What became of promises and requests, in the order of ticks."""

    news: list[PromiseNews] = field(default_factory=list)
    declined: list[DeclinedRequest] = field(default_factory=list)

    @property
    def made(self) -> list[Promise]:
        """All promises, with their last states, in the order in which they were made."""
        return [one.promise for one in self.news if one.state is PromiseState.OPEN]

    def count(self, state: PromiseState) -> int:
        """Return how many promises came into a state."""
        return sum(one.state is state for one in self.news)


class TalkPartners:
    """With whom an actor talked in a tick."""

    def __init__(self, talks: Iterable[TalkSpan]) -> None:
        self._spans: defaultdict[str, list[TalkSpan]] = defaultdict(list)
        for span in sorted(talks, key=lambda one: one.first_tick_id):
            self._spans[span.who].append(span)

    def at(self, who: str, tick_id: int) -> str:
        """Return the partner of the last talk that had begun, as its first line is said a tick before; or nothing."""
        return next(iter(self.all_at(who, tick_id)), "")

    def all_at(self, who: str, tick_id: int) -> tuple[str, ...]:
        """Return all with whom it was in that talk."""
        spans = self._spans[who]
        place = bisect_right(spans, tick_id + 1, key=lambda span: span.first_tick_id) - 1
        return spans[place].others if place >= 0 and tick_id <= spans[place].last_tick_id else ()


def promise_history(material: MindMaterial) -> PromiseHistory:
    """Follow all promises of a run; each is to the partner of a talk, who has asked for it."""
    follower = _Follower(material)
    said: list[tuple[int, SaidLine | Gift]] = [(line.tick_id, line) for line in material.lines]
    for tick_id, event in sorted((*said, *material.gifts), key=lambda one: one[0]):
        if isinstance(event, Gift):
            follower.give(tick_id, event)
        else:
            follower.say(event)
    return follower.finish()


class _Follower:
    """Follows promises and requests, one line or gift after another."""

    def __init__(self, material: MindMaterial) -> None:
        self._found = material
        self._history = PromiseHistory()
        self._partners = TalkPartners(material.talks)
        self._ledgers: defaultdict[str, Promises] = defaultdict(Promises)
        self._requests: dict[tuple[str, str], int] = {}  # asker and item -> when it was asked for
        self._asked: dict[str, tuple[str, str]] = {}  # who has not answered yet -> asker and item
        self._declined: dict[tuple[str, str, str], DeclinedRequest] = {}  # partner, asker and item -> its answer

    def give(self, tick_id: int, gift: Gift) -> None:
        self._pass_time(gift.giver_id, tick_id)
        kept = self._ledgers[gift.giver_id].give(gift.giver_id, gift.receiver_id, gift.item, gift.amount)
        if kept is not None:
            self._history.news.append(PromiseNews(tick_id, PromiseState.KEPT, kept))

    def say(self, line: SaidLine) -> None:
        tick_id, speaker = line.tick_id, line.speaker_id
        meaning = read_line(line.text)
        partner = self._partner(speaker, tick_id, meaning) if meaning.request or meaning.promise else ""
        asker, wanted = self._asked.pop(speaker, ("", ""))
        if (promise := meaning.promise) is not None:
            asked_tick = self._requests.get((partner, promise.item))
            if asked_tick is not None and tick_id - asked_tick <= REQUEST_TICKS:
                self._declined.pop((speaker, partner, promise.item), None)  # it was a promise after all
                self._pass_time(speaker, tick_id)
                due_tick = self._found.calendar.next_tick(tick_id, promise.minute)
                made = self._ledgers[speaker].make(speaker, partner, promise.item, promise.amount, tick_id, due_tick)
                if made is not None:
                    self._history.news.append(PromiseNews(tick_id, PromiseState.OPEN, made))
        elif asker and tick_id - self._requests[asker, wanted] <= REQUEST_TICKS:
            self._decline(DeclinedRequest(tick_id, asker, speaker, wanted))
        if meaning.request is not None:
            self._requests[speaker, meaning.request.item] = tick_id
            if partner:
                self._asked[partner] = speaker, meaning.request.item

    def _partner(self, speaker: str, tick_id: int, meaning: LineMeaning) -> str:
        """Return to whom a line speaks: of several in a circle to the one that asked last for what it promises."""
        partners = self._partners.all_at(speaker, tick_id)
        if meaning.promise is None or len(partners) < 2:
            return next(iter(partners), "")
        item = meaning.promise.item
        return max(partners, key=lambda one: self._requests.get((one, item), -1))

    def finish(self) -> PromiseHistory:
        for who in list(self._ledgers):
            self._pass_time(who, self._found.last_tick_id)
        self._history.declined += self._declined.values()
        self._history.news.sort(key=lambda one: one.tick_id)
        self._history.declined.sort(key=lambda one: one.tick_id)
        return self._history

    def _decline(self, answer: DeclinedRequest) -> None:
        """Note an answer; an earlier one of the same two persons is settled by it."""
        key = answer.partner_id, answer.asker_id, answer.item
        if (before := self._declined.pop(key, None)) is not None:
            self._history.declined.append(before)
        self._declined[key] = answer

    def _pass_time(self, who: str, tick_id: int) -> None:
        for broken in self._ledgers[who].pass_time(tick_id):
            self._history.news.append(PromiseNews(broken.due_tick + 1, PromiseState.BROKEN, broken))

"""`SentenceWriter`: scenes as sentences. Each kind has several forms, which take turns."""

from collections import Counter
from collections.abc import Callable, Sequence

from tickmind.record.story.events import RunStory, StoryEvent, StoryKind
from tickmind.record.story.phrases import (
    at_place,
    bare_item,
    each_once,
    in_sentence,
    item_phrase,
    items_phrase,
    listed,
    number,
    past,
    plain,
    quoted,
    thing_phrase,
    times,
)
from tickmind.record.story.scenes import StoryScene

_PAIRS = 4  # that are named; more are counted
_GIVING = (StoryKind.KEPT, StoryKind.GAVE)
_Forms = str | tuple[str, ...]  # one sentence, or several that take turns


class SentenceWriter:
    """Writes the sentences of one chronicle, in their order."""

    def __init__(self, story: RunStory) -> None:
        self._story = story
        self._names = {who: plain(name) for who, name in story.names.items()}
        self._called = frozenset(self._names.values())
        self._turns: Counter[StoryKind] = Counter()
        self._learnt: dict[str, list[int]] = {}  # fact -> when it was learnt
        for event in story.events:
            if event.kind is StoryKind.LEARNT:
                self._learnt.setdefault(event.what, []).append(event.tick_id)
        self._forms: dict[StoryKind, Callable[[Sequence[StoryEvent]], _Forms]] = {
            StoryKind.CAME: self._came,
            StoryKind.LEFT: self._left,
            StoryKind.MET: self._met,
            StoryKind.TALKED: self._talked,
            StoryKind.LEARNT: self._learning,
            StoryKind.EVERYONE_KNOWS: self._everyone_knows,
            StoryKind.CONFIDED: self._secret,
            StoryKind.PROMISED: self._promised,
            StoryKind.KEPT: self._kept,
            StoryKind.BROKE: self._broke,
            StoryKind.DECLINED: self._declined,
            StoryKind.GAVE: self._gave,
            StoryKind.TRADED: self._traded,
            StoryKind.BECAME_CLOSE: self._became_close,
            StoryKind.FELL_OUT: self._fell_out,
            StoryKind.FELT: self._felt,
            StoryKind.MADE: self._made,
            StoryKind.GOT: self._got,
            StoryKind.WORKED: self._worked,
            StoryKind.GATHERED: self._gathered,
            StoryKind.BUILT: self._built,
            StoryKind.BOUGHT: lambda events: self._dealt(events, "bought"),
            StoryKind.SOLD: lambda events: self._dealt(events, "sold"),
            StoryKind.VISITED: self._visited,
            StoryKind.CROWD: self._crowd,
            StoryKind.SLEPT: self._slept,
            StoryKind.SLEPT_OUT: self._slept_out,
            StoryKind.HUNGRY: self._hungry,
            StoryKind.TIRED: self._tired,
            StoryKind.COLLAPSED: lambda events: f"{self._all(events)} collapsed{self._same_place(events)}",
            StoryKind.GOAL: self._goal,
            StoryKind.RULE: self._rule,
            StoryKind.PLAN_DONE: self._plan_done,
            StoryKind.PLAN_FAILED: self._plan_failed,
        }

    def sentence(self, scene: StoryScene) -> str:
        """Return the next sentence."""
        forms = self._forms[scene.kind](scene.events)
        text = forms if isinstance(forms, str) else forms[self._turns[scene.kind] % len(forms)]
        self._turns[scene.kind] += 1
        first = text.partition(" ")[0].rstrip(",:").removesuffix("'s")
        if first not in self._called:  # a name stays as it is
            text = f"{text[:1].upper()}{text[1:]}"
        return text if text.endswith((".”", "!”", "?”", ".", "…”")) else f"{text}."

    # Parts of sentences.

    def name(self, who: str) -> str:
        """Return the name of an actor."""
        return self._names.get(who) or plain(who) or "the world"

    def _all(self, events: Sequence[StoryEvent]) -> str:
        people = each_once(event.who for event in events)
        if len(people) > 2 and len(people) == len(self._names):
            return "everyone"
        return listed([self.name(who) for who in people])

    def _others(self, events: Sequence[StoryEvent]) -> str:
        return listed([self.name(who) for who in each_once(event.other for event in events)])

    def _same_place(self, events: Sequence[StoryEvent]) -> str:
        places = {event.place for event in events}
        return at_place(places.pop()) if len(places) == 1 else ""

    def _items(self, events: Sequence[StoryEvent]) -> str:
        """Return what was promised or given; without numbers, if each of several people gets one."""
        if len(each_once(event.other for event in events)) > 1 and all(event.amount == 1 for event in events):
            return listed([item_phrase(item) for item in each_once(event.what for event in events)])
        amounts: Counter[str] = Counter()
        for event in events:
            amounts[event.what] += event.amount
        return listed([item_phrase(item, amount) for item, amount in amounts.items()])

    # Meeting and talking.

    def _came(self, events: Sequence[StoryEvent]) -> str:
        return f"{self._all(events)} arrived{self._same_place(events)}"

    def _left(self, events: Sequence[StoryEvent]) -> str:
        where = self._same_place(events)
        return f"{self._all(events)} went away{f', last seen{where}' if where else ''}"

    def _met(self, events: Sequence[StoryEvent]) -> _Forms:
        first = events[0]
        one, other, where = self.name(first.who), self.name(first.other), at_place(first.place)
        if len(events) == 1:
            return (
                f"{one} and {other} met for the first time{where}",
                f"{one} got to know {other}{where}",
                f"{where.strip()}, {one} met {other}" if where else f"{one} met {other}",
            )
        if all(event.who == first.who for event in events):
            others = self._others(events)
            return (
                f"{one} met {others} for the first time",
                f"{one} made the acquaintance of {others}",
                f"{others} got to know {one}",
            )
        pairs = [f"{self.name(event.who)} and {self.name(event.other)}" for event in events]
        if len(events) == 2:
            there = "" if events[1].place == first.place else at_place(events[1].place)
            return f"{pairs[0]} met for the first time{where}, and so did {pairs[1]}{there}"
        more = len(events) - _PAIRS
        shown = [*pairs[:_PAIRS], f"{number(more)} more pair{'s' if more > 1 else ''}"] if more > 0 else pairs
        return f"{', '.join(shown[:-1])}, and {shown[-1]} met for the first time"

    def _talked(self, events: Sequence[StoryEvent]) -> _Forms:
        one, other, often = self.name(events[0].who), self.name(events[0].other), times(len(events))
        return (
            f"{one} and {other} talked {often}",
            f"{often}, {one} and {other} stopped for a talk",
        )

    def _learning(self, events: Sequence[StoryEvent]) -> _Forms:
        first = events[0]
        fact, who, other = quoted(first.what), self.name(first.who), self.name(first.other)
        if len(events) == 1:
            return (
                f"{other} told {who}: {fact}",
                f"{who} heard from {other}: {fact}",
                f"from {other}, {who} learnt: {fact}",
            )
        origins = self._story.origins.get(first.what, ())
        known = sum(tick_id <= events[-1].tick_id for tick_id in self._learnt[first.what]) + len(origins)
        count = f"{number(min(known, self._story.minds))} of {number(self._story.minds)}"
        learners = self._all(events)
        if not origins:
            return f"word spread to {learners}: {fact}"
        source = listed([self.name(origin) for origin in origins])
        return (
            f"word spread from {source} to {learners}, until {count} knew: {fact}",
            f"{learners} heard what at first only {source} knew: {fact}",
            f"{source}'s news went round, and {learners} heard it: {fact}",
        )

    def _everyone_knows(self, events: Sequence[StoryEvent]) -> str:
        last, learnt = events[0], events[1:]
        fact, count, who = quoted(last.what), number(last.amount), self.name(last.who)
        if len(learnt) < 2:
            return f"{who} was the last of {count} to hear it: {fact}"
        source = listed([self.name(origin) for origin in self._story.origins.get(last.what, ())]) or "somewhere"
        first = self.name(learnt[0].who)
        return f"word spread from {source}, to {first} first and to {who} last, until all {count} knew: {fact}"

    def _secret(self, events: Sequence[StoryEvent]) -> _Forms:
        event = events[0]
        who, other, owner = self.name(event.who), self.name(event.other), self.name(event.how)
        if event.other != event.how:
            return f"{other} gave {owner}'s secret away to {who}: {quoted(event.what)}"
        return (
            f"{other} confided a secret to {who}: {quoted(event.what)}",
            f"{other} let {who} into a secret: {quoted(event.what)}",
        )

    # Promises, gifts and feelings.

    def _promised(self, events: Sequence[StoryEvent]) -> _Forms:
        first = events[0]
        by = f" by {first.how}" if len(events) == 1 else ""
        return (
            f"{self.name(first.who)} promised {self._others(events)} {self._items(events)}{by}",
            f"{self.name(first.who)} gave {self._others(events)} the promise of {self._items(events)}{by}",
        )

    def _kept(self, events: Sequence[StoryEvent]) -> _Forms:
        first = events[0]
        who, others, items = self.name(first.who), self._others(events), self._items(events)
        where = self._same_place(events)
        if len(events) > 1:
            return (
                f"{who} kept {number(len(events))} promises and brought {items} to {others}",
                f"{who} brought {others} {items}, as promised",
            )
        if first.how:
            return f"{who} kept a promise at the last moment, and brought {others} {items}{where}"
        return (
            f"{who} brought {others} the promised {bare_item(first.what, first.amount)}{where}",
            f"as promised, {who} came to {others} with {items}{where}",
            f"{others} got {items} from {who}{where}, as promised",
        )

    def _broke(self, events: Sequence[StoryEvent]) -> _Forms:
        event = events[0]
        who, other, item = self.name(event.who), self.name(event.other), bare_item(event.what, event.amount)
        return (
            f"{who} broke a promise: the {item} that {other} was to have by {event.how} did not come",
            f"{other} did not get the {item} that {who} had promised by {event.how}",
            f"{event.how} came, but {who} had not brought {other} the promised {item}",
        )

    def _declined(self, events: Sequence[StoryEvent]) -> _Forms:
        first = events[0]
        who, others, item = self.name(first.who), self._others(events), item_phrase(first.what)
        if len(events) > 1:
            return (
                f"{who} asked {others} for {item}, and got no promise",
                f"{who} was in need of {item}, but {others} made no promise",
            )
        return (
            f"{who} asked {others} for {item}, in vain",
            f"{others} did not promise {who} {item}",
        )

    def _gave(self, events: Sequence[StoryEvent]) -> _Forms:
        first = events[0]
        who, others, items = self.name(first.who), self._others(events), self._items(events)
        return (
            f"{who} gave {others} {items}{self._same_place(events)}",
            f"{others} got {items} from {who}{self._same_place(events)}",
        )

    def _traded(self, events: Sequence[StoryEvent]) -> str:
        event = events[0]
        amount, _, item = event.how.partition(" ")
        back = item_phrase(item, int(amount) if amount.isdecimal() else 1)
        goods = item_phrase(event.what, event.amount)
        return f"{self.name(event.who)} gave {self.name(event.other)} {goods} for {back}{at_place(event.place)}"

    def _became_close(self, events: Sequence[StoryEvent]) -> _Forms:
        first = events[0]
        one, other = self.name(first.who), self.name(first.other)
        if len({event.who for event in events}) > 1:
            return f"{one} and {other} became close friends"
        gifts = [
            event
            for event in self._story.events
            if event.kind in _GIVING and (event.who, event.other) == (first.other, first.who)
            if event.tick_id <= first.tick_id
        ]
        items = listed(each_once(item_phrase(gift.what) for gift in gifts))
        often = f" {times(len(gifts))}" if len(gifts) > 1 else ""
        why = f", who had brought {items}{often}" if gifts else ""
        return (
            f"{one} came to see a close friend in {other}{why}",
            f"{one} began to trust {other}{why}",
        )

    def _fell_out(self, events: Sequence[StoryEvent]) -> _Forms:
        first = events[0]
        one, other = self.name(first.who), self.name(first.other)
        broken = [
            event
            for event in self._story.events
            if event.kind is StoryKind.BROKE and (event.who, event.other) == (first.other, first.who)
            if event.tick_id <= first.tick_id
        ]
        item = f"the {bare_item(broken[-1].what, broken[-1].amount)} that did not come" if broken else ""
        return (
            f"{one} lost trust in {other}{f' over {item}' if item else ''}",
            f"{one} did not trust {other} any more{f', because of {item}' if item else ''}",
        )

    def _felt(self, events: Sequence[StoryEvent]) -> str:
        was = "were" if len(each_once(event.who for event in events)) > 1 else "was"
        mood = "in low spirits" if events[0].what == "low" else plain(events[0].what)
        return f"{self._all(events)} {was} {mood}"

    # Work.

    def _made(self, events: Sequence[StoryEvent]) -> str:
        first = events[0]
        often = f" {times(len(events))}" if len(events) > 1 else at_place(first.place)
        return f"{self.name(first.who)} {past(first.how)} {item_phrase(first.what)}{often}"

    def _got(self, events: Sequence[StoryEvent]) -> str:
        first = events[0]
        verb, _, kind = first.how.partition(" ")
        amount = sum(event.amount for event in events)
        things = thing_phrase(kind, len(events))
        where = self._same_place(events)
        return f"{self.name(first.who)} {past(verb)} {things} and got {item_phrase(first.what, amount)}{where}"

    def _worked(self, events: Sequence[StoryEvent]) -> str:
        first = events[0]
        where = self._same_place(events)
        return f"{self.name(first.who)} {past(first.how)} {thing_phrase(first.what, len(events))}{where}"

    def _gathered(self, events: Sequence[StoryEvent]) -> _Forms:
        counts = Counter(event.who for event in events)
        who, most = min(counts.items(), key=lambda one: (-one[1], one[0]))
        item = items_phrase(events[0].what)
        if len(counts) == 1:
            often = f" {times(most)}" if most > 1 else self._same_place(events)
            return f"{self.name(who)} gathered {item}{often}"
        if list(counts.values()).count(most) > 1:
            often = f", {times(len(events))} in all" if most > 1 else ""
            return f"{number(len(counts))} people gathered {item}{often}"
        return (
            f"{number(len(counts))} people gathered {item}, {self.name(who)} most often of all: {times(most)}",
            f"no one gathered {item} as often as {self.name(who)}: {times(most)}",
        )

    def _built(self, events: Sequence[StoryEvent]) -> str:
        first = events[0]
        return f"{self.name(first.who)} built {thing_phrase(first.what, len(events))}{self._same_place(events)}"

    def _dealt(self, events: Sequence[StoryEvent], verb: str) -> str:
        amount = sum(event.amount for event in events)
        return f"{self.name(events[0].who)} {verb} {item_phrase(events[0].what, amount)}{self._same_place(events)}"

    # Places and needs.

    def _visited(self, events: Sequence[StoryEvent]) -> str:
        where = at_place(events[0].place)
        if events[0].how:
            return f"{self._all(events)} called{where} for the first time"
        return f"{self._all(events)} went to{where.removeprefix(' at')} for the first time"

    def _crowd(self, events: Sequence[StoryEvent]) -> _Forms:
        event = events[0]
        count = number(event.amount)
        if event.amount == len(self._names):
            return f"everyone was{at_place(event.place)} at once"
        return (
            f"{count} of {number(len(self._names))} came together{at_place(event.place)}",
            f"a crowd of {count} gathered{at_place(event.place)}",
            f"{count} people were{at_place(event.place)} at the same time",
        )

    def _slept(self, events: Sequence[StoryEvent]) -> _Forms:
        return (f"{self._all(events)} went to sleep", f"sleep came to {self._all(events)}")

    def _slept_out(self, events: Sequence[StoryEvent]) -> str:
        where = self._same_place(events) or " in the open"
        return f"{self._all(events)} fell asleep{where}, away from home"

    def _hungry(self, events: Sequence[StoryEvent]) -> _Forms:
        return (f"{self._all(events)} went hungry", f"hunger came to {self._all(events)}")

    def _tired(self, events: Sequence[StoryEvent]) -> str:
        was = "were" if len(each_once(event.who for event in events)) > 1 else "was"
        return f"{self._all(events)} {was} worn out"

    # Goals, rules and plans.

    def _goal(self, events: Sequence[StoryEvent]) -> str:
        goal = quoted(events[0].what)
        who = self._all([event for event in events if event.who])
        reached = f"{who} reached the goal {goal}" if who else f"the goal {goal} was reached"
        return f"{reached}, and that was the end" if events[0].how else reached

    def _rule(self, events: Sequence[StoryEvent]) -> str:
        who = self._all([event for event in events if event.who])
        often = f", {times(len(events))}" if len(events) > 1 and not who else ""
        return f"{who}: {quoted(events[0].what)}" if who else f"{quoted(events[0].what)}{often}"

    def _plan_done(self, events: Sequence[StoryEvent]) -> str:
        return f"{self._all(events)} did all that was planned for the day"

    def _plan_failed(self, events: Sequence[StoryEvent]) -> _Forms:
        who, errand = self._all(events), in_sentence(events[0].what)
        return (
            f"{who} had planned to {errand}, but nothing came of it",
            f"{who} meant to {errand}, in vain",
        )

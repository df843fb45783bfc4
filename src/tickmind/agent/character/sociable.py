"""`SociableCharacter`: a character that remembers what it does, sees and hears, and has talks with others."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tickmind.agent.character.body import NO_WAY_TICKS
from tickmind.agent.character.tactics import action
from tickmind.agent.character.talking import MAX_NOTICED, TALK_STEPS, TalkingCharacter
from tickmind.agent.knowledge import Person, SpokenLine, Tile
from tickmind.agent.minds import Start
from tickmind.ai import Status
from tickmind.mind.memory import EntryKind
from tickmind.mind.promises import Promise
from tickmind.mind.talk import Talk
from tickmind.mind.talk.meaning import CACHED_LINES
from tickmind.protocol import Accept, ActionResult, ActionType, Give, ItemInfo, Wait
from tickmind.protocol.event import Acted
from tickmind.protocol.setting import zone_phrase

if TYPE_CHECKING:
    from collections.abc import Callable

WANTS_FOOD = 150  # hunger at which it asks for what it likes best to eat
JUST_SEEN_TICKS = 10
SEEN_AGAIN_TICKS = 200  # before the same person in sight is noted again
_NAMES = re.compile(r"\w+(?:[:-]\w+)*")
_DEEDS = {  # action -> how it is remembered, and whether the items that count come or go
    ActionType.PICKUP: ("picked", EntryKind.GOT, 1),
    ActionType.GIVE: ("gave", EntryKind.GAVE, -1),
    ActionType.USE: ("used", EntryKind.DID, -1),
    ActionType.INTERACT: ("made", EntryKind.DID, 1),
    ActionType.BUY: ("bought", EntryKind.GOT, 1),
    ActionType.SELL: ("sold", EntryKind.GAVE, -1),
}


class SociableCharacter(TalkingCharacter):
    """Turns observations into memories, and lines into talks. Its tree has `in_talk`, `talk` and the like.

    What it says comes from its memory and its persona. `food` is what it eats: its setting, or else all that stills
    hunger in its world.
    """

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        self.food = start.settings.texts("food", ()) or _foods(start.items)
        self._promises_shown = 0  # `changes` of its promises when they were put onto the Blackboard
        self._promises_from = 0  # the tick from which on it sees to its promises again
        self._followed: tuple[str, Tile] = ("", (0, 0))  # to whom it went last, and where that one was then
        self._seen: dict[str, int] = {}  # person -> the tick in which it was noted to be somewhere

    # What a kind of character may change

    def wants(self) -> tuple[str, int] | None:
        """Return what it would ask others for, and how many; or nothing. Here: what it likes best to eat."""
        if not self.food or self.me.hunger < WANTS_FOOD or self.carries(self.food[0]):
            return None
        return self.food[0], 1

    def can_bring(self, item: str, amount: int) -> bool:
        """Return whether it could bring another some items: it can spare or buy them, or has just seen some."""
        known = (thing for thing in self.surroundings.things_with(item) if not self._is_contents(thing))
        seen = sum(one.amount(item) for one in known if self.tick - one.tick < JUST_SEEN_TICKS)
        return self.spare(item) + seen >= amount or self.seller_of(item, amount) is not None

    def spare(self, item: str) -> int:
        """Return how many items of a kind it has that are not promised to anyone."""
        owed = (
            promise for promise in self.talker.promises.open() if promise.by == self.entity_id and promise.item == item
        )
        return self.carries(item) - sum(promise.amount - promise.given for promise in owed)

    # What outlives a crash

    def kept(self) -> dict[str, Any]:
        """Return what it knows of others, and all promises."""
        return self.talker.kept()

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Take over what it knew of others."""
        self.talker.restore(kept)

    # The tick

    def decide(self, tactics: "Callable[[], Status]") -> None:
        """End a talk that does not go on, and act."""
        self.follow_talk()
        self._show()
        tactics()

    def _show(self) -> None:
        """Put the talk and what it knows of others onto the Blackboard, for those who watch."""
        talk = self.talker.talks.current
        shown = None if talk is None else self._shown_talk(talk)
        if shown != self.blackboard.get("talk"):
            self.blackboard.set("talk", shown)
            self.blackboard.set("people", {person.called: person.shown() for person in self.talker.people})
        mood = self.talker.mood.word(self.tick)
        if mood != self.blackboard.get("mood"):
            self.blackboard.set("mood", mood)
        promises = self.talker.promises
        if promises.changes != self._promises_shown:
            self._promises_shown = promises.changes
            made = [
                f"{promise.by} to {promise.to}: {promise.amount} {promise.item}, {promise.state}"
                for promise in promises
            ]
            self.blackboard.set("promises", made)

    def _shown_talk(self, talk: Talk) -> dict[str, Any]:
        """Return the state of a talk; in a circle with all others, and `with` the one whom it first spoke with."""
        partner = next(iter(talk.with_ids))
        shown = {"with": partner, "lines": len(talk.lines), "my_turn": talk.my_turn}
        return shown if len(talk.with_ids) == 1 else {**shown, "circle": talk.others(self.entity_id)}

    # Memory

    def remember(self) -> None:
        """Note what was said to it, what it did, and whom and what it saw where."""
        result, looks = self.observation.result, self.looks_about()
        did = result is not None and result.ok and result.action_type in _DEEDS
        zone = self.zone if did or looks or self.speech.heard_now else None
        place = zone_phrase(zone.name) if zone else ""
        for line in self.speech.heard_now:
            named = self._named_in(line)
            if self._is_meant(line, named):
                self.hear_line(line, place)
            else:
                self.talker.talks.overhear(self.tick, line.speaker_id, line.text)
                self._note_overheard(line.speaker_id, *named)
            self.speech.settle(line.speaker_id)
        where = f" at {place}" if place else ""
        if result is not None and did:
            self._note_deed(result, where, place)
        self._note_gifts()
        if looks:
            self._note_sights(where, place)

    def _named_in(self, line: SpokenLine) -> list[str]:
        """Return which of those that it knows or sees are named in a line of another."""
        words = _words_in(line.text)
        seen = {one.entity_id for one in self.surroundings.in_sight if one.entity_id.lower() in words}
        known = {
            one.person_id for one in self.talker.people if one.person_id.lower() in words or one.name.lower() in words
        }
        return sorted((seen | known) - {line.speaker_id, self.entity_id})

    def _note_deed(self, result: ActionResult, where: str, place: str) -> None:
        verb, kind, sign = _DEEDS[result.action_type]
        changes = (
            effect for effect in result.effects if effect.name.startswith("inventory.") and effect.value * sign > 0
        )
        for item in (change.name.removeprefix("inventory.") for change in changes):
            verb = "ate" if verb == "used" and item in self.food else verb
            to = f" to {self.talker.people.called(result.target_id)}" if verb == "gave" else ""
            about = (item, result.target_id) if to else (item,)
            self.memory.note(self.tick, f"I {verb} {item}{to}{where}.", kind=kind, about=about, place=place)

    def _note_gifts(self) -> None:
        """Note what it gave to others, and they to it. Where gifts need consent, they are given when accepted."""
        seen = [event.result for event in self.observation.events if isinstance(event, Acted)]
        own = self.observation.result
        for result in seen if own is None else (*seen, own):
            by, to = result.actor_id, result.target_id
            if result.action_type is ActionType.ACCEPT and all(effect.value > 0 for effect in result.effects):
                by, to = to, by
            elif result.action_type is not ActionType.GIVE:
                continue
            if result.ok and self.entity_id in (by, to):
                for effect in result.effects:
                    self.talker.give(self.tick, by, to, effect.name.removeprefix("inventory."), abs(effect.value))

    def _note_sights(self, where: str, place: str) -> None:
        for who in self.surroundings.near(self.at, TALK_STEPS):
            if where and self.tick - self._seen.get(who.entity_id, -SEEN_AGAIN_TICKS) >= SEEN_AGAIN_TICKS:
                self._seen = {} if not MAX_NOTICED.allows(len(self._seen)) else self._seen
                self._seen[who.entity_id] = self.tick
                name = self.talker.people.called(who.entity_id)
                self.memory.note(self.tick, f"I saw {name}{where}.", about=who.entity_id, place=place)
        fresh = (item for item in self.food for thing in self.surroundings.things_with(item) if thing.tick == self.tick)
        food = next(fresh, "") if where else ""
        if food:
            self.memory.note(self.tick, f"I saw {food}{where}.", about=food, place=place)

    # Promises

    @action
    def keep_promise(self) -> Status:
        """Bring what it promised, if there is such a promise and a way; gather it first if need be.

        After a refusal, as of one whose hands are full, it does something else for a while.
        """
        last = self.observation.result
        if last is not None and not last.ok and last.action_type in (ActionType.GIVE, ActionType.PICKUP):
            self._promises_from = self.tick + NO_WAY_TICKS
        if self.tick < self._promises_from:
            return Status.FAILURE
        for promise in self.talker.promises.open():
            if promise.by == self.entity_id:
                status = self._bring(promise)
                if status is not Status.FAILURE:
                    return status
        return Status.FAILURE

    def _bring(self, promise: Promise) -> Status:
        left = promise.amount - promise.given
        if self.carries(promise.item) < left:
            status = self.gather(promise.item)
            return self.buy(promise.item) if status is Status.FAILURE else status
        person = self.surroundings.people.get(promise.to)
        status = Status.FAILURE if person is None else self.go_up_to(person)
        return self.do(Give(promise.to, promise.item, left)) if status is Status.SUCCESS else status

    def go_up_to(self, person: Person) -> Status:
        """Go beside a person, and wait until it stands still; fails if it is no longer where it was seen."""
        stood, self._followed = self._followed == (person.entity_id, person.at), (person.entity_id, person.at)
        status = self.walk(person.at, beside=True)
        is_there = any(one.entity_id == person.entity_id for one in self.surroundings.near(self.at, 1))
        if status is Status.SUCCESS and is_there and not stood:
            self.do(Wait())
            return Status.RUNNING  # one that walks is a step away before it gets anything
        return Status.FAILURE if status is Status.SUCCESS and not is_there else status

    @action
    def accept_gift(self) -> Status:
        """Accept what an actor beside it offers for nothing; fails if there is no such offer."""
        gifts = [one for one in self.observation.offers if not one.wanted_kind]
        beside = {person.entity_id for person in self.surroundings.near(self.at, 1)} if gifts else ()
        gift = next((one for one in gifts if one.actor_id in beside), None)
        return Status.FAILURE if gift is None else self.do(Accept(gift.actor_id))


@lru_cache(maxsize=CACHED_LINES)
def _words_in(text: str) -> frozenset[str]:
    """Return the words and ids of a line, in lower case."""
    return frozenset(_NAMES.findall(text.lower()))


def _foods(items: Iterable[ItemInfo]) -> tuple[str, ...]:
    """Return the items that still hunger, the best first."""
    stills = {item.name: item.adds_to("hunger") for item in items}
    return tuple(sorted((name for name, change in stills.items() if change < 0), key=lambda name: (stills[name], name)))

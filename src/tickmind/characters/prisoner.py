"""Get out of a locked room with a mind: remember what hangs here, talk through the wall, and choose what helps.

The signs in its room are the code of the other's door. Nothing in its tree says so to the other one: it notes them,
tells them in a talk as it would any news, and remembers what it is told.
"""

import re
from collections.abc import Iterable

from tickmind.agent import Start, action
from tickmind.agent.character.skills import done_by
from tickmind.agent.knowledge import Person, SpokenLine, Thing
from tickmind.ai import Action, Condition, Selector, Sequence, Status
from tickmind.characters.villager import Villager
from tickmind.mind.memory import EntryKind
from tickmind.mind.options import Option, option_words
from tickmind.mind.plans import DayErrand
from tickmind.protocol import ActionInfo, Give, Interact, Say

CODE = re.compile(r"signs here say (\w+), (\w+), (\w+)")
PRESSED = {"locked": 0, "first": 1, "second": 2}  # state of a door -> symbols that were right so far
SIGN = "sign_"
SIGNS = 3
CALL_TICKS = 15  # between two calls that get no answer
VOICE_TICKS = 40  # since one was heard, for one that is still there
KEY_USE, DOOR_USE, FREE_USE = 0.8, 0.95, 0.9  # of what leads out, beside a villager's other choices


class Prisoner(Villager):
    """One of two prisoners with minds; a model may choose among what they could do, and word what they say."""

    tree = Selector(
        Sequence(Condition("in_talk"), Action("talk")),
        Sequence(Condition("company_near"), Action("begin_talk")),
        Action("call_out"),
        Action("follow_choice"),
        Action("spend_time"),
        Action("wait"),
        memory=False,
    )

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        self._has_read = False  # whether it has noted the signs of its room
        self._called_tick = -CALL_TICKS
        self._locks = [
            (kind.name, state, one)
            for kind in self.kinds
            for state, actions in zip(kind.states, kind.actions, strict=True)
            for one in actions
            if one.needs and not one.yields
        ]

    # Memory

    def remember(self) -> None:
        """Note the signs of this room as soon as it has seen all, so that it can tell of them."""
        super().remember()
        if self._has_read:
            return
        things = self.surroundings.things.values()
        signs = sorted((thing for thing in things if thing.seen.kind.startswith(SIGN)), key=lambda sign: sign.at)
        if len(signs) == SIGNS:
            self._has_read = True
            names = ", ".join(thing.seen.kind.removeprefix(SIGN) for thing in signs)
            self.memory.note(self.tick, f"The signs here say {names}.", importance=1.0)

    def _code(self) -> tuple[str, ...]:
        """Return the code that it was told; nothing if it does not remember any."""
        told = (CODE.search(entry.text) for entry in self.memory if entry.kind is EntryKind.HEARD)
        return next((found.groups() for found in told if found), ())

    # Talk

    def _is_meant(self, line: SpokenLine, named: list[str]) -> bool:
        """Return whether a line is for it, as the only listener is."""
        return not named or super()._is_meant(line, named)

    def awake_within(self, steps: int) -> list[Person]:
        """Return those near, and those whose voices came through the wall a while ago."""
        voices = (who for who in self.surroundings.people.values() if self.tick - who.heard_tick <= VOICE_TICKS)
        near = super().awake_within(steps)
        return [*near, *(who for who in voices if who not in near)]

    @action
    def call_out(self) -> Status:
        """Call until another actor answers."""
        if self.speech.met() or self.tick - self._called_tick < CALL_TICKS:
            return Status.FAILURE
        self._called_tick = self.tick
        return self.do(Say("Hello? Is anybody there?"))

    def aim(self) -> str:
        """Return what it has chosen to do, or what both want."""
        return "get out of here" if self._chosen is None else self._chosen.words

    def answer(self, question: str) -> str:
        """Return what hangs here, to one who asks for the first time what there is."""
        return "" if "anybody" in question.lower() else super().answer(question)

    # What leads out

    def could_take(self) -> Iterable[Option]:
        """Yield the keys that lie about: items that a lock takes."""
        for item in {name: None for _, _, lock in self._locks for name, _ in lock.needs}:
            place = None if self.carries(item) else self.nearest_lying(item)
            if place is not None:
                yield Option(option_words("pick up the", item), KEY_USE, item, steps=place.steps_from(self.at))

    def do_take(self, errand: DayErrand) -> Status:
        """Pick up a key."""
        return Status.FAILURE if self.carries(errand.thing) else done_by(errand, self.gather(errand.thing))

    def could_press(self) -> Iterable[Option]:
        """Yield the door of its room, once it was told the code."""
        door = self._door() if self._code() else None
        if door is not None:
            yield Option("press the symbols of the door", DOOR_USE, door.seen.object_id, steps=door.steps_from(self.at))

    def do_press(self, errand: DayErrand) -> Status:
        """Press the next symbol of the code."""
        door, code = self._door(), self._code()
        if door is None or not code or door.seen.object_id != errand.thing:
            return Status.FAILURE
        status = self.walk_to(door, beside=True)
        if status is not Status.SUCCESS:
            return status
        return done_by(errand, self.do(Interact(errand.thing, code[PRESSED[door.seen.state]])))

    def _door(self) -> Thing | None:
        things = self.surroundings.things.values()
        locks = {kind for kind, _, _ in self._locks}
        return next((thing for thing in things if thing.seen.state in PRESSED and thing.seen.kind not in locks), None)

    def could_hand(self) -> Iterable[Option]:
        """Yield to whom it could give its key: of two, the first by name gives."""
        others = (who for who in self.surroundings.in_sight if who.entity_id > self.entity_id)
        for who in others if self._key() and self._lock() is None else ():
            words = option_words("give", self.talker.people.called(who.entity_id), "the", self._key())
            yield Option(words, FREE_USE, who.entity_id)

    def do_hand(self, errand: DayErrand) -> Status:
        """Give its key away."""
        person, key = self._person(errand.thing), self._key()
        if person is None or not key:
            return Status.FAILURE
        status = self.go_up_to(person)
        return done_by(errand, self.do(Give(person.entity_id, key))) if status is Status.SUCCESS else status

    def _key(self) -> str:
        return next((name for _, _, lock in self._locks for name, _ in lock.needs if self.carries(name)), "")

    def could_unlock(self) -> Iterable[Option]:
        """Yield the lock whose keys it has."""
        lock = self._lock()
        if lock is not None:
            yield Option(option_words("unlock the", lock[0]), FREE_USE, lock[0])

    def do_unlock(self, errand: DayErrand) -> Status:
        """Open the lock."""
        lock = self._lock()
        return Status.FAILURE if lock is None else done_by(errand, self.work_on(lock[0], lock[2].verb, lock[1]))

    def _lock(self) -> tuple[str, str, ActionInfo] | None:
        """Return a lock that is known to be shut and whose keys it has: a kind, its state and what opens it."""
        return next((lock for lock in self._locks if self._missing(lock[2]) is None and self._is_shut(lock)), None)

    def _is_shut(self, lock: tuple[str, str, ActionInfo]) -> bool:
        return any(thing.seen.state == lock[1] for thing in self.surroundings.things_of(lock[0]))

    def could_leave(self) -> Iterable[Option]:
        """Yield the way out: a bench outside once the lock is open, and before that the lock."""
        for kind, _, lock in self._locks:
            for thing in self.surroundings.things_of(kind):
                if thing.seen.state == lock.to:
                    yield Option("sit on a bench outside", FREE_USE, "bench")
                elif self._door() is None:
                    yield Option(option_words("wait at the", kind), KEY_USE / 2, kind)

    def do_leave(self, errand: DayErrand) -> Status:
        """Go there, and stay."""
        if errand.thing == "bench":
            return self.go_to("bench") if not self._is_out() else self.wait()
        thing = self.surroundings.nearest(self.surroundings.things_of(errand.thing), self.at)
        if thing is None or not self._is_shut_at(thing):
            return Status.FAILURE
        status = self.walk_to(thing, beside=True)
        return self.wait() if status is Status.SUCCESS else status

    def _is_out(self) -> bool:
        return any(bench.at == self.at for bench in self.surroundings.things_of("bench"))

    def _is_shut_at(self, thing: Thing) -> bool:
        return any((kind, state) == (thing.seen.kind, thing.seen.state) for kind, state, _ in self._locks)


if __name__ == "__main__":
    Prisoner.run()

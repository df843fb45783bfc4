"""Get out of a locked room by talking: read out what it sees, and do what the other one has seen.

The signs in its room are the code of the other's door. Each has half of a medallion, and the gate needs both.
"""

import re
from typing import ClassVar

from tickmind.agent import Character, Start, action, condition
from tickmind.agent.knowledge import Thing
from tickmind.ai import Action, Condition, Node, Selector, Sequence, Status
from tickmind.protocol import Give, Interact

HALVES = ("left_half", "right_half")
PRESSED = {"locked": 0, "first": 1, "second": 2}  # state of a door -> symbols that were right so far
CODE = re.compile(r"signs here say (\w+), (\w+), (\w+)")
SIGN = "sign_"
REPEAT_TICKS = 10  # the other one may have missed what was said, and must not stay locked in for long


class Escapee(Character):
    """One of two prisoners; both are of this kind."""

    tree: ClassVar[Node] = Selector(
        Sequence(Condition("free"), Selector(Action("say", {"text": "We are free!"}), Action("wait"))),
        Action("tell_signs"),
        Action("take_half"),
        Action("open_door"),
        Action("hand_over"),
        Action("unlock_gate"),
        Action("leave"),
        Action("explore"),
        Action("wait"),
        memory=False,
    )

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        self._signs: tuple[str, ...] = ()  # what hangs in this room, from left to right
        self._code: tuple[str, ...] = ()  # what the other one has read out
        self._door_id = ""

    def remember(self) -> None:
        """Note the signs and the door of this room, and the code when the other one says it."""
        super().remember()
        things = self.surroundings.things.values()
        if not self._signs:
            signs = sorted((thing for thing in things if thing.seen.kind.startswith(SIGN)), key=lambda sign: sign.at)
            self._signs = tuple(thing.seen.kind.removeprefix(SIGN) for thing in signs)
        self._door_id = self._door_id or next((at.seen.object_id for at in things if at.seen.state in PRESSED), "")
        for line in self.speech.heard_now:
            if code := CODE.search(line.text):
                self._code = code.groups()

    @condition
    def free(self) -> bool:
        """Return whether it sits on a bench outside."""
        return any(bench.at == self.at for bench in self.surroundings.things_of("bench"))

    @action
    def tell_signs(self) -> Status:
        """Read the signs out at intervals, as long as the other one is not in sight."""
        if len(self._signs) < 3 or self.surroundings.in_sight:
            return Status.FAILURE
        text = f"The signs here say {', '.join(self._signs)}."
        if not self.speech.may_say(self.tick, text, REPEAT_TICKS):
            return Status.FAILURE
        return self.do(self.speech.say(self.tick, text))

    @action
    def take_half(self) -> Status:
        """Pick up the half of the medallion that lies here."""
        for item in HALVES:
            if not self.carries(item) and (status := self.gather(item)) is not Status.FAILURE:
                return status
        return Status.FAILURE

    @action
    def open_door(self) -> Status:
        """Press the next symbol of the code, once the other one has said it."""
        door = self.surroundings.things.get(self._door_id)
        if door is None or not self._code or door.seen.state not in PRESSED:
            return Status.FAILURE
        return self._work_on(door, self._code[PRESSED[door.seen.state]])

    @action
    def hand_over(self) -> Status:
        """Give its half away; of two, the first by name does."""
        near = [other for other in self.surroundings.in_sight if other.entity_id > self.entity_id]
        item = next(filter(self.carries, HALVES), "")
        if not near or not item:
            return Status.FAILURE
        if (status := self.walk(near[0].at, beside=True)) is not Status.SUCCESS:
            return status
        return self.do(Give(near[0].entity_id, item))

    @action
    def unlock_gate(self) -> Status:
        """Open the gate with both halves."""
        gate = self._gate()
        if gate is None or gate.seen.state == "open" or not all(map(self.carries, HALVES)):
            return Status.FAILURE
        return self._work_on(gate, "unlock")

    @action
    def leave(self) -> Status:
        """Go out to a bench; before the gate is open, wait beside it."""
        gate = self._gate()
        if gate is None:
            return Status.FAILURE
        if gate.seen.state != "open":
            status = self.walk(gate.at, beside=True)
            return self.wait() if status is Status.SUCCESS else status
        return self.go_to("bench")

    def _gate(self) -> Thing | None:
        return next(self.surroundings.things_of("gate"), None)

    def _work_on(self, thing: Thing, verb: str) -> Status:
        status = self.walk(thing.at, beside=True)
        return self.do(Interact(thing.seen.object_id, verb)) if status is Status.SUCCESS else status


if __name__ == "__main__":
    Escapee.run()

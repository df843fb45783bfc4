"""`SmallWorld`: a world for one character, small enough to run inside a test."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

from tickmind.agent.minds import MindHost
from tickmind.agent.testing.drawing import Drawing, Letter, Object, observe
from tickmind.protocol import (
    ACTION_OF,
    ActionResult,
    ActorStatus,
    Event,
    Heard,
    Intent,
    Interact,
    Move,
    Observation,
    Pickup,
    Reason,
    Say,
    Sleep,
    Use,
    Wake,
)

FOOD = 150  # hunger that an item removes
DOORS = {
    "open": Object("door", state="open", verbs=("close",)),
    "close": Object("door", False, "closed", {}, ("open",)),
}


class SmallWorld:
    """One character on a drawing, with just enough rules to see it walk, eat, open doors, speak and sleep.

    Others stand still and say what a test lets them say. The real rules are the world's; `tickmind world` runs them.
    """

    def __init__(
        self,
        text: str,
        *,
        entity_id: str = "me",
        carrying: Mapping[str, int] | None = None,
        hunger: int = 0,
        energy: int = 1000,
        hunger_per_tick: int = 0,
        legend: Mapping[str, Letter] | None = None,
    ) -> None:
        self.drawing = Drawing.read(text, legend)
        self.tick = 1
        self.hunger = hunger
        self.energy = energy
        self.carrying = Counter(carrying or {})
        self.said: list[str] = []
        """All texts that the character has said."""
        self._entity_id = entity_id
        self._hunger_per_tick = hunger_per_tick
        self._asleep = False
        self._events: list[Event] = []
        self._result: ActionResult | None = None

    @property
    def at(self) -> tuple[int, int]:
        """The tile of the character."""
        return self.drawing.me

    def hear(self, speaker_id: str, text: str) -> None:
        """Let another actor say something; it is in the next observation."""
        x, y = self.drawing.others[speaker_id][1] if speaker_id in self.drawing.others else self.at
        self._events.append(Heard(speaker_id, "local", text, x, y))

    def observe(self) -> Observation:
        """Return what the character perceives now."""
        return observe(
            self.drawing,
            entity_id=self._entity_id,
            tick=self.tick,
            carrying=self.carrying,
            hunger=self.hunger,
            energy=self.energy,
            status=ActorStatus.ASLEEP if self._asleep else ActorStatus.AWAKE,
            events=self._events,
            result=self._result,
        )

    def step(self, intent: Intent) -> Reason:
        """Let the character act and a tick pass; return the reason why it failed, if so."""
        self._events = []
        reason = self._do(intent)
        self._result = ActionResult(self._entity_id, ACTION_OF[type(intent)], ok=not reason, reason=reason)
        self.hunger = min(1000, self.hunger + self._hunger_per_tick)
        self.tick += 1
        return reason

    def play(self, act: Callable[[Observation], Intent], ticks: int) -> list[Intent]:
        """Let a character act for some ticks and return its intents."""
        done: list[Intent] = []
        for _ in range(ticks):
            intent = act(self.observe())
            self.step(intent)
            done.append(intent)
        return done

    def live(self, host: MindHost, ticks: int) -> list[Intent]:
        """Let a host, such as a `CharacterHost`, live here for some ticks and return its intents."""

        def act(observation: Observation) -> Intent:
            host.begin(observation.tick_id, [observation])
            host.perceive(observation)
            intent = host.act(observation)
            host.reflect(observation.tick_id)
            return intent

        return self.play(act, ticks)

    def _do(self, intent: Intent) -> Reason:
        if self._asleep and not isinstance(intent, Wake):
            return Reason.ASLEEP
        match intent:
            case Move(direction):
                return self._move(direction.dx, direction.dy)
            case Pickup(kind, amount):
                return self._pick_up(kind, amount)
            case Use(kind, amount):
                if self.carrying[kind] < amount:
                    return Reason.NOT_IN_INVENTORY
                self.carrying[kind] -= amount
                self.hunger = max(0, self.hunger - FOOD * amount)
            case Say(text):
                self.said.append(text)
            case Interact(target_id, verb):
                return self._work(target_id, verb)
            case Sleep():
                self._asleep = True
            case Wake():
                self._asleep = False
            case _:
                pass  # waiting, and actions that need others, change nothing here
        return Reason.NONE

    def _move(self, dx: int, dy: int) -> Reason:
        x, y = self.at
        free = self.drawing.walkable
        if (x + dx, y + dy) not in free:
            return Reason.NOT_WALKABLE
        if dx and dy and not {(x + dx, y), (x, y + dy)} <= free:
            return Reason.ILLEGAL_DIAGONAL
        if any(at == (x + dx, y + dy) for _, at in self.drawing.others.values()):
            return Reason.OCCUPIED
        self.drawing.me = (x + dx, y + dy)
        return Reason.NONE

    def _pick_up(self, kind: str, amount: int) -> Reason:
        for object_id, (thing, at) in self.drawing.objects.items():
            if at == self.at and thing.items.get(kind, 0) >= amount:
                left = {**thing.items, kind: thing.items[kind] - amount}
                self.drawing.objects[object_id] = (replace(thing, items=left), at)
                self.carrying[kind] += amount
                return Reason.NONE
        return Reason.NOTHING_HERE

    def _work(self, target_id: str, verb: str) -> Reason:
        if target_id not in self.drawing.objects:
            return Reason.UNKNOWN_TARGET
        thing, at = self.drawing.objects[target_id]
        wanted = verb or next(iter(thing.verbs), "")
        if max(abs(at[0] - self.at[0]), abs(at[1] - self.at[1])) > 1:
            return Reason.TOO_FAR
        if wanted not in thing.verbs or wanted not in DOORS:
            return Reason.WRONG_STATE
        became = DOORS[wanted]
        self.drawing.objects[target_id] = (became, at)
        (self.drawing.walkable.add if became.walkable else self.drawing.walkable.discard)(at)
        return Reason.NONE

"""`RemoteCharacter`: a character that pursues the goals of a client, and looks after itself between them."""

from collections.abc import Callable
from typing import ClassVar

from tickmind.adapters.mcp.goals import MAX_GOAL_TICKS, GoalDesk, GoalRefusal, GoalStatus
from tickmind.agent import Character, Start, action, condition
from tickmind.agent.knowledge import Person, Tile
from tickmind.agent.knowledge.speech import SpokenLine
from tickmind.agent.minds import is_lockstep
from tickmind.ai import Action, Condition, Inverter, Node, Selector, Sequence, Status
from tickmind.protocol import Intent
from tickmind.protocol.intent import ACTION_OF

HUNGRY, STARVING = 350, 700  # hunger at which it eats between goals, and before all goals


class RemoteCharacter(Character):
    """Acts every tick, however slow the client is: needs that can't wait, then the goal, then itself."""

    tree: ClassVar[Node] = Selector(
        Sequence(Condition("incapacitated"), Selector(Action("eat_something"), Action("wait"))),
        Sequence(
            Condition("asleep"),
            Inverter(Condition("has_goal")),
            Selector(Sequence(Condition("rested"), Action("wake")), Action("wait")),
        ),
        Sequence(Inverter(Condition("asleep")), Condition("hungry", {"above": STARVING}), Action("eat_something")),
        Action("pursue_goal"),
        Sequence(Condition("hungry", {"above": HUNGRY}), Action("eat_something")),
        Action("wait"),
        memory=False,
    )

    def __init__(self, start: Start, desk: "GoalDesk[RemoteCharacter]") -> None:
        super().__init__(start)
        self.desk = desk
        desk.begin_anew()
        self.food = tuple(item.name for item in start.items if item.adds_to("hunger") < 0)
        self.heard_since = 0  # the tick of the last line that the client has read
        self._sent: tuple[Intent, int] | None = None  # what was to finish the goal, and the tick in which it was sent

    def decide(self, tactics: Callable[[], Status]) -> None:
        """See what came of the last tick, take up calls, and act."""
        self._settle()
        self.desk.attend(self, lockstep=is_lockstep(self.observation.deadline_ms))
        tactics()
        self.desk.note_decision(self)

    def _settle(self) -> None:
        """End the goal if what was sent for it has worked, or was refused."""
        goal, sent, self._sent = self.desk.goal, self._sent, None
        if goal is None:
            return
        if self.tick - goal.began_tick >= MAX_GOAL_TICKS.maximum:
            goal.end(GoalStatus.FAILED, f"given up after {self.tick - goal.began_tick} ticks")
            return
        result = self.observation.result
        if sent is None or result is None or sent[1] != self.tick - 1 or ACTION_OF[type(sent[0])] != result.action_type:
            return  # what was sent came too late, so it is tried again
        if not result.ok:
            missing = "".join(f"; {effect.name} {effect.value}" for effect in result.effects)
            goal.end(GoalStatus.FAILED, f"refused by the world: {result.reason.value.replace('_', ' ')}{missing}")
        elif not any(effect.name == "work_remaining" and effect.value > 0 for effect in result.effects):
            changes = ", ".join(f"{effect.name} {effect.value:+}" for effect in result.effects)
            goal.end(GoalStatus.DONE, changes or "done")

    # Conditions and actions

    @condition
    def has_goal(self) -> bool:
        """Return whether a client has set a goal."""
        return self.desk.goal is not None

    @action
    def eat_something(self) -> Status:
        """Eat the first food that it has."""
        item = next(filter(self.carries, self.food), None)
        return Status.FAILURE if item is None else self.eat(item)

    @action
    def pursue_goal(self) -> Status:
        """Do a step towards the goal; fails if there is none, or it turned out to be impossible."""
        goal = self.desk.goal
        if goal is None:
            return Status.FAILURE
        if self.asleep() and not goal.asleep:
            return self.wake()
        before = self.decided
        status = goal.step(self)
        if isinstance(status, GoalRefusal):
            goal.end(GoalStatus.FAILED, status.why)
            return Status.FAILURE
        if status is Status.FAILURE:
            goal.end(GoalStatus.FAILED, "not possible from here")
        elif status is Status.SUCCESS:
            if self.decided and not before:
                self._sent = self.intent, self.tick
            else:
                goal.end(GoalStatus.DONE, "done")
        return status

    # What a client asks for

    def person(self, name: str) -> Person | None:
        """Return a person whom it has seen or heard, by the id."""
        return self.surroundings.people.get(name)

    def heard(self) -> list[SpokenLine]:
        """Return what others have said since the client read it last, and mark it as read."""
        since, self.heard_since = self.heard_since, self.tick
        return [line for line in self.speech.lines if line.tick > since and line.speaker_id != self.entity_id]

    def spoken_to_since(self, tick: int) -> str:
        """Return who has spoken to it after a tick; empty if no one has."""
        lines = (line for line in self.speech.heard_now if line.to_me and line.tick > tick)
        return next((line.speaker_id for line in lines), "")

    def walk_or_explore(self, tile: Tile, *, beside: bool = False) -> Status:
        """Go a step towards a tile; through unknown ground if no way is known."""
        status = self.walk(tile, beside=beside)
        return status if status is not Status.FAILURE else self._explore(tile)

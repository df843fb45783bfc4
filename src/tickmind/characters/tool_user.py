"""A model that acts through tools: look, go to, pick up, say, work on, give, and boards that a process shares.

Between two runs of the model, and without one, it looks after itself by a small tree.
"""

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Annotated, ClassVar

from tickmind.agent import Character, Start, action
from tickmind.agent.character.thinking import Thinking
from tickmind.agent.character.thoughts.models import call_site_of, find_client
from tickmind.agent.knowledge import distance
from tickmind.ai import Action, BoardManager, Condition, Node, Selector, Sequence, Status
from tickmind.ai.board_tools import board_tools
from tickmind.characters.errands import Errands
from tickmind.llm.texts import shortened
from tickmind.protocol import Give, Interact, Pickup
from tickmind.strategy import LLMConfig, ToolAgentAdapter, quoted
from tickmind.tools import Tool, ToolAgent

if TYPE_CHECKING:
    from collections.abc import Callable

    from tickmind.agent import ProcessContext
    from tickmind.strategy.clients.client import AnyClient

ROLE = (
    "You live in a small world of tiles and act through tools. Look first. Going somewhere and picking things up take "
    "time; each tool tells you what came of it. Eat nothing by yourself: that happens when you are hungry. When you "
    "have done something sensible, say in one sentence what you did."
)
TOOL_S = 60.0
LAST_WORDS_CHARS = 300  # that go on to the next deliberation: a small model has little room beside its tools
STARVING = 700  # hunger that comes before all errands, if there is something to eat
X = Annotated[int, "Column of the tile"]
Y = Annotated[int, "Row of the tile; it grows to the south"]


class ToolUser(Character):
    """Settings: `name`, `personality`, `task` (what it is to do)."""

    thinking: ClassVar[Thinking] = Thinking(
        ROLE,
        every_ticks=30,
        config=LLMConfig(max_queries_per_tick=4, max_queries_per_second=None, query_timeout=None, max_in_flight=None),
    )
    tree: ClassVar[Node] = Selector(
        Sequence(Condition("asleep"), Action("wake")),
        Sequence(Condition("low"), Action("relieve")),
        Sequence(Condition("hungry", {"above": STARVING}), Action("feed")),
        Action("do_errand"),
        Sequence(Condition("hungry"), Action("feed")),
        Sequence(Condition("hungry"), Action("explore")),
        Action("wait"),
        memory=False,
    )

    def __init__(self, start: Start) -> None:
        super().__init__(start)
        self.errands = Errands()
        self.task = start.settings.text("task", "Find berries, meet the others and tell them what you found.")
        self.view = "You have seen nothing yet."

    def decide(self, tactics: "Callable[[], Status]") -> None:
        """Look around, and let the tree decide: great needs first, then the model's errands."""
        self.view = self._look()
        tactics()

    @action
    def feed(self) -> Status:
        """Eat berries, or else get some; fails if none are known."""
        return self.eat("berries") if self.carries("berries") else self.gather("berries")

    @action
    def do_errand(self) -> Status:
        """Do a step of the model's errand; fails if there is none."""
        return Status.SUCCESS if self.errands.do_one(self) else Status.FAILURE

    def describe(self) -> str:
        """Return the task, what it said it did last, and what there is to see."""
        last = shortened(str(self.plan.get("text", "")), LAST_WORDS_CHARS)
        parts = [f"Your task: {self.task}", f"You said last: {last}" if last else "", self.view]
        return "\n\n".join(part for part in parts if part)

    def _look(self) -> str:
        me = self.me
        bag = ", ".join(f"{stack.quantity} {stack.kind}" for stack in me.inventory) or "nothing"
        own = "".join(f", {need} {value}" for need, value in me.needs)
        needs = f"hunger {me.hunger}, energy {me.energy}{own}"
        lines = [f"Tick {self.tick}. You are at {self.at}, {needs}, carrying {bag}."]
        near = sorted(self.surroundings.things.values(), key=lambda thing: distance(thing.at, self.at))
        for thing in [seen for seen in near if seen.seen.kind != "wall"][:12]:
            items = ", ".join(f"{stack.quantity} {stack.kind}" for stack in thing.seen.items)
            work = f" (work on {thing.seen.object_id}: {', '.join(thing.seen.verbs)})" if thing.seen.verbs else ""
            what = f"{thing.seen.kind} at {thing.at} {thing.seen.state}"
            lines.append(f"- {what}{f' with {items}' if items else ''}{work}")
        lines += [f"- {person.entity_id} at {person.at}" for person in self.surroundings.near(self.at, 12)[:8]]
        lines += [quoted(line.speaker_id, line.text) for line in list(self.speech.lines)[-5:]]
        return "\n".join(lines)

    @classmethod
    def client(cls, stage: "ProcessContext") -> "AnyClient | None":
        """Return a tool agent for each character, all with one client."""
        model = find_client(stage)
        if model is None:
            return None
        boards = BoardManager()
        boards.ensure_board([each.entity_id for each in stage.launch.entities])

        def make_agent(eid: int) -> ToolAgent:
            character = stage.characters[eid]
            assert isinstance(character, cls), "all characters of a process are of one kind"
            tools = [*character.tools(), *board_tools(boards)]
            return ToolAgent(model, tools, agent_id=character.entity_id, answer_at_limit=True)

        return ToolAgentAdapter(make_agent, site_of=partial(call_site_of, stage))

    def tools(self) -> list[Tool]:
        """Return the model's tools. Each is something that the character could decide on by itself."""

        def look() -> str:
            """See where you are, what is around you and what was said."""
            return self.view

        async def go_to(x: X, y: Y) -> str:
            """Walk to a tile, or beside it if it is taken."""
            return await asyncio.wrap_future(self.errands.ask(f"go to ({x}, {y})", lambda me: _go(me, x, y)))

        async def pick_up(item: Annotated[str, "Kind of item"]) -> str:
            """Pick up one item where you stand."""
            return await asyncio.wrap_future(self.errands.ask(f"pick up {item}", lambda me: me.do(Pickup(item))))

        async def say(text: Annotated[str, "What to say aloud"]) -> str:
            """Say something to all who are near."""
            return await asyncio.wrap_future(self.errands.ask("say it", lambda me: me.say(text)))

        async def work_on(
            object_id: Annotated[str, "Id of the thing"], verb: Annotated[str, "What to do with it"]
        ) -> str:
            """Go to a thing and do one of the things that can be done with it."""
            return await asyncio.wrap_future(
                self.errands.ask(f"{verb} {object_id}", lambda me: _work(me, object_id, verb))
            )

        async def give(item: Annotated[str, "Kind of item"], to: Annotated[str, "Id of who gets it"]) -> str:
            """Go to a person and hand over one item."""
            return await asyncio.wrap_future(self.errands.ask(f"give {item} to {to}", lambda me: _give(me, item, to)))

        return [
            Tool.from_function(look, inline=True),
            *(Tool.from_function(each, timeout_s=TOOL_S) for each in (go_to, pick_up, say, work_on, give)),
        ]


def _go(me: Character, x: int, y: int) -> Status:
    """Go a step; a character on the tile, or beside an occupied or blocked one, has arrived."""
    return me.walk((x, y), beside=(x, y) in me.surroundings.occupied or not me.surroundings.tiles.can_walk(x, y))


def _work(me: Character, object_id: str, verb: str) -> Status:
    thing = me.surroundings.things.get(object_id)
    status = Status.FAILURE if thing is None else me.walk_to(thing, beside=True)
    return me.do(Interact(object_id, verb)) if status is Status.SUCCESS else status


def _give(me: Character, item: str, to: str) -> Status:
    person = me.surroundings.people.get(to)
    status = Status.FAILURE if person is None else me.walk(person.at, beside=True)
    return me.do(Give(to, item)) if status is Status.SUCCESS else status


if __name__ == "__main__":
    ToolUser.run()

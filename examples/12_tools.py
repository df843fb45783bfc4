"""Two agents with tools: one gathers berries and tells the other, on a board that only they can read.

python examples/12_tools.py
"""

import argparse
import asyncio
import json
from typing import Annotated, Any

from tickmind.ai import BoardManager
from tickmind.ai.board_tools import board_tools
from tickmind.llm import ToolCall
from tickmind.llm.local.default_model import open_default_model, scripted_choice
from tickmind.llm.testing import Reply
from tickmind.llm.transport import ModelReply
from tickmind.tools import AgentEvent, AgentHub, TextDelta, ToolAgent, ToolContext, ToolFinished, ToolStarted, tool

BERRIES = {"meadow": 5}


@tool(inline=True)
def look_around() -> str:
    """Look where you are."""
    return f"You stand in a meadow with {BERRIES['meadow']} berries."


@tool(inline=True)
def pick_berries(count: Annotated[int, "How many"], ctx: ToolContext) -> dict[str, Any]:
    """Pick berries here."""
    taken = max(0, min(count, BERRIES["meadow"]))
    BERRIES["meadow"] -= taken
    return {"who": ctx.agent_id, "picked": taken, "left": BERRIES["meadow"]}


def call(name: str, **arguments: Any) -> ModelReply:
    """A reply of the double that uses a tool."""
    return ModelReply("", "tool_calls", tool_calls=(ToolCall("", name, json.dumps(arguments)),))


SCRIPT: list[Reply] = [
    call("look_around"),
    call("pick_berries", count=3),
    call("get_my_boards"),
    call("post_message_to_board", board_id="board-1", text="Berries in the meadow! I took 3, the rest is yours."),
    "I picked three berries and told Birch where the others are.",
    call("read_board", board_id="board-1"),
    call("pick_berries", count=2),
    "Thank you, Ash. I took the last two.",
]


def show(event: AgentEvent) -> None:
    """One line for whatever an agent does."""
    match event:
        case ToolStarted(agent_id=who, name=name, args=args):
            print(f"  {who} -> {name} {args}")
        case ToolFinished(agent_id=who, name=name, result=result):
            print(f"  {who} <- {name} {result}")


async def talk(agent: ToolAgent, words: str) -> None:
    """Say something to an agent and watch what it does."""
    async with agent.stream(words) as stream:
        async for event in stream:
            if not isinstance(event, TextDelta):
                show(event)
        result = await stream.result()
    print(f"{agent.agent_id}: {result.text.strip()}\n  ({result.stopped}, {result.steps} steps)")


async def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scripted", action="store_true", help="use a scripted double instead of a model")
    options = parser.parse_args()
    boards = BoardManager()
    boards.ensure_board(["ash", "birch"])
    async with open_default_model(scripted_choice() if options.scripted else None, script=SCRIPT) as model:
        print(model.choice.why)
        hub = AgentHub(model.client, max_steps=8, max_output_tokens=200, temperature=0.2)
        hub.subscribe(lambda event: print(f"[{event.agent_id} has finished]"), ["agent_finished"])
        tools = [look_around, pick_berries, *board_tools(boards)]
        ash = hub.create_agent(tools, agent_id="ash", system="You are Ash. Use your tools. Your board is board-1.")
        birch = hub.create_agent(
            tools, agent_id="birch", system="You are Birch. Use your tools. Your board is board-1."
        )
        await talk(ash, "Find berries, pick three, and tell Birch on your board.")
        await talk(birch, "Read your board and do what it suggests.")
        await hub.aclose()
    print(f"On the board: {[post.text for post in boards.read('board-1', 'birch')]}")


if __name__ == "__main__":
    asyncio.run(main())
